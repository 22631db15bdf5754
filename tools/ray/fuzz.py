"""Compares ray-exact with the real Ray on fresh inputs, for as long as one likes.

  python fuzz.py --seeds 100000..105000            # these seeds
  python fuzz.py --minutes 10                      # from --seeds on (default 100000), for so long
  python fuzz.py --mix cases|chaos|scale|sequences|all   # realistic, corner cases, many nodes, several rounds (all)

Where the two differ, Ray runs 16 times more in fresh processes with the keys of its maps in other orders, and what it
gives then counts too. Where Ray raises an error, Ray is run on the input without the records that ray-exact left out.
Cases that differ are kept in --out. Exit code 1 if there are any.

Needs a Python that has ray[default]==2.60.0, and cargo (or --xtask PROGRAM)."""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
AGAIN = 16


def make(mix, seed):
    """A case with Ray's answer."""
    import cases
    import mixes
    import raycase
    import sequences
    if mix == "sequences":
        return sequences.one(seed, varied=True)
    case = {"cases": lambda: cases.make_case("shared", seed), "scale": lambda: mixes.scale(seed),
            "chaos": lambda: mixes.make_case("chaos", seed, random.Random(f"chaos,{seed}"))}[mix]()
    case["expected"], _ = raycase.run_case(case)
    return case


def shuffled(o, rng):
    if isinstance(o, dict):
        keys = list(o)
        rng.shuffle(keys)
        return {k: shuffled(o[k], rng) for k in keys}
    return [shuffled(x, rng) for x in o] if isinstance(o, list) else o


def run_shuffled(path, seed):
    """In a fresh process: Ray's answers to the cases of a file, with the keys of all maps shuffled."""
    import raycase
    import sequences
    for line in open(path):
        case = json.loads(line)
        order = case["config"]["node_type_order"]
        case = shuffled({k: v for k, v in case.items() if k != "expected"}, random.Random(seed))
        case["config"]["node_type_order"] = order
        answer = sequences.replay(case) if "steps" in case else raycase.run_case(case)[0]
        print(json.dumps(answer))


def oracle(xtask, cases, path):
    """Names of the cases that differ, what is said of them, and notes by name."""
    with open(path, "w") as f:
        for case in cases:
            f.write(json.dumps(case, separators=(",", ":")) + "\n")
    done = subprocess.run(xtask + ["oracle", "ray", path, "--policy", "ray-exact"], capture_output=True, text=True, cwd=ROOT)
    if not re.search(r"^\d+ passed, \d+ failed$", done.stdout, re.M):
        sys.exit(f"the oracle did not finish:\n{done.stdout[-2000:]}{done.stderr}")
    failed = re.findall(r"^FAILED (\S+)$", done.stdout, re.M)
    notes = re.findall(r"^(\S+): Ray raises .*?: left out (.*)$", done.stdout, re.M)
    return failed, done.stdout, dict(notes)


def without(case, note):
    """The case without the records that a note names; Ray decides on the rest."""
    import raycase
    case = json.loads(json.dumps({k: v for k, v in case.items() if k != "expected"}))
    lists = {"instances": case["instances"], "pending_resource_requests": case["pending_resource_requests"],
             "gang_requests": case.get("gang_requests", [])}
    for c in case.get("cluster_constraints", []):
        lists["cluster_constraints[0].resource_requests"] = c["resource_requests"]
    drop = [(m[0], int(m[1])) for m in re.findall(r"(\S+?)\[(\d+)\](?= )", note)]
    for name, index in sorted(drop, reverse=True):
        del lists[name][index]
    case["expected"], _ = raycase.run_case(case)
    return case


def add_alternatives(cases, path):
    """Runs Ray again on cases that differ; how many distinct answers each has."""
    with open(path, "w") as f:
        for case in cases:
            f.write(json.dumps(case) + "\n")
    kinds = [Counter() for _ in cases]
    for seed in range(AGAIN):
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "--again", path, "--seeds", str(seed)],
                              capture_output=True, text=True, check=True)
        for k, line in enumerate(done.stdout.splitlines()):
            kinds[k][line] += 1
    for case, kind in zip(cases, kinds):
        answers = [json.loads(answer) for answer in kind]
        if "steps" in case:
            for k, step in enumerate(case["steps"]):
                step["expected_alternatives"] = [a[k] for a in answers if k < len(a)]
        else:
            case["expected_alternatives"] = answers
    return kinds


class Fuzz:
    def __init__(self, a):
        self.xtask = a.xtask.split()
        self.out = a.out
        os.makedirs(self.out, exist_ok=True)
        self.total, self.errors, self.unsteady, self.bad = Counter(), Counter(), [], []

    def batch(self, mix, seeds):
        path = os.path.join(self.out, "batch.jsonl")
        cases = [make(mix, seed) for seed in seeds]
        by_name = {case["name"]: case for case in cases}
        self.total[mix] += len(cases)
        failed, text, notes = oracle(self.xtask, cases, path)
        reduced = [without(by_name[name], note) for name, note in notes.items() if "steps" not in by_name[name]]
        self.errors[mix] += len(reduced)
        if reduced:
            more, more_text, _ = oracle(self.xtask, reduced, path)
            text += more_text
            again = {case["name"]: case for case in reduced}
            by_name.update({name: again[name] for name in more})
            failed += [name for name in more if name not in failed]
        if not failed:
            return
        doubtful = [by_name[name] for name in failed]
        kinds = add_alternatives(doubtful, path)
        still, text, _ = oracle(self.xtask, doubtful, path)
        for case, kind in zip(doubtful, kinds):
            name = case["name"]
            if name in still:
                self.bad.append(name)
                with open(os.path.join(self.out, name + ".json"), "w") as f:
                    json.dump(case, f)
            else:
                self.unsteady.append(name)
                often = ", ".join(str(n) for _, n in kind.most_common())
                print(f"{name}: Ray itself gave {len(kind)} answers in {AGAIN} more runs ({often} times), one is ours", flush=True)
        if still:
            print(text, flush=True)

    def summary(self):
        print(f"cases: {sum(self.total.values())} ({', '.join(f'{n} {m}' for m, n in sorted(self.total.items()))}), on "
              f"{sum(self.errors.values())} of them Ray raises an error")
        print(f"Ray not deterministic, ours among its answers: {len(self.unsteady)}")
        print(f"differ: {len(self.bad)} {' '.join(self.bad[:50])}")
        print(f"{sum(self.total.values()) - len(self.bad)} passed, {len(self.bad)} failed")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--seeds", default="100000..105000", help="FROM..TO, TO not included")
    a.add_argument("--minutes", type=float, help="go on past TO until so much time is over")
    a.add_argument("--mix", default="all", choices=["all", "cases", "chaos", "scale", "sequences"])
    a.add_argument("--batch", type=int, default=100)
    a.add_argument("--out", default=os.path.join(ROOT, "target", "fuzz-ray"))
    a.add_argument("--xtask", default="cargo xtask")
    a.add_argument("--again", help=argparse.SUPPRESS)
    a = a.parse_args()
    if a.again:
        return run_shuffled(a.again, int(a.seeds))
    first, _, last = a.seeds.partition("..")
    at, end = int(first), int(last or int(first) + 1)
    fuzz, begin = Fuzz(a), time.time()
    mixes = ["cases", "chaos", "scale", "sequences"] if a.mix == "all" else [a.mix]
    try:
        while (time.time() - begin < a.minutes * 60) if a.minutes else at < end:
            upto = at + a.batch if a.minutes else min(end, at + a.batch)
            for mix in mixes:
                fuzz.batch(mix, range(at, upto))
            at = upto
            print(f"seeds up to {at}: {len(fuzz.bad)} differ, {len(fuzz.unsteady)} unsteady, {time.time() - begin:.0f} s", flush=True)
    except KeyboardInterrupt:
        print("stopped")
    fuzz.summary()
    sys.exit(1 if fuzz.bad else 0)


if __name__ == "__main__":
    main()
