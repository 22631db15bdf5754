"""A real Ray cluster that Ostler scales, shown on the terminal.

  python tools/demo/ray.py OSTLER-BINARY      (with the Python of a Ray environment, see tools/ray-env)

Starts a head without CPUs, Ostler in place of Ray's autoscaler, and a driver with tasks, an actor and a placement
group. The cluster grows from nothing, does the work, and shrinks to nothing again. Exit code 0 if all of that was
seen. Everything runs on loopback, in a directory of its own, and is ended again by process id.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request

PATIENCE_S = 240  # a loaded machine of two cores starts a Ray node in ten seconds or more
VENV = os.path.dirname(os.path.dirname(os.path.abspath(sys.executable)))
if not os.path.exists(os.path.join(VENV, "bin", "ray")):
    VENV = sys.prefix
RAY, PYTHON = (os.path.join(VENV, "bin", name) for name in ("ray", "python"))

CLUSTER = """\
cluster_name: demo
max_workers: 6
idle_timeout_minutes: 0.1
provider:
  type: ostler-local
  command: >-
    exec {ray} start --block --disable-usage-stats --address="$RAY_ADDRESS" --object-store-memory=80000000
    --node-ip-address=127.0.0.1 --temp-dir={dir}/$OSTLER_INSTANCE_ID
    --num-cpus="$OSTLER_NUM_CPUS" --num-gpus="$OSTLER_NUM_GPUS" --resources="$OSTLER_RESOURCES"
    ${{OSTLER_LABELS:+--labels="$OSTLER_LABELS"}}
  state_dir: {dir}/machines
head_node_type: head
available_node_types:
  head:
    resources: {{CPU: 0}}
    max_workers: 0
    node_config: {{}}
  small:
    resources: {{CPU: 2}}
    max_workers: 4
    node_config: {{}}
  gpu:
    resources: {{CPU: 2, GPU: 1}}
    labels: {{tier: fast}}
    max_workers: 1
    node_config: {{}}
"""

DRIVER = """\
import ray, time
from ray.util.placement_group import placement_group, remove_placement_group
ray.init(logging_level="ERROR")

@ray.remote(num_cpus=1)
def work(n):
    time.sleep(4)
    return n

@ray.remote(num_gpus=1, num_cpus=0)
class Model:
    def answer(self):
        return 42

tasks = [work.remote(n) for n in range(6)]
model = Model.remote()
group = placement_group([{"CPU": 2}] * 2, strategy="STRICT_SPREAD")
print("driver: asked for 6 tasks of 1 CPU, an actor with a GPU, and 2 x 2 CPU on nodes of their own", flush=True)
print("driver: tasks gave", sum(ray.get(tasks)), flush=True)
print("driver: the actor says", ray.get(model.answer.remote()), flush=True)
ray.get(group.ready())
print("driver: the placement group is ready", flush=True)
remove_placement_group(group)
print("driver: done", flush=True)
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def say(text):
    print(f"demo {time.time() - BEGUN:5.1f} s  {text}", flush=True)


class Demo:
    def __init__(self, ostler, directory):
        self.ostler, self.dir = ostler, directory
        self.processes = []
        self.address = f"127.0.0.1:{free_port()}"
        self.api = f"127.0.0.1:{free_port()}"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
        self.env |= {
            "RAY_enable_autoscaler_v2": "1", "RAY_ADDRESS": self.address, "RAY_USAGE_STATS_ENABLED": "0",
            "HOME": directory, "DEMO_MARK": directory, "PATH": os.path.join(VENV, "bin") + os.pathsep + os.environ["PATH"],
        }

    def start(self, name, command, out=None):
        log = out or open(os.path.join(self.dir, name + ".log"), "wb")
        process = subprocess.Popen(command, env=self.env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        self.processes.append((name, process))
        return process

    def log(self, name):
        with open(os.path.join(self.dir, name + ".log"), "rb") as f:
            return f.read().decode(errors="replace")

    def wait(self, what, look):
        deadline = time.time() + PATIENCE_S
        while time.time() < deadline:
            for name, process in self.processes:
                if process.poll() not in (None, 0):
                    raise SystemExit(f"demo: {name} ended with {process.returncode}:\n{self.log(name)[-3000:]}")
            if look():
                return
            time.sleep(0.2)
        raise SystemExit(f"demo: waited {PATIENCE_S} s for {what}")

    def status(self):
        try:
            with urllib.request.urlopen(f"http://{self.api}/api/v1/status", timeout=5) as answer:
                return json.load(answer)["workloads"][0]
        except (OSError, LookupError):
            return None

    def run(self):
        host, port = self.address.split(":")
        say(f"starting a Ray head at {self.address} (no CPUs, Ray's own autoscaler off)")
        self.start("head", [RAY, "start", "--head", "--block", "--no-monitor", "--disable-usage-stats", "--num-cpus=0",
                            f"--node-ip-address={host}", f"--port={port}", f"--temp-dir={self.dir}/r", "--include-dashboard=false",
                            f"--ray-client-server-port={free_port()}", "--object-store-memory=80000000"])
        self.wait("the head", lambda: "Ray runtime started" in self.log("head"))
        config = os.path.join(self.dir, "cluster.yaml")
        with open(config, "w") as f:
            f.write(CLUSTER.format(ray=RAY, dir=self.dir))
        say(f"starting Ostler: ostler run --ray cluster.yaml     (its page: http://{self.api}/)")
        self.start("ostler", [self.ostler, "run", "--ray", config, "--address", self.address, "--store",
                              os.path.join(self.dir, "ostler.db"), "--listen", self.api])
        self.wait("Ostler", lambda: self.status() and self.status().get("report"))
        say("starting a driver")
        self.start("driver", [PYTHON, "-c", DRIVER])
        seen, most = None, 0

        def look(finished):
            nonlocal seen, most
            workload = self.status()
            if workload is None or not workload.get("report"):
                return False
            records = workload["report"]["instances"]
            states = {}
            for record in records:
                key = f"{record['pool']} {record['state']}"
                states[key] = states.get(key, 0) + 1
            waiting = sum(t["count"] for t in workload["demand"]["tasks"]) + len(workload["demand"]["gangs"])
            line = (waiting, tuple(sorted(states.items())))
            running = sum(r["state"] == "running" for r in records)
            most = max(most, running)
            if line != seen:
                seen = line
                what = ", ".join(f"{n} {state}" for state, n in line[1]) or "no machines"
                say(f"waiting {waiting:2}   {what}")
            return finished(records)

        self.wait("the driver to end", lambda: look(lambda _: self.processes[-1][1].poll() == 0))
        said = [line for line in self.log("driver").splitlines() if "driver:" in line or "(autoscaler" in line]
        print(textwrap.indent("\n".join(said), "      | "), flush=True)
        say(f"the work is done on {most} machines; now they are idle and go")
        self.wait("the machines to go", lambda: look(lambda records: not records))
        say("why, in Ostler's own words (ostler journal):")
        journal = subprocess.run([self.ostler, "journal", "--store", os.path.join(self.dir, "ostler.db"), "--limit", "6"],
                                 env=self.env, capture_output=True, text=True)
        print(textwrap.indent(journal.stdout.rstrip(), "      | "), flush=True)
        say(f"done: 0 -> {most} -> 0 machines, nothing left over")
        if most < 3:
            raise SystemExit("demo: the cluster did not grow as it should")

    def stop(self):
        """Ends what was started, youngest first; workers carry our mark in their environment."""
        for _, process in reversed(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        deadline = time.time() + 10
        while time.time() < deadline and self.left():
            time.sleep(0.2)
        for pid in self.left():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for _, process in self.processes:
            process.wait()

    def left(self):
        mark, found = f"DEMO_MARK={self.dir}".encode(), []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if mark in f.read().split(b"\0") and int(pid) != os.getpid():
                        found.append(int(pid))
            except OSError:
                pass
        return [pid for pid in found if not zombie(pid)]


def zombie(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


if __name__ == "__main__":
    BEGUN = time.time()
    with tempfile.TemporaryDirectory(prefix="od", dir="/tmp", ignore_cleanup_errors=True) as directory:
        demo = Demo(os.path.abspath(sys.argv[1]), directory)
        try:
            demo.run()
        finally:
            demo.stop()
