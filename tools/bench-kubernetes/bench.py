#!/usr/bin/env python3
"""Plans the scenarios of generate.py and sets the results beside those that were recorded of Karpenter (2266468104) and
Cluster Autoscaler (a16f0ae8b5).

The recorded figures were measured elsewhere (two cores, a quiet machine, November 2026), on files of the same description
whose dice fell in another way: prices do not compare, and of the times only the order of magnitude. With --files DIR the
files there are planned instead; if they are those of the record, the prices compare exactly and are shown.

    bench.py XTASK [--files DIR] [--runs N]
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import generate

# Seconds and price; growth: of the new nodes, shrinking: of all that are left. None: not measured, or not finished.
RECORDED = {
    "up-S-5": {"Karpenter": (0.15, 14.39), "Cluster Autoscaler": (0.14, 15.05)},
    "up-S-50": {"Karpenter": (0.10, 13.04), "Cluster Autoscaler": (0.73, 16.39)},
    "up-S-400": {"Karpenter": (0.21, 20.00), "Cluster Autoscaler": (5.1, 22.93)},
    "up-M-5": {"Karpenter": (22.2, 348.99)},
    "up-M-50": {"Karpenter": (7.1, 324.42)},
    "up-M-400": {"Karpenter": (12.1, 287.46)},
    "up-L-50": {},
    "up-XL-50": {},
    "down-100-5": {"Karpenter": (0.29, 22.36), "Cluster Autoscaler": (0.053, 16.19)},
    "down-1000-50": {"Karpenter": (5.1, 147.84), "Cluster Autoscaler": (1.0, 143.73)},
    "down-5000-50": {"Karpenter": (105, 672.09), "Cluster Autoscaler": (19.3, 632.06)},
}


def plan(xtask, path, plan_path, runs):
    best = None
    for _ in range(runs):
        out = subprocess.run(
            [xtask, "race", path, "--json", "--plan", plan_path], check=True, capture_output=True, text=True
        )
        line = json.loads(out.stdout)
        if best is None or line["plan_s"] < best["plan_s"]:
            best = line
    checked = subprocess.run([xtask, "race-verify", path, plan_path], capture_output=True, text=True)
    best["verified"] = checked.returncode == 0
    return best


def row(name, line, same):
    up = name.startswith("up")
    price = line["price"] if up else line["price_after"]
    words = [f"{name:14}", f"{line['plan_s']:9.4f}", f"{price:10.2f}", f"{line['left']:5}"]
    words += [f"{line['new_nodes']:6}", f"{line['removed']:8}", f"{line['peak_rss_mb'] or 0:6}"]
    words.append("  yes   " if line["verified"] else "  NO    ")
    recorded = RECORDED.get(name, {})
    if recorded:
        fastest = min(recorded, key=lambda who: recorded[who][0])
        cheapest = min(recorded, key=lambda who: recorded[who][1])
        words.append(f"{recorded[fastest][0] / line['plan_s']:8.0f} x {fastest}'s {recorded[fastest][0]} s")
    if recorded and same:
        words.append(f" {price / recorded[cheapest][1]:.3f} of {cheapest}'s {recorded[cheapest][1]:.2f}")
    return " ".join(words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xtask")
    parser.add_argument("--files")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    print("Ratios are to figures that were recorded elsewhere: as many times faster, and with --files the part of the price.")
    print(f"{'scenario':14} {'seconds':>9} {'price':>10} {'left':>5} {'new':>6} {'removed':>8} {'MiB':>6} verified")
    sound = True
    with tempfile.TemporaryDirectory() as folder:
        for name in RECORDED:
            kind, size, count = name.split("-")
            if given.files:
                path = pathlib.Path(given.files) / f"{name}.json"
                if not path.exists():
                    print(f"{name:14} is not there: {path}")
                    continue
            else:
                path = generate.write(folder, generate.scenario(kind, size, int(count), 1, False))
            line = plan(given.xtask, path, pathlib.Path(folder) / "plan.json", given.runs)
            sound = sound and line["verified"] and line["left"] == 0
            print(row(name, line, bool(given.files)), flush=True)
    raise SystemExit(0 if sound else 1)


if __name__ == "__main__":
    main()
