"""Random but realistic inputs for Ray's scheduler, each with the decision that Ray makes on it.

  python cases.py --seed0 1 --n 400 --out cases.jsonl

A case depends on its seed only, so it can be made again alone: --only SEED."""
import argparse
import json
import random
import sys

GiB = 1024 ** 3
# every node has 1.0 of any resource of this prefix (ray._raylet.IMPLICIT_RESOURCE_PREFIX)
IMPLICIT = "node:__internal_implicit_resource_"

# name -> (CPU, memory GiB, GPU, accelerator name)
CAT_A = {
    "cpu2": (2, 8, 0, None), "cpu4": (4, 16, 0, None), "cpu8": (8, 32, 0, None),
    "cpu16": (16, 64, 0, None), "cpu32": (32, 128, 0, None), "cpu64": (64, 256, 0, None),
    "hicpu16": (16, 32, 0, None), "himem8": (8, 64, 0, None), "himem32": (32, 256, 0, None),
    "t4x1": (4, 16, 1, "T4"), "t4x4": (48, 192, 4, "T4"), "a10gx1": (8, 32, 1, "A10G"),
    "a10gx4": (48, 192, 4, "A10G"), "a100x8": (96, 1152, 8, "A100"), "h100x8": (192, 2048, 8, "H100"),
    "v100x1": (8, 61, 1, "V100"),
}
ZONES = ["z-a", "z-b", "z-c"]


class Gen:
    def __init__(self, rng, profile, seed=0):
        self.r = rng
        self.seed = seed
        self.cat = CAT_A
        self.nid = 0

    # ---------- node types
    def shape(self, key, mem=True, acc=True, osm=False):
        cpu, g, gpu, a = self.cat[key]
        res = {"CPU": float(cpu)}
        if mem:
            res["memory"] = float(int(g * GiB * 0.7))
        if osm:
            res["object_store_memory"] = float(int(g * GiB * 0.3))
        if gpu:
            res["GPU"] = float(gpu)
            if acc and a:
                res["accelerator_type:" + a] = 1.0
        return res

    def type_(self, res, mn=0, mx=10, idle=None, labels=None, prio=0, h=""):
        d = {"resources": res, "labels": labels or {}, "min_workers": mn, "max_workers": mx}
        if idle is not None:
            d["idle_timeout_s"] = idle
        if prio:
            d["priority"] = prio
        if h:
            d["launch_config_hash"] = h
        return d

    def config(self, n, mem=None, mn=False, mx=None, gpu=None, idle=300.0, labels=False,
               glob=None, prio=False, custom=0.0, hashes=False, check=False, osm=False):
        r = self.r
        mem = r.random() < 0.6 if mem is None else mem
        keys = list(self.cat)
        if gpu is True:
            g = [k for k in keys if self.cat[k][2]]
            c = [k for k in keys if not self.cat[k][2]]
            pick = r.sample(g, min(len(g), max(1, n // 2)))
            pick += r.sample(c, min(len(c), n - len(pick)))
        elif gpu is False:
            pick = r.sample([k for k in keys if not self.cat[k][2]], min(n, 8))
        else:
            pick = r.sample(keys, min(n, len(keys)))
        names = []
        types = {}
        types["head"] = self.type_({"CPU": float(r.choice([0, 0, 2, 4, 8])),
                                    **({"memory": float(16 * GiB)} if mem else {})}, 0, 0)
        names.append("head")
        reps = 0
        while len(names) - 1 < n:
            for k in pick:
                if len(names) - 1 >= n:
                    break
                nm = k if reps == 0 else f"{k}-{reps}"
                res = self.shape(k, mem, osm=osm)
                if r.random() < custom:
                    res[r.choice(["ssd", "licence", "zone_a", "fpga"])] = float(r.choice([1, 1, 2, 4, 100]))
                lo = 0
                hi = mx if mx is not None else r.choice([1, 2, 3, 5, 10, 10, 20, 50])
                if mn and r.random() < 0.5:
                    lo = min(hi, r.choice([1, 1, 2, 3]))
                lab = {}
                if labels:
                    lab = {"ray.io/node-group": nm, "ray.io/availability-zone": r.choice(ZONES),
                           "ray.io/market-type": r.choice(["spot", "on-demand"])}
                    if self.cat[k][3]:
                        lab["ray.io/accelerator-type"] = self.cat[k][3]
                types[nm] = self.type_(
                    res, lo, hi, idle=r.choice([None, None, None, 30.0, 60.0, 600.0]) if idle else None,
                    labels=lab, prio=r.choice([0, 0, 1, 5, 10]) if prio else 0,
                    h=f"h-{nm}-1" if hashes else "")
                names.append(nm)
            reps += 1
        if r.random() < 0.5:
            r.shuffle(names)
        return {"node_types": types, "node_type_order": names, "head_node_type": "head",
                "max_workers": glob if glob != "none" else None,
                "idle_timeout_s": idle, "disable_launch_config_check": not check}

    # ---------- instances
    def ids(self):
        self.nid += 1
        return self.nid

    def running(self, cfg, t, used=0.0, idle_s=None, labels=None, dyn=None, kind="WORKER",
                status="RAY_RUNNING", h=None, node_res=True, avail=None):
        r = self.r
        n = self.ids()
        tc = cfg["node_types"].get(t)
        tot = dict(tc["resources"]) if tc else {"CPU": 4.0}
        if node_res:
            ip = f"10.0.{n // 250}.{n % 250 + 1}"
            tot[f"node:{ip}"] = 1.0
            if "memory" in tot and "object_store_memory" not in tot:
                tot["object_store_memory"] = float(int(tot["memory"] / 0.7 * 0.3))
        if kind == "HEAD":
            tot["node:__internal_head__"] = 1.0
        av = dict(tot)
        if avail is not None:
            av.update(avail)
        elif used > 0:
            cpu = tot.get("CPU", 0)
            u = min(cpu, max(0.0, round(cpu * used)))
            av["CPU"] = cpu - u
            if "GPU" in tot:
                av["GPU"] = tot["GPU"] - min(tot["GPU"], float(r.choice([0, 0, 1, tot["GPU"], 0.5])))
            if "memory" in tot and r.random() < 0.3:
                av["memory"] = tot["memory"] - float(r.randint(0, int(tot["memory"] / GiB))) * GiB
                av["memory"] = max(0.0, av["memory"])
        # resources held for placed placement groups show up as extra resources (seen on a real GCS)
        if kind == "WORKER" and avail is None and r.random() < 0.12 and av.get("CPU", 0) >= 2:
            pg = f"{r.getrandbits(144):036x}"
            c = float(r.choice([1, 2]))
            busy = r.choice([0.0, 0.0, 1.0])
            for suf in (f"0_{pg}", pg):
                tot["CPU_group_" + suf] = c
                tot["bundle_group_" + suf] = 1000.0
                av["CPU_group_" + suf] = c - busy
                av["bundle_group_" + suf] = 1000.0 - 0.001 * busy
            av["CPU"] = av["CPU"] - c
            if r.random() < 0.5:
                dyn = {**(dyn or {}), "_PG_" + pg: ""}
        # GCS leaves used-up resources out of available_resources (seen on a real GCS)
        if r.random() < 0.85:
            av = {k: v for k, v in av.items() if v > 0}
        nid = f"{n:056x}"
        d = {"instance_id": f"i-{n:04d}", "cloud_instance_id": f"c-{n:04d}", "node_type": t,
             "status": status, "node_kind": kind, "ray_node_id": nid,
             "ray_node": {"node_id": nid, "status": "IDLE" if idle_s else "RUNNING",
                          "idle_duration_ms": int((idle_s or 0) * 1000),
                          "total_resources": tot, "available_resources": av}}
        if tc and tc.get("launch_config_hash") and h is None:
            h = tc["launch_config_hash"]
        if h:
            d["launch_config_hash"] = h
        lab = dict(tc["labels"]) if tc else {}
        if labels:
            lab.update(labels)
        if lab:
            d["ray_node"]["labels"] = lab
        if dyn:
            d["ray_node"]["dynamic_labels"] = dyn
        return d

    def head(self, cfg, used=0.0):
        return self.running(cfg, "head", used=used, kind="HEAD",
                            idle_s=self.r.choice([None, None, 4000]))

    def pending(self, t, status):
        n = self.ids()
        d = {"instance_id": f"i-{n:04d}", "node_type": t, "status": status, "node_kind": "WORKER"}
        if status not in ("QUEUED", "REQUESTED", "ALLOCATION_FAILED"):
            d["cloud_instance_id"] = f"c-{n:04d}"
        if status in ("RAY_STOP_REQUESTED", "RAY_STOPPING", "RAY_STOPPED"):
            d["ray_node_id"] = f"{n:056x}"
        return d

    def workers(self, cfg):
        return [t for t in cfg["node_type_order"] if t != cfg["head_node_type"]]

    # ---------- requests
    def req(self, cfg, kind="cpu"):
        r = self.r
        if kind == "cpu":
            return {"CPU": float(r.choice([1, 1, 1, 2, 2, 4, 8, 16]))}
        if kind == "frac":
            return {"CPU": r.choice([0.1, 0.25, 0.5, 0.75, 0.3333, 0.001, 1.5])}
        if kind == "gpu":
            return {"GPU": float(r.choice([1, 1, 1, 2, 4, 8])), "CPU": float(r.choice([1, 4, 8]))}
        if kind == "gpuonly":
            return {"GPU": float(r.choice([1, 1, 2, 4]))}
        if kind == "fracgpu":
            return {"GPU": r.choice([0.25, 0.5, 0.1, 0.3333]), "CPU": r.choice([0.5, 1.0, 0.0001])}
        if kind == "mem":
            return {"CPU": float(r.choice([1, 2, 4])), "memory": float(r.choice([1, 2, 4, 8, 16, 48, 100]) * GiB)}
        if kind == "memonly":
            return {"memory": float(r.choice([0.5, 1, 4, 20, 60]) * GiB)}
        if kind == "osm":
            return {"CPU": 1.0, "object_store_memory": float(r.choice([1, 4, 10]) * GiB)}
        if kind == "custom":
            d = {r.choice(["ssd", "licence", "zone_a", "fpga"]): float(r.choice([1, 1, 2, 0.5, 0.001]))}
            if r.random() < 0.7:
                d["CPU"] = float(r.choice([1, 2, 4]))
            return d
        if kind == "acc":
            accs = sorted({a for a in (self.cat[k][3] for k in self.cat) if a})
            return {"GPU": float(r.choice([1, 1, 4])), "accelerator_type:" + r.choice(accs): 0.001,
                    "CPU": float(r.choice([1, 4]))}
        if kind == "implicit":
            return {IMPLICIT + r.choice("ab"): r.choice([1.0, 0.5, 0.25]), "CPU": r.choice([0.5, 1.0])}
        if kind == "zero":
            return r.choice([{}, {"CPU": 0.0}, {"CPU": 1.0, "GPU": 0.0}])
        if kind == "infeasible":
            return r.choice([{"CPU": 100000.0}, {"GPU": 1.0, "nosuch": 1.0}, {"CPU": 1.0, "TPU": 4.0},
                             {"memory": 1e15}])
        raise KeyError(kind)

    def demand(self, cfg, kinds, shapes, total):
        r = self.r
        out, seen = [], set()
        for _ in range(shapes):
            q = self.req(cfg, r.choice(kinds))
            k = json.dumps(q, sort_keys=True)
            if k in seen:
                continue
            seen.add(k)
            out.append({"resources": q, "count": 1})
        for _ in range(max(0, total - len(out))):
            r.choice(out)["count"] += 1
        return out

    def selector(self, cfg, n=1):
        r = self.r
        accs = sorted({t["labels"].get("ray.io/accelerator-type") for t in cfg["node_types"].values()} - {None})
        out = []
        for _ in range(n):
            c = []
            for _ in range(r.choice([1, 1, 1, 2])):
                key = r.choice(["ray.io/accelerator-type", "ray.io/availability-zone", "ray.io/market-type",
                                "ray.io/node-group"])
                vals = {"ray.io/accelerator-type": accs + ["B200"],
                        "ray.io/availability-zone": ZONES + ["z-none"],
                        "ray.io/market-type": ["spot", "on-demand"],
                        "ray.io/node-group": self.workers(cfg)}[key]
                c.append({"key": key, "op": r.choice(["in", "in", "in", "not_in"]),
                          "values": r.sample(vals, min(len(vals), r.choice([1, 1, 2])))})
            out.append(c)
        return out

    def gang(self, cfg, strategy, kinds, n=None, labels=False):
        r = self.r
        n = n or r.choice([1, 2, 2, 3, 4, 8])
        pg = f"{r.getrandbits(72):018x}{r.getrandbits(72):018x}"[:36]
        same = r.random() < 0.7
        base = self.req(cfg, r.choice(kinds))
        reqs = []
        for _ in range(n):
            q = {"resources": dict(base if same else self.req(cfg, r.choice(kinds)))}
            if strategy == "STRICT_PACK":
                q["placement_constraints"] = [{"type": "affinity", "label": "_PG_" + pg, "value": ""}]
            elif strategy == "STRICT_SPREAD":
                q["placement_constraints"] = [{"type": "anti_affinity", "label": "_PG_" + pg, "value": ""}]
            reqs.append(q)
        if labels:
            s = self.selector(cfg)
            for q in reqs:
                if r.random() < 0.8:
                    q["label_selectors"] = s
        # fold equal neighbours into counts to keep the file small
        out = []
        for q in reqs:
            if out and {k: v for k, v in out[-1].items() if k != "count"} == q:
                out[-1]["count"] += 1
            else:
                out.append({**q, "count": 1})
        return {"details": f"{pg}:{strategy}|PENDING", "strategy": strategy, "requests": out}


def base(g, cfg, instances=None, demand=None, gangs=None, cons=None, **kw):
    # a real GCS sends one EMPTY label selector with each task/actor request that has none;
    # nine cases in ten do as it does, the others leave it out (as Ray's unit tests do)
    if g.r.random() < 0.9:
        for q in demand or []:
            q.setdefault("label_selectors", [[]])
    c = {"config": cfg, "instances": instances or [], "pending_resource_requests": demand or []}
    if gangs:
        c["gang_requests"] = gangs
    if cons:
        c["cluster_constraints"] = cons
    c.update(kw)
    return c


# ------------------------------------------------------------------ mixes
def m_empty(g):
    r = g.r
    cfg = g.config(r.randint(1, 6), gpu=None)
    return base(g, cfg, [], g.demand(cfg, ["cpu"], r.randint(1, 3), r.randint(1, 60)) if r.random() < .8 else [])


def m_min(g):
    r = g.r
    cfg = g.config(r.randint(2, 8), mn=True, glob=r.choice([None, 100]))
    ins = [g.head(cfg)]
    for t in g.workers(cfg):
        for _ in range(r.choice([0, 0, 1, 2])):
            ins.append(g.running(cfg, t) if r.random() < .5 else
                       g.pending(t, r.choice(["QUEUED", "REQUESTED", "ALLOCATED"])))
    return base(g, cfg, ins, g.demand(cfg, ["cpu", "gpu"], 2, r.randint(1, 30)) if r.random() < .5 else [])


def m_max(g):
    r = g.r
    cfg = g.config(r.randint(2, 6), mx=r.choice([1, 2, 3, 5]), glob=r.choice([1, 2, 3, 5, 8, None]))
    ins = [g.head(cfg)]
    for t in g.workers(cfg):
        for _ in range(r.choice([0, 0, 1])):
            if len(ins) <= (cfg["max_workers"] or 99):
                ins.append(g.running(cfg, t, used=r.choice([0, .5, 1])))
    return base(g, cfg, ins, g.demand(cfg, ["cpu", "gpu"], r.randint(1, 4), r.randint(10, 200)))


def m_gpu_avoid(g):
    r = g.r
    cfg = g.config(r.randint(2, 8), gpu=True, mn=r.random() < .3)
    d = g.demand(cfg, ["cpu", "cpu", "frac"], r.randint(1, 3), r.randint(1, 80))
    if r.random() < .5:
        d += g.demand(cfg, ["gpu", "gpuonly"], r.randint(1, 2), r.randint(1, 8))
    return base(g, cfg, [g.head(cfg)], d)


def m_doc(g):
    r = g.r
    types = {"head": g.type_({"CPU": 0.0}, 0, 0), "A": g.type_({"GPU": 6.0}, 0, 5), "B": g.type_({"GPU": 2.0, "TPU": 1.0}, 0, 5)}
    if r.random() < .5:
        types["C"] = g.type_({"GPU": float(r.choice([1, 2, 3, 4, 8])), "CPU": float(r.choice([1, 8]))}, 0, 5)
    order = list(types)
    r.shuffle(order)
    cfg = {"node_types": types, "node_type_order": order, "head_node_type": "head", "max_workers": 10,
           "idle_timeout_s": 300.0, "disable_launch_config_check": True}
    return base(g, cfg, [g.head(cfg)], [{"resources": {"GPU": float(r.choice([1, 2, 2, 2, 3]))}, "count": r.choice([1, 1, 2, 3, 7])}])


def m_custom(g):
    r = g.r
    cfg = g.config(r.randint(2, 10), custom=.7, mem=False)
    return base(g, cfg, [g.head(cfg)], g.demand(cfg, ["custom", "custom", "cpu", "implicit"], r.randint(1, 6), r.randint(2, 60)))


def m_hetero(g):
    r = g.r
    cfg = g.config(r.randint(4, 14), glob=r.choice([20, 100, None]))
    return base(g, cfg, [g.head(cfg)], g.demand(cfg, ["cpu", "frac", "gpu", "gpuonly", "mem", "acc"],
                                                r.randint(4, 20), r.randint(20, 300)))


def m_memory(g):
    r = g.r
    cfg = g.config(r.randint(2, 8), mem=True, osm=r.random() < .5)
    ins = [g.head(cfg)]
    for _ in range(r.randint(0, 6)):
        ins.append(g.running(cfg, r.choice(g.workers(cfg)), used=r.choice([0, .3, .8])))
    return base(g, cfg, ins, g.demand(cfg, ["mem", "memonly", "osm", "cpu"], r.randint(1, 6), r.randint(1, 80)))


def m_used(g):
    r = g.r
    cfg = g.config(r.randint(2, 8), mx=50, mem=r.random() < .5, glob=r.choice([200, None]))
    ins = [g.head(cfg, used=.5)]
    for _ in range(r.randint(3, 30)):
        ins.append(g.running(cfg, r.choice(g.workers(cfg)), used=r.random()))
    return base(g, cfg, ins, g.demand(cfg, ["cpu", "frac", "gpu", "mem"], r.randint(1, 6), r.randint(5, 150)))


def m_pending(g):
    r = g.r
    cfg = g.config(r.randint(2, 6), mx=30)
    ins = [g.head(cfg)]
    for _ in range(r.randint(1, 20)):
        ins.append(g.pending(r.choice(g.workers(cfg)), r.choice(
            ["QUEUED", "REQUESTED", "ALLOCATED", "RAY_INSTALLING", "RAY_STOPPING", "TERMINATING", "ALLOCATION_FAILED",
             "TERMINATED", "RAY_STOPPED", "ALLOCATION_TIMEOUT", "TERMINATION_FAILED", "RAY_INSTALL_FAILED",
             "QUEUED", "REQUESTED", "ALLOCATED"])))
    return base(g, cfg, ins, g.demand(cfg, ["cpu", "gpu"], r.randint(1, 3), r.randint(1, 120)))


def m_idle(g):
    r = g.r
    cfg = g.config(r.randint(2, 6), mx=30, mn=r.random() < .6, idle=r.choice([60.0, 300.0, 300.0, None]))
    ins = [g.head(cfg)]
    for _ in range(r.randint(2, 25)):
        t = r.choice(g.workers(cfg))
        idle = r.choice([None, None, 5, 29.999, 30, 59, 60, 60.001, 61, 299, 301, 601, 4000, 4000])
        ins.append(g.running(cfg, t, used=0 if idle else r.random(), idle_s=idle))
        if r.random() < .1:
            ins.append(g.pending(t, r.choice(["QUEUED", "ALLOCATED"])))
    d, gangs, cons = [], None, None
    if r.random() < .5:
        d = g.demand(cfg, ["cpu", "gpu"], r.randint(1, 3), r.randint(1, 20))
    if r.random() < .4:
        cons = [{"resource_requests": g.demand(cfg, ["cpu"], r.randint(1, 2), r.randint(1, 12))}]
    if r.random() < .3:
        gangs = [g.gang(cfg, r.choice(["STRICT_SPREAD", "STRICT_PACK", "PACK"]), ["cpu"])]
    return base(g, cfg, ins, d, gangs, cons)


def m_over(g):
    r = g.r
    cfg = g.config(r.randint(2, 5), mx=r.choice([0, 1, 2, 4]), glob=r.choice([1, 2, 3, 5, None]))
    ins = [g.head(cfg)]
    for _ in range(r.randint(3, 20)):
        t = r.choice(g.workers(cfg))
        x = r.random()
        if x < .6:
            idle = r.choice([None, None, 10, 100, 100])
            ins.append(g.running(cfg, t, used=0 if idle else r.choice([0, .25, .5, 1]), idle_s=idle))
        else:
            ins.append(g.pending(t, r.choice(["QUEUED", "ALLOCATED", "RAY_INSTALLING", "REQUESTED"])))
    return base(g, cfg, ins, g.demand(cfg, ["cpu"], 1, r.randint(1, 20)) if r.random() < .4 else [])


def m_outdated(g):
    r = g.r
    check = r.random() < .75
    cfg = g.config(r.randint(2, 5), mx=20, mn=r.random() < .5, hashes=True, check=check)
    ins = [g.head(cfg)]
    for _ in range(r.randint(1, 10)):
        t = r.choice(g.workers(cfg))
        x = r.random()
        if x < .7:
            ins.append(g.running(cfg, t, used=r.random(), h=r.choice([None, None, "h-old"])))
        elif x < .85:
            ins.append(g.pending(t, r.choice(["REQUESTED", "ALLOCATED"])))
        elif check:
            ins.append(g.pending("gone-type", r.choice(["REQUESTED", "ALLOCATED", "QUEUED"])))
        else:
            ins.append(g.pending("gone-type", r.choice(["REQUESTED", "ALLOCATED"])))
    return base(g, cfg, ins, g.demand(cfg, ["cpu"], r.randint(1, 2), r.randint(1, 40)) if r.random() < .7 else [])


def m_pg(g):
    r = g.r
    cfg = g.config(r.randint(2, 8), mx=r.choice([3, 10, 20]), mem=r.random() < .3, glob=r.choice([None, 10, 50]))
    ins = [g.head(cfg)]
    gangs = [g.gang(cfg, r.choice(["STRICT_PACK", "STRICT_SPREAD", "PACK", "SPREAD"]),
                    r.choice([["cpu"], ["gpu"], ["cpu", "gpu"], ["gpuonly"]])) for _ in range(r.randint(1, 5))]
    for _ in range(r.randint(0, 8)):
        dyn = None
        if r.random() < .3:
            s = [x for x in gangs if x["strategy"] == "STRICT_SPREAD"]
            if s:
                dyn = {"_PG_" + r.choice(s)["details"].split(":")[0]: ""}
        ins.append(g.running(cfg, r.choice(g.workers(cfg)), used=r.choice([0, .5, .9]), dyn=dyn))
    return base(g, cfg, ins, g.demand(cfg, ["cpu"], 1, r.randint(1, 20)) if r.random() < .4 else [], gangs)


def m_labels(g):
    r = g.r
    cfg = g.config(r.randint(3, 10), labels=True, gpu=r.choice([True, None]), mem=False, mx=r.choice([2, 10]))
    ins = [g.head(cfg)]
    for _ in range(r.randint(0, 6)):
        ins.append(g.running(cfg, r.choice(g.workers(cfg)), used=r.choice([0, .5])))
    d = []
    for _ in range(r.randint(1, 5)):
        q = {"resources": g.req(cfg, r.choice(["cpu", "cpu", "gpuonly"])), "count": r.randint(1, 10)}
        if r.random() < .85:
            q["label_selectors"] = g.selector(cfg, r.choice([1, 1, 2, 3]))
        d.append(q)
    gangs = [g.gang(cfg, r.choice(["STRICT_PACK", "STRICT_SPREAD", "PACK"]), ["cpu", "gpuonly"], labels=True)] if r.random() < .3 else None
    return base(g, cfg, ins, d, gangs)


def m_cons(g):
    r = g.r
    cfg = g.config(r.randint(2, 6), mx=r.choice([3, 10, 20]), mn=r.random() < .4, glob=r.choice([None, 5, 30]))
    ins = [g.head(cfg)]
    for _ in range(r.randint(0, 12)):
        idle = r.choice([None, None, 400, 4000])
        ins.append(g.running(cfg, r.choice(g.workers(cfg)), used=0 if idle else r.random(), idle_s=idle))
    kinds = ["cpu"] if r.random() < .6 else ["cpu", "gpu", "mem"]
    if r.random() < .1:
        kinds = ["cpu", "infeasible"]
    cons = [{"resource_requests": g.demand(cfg, kinds, r.randint(1, 3), r.randint(1, 60))}]
    return base(g, cfg, ins, g.demand(cfg, ["cpu", "gpu"], 2, r.randint(1, 30)) if r.random() < .5 else [], None, cons)


def m_avail(g):
    r = g.r
    cfg = g.config(r.randint(3, 8), gpu=True, mem=False, prio=r.random() < .5)
    # twins, so that the availability score has something to decide
    for t in list(g.workers(cfg))[:3]:
        for z in ("-spot", "-b"):
            cfg["node_types"][t + z] = dict(cfg["node_types"][t])
            cfg["node_type_order"].insert(r.randint(0, len(cfg["node_type_order"])), t + z)
            if r.random() < .5:
                cfg["node_types"][t + z]["priority"] = r.choice([0, 1, 2])
    cra = {t: r.choice([0.0, 0.1, 0.5, 1e-9]) for t in g.workers(cfg) if r.random() < .5}
    rec = {t: r.choice([0.0, 0.05, 0.5, 1.0]) for t in g.workers(cfg) if r.random() < .4}
    return base(g, cfg, [g.head(cfg)], g.demand(cfg, ["cpu", "gpu", "gpuonly"], r.randint(1, 4), r.randint(1, 60)),
                None, None, cloud_resource_availabilities=cra, recoverable_resource_availabilities=rec)


def m_infeasible(g):
    r = g.r
    cfg = g.config(r.randint(1, 5), glob=r.choice([0, 1, 5, 20]))
    d = g.demand(cfg, ["infeasible", "cpu"], r.randint(1, 5), r.randint(1, 30))
    gangs = [g.gang(cfg, r.choice(["STRICT_PACK", "STRICT_SPREAD", "PACK"]), ["infeasible", "cpu"])] if r.random() < .5 else None
    return base(g, cfg, [g.head(cfg)], d, gangs)


def m_frac(g):
    r = g.r
    cfg = g.config(r.randint(2, 6), mem=False, gpu=r.choice([True, None]))
    ins = [g.head(cfg)]
    for _ in range(r.randint(0, 6)):
        t = r.choice(g.workers(cfg))
        cpu = cfg["node_types"][t]["resources"]["CPU"]
        ins.append(g.running(cfg, t, avail={"CPU": round(cpu * r.random(), 4)}))
    return base(g, cfg, ins, g.demand(cfg, ["frac", "fracgpu", "zero"] if r.random() < .3 else ["frac", "fracgpu"],
                                      r.randint(1, 5), r.randint(5, 200)))


def m_soup(g):
    r = g.r
    cfg = g.config(r.randint(3, 12), mn=r.random() < .4, mx=r.choice([5, 20, 50]), labels=r.random() < .4,
                   custom=.2, prio=r.random() < .2, glob=r.choice([10, 40, 100, None]))
    ins = [g.head(cfg, used=r.random())]
    for _ in range(r.randint(2, 40)):
        t = r.choice(g.workers(cfg))
        x = r.random()
        if x < .7:
            idle = r.choice([None, None, None, 20, 200, 700])
            ins.append(g.running(cfg, t, used=0 if idle else r.random(), idle_s=idle))
        else:
            ins.append(g.pending(t, r.choice(["QUEUED", "REQUESTED", "ALLOCATED", "RAY_STOP_REQUESTED", "RAY_STOPPING",
                                              "TERMINATING", "RAY_INSTALLING"])))
    d = g.demand(cfg, ["cpu", "frac", "gpu", "mem", "custom", "acc"], r.randint(1, 10), r.randint(1, 150))
    if r.random() < .2:
        d += g.demand(cfg, ["infeasible"], 1, r.randint(1, 5))
    gangs = [g.gang(cfg, r.choice(["STRICT_PACK", "STRICT_SPREAD", "PACK", "SPREAD"]), ["cpu", "gpu"])
             for _ in range(r.choice([0, 0, 1, 3]))]
    cons = [{"resource_requests": g.demand(cfg, ["cpu"], 1, r.randint(1, 20))}] if r.random() < .3 else None
    return base(g, cfg, ins, d, gangs, cons)


def m_big(g):
    r = g.r
    cfg = g.config(r.choice([5, 15, 39]), mx=200, mem=False, glob=400)
    ins = [g.head(cfg)]
    ts = r.sample(g.workers(cfg), 3)
    for _ in range(r.choice([60, 100, 198])):
        ins.append(g.running(cfg, r.choice(ts), used=r.choice([1, 1, .9, .5, 0]), node_res=False))
    return base(g, cfg, ins, g.demand(cfg, ["cpu", "gpu", "frac"], r.randint(1, 12), r.choice([100, 300, 500])))


def m_stopping(g):
    """nodes that are being drained, and what is counted for them"""
    r = g.r
    cfg = g.config(r.randint(1, 4), mx=r.choice([3, 8]), gpu=False, mn=r.random() < .5, glob=r.choice([None, 3, 8]))
    ins = [g.head(cfg)]
    for _ in range(r.randint(1, 8)):
        ins.append(g.pending(r.choice(g.workers(cfg)), r.choice(
            ["RAY_STOP_REQUESTED", "RAY_STOP_REQUESTED", "RAY_STOPPING", "TERMINATING", "RAY_STOPPED"])))
    for _ in range(r.randint(0, 3)):
        ins.append(g.running(cfg, r.choice(g.workers(cfg)), used=r.choice([0, 1])))
    return base(g, cfg, ins, g.demand(cfg, ["cpu"], r.randint(1, 2), r.randint(1, 60)))


def m_edge(g):
    """inputs on which Ray itself fails, or that its comments say cannot be"""
    r = g.r
    k = g.seed % 5
    cfg = g.config(r.randint(2, 4), mx=8, gpu=False, mem=False)
    ins = [g.head(cfg)]
    if k == 0:      # type taken out of the config, check disabled (the default), node still running
        ins.append(g.running(cfg, "gone-type", used=.5))
    elif k == 1:    # available > total for a moment
        t = r.choice(g.workers(cfg))
        ins.append(g.running(cfg, t, avail={"CPU": cfg["node_types"][t]["resources"]["CPU"] + 1}))
    elif k == 2:    # sum of min_workers over the global max
        for t in g.workers(cfg):
            cfg["node_types"][t]["min_workers"] = 3
        cfg["max_workers"] = r.choice([1, 2, 3, 4])
    elif k == 3:    # RAY_RUNNING with no ray node in GCS
        d = g.running(cfg, r.choice(g.workers(cfg)))
        d["ray_node"] = None
        ins.append(d)
    else:           # a bundle with a zero GPU in it
        gt = g.config(2, gpu=True, mem=True)
        for t in g.workers(gt):
            cfg["node_types"][t] = gt["node_types"][t]
            if t not in cfg["node_type_order"]:
                cfg["node_type_order"].append(t)
        return base(g, cfg, ins, [{"resources": {"CPU": 1.0, "GPU": 0.0}, "count": r.randint(1, 6)}])
    return base(g, cfg, ins, g.demand(cfg, ["cpu"], 2, r.randint(1, 30)))


SHARED = [(m_empty, 16), (m_min, 26), (m_max, 26), (m_gpu_avoid, 26), (m_doc, 8), (m_custom, 18), (m_hetero, 26),
          (m_memory, 22), (m_used, 30), (m_pending, 24), (m_idle, 36), (m_over, 22), (m_outdated, 18), (m_pg, 32),
          (m_labels, 24), (m_cons, 26), (m_avail, 22), (m_infeasible, 10), (m_frac, 22), (m_soup, 30), (m_big, 4),
          (m_stopping, 14), (m_edge, 10)]


def deck(mixes):
    """Mixes in a fixed order in which each has its share."""
    cards = [m for m, w in mixes for _ in range(w)]
    random.Random(12345).shuffle(cards)
    return cards


def make_case(profile, seed, mixes=SHARED):
    cards = deck(mixes)
    fn = cards[seed % len(cards)]
    g = Gen(random.Random(seed), profile, seed)
    c = fn(g)
    head = {"name": f"{profile}-{seed}-{fn.__name__[2:]}", "seed": seed, "mix": fn.__name__[2:]}
    head.update(c)
    return head


def main():
    import raycase
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--seed0", type=int, default=1)
    a.add_argument("--n", type=int, default=400)
    a.add_argument("--only", type=int)
    a.add_argument("--out", default="-")
    a = a.parse_args()
    if a.only is not None:
        c = make_case("shared", a.only)
        c["expected"], _ = raycase.run_case(c)
        print(json.dumps(c, indent=1))
        return
    with sys.stdout if a.out == "-" else open(a.out, "w") as f:
        for s in range(a.seed0, a.seed0 + a.n):
            c = make_case("shared", s)
            c["expected"], _ = raycase.run_case(c)
            f.write(json.dumps(c, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
