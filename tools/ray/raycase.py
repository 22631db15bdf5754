"""Turns a JSON case into a request to Ray's own scheduler, runs it, and turns the reply into the `expected` part."""
import json
import logging
import time
from collections import Counter

from ray.autoscaler.v2 import scheduler as rs
from ray.autoscaler.v2.instance_manager.config import NodeTypeConfig
from ray.autoscaler.v2.scheduler import ResourceDemandScheduler, SchedulingRequest
from ray.autoscaler.v2.schema import AutoscalerInstance
from ray.core.generated import autoscaler_pb2 as ap
from ray.core.generated import common_pb2 as cp
from ray.core.generated.instance_manager_pb2 import Instance, NodeKind, TerminationRequest

logging.getLogger("ray.autoscaler.v2.scheduler").setLevel(logging.CRITICAL)
rs.logger.setLevel(logging.CRITICAL)

IN = cp.LabelSelectorOperator.LABEL_OPERATOR_IN
NOT_IN = cp.LabelSelectorOperator.LABEL_OPERATOR_NOT_IN


def to_request(d):
    r = ap.ResourceRequest()
    for k, v in d["resources"].items():
        r.resources_bundle[k] = float(v)
    for c in d.get("placement_constraints", []):
        pc = r.placement_constraints.add()
        tgt = pc.anti_affinity if c["type"] == "anti_affinity" else pc.affinity
        tgt.label_name = c["label"]
        tgt.label_value = c["value"]
        # an AffinityConstraint whose two fields are "" still has to be present
        tgt.SetInParent()
    for sel in d.get("label_selectors", []):
        s = r.label_selectors.add()
        for c in sel:
            x = s.label_constraints.add()
            x.label_key = c["key"]
            x.operator = {"in": IN, "not_in": NOT_IN}[c["op"]]
            x.label_values.extend(c["values"])
    return r


def from_request(r):
    d = {"resources": {k: r.resources_bundle[k] for k in sorted(r.resources_bundle)}}
    pcs = []
    for c in r.placement_constraints:
        if c.HasField("anti_affinity"):
            pcs.append({"type": "anti_affinity", "label": c.anti_affinity.label_name,
                        "value": c.anti_affinity.label_value})
        elif c.HasField("affinity"):
            pcs.append({"type": "affinity", "label": c.affinity.label_name,
                        "value": c.affinity.label_value})
    if pcs:
        d["placement_constraints"] = pcs
    sels = [[{"key": c.label_key, "op": "in" if c.operator == IN else "not_in",
              "values": list(c.label_values)} for c in s.label_constraints]
            for s in r.label_selectors]
    if sels:
        d["label_selectors"] = sels
    return d


def to_gang(g):
    m = ap.GangResourceRequest(details=g.get("details", ""))
    reqs = [to_request(r) for r in g["requests"] for _ in range(r.get("count", 1))]
    if g.get("encoding", "both") in ("requests", "both"):
        m.requests.extend(reqs)
    if g.get("encoding", "both") in ("bundle_selectors", "both"):
        m.bundle_selectors.add().resource_requests.extend(reqs)
        for fb in g.get("fallbacks", []):
            m.bundle_selectors.add().resource_requests.extend(
                [to_request(r) for r in fb for _ in range(r.get("count", 1))])
    return m


def node_type_configs(cfg):
    out = {}
    order = cfg.get("node_type_order") or list(cfg["node_types"])
    for name in order:
        t = cfg["node_types"][name]
        out[name] = NodeTypeConfig(
            name=name,
            min_worker_nodes=t.get("min_workers", 0),
            # same as AutoscalingConfig.get_node_type_configs(): +1 for the head type
            max_worker_nodes=t.get("max_workers", 0) + (1 if name == cfg["head_node_type"] else 0),
            idle_timeout_s=t.get("idle_timeout_s"),
            priority=t.get("priority", 0),
            resources={k: float(v) for k, v in t["resources"].items()},
            labels=dict(t.get("labels", {})),
            launch_config_hash=t.get("launch_config_hash", ""),
        )
    return out


def to_instance(i):
    im = Instance(
        instance_id=i["instance_id"],
        instance_type=i["node_type"],
        status=Instance.InstanceStatus.Value(i["status"]),
        cloud_instance_id=i.get("cloud_instance_id", ""),
        node_kind=NodeKind.Value(i.get("node_kind", "WORKER")),
        launch_config_hash=i.get("launch_config_hash", ""),
        node_id=i.get("ray_node_id", ""),
    )
    rn = i.get("ray_node")
    node = None
    if rn is not None:
        node = ap.NodeState(
            node_id=bytes.fromhex(rn["node_id"]),
            instance_id=i.get("cloud_instance_id", ""),
            ray_node_type_name=rn.get("ray_node_type_name", i["node_type"]),
            status=ap.NodeStatus.Value(rn["status"]),
            idle_duration_ms=rn.get("idle_duration_ms", 0),
        )
        for k, v in rn["total_resources"].items():
            node.total_resources[k] = float(v)
        for k, v in rn["available_resources"].items():
            node.available_resources[k] = float(v)
        for k, v in rn.get("labels", {}).items():
            node.labels[k] = v
        for k, v in rn.get("dynamic_labels", {}).items():
            node.dynamic_labels[k] = v
    return AutoscalerInstance(
        im_instance=im, ray_node=node,
        cloud_instance_id=i.get("cloud_instance_id") or None)


def to_sched_request(case):
    cfg = case["config"]
    mw = cfg.get("max_workers")
    return SchedulingRequest(
        disable_launch_config_check=cfg.get("disable_launch_config_check", True),
        node_type_configs=node_type_configs(cfg),
        max_num_nodes=None if mw is None else mw + 1,  # as get_max_num_nodes()
        idle_timeout_s=cfg.get("idle_timeout_s"),
        pending_idle_timeout_s=cfg.get("pending_idle_timeout_s"),
        resource_requests=[
            ap.ResourceRequestByCount(request=to_request(r), count=r.get("count", 1))
            for r in case.get("pending_resource_requests", [])],
        gang_resource_requests=[to_gang(g) for g in case.get("gang_requests", [])],
        cluster_resource_constraints=[
            ap.ClusterResourceConstraint(resource_requests=[
                ap.ResourceRequestByCount(request=to_request(r), count=r.get("count", 1))
                for r in c["resource_requests"]])
            for c in case.get("cluster_constraints", [])],
        current_instances=[to_instance(i) for i in case.get("instances", [])],
        cloud_resource_availabilities=dict(case.get("cloud_resource_availabilities", {})),
        recoverable_resource_availabilities=dict(
            case.get("recoverable_resource_availabilities", {})),
    )


def group(reqs):
    c = Counter()
    for r in reqs:
        c[json.dumps(from_request(r), sort_keys=True)] += 1
    out = []
    for k in sorted(c):
        d = json.loads(k)
        d["count"] = c[k]
        out.append(d)
    return out


def reply_to_expected(reply, req):
    gangs = [g.SerializeToString(deterministic=True) for g in req.gang_resource_requests]
    used = set()
    idxs = []
    for g in reply.infeasible_gang_resource_requests:
        s = g.SerializeToString(deterministic=True)
        for n, x in enumerate(gangs):
            if x == s and n not in used:
                used.add(n)
                idxs.append(n)
                break
    terms = []
    for t in reply.to_terminate:
        d = {
            "instance_id": t.instance_id,
            "node_type": t.instance_type,
            "cause": TerminationRequest.Cause.Name(t.cause),
            "ray_node_id": t.ray_node_id,
            "instance_status": Instance.InstanceStatus.Name(t.instance_status),
        }
        if t.idle_duration_ms:
            d["idle_duration_ms"] = t.idle_duration_ms
        if t.max_num_nodes:
            d["max_num_nodes"] = t.max_num_nodes
        if t.max_num_nodes_per_type:
            d["max_num_nodes_per_type"] = t.max_num_nodes_per_type
        terms.append(d)
    terms.sort(key=lambda d: (d["instance_id"], d["cause"]))
    return {
        "to_launch": {k: v for k, v in sorted(
            Counter({l.instance_type: l.count for l in reply.to_launch}).items())},
        "to_launch_order": [l.instance_type for l in reply.to_launch],
        "to_terminate": terms,
        "infeasible_resource_requests": group(reply.infeasible_resource_requests),
        "infeasible_gang": sorted(idxs),
        "infeasible_constraints": len(reply.infeasible_cluster_resource_constraints),
        "cluster_resources": {k: v for k, v in sorted(reply.cluster_resources.items())},
    }


def run_case(case):
    """Returns (expected, seconds)."""
    req = to_sched_request(case)
    s = ResourceDemandScheduler()
    t0 = time.perf_counter()
    try:
        reply = s.schedule(req)
    except Exception as e:  # Ray crashed: that is a fact worth recording
        return {"error": {"type": type(e).__name__, "message": str(e)[:300]}}, time.perf_counter() - t0
    dt = time.perf_counter() - t0
    return reply_to_expected(reply, req), dt
