"""How long a decision takes: Ray's own scheduler beside Ostler's policies, on the same inputs, in one run.

  python bench.py            # nodes 10..10000 x pending 100..100000 x shapes 1, 10, 100 x types 5, 50
  python bench.py --quick    # a few cells of it

The time is that of the planning call alone, its input in memory; each program runs alone in a process of its own.
Ray is stopped after --cap CPU seconds a cell, and cells at least as large as one where it was stopped are skipped. Wherever
Ray finishes, ray-exact must decide the same; the exit code is 1 if it does not. CPU time stands beside the clock's,
since it says more on a busy machine; ratios are of CPU time: Ray's best run to our mean run.

The input is a pure function of nodes, pending, shapes, types and seed: running workers of which 80 % are full and 20 %
partly free, and pending requests as GCS sends them, grouped by shape.

Needs a Python that has ray[default]==2.60.0, and cargo (or --xtask PROGRAM)."""
import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GiB = 1024 ** 3
GRID = {"nodes": [10, 100, 1000, 10000], "pending": [100, 1000, 10000, 100000], "shapes": [1, 10, 100], "types": [5, 50]}
QUICK = [(10, 100, 1, 5), (100, 1000, 10, 5), (1000, 1000, 100, 50), (1000, 10000, 10, 5), (10000, 100000, 100, 50)]


def node_types(T):
    types = {"head": {"resources": {"CPU": 0.0}, "labels": {}, "min_workers": 0, "max_workers": 0}}
    cpus = [2, 4, 8, 16, 32, 48, 64, 96]
    for i in range(T):
        c = cpus[i % len(cpus)]
        res = {"CPU": float(c), "memory": float(c * (2, 4, 8)[i // 8 % 3] * GiB)}
        if i % 5 == 4:
            res["GPU"] = float((1, 2, 4, 8)[i // 5 % 4])
        if i >= 24:
            res["custom_%d" % (i % 7)] = 1.0
        types[f"t{i:02d}"] = {"resources": res, "labels": {}, "min_workers": 0, "max_workers": 100000}
    return types


def running(k, t, types, r, free):
    tot = dict(types[t]["resources"])
    tot[f"node:10.{k >> 16 & 255}.{k >> 8 & 255}.{k & 255}"] = 1.0
    tot["object_store_memory"] = float(tot["memory"] * 0.3)
    av = dict(tot)
    if r.random() < free:
        av["CPU"] = float(r.randint(1, int(tot["CPU"])))
        if "GPU" in tot:
            av["GPU"] = float(r.randint(0, int(tot["GPU"])))
    else:
        av.pop("CPU")
        av.pop("GPU", None)
    nid = f"{k:056x}"
    return {"instance_id": f"i-{k}", "cloud_instance_id": f"c-{k}", "node_type": t, "status": "RAY_RUNNING",
            "node_kind": "WORKER", "ray_node_id": nid,
            "ray_node": {"node_id": nid, "status": "RUNNING", "idle_duration_ms": 0, "total_resources": tot,
                         "available_resources": {a: b for a, b in av.items() if b > 0}}}


def requests(P, S, T, seed):
    reqs, seen = [], set()
    r = random.Random(f"shapes,{S},{T},{seed}")
    while len(reqs) < S:
        q = {"CPU": r.choice([0.25, 0.5, 1.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0])}
        if S > 1:
            if r.random() < .5:
                q["memory"] = float(r.randint(1, 64)) * GiB / 4
            if r.random() < .25:
                q["GPU"] = r.choice([0.25, 0.5, 1.0, 1.0, 2.0])
        else:
            q = {"CPU": 1.0}
        key = json.dumps(q, sort_keys=True)
        if key not in seen:
            seen.add(key)
            reqs.append({"resources": q, "count": 0, "label_selectors": [[]]})
    for i in range(P):
        reqs[i % S]["count"] += 1
    return [q for q in reqs if q["count"]]


def make(N, P, S, T, seed=1, free=0.2):
    r = random.Random(f"nodes,{N},{T},{seed}")
    types = node_types(T)
    names = [f"t{i:02d}" for i in range(T)]
    head = {"instance_id": "i-head", "cloud_instance_id": "c-head", "node_type": "head", "status": "RAY_RUNNING",
            "node_kind": "HEAD", "ray_node_id": "f" * 56,
            "ray_node": {"node_id": "f" * 56, "status": "RUNNING", "idle_duration_ms": 0,
                         "total_resources": {"CPU": 0.0, "node:__internal_head__": 1.0},
                         "available_resources": {"node:__internal_head__": 1.0}}}
    return {"name": f"time-N{N}-P{P}-S{S}-T{T}-s{seed}",
            "config": {"node_types": types, "node_type_order": ["head"] + names, "head_node_type": "head",
                       "max_workers": None, "idle_timeout_s": 300.0, "disable_launch_config_check": True},
            "instances": [head] + [running(k, r.choice(names), types, r, free) for k in range(N)],
            "pending_resource_requests": requests(P, S, T, seed)}


class Capped(Exception):
    pass


def run_ray(path, cap):
    """In a process of its own: Ray's decision and times as JSON, or `capped`."""
    import raycase
    from ray.autoscaler.v2.scheduler import ResourceDemandScheduler
    case = json.load(open(path))
    req = raycase.to_sched_request(case)

    def stop(*_):
        raise Capped()
    signal.signal(signal.SIGPROF, stop)
    wall, cpu, reply = [], [], None
    try:
        signal.setitimer(signal.ITIMER_PROF, cap)
        while len(wall) < 3 and sum(wall) < 2:
            w, c = time.perf_counter(), time.process_time()
            reply = ResourceDemandScheduler().schedule(req)
            wall.append(time.perf_counter() - w)
            cpu.append(time.process_time() - c)
        signal.setitimer(signal.ITIMER_PROF, 0)
    except Capped:
        if not wall:
            print(json.dumps({"capped": True}))
            return
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    expected = raycase.reply_to_expected(reply, req)
    print(json.dumps({"seconds": min(wall), "cpu_seconds": min(cpu), "peak_rss_mb": rss, "expected": expected}))


def ms(seconds):
    return f"{seconds * 1000:.2f}" if seconds < 1 else f"{seconds * 1000:.0f}"


class Bench:
    def __init__(self, a):
        self.a, self.capped, self.differ = a, [], 0
        self.xtask = a.xtask.split()
        self.dir = tempfile.mkdtemp(prefix="bench-ray-")

    def out(self, *argv):
        return subprocess.run(argv, capture_output=True, text=True, cwd=ROOT)

    def ray(self, path, cell):
        n, p, s, t = cell
        if self.a.no_ray or any(t == t2 and s == s2 and n >= n2 and p >= p2 for n2, p2, s2, t2 in self.capped):
            return None
        done = self.out(sys.executable, os.path.abspath(__file__), "--one", path, "--cap", str(self.a.cap))
        if done.returncode:
            sys.exit(f"Ray's scheduler failed:\n{done.stderr[-2000:]}")
        d = json.loads(done.stdout.splitlines()[-1])
        if d.get("capped"):
            self.capped.append(cell)
        return d

    def same(self, path, case, ray):
        """Whether ray-exact decides as Ray did just now."""
        case["expected"] = ray["expected"]
        with open(path, "w") as f:
            f.write(json.dumps(case))
        done = self.out(*self.xtask, "oracle", "ray", path)
        if done.returncode:
            print(done.stdout)
            self.differ += 1
        return "same" if done.returncode == 0 else "DIFFERS"

    def cell(self, cell):
        case = make(*cell, self.a.seed)
        path = os.path.join(self.dir, "case.json")
        with open(path, "w") as f:
            json.dump(case, f)
        ours = []
        for policy in self.a.policies.split(","):
            done = self.out(*self.xtask, "bench-ray", path, "--policy", policy)
            if done.returncode:
                sys.exit(f"bench-ray failed: {done.stderr}")
            ours.append(json.loads(done.stdout))
        ray = self.ray(path, cell)
        row = list(cell)
        finished = ray and not ray.get("capped")
        row += [ms(ray["seconds"]), ms(ray["cpu_seconds"]), ray["peak_rss_mb"]] if finished else \
               [f"> {self.a.cap * 1000:.0f}" if ray else "skipped", "", ""]
        for d in ours:
            cpu = d["mean_cpu_seconds"] or d["seconds"]
            ratio = f"{ray['cpu_seconds'] / cpu:.0f}" if finished else f"> {self.a.cap / cpu:.0f}" if ray else ""
            row += [ms(d["seconds"]), ms(cpu), d["peak_rss_mb"], ratio, d["launch"]]
        row.append(self.same(path, case, ray) if finished else "")
        os.remove(path)
        return row

    def run(self, cells):
        head = ["nodes", "pending", "shapes", "types", "Ray ms", "cpu", "MiB"]
        for policy in self.a.policies.split(","):
            head += [f"{policy} ms", "cpu", "MiB", "ratio", "launch"]
        head.append("ray-exact")
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
        for cell in cells:
            print("| " + " | ".join(str(x) for x in self.cell(cell)) + " |", flush=True)
        os.rmdir(self.dir)
        print(f"\ndecisions that differ from Ray's: {self.differ}")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--quick", action="store_true")
    a.add_argument("--cells", help="instead: nodes,pending,shapes,types;nodes,...")
    a.add_argument("--cap", type=float, default=60, help="seconds for Ray in one cell")
    a.add_argument("--policies", default="ray-exact,ray")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--no-ray", action="store_true", help="ours only")
    a.add_argument("--xtask", default="cargo xtask")
    a.add_argument("--one", help=argparse.SUPPRESS)
    a = a.parse_args()
    if a.one:
        return run_ray(a.one, a.cap)
    grid = [(n, p, s, t) for t in GRID["types"] for s in GRID["shapes"] for n in GRID["nodes"] for p in GRID["pending"]]
    if a.cells:
        grid = [tuple(map(int, cell.split(","))) for cell in a.cells.split(";")]
    bench = Bench(a)
    bench.run(QUICK if a.quick else grid)
    sys.exit(1 if bench.differ else 0)


if __name__ == "__main__":
    main()
