"""Cases with state over several decisions: the timeout of nodes on their way that nothing needs.

Ray's scheduler remembers since when such nodes have not been needed. One scheduler for each case; the monotonic clock
is set from `now_s` of the step.

  python sequences.py --n 40 --out sequences.jsonl"""
import argparse
import json
import random

from ray.autoscaler.v2.scheduler import ResourceDemandScheduler

import raycase
from gen import Gen
from raycase import rs


def decide(scheduler, config, step):
    """Ray's answer to one step, on a clock that shows its `now_s`."""
    req = raycase.to_sched_request({"config": config, **step})
    real = rs.time.monotonic
    rs.time.monotonic = lambda: step["now_s"]
    try:
        return raycase.reply_to_expected(scheduler.schedule(req), req)
    finally:
        rs.time.monotonic = real


def replay(case):
    """Ray's answers to all steps."""
    scheduler = ResourceDemandScheduler()
    return [decide(scheduler, case["config"], step) for step in case["steps"]]


def move_on(g, ins, expected):
    """The cluster after a decision: what ended is gone, what was launched is queued, some are a state further."""
    gone = {t["instance_id"] for t in expected["to_terminate"]}
    ins = [i for i in ins if i["instance_id"] not in gone]
    for t in expected["to_launch_order"]:
        for _ in range(expected["to_launch"][t]):
            ins.append(g.pending(t, "QUEUED"))
    nxt = {"QUEUED": "REQUESTED", "REQUESTED": "ALLOCATED", "ALLOCATED": "RAY_INSTALLING"}
    for i in ins:
        if i["status"] in nxt and g.r.random() < .3:
            i["status"] = nxt[i["status"]]
            if i["status"] == "ALLOCATED":
                i["cloud_instance_id"] = "c-" + i["instance_id"][2:]
    return ins


def one(seed, varied=False):
    """`varied`: every other seed has more types, launch hashes, nodes that come up, gangs and constraints too."""
    r = random.Random(seed)
    g = Gen(r, "shared", seed)
    varied = varied and seed % 2
    if varied:
        cfg = g.config(r.randint(1, 6), mx=r.choice([3, 20]), mn=r.random() < .5, idle=r.choice([None, 20.0, 60.0]),
                       glob=r.choice([None, 5, 40]), hashes=r.random() < .3, check=r.random() < .3)
    else:
        cfg = g.config(r.randint(1, 3), mx=20, gpu=False, mem=False, mn=r.random() < .4, idle=60.0)
    cfg["pending_idle_timeout_s"] = r.choice([0.0, 10.0, 30.0, 30.0])
    ins = [g.head(cfg)]
    ins[0]["ray_node"]["idle_duration_ms"] = 0
    scheduler = ResourceDemandScheduler()
    now = 1000.0
    steps = []
    demand = g.demand(cfg, ["cpu"], r.randint(1, 2), r.randint(5, 40))
    for _ in range(r.randint(4, 7)):
        step = {"now_s": now, "instances": json.loads(json.dumps(ins)), "pending_resource_requests": demand}
        if varied and r.random() < .4:
            step["gang_requests"] = [g.gang(cfg, r.choice(["STRICT_SPREAD", "STRICT_PACK", "PACK"]), ["cpu", "gpu"])]
        if varied and r.random() < .3:
            step["cluster_constraints"] = [{"resource_requests": g.demand(cfg, ["cpu"], 1, r.randint(1, 12))}]
        step["expected"] = decide(scheduler, cfg, step)
        steps.append(step)
        ins = move_on(g, ins, step["expected"])
        if varied:
            ins = [g.running(cfg, i["node_type"], used=r.choice([0, 1]), idle_s=r.choice([None, 10, 25, 70]))
                   if i["status"] == "RAY_INSTALLING" and r.random() < .5 else i for i in ins]
        now += r.choice([1.0, 5.0, 11.0, 25.0, 31.0])
        x = r.random()
        if x < .5:
            demand = [dict(d, count=max(0, d["count"] - r.randint(0, d["count"]))) for d in demand]
            demand = [d for d in demand if d["count"]]
        elif x < .7:
            demand = g.demand(cfg, ["cpu"], 1, r.randint(1, 20))
    return {"name": f"seq-{seed}", "seed": seed, "config": cfg, "steps": steps}


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--seed0", type=int, default=500001)
    a.add_argument("--n", type=int, default=40)
    a.add_argument("--out", default="sequences.jsonl")
    a = a.parse_args()
    with open(a.out, "w") as f:
        for s in range(a.seed0, a.seed0 + a.n):
            f.write(json.dumps(one(s), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
