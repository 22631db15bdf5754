"""Inputs that are less realistic than those of cases.py and reach more corners: small numbers and many ties, all
features of the format at once, odd statuses, bad records.

One generator, with knobs that each case draws anew: so any two features meet in some case."""
import json
import random

import bench
from gen import IMPLICIT, GiB

STATUSES = ["QUEUED", "REQUESTED", "ALLOCATED", "RAY_INSTALLING", "RAY_RUNNING", "RAY_STOP_REQUESTED", "RAY_STOPPING",
            "RAY_STOPPED", "TERMINATING", "TERMINATED", "ALLOCATION_FAILED", "RAY_INSTALL_FAILED",
            "TERMINATION_FAILED", "ALLOCATION_TIMEOUT", "UNKNOWN"]
AMOUNTS = {
    "CPU": [0, 1, 2, 3, 4, 8], "GPU": [0, 1, 1, 2, 4], "memory": [GiB, 2 * GiB, 3 * GiB, 8 * GiB], "ssd": [1, 1, 2],
    "TPU": [1, 4], "object_store_memory": [GiB, 4 * GiB], "accelerator_type:T4": [1], IMPLICIT + "a": [1],
}
FRACTIONS = [0.1, 0.25, 0.5, 0.3333, 0.001, 1.5, 0.7]
KEYS, VALUES = ["zone", "team", "market"], ["x", "y", "z"]


class Chaos:
    def __init__(self, rng):
        r = self.r = rng
        self.names = [n for n in AMOUNTS if n == "CPU" or r.random() < .4]
        self.fractions = r.random() < .25
        self.labels = r.random() < .5
        self.odd_status = r.random() < .3
        self.groups = [f"_PG_{k}" for k in "abc"]
        self.group_values = r.random() < .1
        self.over = r.random() < .08
        self.n = 0

    def amounts(self, p=.6, least=0):
        r = self.r
        res = {n: float(r.choice(AMOUNTS[n])) for n in self.names if r.random() < p or (n == "CPU" and r.random() < .7)}
        while len(res) < least:
            n = r.choice(self.names)
            res[n] = float(r.choice(AMOUNTS[n]))
        return res

    def some_labels(self):
        r = self.r
        return {k: r.choice(VALUES) for k in KEYS if r.random() < .6} if self.labels else {}

    def group_labels(self, p):
        r = self.r
        return {g: (r.choice(["", "1"]) if self.group_values else "") for g in self.groups if r.random() < p}

    def config(self):
        r = self.r
        many = r.random() < .1
        n = r.randint(20, 50) if many else r.randint(1, 6)
        types, head_max = {}, r.choice([0, 0, 0, 1, 3])
        types["head"] = {"resources": r.choice([{"CPU": 0.0}, {"CPU": 4.0}, self.amounts()]), "labels": self.some_labels(),
                         "min_workers": 0, "max_workers": head_max}
        twins, prio, mins, hashes = r.random() < .4, r.random() < .3, r.random() < .4, r.random() < .4
        for k in range(n):
            mx = r.choice([0, 1, 2, 3, 5, 10, 50])
            t = {"resources": self.amounts(least=1), "labels": self.some_labels(), "max_workers": mx,
                 "min_workers": min(mx, r.choice([0, 0, 1, 2, 3])) if mins else 0}
            if twins and k and r.random() < .5:
                t["resources"] = dict(types[f"t{k - 1}" if k > 1 else "t0"]["resources"])
            if self.group_values and r.random() < .3:
                t["labels"] = {**t["labels"], **self.group_labels(.3)}
            if prio and r.random() < .7:
                t["priority"] = r.choice([-1, 0, 1, 1, 5])
            if r.random() < .3:
                t["idle_timeout_s"] = r.choice([0.0, 10.0, 60.0])
            if hashes and r.random() < .8:
                t["launch_config_hash"] = r.choice(["h1", "h2"])
            types[f"t{k}"] = t
        order = list(types)
        r.shuffle(order)
        return {"node_types": types, "node_type_order": order, "head_node_type": "head",
                "max_workers": r.choice([None, None, 0, 1, 2, 3, 5, 8, 20, 100]), "idle_timeout_s": r.choice([None, 0.0, 30.0, 60.0]),
                "disable_launch_config_check": r.random() < .6}

    def node(self, cfg, t):
        r = self.r
        tot = dict(cfg["node_types"][t]["resources"]) if t in cfg["node_types"] else {"CPU": 4.0}
        if r.random() < .3:
            tot.update(self.amounts(.2))
        if r.random() < .5:
            tot[f"node:10.0.0.{self.n}"] = 1.0
        busy = r.choice([0, 0, .5, 1])
        av = {}
        for k, v in tot.items():
            u = v if r.random() >= busy else float(r.randint(0, int(v))) if v < 100 else v - GiB * r.randint(0, int(v / GiB))
            if self.fractions and r.random() < .2:
                u = round(v * r.random(), 4)
            if self.over and r.random() < .15:
                u = v + 1
            if u > 0 or r.random() < .3:
                av[k] = u
        if r.random() < .05:
            av["extra"] = 1.0
        return tot, av

    def instance(self, cfg, kind="WORKER", t=None):
        r = self.r
        self.n += 1
        t = t or r.choice(list(cfg["node_types"]) + (["gone"] if r.random() < .15 else []))
        x = r.random()
        status = "RAY_RUNNING" if kind == "HEAD" and x < .95 or x < .55 else r.choice(STATUSES if self.odd_status else STATUSES[:6])
        if t == "gone" and cfg["disable_launch_config_check"] and r.random() < .9:
            status = r.choice(["QUEUED", "ALLOCATED", "REQUESTED"])
        d = {"instance_id": f"i-{self.n:04d}", "node_type": t, "status": status, "node_kind": kind}
        if status not in ("QUEUED", "REQUESTED"):
            d["cloud_instance_id"] = f"c-{self.n:04d}"
        if r.random() < .5:
            d["launch_config_hash"] = r.choice(["h1", "h2"])
        if status != "RAY_RUNNING" and r.random() < .8:
            return d
        nid = f"{self.n:056x}"
        if r.random() < .97:
            d["ray_node_id"] = nid
        if r.random() < .04:
            return d
        tot, av = self.node(cfg, t)
        idle = r.choice([0, 0, 5000, 30000, 30001, 60000, 60001, 100000])
        d["ray_node"] = {"node_id": nid, "status": "IDLE" if idle else "RUNNING", "idle_duration_ms": idle,
                         "total_resources": tot, "available_resources": av}
        lab = {**cfg["node_types"].get(t, {}).get("labels", {}), **(self.some_labels() if r.random() < .2 else {})}
        if lab:
            d["ray_node"]["labels"] = lab
        dyn = self.group_labels(.15)
        if dyn:
            d["ray_node"]["dynamic_labels"] = dyn
        return d

    def selectors(self):
        r = self.r
        keys = KEYS + (self.groups if r.random() < .1 else [])
        one = lambda: [{"key": r.choice(keys), "op": r.choice(["in", "in", "not_in"]),
                        "values": r.sample(VALUES + [""], r.choice([0, 1, 1, 1, 2]))} for _ in range(r.choice([0, 1, 1, 1, 2]))]
        return [one() for _ in range(r.choice([1, 1, 2, 3]))]

    def request(self, many):
        r = self.r
        res = {n: float(r.choice(AMOUNTS[n])) for n in self.names if r.random() < .35}
        if r.random() < .7:
            res["CPU"] = float(r.choice([1, 1, 1, 2, 3, 4]))
        if "accelerator_type:T4" in res:
            res["accelerator_type:T4"] = 0.001
        for n in res:
            if self.fractions and r.random() < .4:
                res[n] = r.choice(FRACTIONS)
        if r.random() < .03:
            res["nosuch"] = 1.0
        q = {"resources": res, "count": r.randint(1, many)}
        if self.labels and r.random() < .6:
            q["label_selectors"] = self.selectors()
        elif r.random() < .6:
            q["label_selectors"] = [[]]
        return q

    def constrained(self, q, kind, group):
        value = self.r.choice(["", "1"]) if self.group_values else ""
        return {**q, "placement_constraints": [{"type": kind, "label": group, "value": value}]}

    def gang(self):
        r = self.r
        strategy = r.choice(["STRICT_PACK", "STRICT_SPREAD", "PACK", "MIXED"])
        group = r.choice(self.groups)
        reqs, base = [], self.request(3)
        for _ in range(r.randint(1, 4)):
            q = dict(base) if r.random() < .6 else self.request(3)
            kind = {"STRICT_PACK": "affinity", "STRICT_SPREAD": "anti_affinity", "PACK": None,
                    "MIXED": r.choice(["affinity", "anti_affinity", None])}[strategy]
            if kind:
                q = self.constrained(q, kind, group if r.random() < .9 else r.choice(self.groups))
            if r.random() < .02:
                q = {**q, "placement_constraints": q.get("placement_constraints", []) * 2}
            reqs.append(q)
        g = {"details": f"{group}-{r.randint(0, 10 ** 9)}:{strategy}", "strategy": strategy, "requests": reqs}
        if r.random() < .3:
            g["encoding"] = r.choice(["requests", "bundle_selectors"])
        if r.random() < .1:
            g["fallbacks"] = [[self.request(2)]]
        return g


def scale(seed):
    """As many nodes, requests, shapes and types as Ray can take: the inputs of the benchmark, with fractions and gangs."""
    r = random.Random(f"scale,{seed}")
    case = bench.make(r.choice([3, 20, 60]), r.choice([30, 200, 600]), r.choice([2, 8, 30]), r.choice([2, 8, 20]), seed,
                      free=r.choice([.2, .6, 1]))
    types = case["config"]["node_types"]
    for t in types.values():
        if r.random() < .4:
            t["max_workers"] = r.choice([1, 3, 10])
    for q in case["pending_resource_requests"]:
        q["count"] = max(1, int(q["count"] * r.random() * 2))
        if r.random() < .2:
            q["resources"]["CPU"] = r.choice([0.1, 0.3333, 0.7, 1.5])
    for i in case["instances"]:
        if r.random() < .2 and i["node_kind"] == "WORKER":
            i["status"] = r.choice(STATUSES[:6])
            i["ray_node"] = i["ray_node"] if i["status"] == "RAY_RUNNING" else None
    if r.random() < .4:
        case["gang_requests"] = [
            {"details": f"g{k}", "requests": [{"resources": {"CPU": float(r.choice([1, 2, 4]))}, "count": r.randint(1, 6),
             "placement_constraints": [{"type": r.choice(["affinity", "anti_affinity"]), "label": f"_PG_{k}", "value": ""}]}]}
            for k in range(r.randint(1, 6))]
    case["config"]["max_workers"] = r.choice([None, None, 50, 100])
    return {**case, "name": f"scale-{seed}"}


def make_case(profile, seed, rng):
    c = Chaos(rng)
    r = c.r
    cfg = c.config()
    many = r.choice([1, 3, 10, 40, 200])
    heads = r.choice([1] * 12 + [0, 2])
    ins = [c.instance(cfg, "HEAD", "head" if r.random() < .9 else None) for _ in range(heads)]
    for _ in range(r.choice([0, 2, 6, 12, 30])):
        ins.append(c.instance(cfg))
    if r.random() < .3 and ins:  # several that are alike
        for _ in range(r.randint(1, 8)):
            d = json.loads(json.dumps(r.choice(ins)))
            c.n += 1
            d["instance_id"] = f"i-{c.n:04d}"
            d["node_kind"] = "WORKER"
            ins.append(d)
    if r.random() < .2:
        r.shuffle(ins)
    reqs = [c.request(many) for _ in range(r.choice([0, 1, 2, 3, 6, 12]))]
    if r.random() < .1 and reqs:
        reqs += [dict(r.choice(reqs)) for _ in range(2)]
    if r.random() < .1:
        reqs = [c.constrained(q, r.choice(["affinity", "anti_affinity"]), r.choice(c.groups)) if r.random() < .4 else q for q in reqs]
    case = {"name": f"{profile}-{seed}", "seed": seed, "mix": profile, "config": cfg, "instances": ins, "pending_resource_requests": reqs}
    if r.random() < .5:
        case["gang_requests"] = [c.gang() for _ in range(r.randint(1, 5))]
    if r.random() < .35:
        case["cluster_constraints"] = [{"resource_requests": [c.request(r.choice([1, 3, 10])) for _ in range(r.randint(0, 3))]}]
    if r.random() < .3:
        names = list(cfg["node_types"]) + ["gone"]
        case["cloud_resource_availabilities"] = {t: r.choice([0.0, 0.1, 0.5, 1.0]) for t in names if r.random() < .5}
        case["recoverable_resource_availabilities"] = {t: r.choice([0.0, 0.5, 1.0]) for t in names if r.random() < .4}
    return case
