#!/usr/bin/python3
"""Ten pairs of real traces with a planted change, in an order that is not shown: can the first screen name the culprit?

usage: tests/diff/blind.py --heddle PROGRAM --out FOLDER [--seed N]     makes pair0 … pair9, and prints the first screen of each
       tests/diff/blind.py --out FOLDER --judge 'NAME' 'NAME' …         ten answers (part of a name, or `nothing`): how many are right
"""
import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import mutate  # noqa: E402
from check_mutations import DATA  # noqa: E402
from retime import Trace, write  # noqa: E402

REAL = ("kineto/resnet50_2021.json.gz", "kineto/nccl_data.json.gz")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", type=os.path.abspath)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--judge", nargs="+")
    args = parser.parse_args()
    if args.judge:
        right = 0
        for n, said in enumerate(args.judge):
            truth = json.loads((args.out / f"pair{n}" / "truth.json").read_text())
            names = [*truth["names"], truth["renamed"] or ""] if truth["names"] else [truth["kind"]]
            good = any(said.lower() in name.lower() for name in names) if truth["kind"] != "noise" else said == "nothing"
            right += good
            print(f"pair{n}: {truth['kind']} {[name[:60] for name in truth['names'][:3]]}: {'right' if good else 'not right'} ({said})")
        print(f"{right} of {len(args.judge)}")
        return
    seed = args.seed if args.seed is not None else int.from_bytes(os.urandom(3), "big")
    rng = random.Random(seed)
    kinds = [rng.choice([kind for kind in mutate.KINDS if kind not in ("launch", "drop", "collective")]) for _ in range(9)]
    kinds.append("collective")
    rng.shuffle(kinds)
    traces = {name: Trace(DATA / name) for name in REAL}
    for n, kind in enumerate(kinds):
        folder = args.out / f"pair{n}"
        folder.mkdir(parents=True, exist_ok=True)
        trace = traces[REAL[1] if kind == "collective" else rng.choice(REAL)]
        before, after, truth = mutate.make(trace, kind, rng.randrange(10**6), 0.02)
        write(trace, before, folder / "before.json")
        write(trace, after, folder / "after.json")
        (folder / "truth.json").write_text(json.dumps(truth))
        done = subprocess.run([args.heddle, "diff", "before.json", "after.json"], cwd=folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "COLUMNS": "80", "LINES": "24"})
        print(f"\n===== pair{n}\n" + "\n".join(done.stdout.split("\n")[:24]) + done.stderr)


if __name__ == "__main__":
    main()
