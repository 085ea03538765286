#!/usr/bin/env python3
"""What `heddle replay` foretells, against the truth: programs that ran on an H100 or H200, and the same programs changed
(h100/README.md, h200/README.md).

  check_h100.py --heddle HEDDLE [--table]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

PATHS = {path.name[:-8]: path for gpu in ("h100", "h200") for path in sorted((pathlib.Path(__file__).parent / gpu).glob("*.json.gz"))}
SPIN = "*spin_kernel*"
# base, changed, options, how far steps and busy time may be off: percent. The program's kernels do not turn exactly a tenth
# as long, and products of matrices are faster on a GPU that rests: that is not known from the base.
PAIRS = [
    ("sleep-base", "sleep-half", ["--scale", f"{SPIN}=0.5"], 0.5, 0.2),
    ("sleep-base", "sleep-tenth", ["--scale", f"{SPIN}=0.1"], 1.5, 0.5),
    ("sleep-half", "sleep-base", ["--scale", f"{SPIN}=2"], 0.5, 0.5),
    ("sleep-tenth", "sleep-base", ["--scale", f"{SPIN}=10"], 3.5, 3.5),
    ("sleep-base", "sleep-removed", ["--remove", SPIN], 3, 2),
    ("sleep-half", "sleep-removed", ["--remove", SPIN], 2, 2),
    ("sleep-tenth", "sleep-removed", ["--remove", SPIN], 1, 1),
    ("sleep-tenth", "sleep-graph", ["--graph"], 1, 1),
    ("sleep-base", "sleep-graph", ["--scale", f"{SPIN}=0.1", "--graph"], 1, 1),
    ("streams-one", "streams-two", ["--schedule", "streams=2"], 4, 0.5),
    ("streams-two", "streams-one", ["--streams", "1"], 2.5, 0.5),
    ("copies-serial", "copies-overlap", ["--overlap", "copy"], 2, 1),
    ("engines-ii-one", "engines-ii-each", ["--schedule", "streams=2"], 2, 1),
    ("engines-ii-each", "engines-ii-one", ["--streams", "1"], 2, 1),
    ("engines-io-one", "engines-io-each", ["--schedule", "streams=2"], 4, 4),
    ("engines-io-each", "engines-io-one", ["--streams", "1"], 4, 4),
    ("engines-iio-one", "engines-iio-each", ["--schedule", "streams=3"], 4, 4),
    ("engines-iio-each", "engines-iio-one", ["--streams", "1"], 4, 4),
    ("towers-4096-one", "towers-4096-two", ["--schedule", "streams=2"], 5, 5),
    ("towers-4096-two", "towers-4096-one", ["--streams", "1"], 5, 5),
    ("prefetch-side", "prefetch-line", ["--streams", "1"], 2, 1),
    *((f"priorities-{name}-{base}", f"priorities-{name}-{changed}", ["--schedule", f"priorities={to}"], bound, bound)
      for name, *bounds in (("waves", 2, 3), ("single", 0.5, 0.5), ("chain", 3, 7), ("both", 1, 1))
      for base, changed, to, bound in (("none", "high", "14:-5", bounds[0]), ("high", "none", "all:0", bounds[1]))),
]
# Graphs of short kernels: while it records, the profiler adds about 1 us for each kernel to the launch of a graph. A step of
# tiny-graph alone, by the wall clock: median of ten.
TINY_ALONE_NS, TINY_BOUND = 179_000, 5


def replay(heddle, name, *options):
    path = name if isinstance(name, pathlib.Path) else PATHS[name]
    run = subprocess.run([heddle, "replay", "--json", *options, path], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{name} {options}: {run.stderr}")
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check(args, pathlib.Path(folder))


def check(args, folder):
    wrong = []
    for name in PATHS:
        check = {r["what"]: r["error_percent"] for r in replay(args.heddle, name)["check"] if r["what"] != "start of work: largest"}
        if max(check.values()) > (2 if name == "priorities-chain-high" else 1):  # of kernels that share the SMs
            wrong.append(f"{name} as it is: off by {check}")
    for base, changed, options, *bounds in PAIRS:
        told = {r["what"]: r["after"] for r in replay(args.heddle, base, *options)["what_if"]}
        truth = {r["what"]: r["recorded"] for r in replay(args.heddle, changed)["check"]}
        off = [100 * (told[what] / truth[what] - 1) for what in ("steps", "busy")]
        if args.table:
            print(f"| `{base}` | `{' '.join(options)}` | `{changed}` | {told['steps'] / 1e3:.0f} | {truth['steps'] / 1e3:.0f} | {off[0]:+.2f} % | {off[1]:+.2f} % |")
        wrong += [f"{base} {options}: {o:+.2f} %, bound {b}" for o, b in zip(off, bounds) if abs(o) > b]
        # The trace that is written is that of the changed program: replayed as it is, it has its steps.
        out = folder / "whatif.heddle"
        replay(args.heddle, base, *options, "-o", out)
        again = {r["what"]: r["recorded"] for r in replay(args.heddle, out)["check"]}
        wrong += [f"{base} {options} written: {what} {again[what]}, not {told[what]}" for what in ("steps", "busy") if abs(again[what] - told[what]) > told[what] / 1000]
        if base.startswith("priorities"):  # and that tells the priorities that were given: it is replayed as it is, and back
            back = replay(args.heddle, out, "--schedule", "priorities=" + ("all:0" if base.endswith("none") else "14:-5"))
            wrong += [f"{base} {options} written: replayed {r}" for r in back["check"] if r["error_percent"] > 0.1]
            before = replay(args.heddle, base)["check"]
            wrong += [f"{base} {options} written, and back: {r}, not {b}" for r in back["what_if"] for b in before
                      if r["what"] == b["what"] and abs(r["after"] - b["replayed"]) > b["replayed"] / 1000]
    steps = [r["changed"] for r in replay(args.heddle, "tiny-base", "--graph")["steps"]]
    off = 100 * (sum(steps) / len(steps) / TINY_ALONE_NS - 1)
    if abs(off) > TINY_BOUND:
        wrong.append(f"tiny-base --graph: {off:+.2f} % of a step alone, bound {TINY_BOUND}")
    print(f"{len(PAIRS) + 1} changes foretold, {len(wrong)} wrong; tiny-base --graph is {off:+.2f} % off what it takes without a profiler")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
