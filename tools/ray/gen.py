"""Parts of realistic clusters: node types, instances, requests, placement groups."""
import json

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
