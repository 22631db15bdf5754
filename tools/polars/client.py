"""A client made from the protocol's own files by another language's tools, against a running scaling service.

    tools/polars/client.py [REST] [GRPC]        default: 127.0.0.1:4001 127.0.0.1:4002

It expects a service of at most 8 and at least 0 workers that become ready within seconds, such as
`ostler run -f examples/polars.yaml`, and leaves it with 0 workers. Ends with 0 if everything is as specified.
"""
import importlib
import json
import pathlib
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_tools import protoc

PROTOCOL = pathlib.Path(__file__).parents[2] / "crates/workload-polars/proto"
PATIENCE_S = 30


def generated():
    """The client's modules, made anew."""
    out = tempfile.mkdtemp()
    files = [str(path) for path in PROTOCOL.rglob("*.proto")]
    assert protoc.main(["protoc", f"-I{PROTOCOL}", f"--python_out={out}", f"--grpc_python_out={out}", *files]) == 0
    sys.path.insert(0, out)
    package = "compute_scaling.client.v1."
    return [importlib.import_module(package + name) for name in ("scale_to_pb2", "scale_config_pb2", "service_pb2_grpc")]


scale_to_pb2, scale_config_pb2, service_pb2_grpc = generated()


class Watch(threading.Thread):
    """Reads the stream and keeps every message."""

    def __init__(self, stub):
        super().__init__(daemon=True)
        self.seen, self.news = [], threading.Condition()
        self.stream = stub.ScaleConfig(scale_config_pb2.ScaleConfigRequest())
        self.start()

    def run(self):
        try:
            for m in self.stream:
                with self.news:
                    self.seen.append((m.desired, m.available, m.min, m.max))
                    self.news.notify_all()
        except grpc.RpcError:
            pass

    def until(self, what, wanted):
        with self.news:
            if not self.news.wait_for(lambda: self.seen and wanted(*self.seen[-1]), PATIENCE_S):
                raise SystemExit(f"{what}: the last message was {self.seen[-1:]}")
        print(f"ok: {what}: {self.seen[-1]}")


def names(*values):
    return scale_to_pb2.ScaleToRequest.ValueList(values=values)


def rest(address, method, path, body=None, kind="application/json"):
    request = urllib.request.Request(f"http://{address}{path}", method=method, data=body)
    if body is not None and kind:
        request.add_header("content-type", kind)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def workers(api):
    with urllib.request.urlopen(f"http://{api}/api/v1/status", timeout=5) as answer:
        status = json.load(answer)
    return sorted(i["instance"] for i in status["workloads"][0]["report"]["instances"] if i["state"] == "running")


def main(rest_address="127.0.0.1:4001", grpc_address="127.0.0.1:4002", api="127.0.0.1:8270"):
    channel = grpc.insecure_channel(grpc_address)
    stub = service_pb2_grpc.ScalingServiceStub(channel)

    services = ProtoReflectionDescriptorDatabase(channel).get_services()
    assert "compute_scaling.client.v1.ScalingService" in services, services
    health = health_pb2_grpc.HealthStub(channel)
    for name in ("", "compute_scaling.client.v1.ScalingService"):
        assert health.Check(health_pb2.HealthCheckRequest(service=name)).status == 1, name
    print("ok: reflection and health")

    to = lambda amount, **lists: stub.ScaleTo(scale_to_pb2.ScaleToRequest(amount=amount, **lists), timeout=5)
    watch = Watch(stub)
    watch.until("the first message comes at once", lambda *_: True)
    to(0)
    watch.until("down to nothing", lambda d, a, lo, hi: (d, a) == (0, 0))
    to(3)
    watch.until("the target shows at once", lambda d, *_: d == 3)
    watch.until("workers follow", lambda d, a, *_: (d, a) == (3, 3))
    status, body = rest(rest_address, "GET", "/scale_config")
    assert (status, json.loads(body)) == (200, {"desired": 3, "available": 3, "min": 0, "max": 8}), (status, body)
    print("ok: REST shows the same")

    first = workers(api)
    to(3, workers_to_delete=names(first[0]), workers_to_keep=names(*first[1:]))
    watch.until("one goes", lambda d, a, *_: (d, a) == (3, 2))
    watch.until("and is replaced", lambda d, a, *_: (d, a) == (3, 3))
    second = workers(api)
    assert first[0] not in second and set(first[1:]) < set(second), (first, second)
    to(0, workers_to_keep=names(second[1], "nobody"))
    watch.until("a kept worker stays", lambda d, a, *_: (d, a) == (1, 1))
    assert workers(api) == [second[1]], workers(api)
    to(100)
    watch.until("no more than the maximum", lambda d, a, *_: (d, a) == (8, 8))
    assert not set(first) & (set(workers(api)) - {second[1]}) , "a name was used twice"
    to(0)
    watch.until("down to nothing again", lambda d, a, *_: (d, a) == (0, 0))
    print("ok: everything is as specified,", len(watch.seen), "messages")


if __name__ == "__main__":
    main(*sys.argv[1:])
