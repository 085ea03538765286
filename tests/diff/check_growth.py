#!/usr/bin/python3
"""That heddle diff grows as its inputs do: twice the steps, or twice the names, take about twice the instructions.

usage: tests/diff/check_growth.py --heddle PROGRAM

Instructions are those that valgrind counts, less those for the smallest input: nothing depends on the speed of the machine. Work of the
square of the size would take four times as many. Without valgrind the test is skipped.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import rounds  # noqa: E402
from patience import patience  # noqa: E402

SKIP = 77
MOST = 2.6      # times, of twice the input


def write(path, steps, kernels, distinct, prefix, rng):
    """`distinct`: each kernel of the trace has a name of its own."""
    now, events = 10**6, []
    for step in range(steps):
        begin = now
        for kernel in range(kernels):
            number = step * kernels + kernel
            name = f"{prefix}_{number if distinct else kernel}y"
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": now, "dur": 5,
                           "args": {"correlation": number}})
            events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": now + 8, "dur": 40 + rng.randrange(8),
                           "args": {"device": 0, "stream": 7, "correlation": number}})
            now += 60
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": begin, "dur": now - begin})
        now += 10
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))


def instructions(valgrind, heddle, sides):
    """Of one run, as valgrind counts them."""
    done = subprocess.run([valgrind, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", heddle, "diff", "--json", "-j", "1",
                           *map(str, sides)], capture_output=True, text=True, timeout=patience(600), check=False)
    count = re.search(r"I +refs: +([0-9,]+)", done.stderr)
    assert done.returncode in (0, 2) and count, f"exit {done.returncode}: {done.stderr[-2000:]}"
    return int(count[1].replace(",", ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True, type=os.path.abspath)
    args = parser.parse_args()
    rng, valgrind = random.Random(rounds.seed(1)), shutil.which("valgrind")
    if not valgrind:
        print("skipped: there is no valgrind to count instructions")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="heddle-diff-") as folder:
        sides = [Path(folder, name) for name in ("before.json", "after.json")]

        def run(steps, kernels, distinct, renamed):
            for side, prefix in zip(sides, ("kernel", "other" if renamed else "kernel")):
                write(side, steps, kernels, distinct, prefix, rng)
            return instructions(valgrind, args.heddle, sides)

        least = run(4, 1, False, False)
        for what, small, large in (("steps", (300, 5, False, False), (600, 5, False, False)),
                                   ("names", (20, 100, True, False), (40, 100, True, False)),
                                   ("names, none of them on both sides", (20, 100, True, True), (40, 100, True, True))):
            one, two = run(*small), run(*large)
            ratio = (two - least) / (one - least)
            print(f"twice the {what}: {ratio:.2f} times the instructions ({one:,} and {two:,})")
            assert ratio <= MOST, what
    return 0


if __name__ == "__main__":
    sys.exit(main())
