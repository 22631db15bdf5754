"""Two queries on a Polars cluster that scales, on the terminal: 0 → 8 → 3 → 0 workers, in about a minute.

    tools/polars/demo.py OSTLER

The scheduler is a double that asks as the specification of the scaling service says, but waits for 5 s of idleness
in place of 60. Service, workers and registrations are real: processes and sockets of this host.
"""
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
IDLE_S = 5
PATIENCE_S = 60

CONFIG = """
workloads:
  analytics:
    kind: polars
    rest: {{listen: '127.0.0.1:{port}'}}
    ready: {{probe: command, command: 'test -s {dir}/ready/$OSTLER_INSTANCE_ID', interval: 200ms}}
    pools:
      worker: {{provider: here, max: 8}}
providers:
  here:
    type: local
    stop_grace: 3s
    command: [{python}, {here}/worker.py]
    environment: {{OSTLER_DOUBLE: '127.0.0.1:{double}', OSTLER_READY_DIR: '{dir}/ready'}}
store: {{path: '{dir}/demo.db'}}
api: {{listen: '127.0.0.1:0'}}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Scheduler:
    """Workers register with it; queries hold some of them; it asks for what all of them want together."""

    def __init__(self, port):
        self.uri = f"http://127.0.0.1:{port}"
        self.lock = threading.Lock()
        self.workers, self.queries, self.size, self.surplus_since = {}, {}, None, None
        self.server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.server.accept()
            threading.Thread(target=self.registered, args=(connection,), daemon=True).start()

    def registered(self, connection):
        name, _port = connection.makefile().readline().split()
        with self.lock:
            self.workers[name] = None
        connection.recv(1)  # ends with the worker
        with self.lock:
            query = self.workers.pop(name, None)
        if query:
            raise SystemExit(f"{query} lost its worker {name}")

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.uri + path, data, {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=5) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def config(self):
        return self.call("GET", "/scale_config")

    def submit(self, name, wants):
        self.queries[name] = wants
        say(f"{name} wants {wants} workers")

    def finish(self, name):
        with self.lock:
            del self.queries[name]
            for worker, query in self.workers.items():
                if query == name:
                    self.workers[worker] = None
        say(f"{name} is done")

    def step(self):
        """Puts queries on free workers, and asks for another size if another is wanted."""
        limits = self.config()
        with self.lock:
            self.size = limits["desired"] if self.size is None else self.size
            for name, wants in self.queries.items():
                free = [worker for worker, query in self.workers.items() if query is None]
                if name not in self.workers.values() and len(free) >= wants:
                    self.workers.update(dict.fromkeys(free[:wants], name))
                    say(f"{name} runs on {wants} workers")
            keep = [worker for worker, query in self.workers.items() if query]
            wanted = max(min(max(sum(self.queries.values()), limits["min"]), limits["max"]), len(keep))
            self.surplus_since = (self.surplus_since or time.monotonic()) if wanted < self.size else None
            wait = self.surplus_since and time.monotonic() - self.surplus_since < IDLE_S
        if wanted != self.size and not wait:
            self.call("POST", "/scale_to", {"amount": wanted, "workers_to_keep": keep})
            say(f"the scheduler asks for {wanted} workers, {len(keep)} to keep")
            self.size = wanted
        return limits["available"]

    def until(self, what, wanted):
        begun, last = time.monotonic(), None
        while True:
            available = self.step()
            if available != last:
                print(f"    {'█' * available}{'·' * (8 - available)} {available} workers", flush=True)
                last = available
            if wanted(available):
                return
            if time.monotonic() - begun > PATIENCE_S:
                raise SystemExit(f"{what}: not after {PATIENCE_S} s")
            time.sleep(0.2)


BEGUN = time.monotonic()


def say(text):
    print(f"{time.monotonic() - BEGUN:5.1f} s  {text}", flush=True)


def main(ostler):
    with tempfile.TemporaryDirectory() as directory:
        port = free_port()
        scheduler = Scheduler(port)
        double = scheduler.server.getsockname()[1]
        config = pathlib.Path(directory, "polars.yaml")
        config.write_text(CONFIG.format(port=port, double=double, dir=directory, here=HERE, python=sys.executable))
        log = open(pathlib.Path(directory, "log"), "w")
        child = subprocess.Popen([ostler, "run", "-f", config], stderr=log)
        try:
            wait_for(scheduler)
            story(scheduler)
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait()
            if sys.exc_info()[0]:
                print(pathlib.Path(directory, "log").read_text())


def wait_for(scheduler):
    for _ in range(100):
        try:
            return scheduler.config()
        except OSError:
            time.sleep(0.1)
    raise SystemExit("Ostler does not answer")


def story(scheduler):
    say("nothing runs, nothing costs")
    scheduler.until("nothing", lambda n: n == 0)
    scheduler.submit("query A", 5)
    scheduler.submit("query B", 3)
    scheduler.until("eight workers", lambda n: n == 8 and len([q for q in scheduler.workers.values() if q]) == 8)
    time.sleep(3)
    scheduler.finish("query A")
    scheduler.until("three workers", lambda n: n == 3)
    say("query B has kept its three workers")
    time.sleep(2)
    scheduler.finish("query B")
    scheduler.until("none", lambda n: n == 0)
    say("0 → 8 → 3 → 0: no query has lost a worker")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "ostler")
