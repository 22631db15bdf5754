"""From a new task to the launch call: Ostler beside Ray's own autoscaler, in one run.

  python tools/ray/latency.py OSTLER-BINARY [--trials N]     (with the Python of a Ray environment)

Each trial submits one task that only one pool can take, and waits until that pool's provider is asked for a machine.
Two times are given: from the submission, and from the moment when the GCS shows the task (polled every 10 ms), since
the time before that is the same for every autoscaler. The machines never come up, so nothing else is measured.
Ray's own autoscaler (v2) runs with its default rounds of 5 s and with rounds of 1 s.
"""
import argparse
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

VENV = sys.prefix
RAY, PYTHON = (os.path.join(VENV, "bin", name) for name in ("ray", "python"))
HERE = os.path.dirname(os.path.abspath(__file__))

DRIVER = """\
import json, sys, time
import ray
from ray._raylet import GcsClient
from ray.core.generated import autoscaler_pb2
ray.init(logging_level="ERROR", log_to_driver=False)
gcs = GcsClient(address=sys.argv[1])

@ray.remote(num_cpus=0)
def task():
    pass

def shown(name):
    reply = autoscaler_pb2.GetClusterResourceStateReply.FromString(gcs.get_cluster_resource_state())
    return any(name in r.request.resources_bundle for r in reply.cluster_resource_state.pending_resource_requests)

for line in sys.stdin:
    name = line.strip()
    at = time.time()
    task.options(resources={name: 1}).remote()
    while not shown(name):
        time.sleep(0.01)
    print(json.dumps({"submitted": at, "shown": time.time()}), flush=True)
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Run:
    """One cluster with one autoscaler in front of it."""

    def __init__(self, name, directory, trials, ostler=None, interval_s=None):
        self.name, self.dir, self.trials, self.ostler, self.interval_s = name, directory, trials, ostler, interval_s
        self.file = os.path.join(directory, "asked")
        open(self.file, "w").close()
        self.address = f"127.0.0.1:{free_port()}"
        self.processes = []
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")} | {
            "RAY_enable_autoscaler_v2": "1", "RAY_USAGE_STATS_ENABLED": "0", "LATENCY_FILE": self.file,
            "LATENCY_MARK": directory, "HOME": directory, "PYTHONPATH": HERE, "RAY_CLOUD_INSTANCE_ID": "head",
            "RAY_NODE_TYPE_NAME": "head", "PATH": os.path.join(VENV, "bin") + os.pathsep + os.environ["PATH"],
        }
        if interval_s:
            self.env["AUTOSCALER_UPDATE_INTERVAL_S"] = str(interval_s)

    def start(self, name, command, **more):
        log = open(os.path.join(self.dir, name + ".log"), "wb")
        options = {"stdout": log, "stderr": subprocess.STDOUT, "start_new_session": True, "env": self.env} | more
        process = subprocess.Popen(command, **options)
        self.processes.append(process)
        return process

    def config(self):
        provider = {"type": "external", "module": "latency_provider.NotingProvider", "disable_node_updaters": True}
        if self.ostler:
            noting = ('echo "{\\"at\\": $(date +%s.%N), \\"pool\\": \\"$OSTLER_POOL\\"}" >> "$LATENCY_FILE"; '
                      "exec sleep 100000")
            provider = {"type": "ostler-local", "command": noting, "state_dir": os.path.join(self.dir, "machines")}
        types = {"head": {"resources": {"CPU": 0}, "node_config": {}, "min_workers": 0, "max_workers": 0}}
        for n in range(self.trials):
            types[f"p{n}"] = {"resources": {"CPU": 1, f"r{n}": 1}, "node_config": {}, "min_workers": 0, "max_workers": 1}
        config = {"cluster_name": "latency", "max_workers": self.trials, "idle_timeout_minutes": 60, "provider": provider,
                  "head_node_type": "head", "available_node_types": types, "upscaling_speed": 1.0}
        if not self.ostler:  # what `ray up` fills in
            lists = ["initialization_commands", "setup_commands", "head_setup_commands", "worker_setup_commands",
                     "head_start_ray_commands", "worker_start_ray_commands", "cluster_synced_files", "rsync_exclude",
                     "rsync_filter"]
            config |= {name: [] for name in lists} | {"file_mounts": {}, "auth": {}, "docker": {},
                                                      "file_mounts_sync_continuously": False, "no_restart": False}
        path = os.path.join(self.dir, "cluster.yaml")
        with open(path, "w") as f:
            json.dump(config, f)  # JSON is YAML
        return path

    def asked(self, pool):
        with open(self.file) as f:
            notes = [json.loads(line) for line in f if line.endswith("\n")]
        return next((note["at"] for note in notes if note["pool"] == pool), None)

    def times(self):
        host, port = self.address.split(":")
        head = [RAY, "start", "--head", "--block", "--disable-usage-stats", "--num-cpus=0", f"--port={port}",
                f"--node-ip-address={host}", f"--temp-dir={self.dir}/r", "--include-dashboard=false",
                f"--ray-client-server-port={free_port()}", "--object-store-memory=80000000"]
        config = self.config()
        self.start("head", head + (["--no-monitor"] if self.ostler else [f"--autoscaling-config={config}"]))
        self.wait("the head", lambda: "Ray runtime started" in open(os.path.join(self.dir, "head.log")).read())
        if self.ostler:
            self.start("ostler", [self.ostler, "run", "--ray", config, "--address", self.address, "--store",
                                  os.path.join(self.dir, "o.db"), "--listen", f"127.0.0.1:{free_port()}"])
        driver = self.start("driver", [PYTHON, "-c", DRIVER, self.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=open(os.path.join(self.dir, "driver.log"), "wb"), text=True,
                            env=self.env | {"RAY_ADDRESS": self.address})
        time.sleep(15)  # everything is up and has settled; not part of any figure
        found = []
        for n in range(self.trials):
            time.sleep(random.uniform(0.5, 2.5))  # not in step with anybody's rounds
            driver.stdin.write(f"r{n}\n")
            driver.stdin.flush()
            line = driver.stdout.readline()
            if not line:
                raise SystemExit(f"{self.name}: the driver ended:\n{self.tail('driver')}\n{self.tail('head')}")
            seen = json.loads(line)
            self.wait(f"the launch of p{n}", lambda n=n: self.asked(f"p{n}"))
            at = self.asked(f"p{n}")
            found.append((at - seen["submitted"], at - seen["shown"]))
        return found

    def tail(self, name):
        with open(os.path.join(self.dir, name + ".log"), errors="replace") as f:
            return f.read()[-2000:]

    def wait(self, what, look, patience_s=120):
        deadline = time.time() + patience_s
        while time.time() < deadline:
            if look():
                return
            time.sleep(0.02)
        raise SystemExit(f"{self.name}: waited {patience_s} s for {what}; logs: {self.dir}")

    def stop(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        time.sleep(2)
        mark = f"LATENCY_MARK={self.dir}".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if mark in f.read().split(b"\0"):
                        os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
        for process in self.processes:
            process.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ostler")
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--only", default="", help="only autoscalers whose name holds this text")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {arguments.trials} trials each, seconds")
    print(f"{'autoscaler':28} {'from the task':>24}    {'from the GCS showing it':>24}")
    print(f"{'':28} {'min':>8}{'median':>8}{'max':>8}    {'min':>8}{'median':>8}{'max':>8}")
    runs = [("Ostler (polls at 1 s)", os.path.abspath(arguments.ostler), None), ("Ray, rounds of 1 s", None, 1),
            ("Ray, rounds of 5 s (default)", None, None)]
    for name, ostler, interval_s in [run for run in runs if arguments.only in run[0]]:
        with tempfile.TemporaryDirectory(prefix="ol", dir="/tmp", ignore_cleanup_errors=True) as directory:
            run = Run(name, directory, arguments.trials, ostler, interval_s)
            try:
                times = run.times()
            finally:
                run.stop()
        cells = [f"{min(c):8.2f}{statistics.median(c):8.2f}{max(c):8.2f}" for c in zip(*times)]
        print(f"{name:28} {cells[0]}    {cells[1]}", flush=True)


if __name__ == "__main__":
    main()
