#!/usr/bin/env python3
"""Makes planning problems for `cargo xtask race`.

    generate.py up SIZE TYPES [--seed N] [--spread] [--out DIR]      SIZE: XS S M L XL
    generate.py down NODES TYPES [--seed N] [--out DIR]

A file is one problem as JSON, version 1: `types` (machine types with `cpu_m`, `mem_mi`, `pods`, `price`, `min`, `max`,
`labels`, `taints`), `apps` (pods of an app are equal: `cpu_m`, `mem_mi`, `labels`, `node_selector`, `tolerations`,
`spread`), `nodes` (`name`, `type`: place in `types`; may override `cpu_m`, `mem_mi`, `pods`, `labels`, `taints`) and
`pods` (pairs of the app's and the node's place; node -1 is pending). A pod fits a node if CPU, memory and the number of
pods fit, the node has every label of the selector, and every NoSchedule taint is tolerated.

Types are c, m and r families (2, 4, 8 GiB per vCPU) on amd64 and arm64 (15 % cheaper), in generations whose prices differ
by up to 8 % each way. A tenth of the types, and a tenth of the pods, is `special`: tainted, and tolerating it. Growth:
nodes of up to 16 vCPU, 84 % full, and ten pending pods for each of them. Shrinking: nodes that are 30 % used.
"""

import argparse
import json
import pathlib
import random

SIZES = {"XS": 10, "S": 100, "M": 1_000, "L": 5_000, "XL": 10_000}
GIB_PER_CPU = {"c": 2, "m": 4, "r": 8}
CPUS = (2, 4, 8, 16, 32, 48, 64, 96)
SPECIAL = {"key": "dedicated", "value": "special", "effect": "NoSchedule"}
BEARS = {"key": "dedicated", "operator": "Equal", "value": "special", "effect": "NoSchedule"}


def machine_type(family, cpus, arch, generation, factor, special):
    gib = cpus * GIB_PER_CPU[family]
    price = factor * (0.034 * cpus + 0.0045 * gib) * (0.85 if arch == "arm64" else 1)
    name = f"{family}{generation}{'a' if arch == 'arm64' else 'i'}-{cpus}{'-sp' if special else ''}"
    labels = {
        "node.kubernetes.io/instance-type": name,
        "kubernetes.io/arch": arch,
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": "zone-a",
        "pool": "special" if special else "general",
    }
    return {
        "name": name,
        "cpu_m": cpus * 1000,
        "mem_mi": gib * 1024,
        "pods": 110,
        "price": round(price, 4),
        "min": 0,
        "max": 20_000,
        "labels": labels,
        "taints": [dict(SPECIAL)] if special else [],
    }


def machine_types(count, dice):
    factors = [round(dice.uniform(0.92, 1.08), 3) for _ in range(12)]
    if count == 5:
        fixed = [("m", 4, "amd64"), ("c", 8, "amd64"), ("r", 16, "amd64"), ("m", 16, "arm64")]
        types = [machine_type(*one, 1, factors[1], False) for one in fixed]
        return types + [machine_type("m", 8, "amd64", 1, factors[1], True)]
    special = max(1, count // 10)
    plain = [(f, c, a, g) for g in range(1, 12) for f in "cmr" for a in ("amd64", "arm64") for c in CPUS]
    tainted = [(f, c, "amd64", g) for g in range(1, 12) for f in "mc" for c in (8, 16, 32, 4, 64, 2)]
    types = [machine_type(*one, factors[one[3]], False) for one in plain[: count - special]]
    types += [machine_type(*one, factors[one[3]], True) for one in tainted[:special]]
    dice.shuffle(types)
    return types


def pending(count, dice, spread):
    apps, pods = [], []
    while count > 0:
        replicas = min(count, dice.choice((5, 10, 20, 50, 100, 200)))
        count -= replicas
        cpu = dice.choices((100, 250, 500, 1000, 2000, 4000), (25, 25, 20, 15, 10, 5))[0]
        gib = dice.choices((1, 2, 4, 8), (20, 35, 30, 15))[0]
        selector, tolerations = {}, []
        kind = dice.random()
        if kind < 0.1:
            selector = {"kubernetes.io/arch": "arm64"}
        elif kind < 0.2:
            selector, tolerations = {"pool": "special"}, [dict(BEARS)]
        even = spread and dice.random() < 0.2
        name = f"app{len(apps):05d}"
        apps.append(app(name, cpu, max(128, cpu * gib * 1024 // 1000), selector, tolerations))
        apps[-1]["spread"] = [{"key": "kubernetes.io/hostname", "max_skew": 1}] if even else []
        pods += [[len(apps) - 1, -1]] * replicas
    return apps, pods


def app(name, cpu, memory, selector, tolerations):
    return {
        "name": name,
        "cpu_m": cpu,
        "mem_mi": memory,
        "labels": {"app": name},
        "node_selector": selector,
        "tolerations": tolerations,
        "spread": [],
    }


def run(apps, pods, types, nodes, each, part, nodes_of_an_app):
    """Puts `each` pods that take `part` of a node on every node; an app for so many nodes of a type."""
    seen, known = {}, {}
    for at, node in enumerate(nodes):
        kind = types[node["type"]]
        count = seen[node["type"]] = seen.get(node["type"], 0) + 1
        key = (node["type"], (count - 1) // nodes_of_an_app)
        if key not in known:
            known[key] = len(apps)
            special = bool(kind["taints"])
            arm = kind["labels"]["kubernetes.io/arch"] == "arm64"
            selector = {"pool": "special"} if special else {"kubernetes.io/arch": "arm64"} if arm else {}
            name = f"run-{kind['name']}-{key[1]}"
            bears = [dict(BEARS)] if special else []
            apps.append(app(name, int(kind["cpu_m"] * part), int(kind["mem_mi"] * part), selector, bears))
        pods += [[known[key], at]] * each


def scenario(kind, size, count, seed, spread):
    dice = random.Random(f"{kind} {size} {count} {seed}")
    types = machine_types(count, dice)
    small = [at for at, one in enumerate(types) if one["cpu_m"] <= 16_000]
    number = SIZES[size] if kind == "up" else int(size)
    nodes = [{"name": f"n{at:05d}", "type": dice.choice(small)} for at in range(number)]
    apps, pods = [], []
    if kind == "up":
        apps, pods = pending(number * 10, dice, spread)
        dice.shuffle(pods)
        run(apps, pods, types, nodes, 8, 0.105, 10**9)
    else:
        run(apps, pods, types, nodes, 6, 0.05, 50)
    name = f"{kind}-{size}-{count}" + ("-spread" if spread else "") + ("" if seed == 1 else f"-s{seed}")
    return {
        "version": 1,
        "name": name,
        "kind": f"scale_{kind}",
        "seed": seed,
        "types": types,
        "apps": apps,
        "nodes": nodes,
        "pods": pods,
    }


def write(folder, made):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{made['name']}.json"
    path.write_text(json.dumps(made, separators=(",", ":")) + "\n")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("up", "down"))
    parser.add_argument("size")
    parser.add_argument("types", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spread", action="store_true")
    parser.add_argument("--out", default=".")
    given = parser.parse_args()
    print(write(given.out, scenario(given.kind, given.size, given.types, given.seed, given.spread)))


if __name__ == "__main__":
    main()
