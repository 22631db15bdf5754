"""Random but realistic inputs for Ray's scheduler, each with the decision that Ray makes on it.

  python cases.py --seed0 1 --n 400 --out cases.jsonl

A case depends on its seed only, so it can be made again alone: --only SEED."""
import argparse
import json
import random
import sys

from gen import Gen


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
