#!/usr/bin/python3
"""heddle diff of pairs with one planted change: is the culprit the first row, and are its figures those of the raw files?

usage: tests/diff/check_mutations.py --heddle PROGRAM [--pairs N] [--data] [--seed N] [--one KIND] [-v]

Each pair comes from mutate.py: every fifth has noise only, the others have the other kinds in turn; --data takes real traces
with steps as well. For each pair the account of the JSON is compared with oracle.py to the nanosecond. In the end a table is
printed: kind of change by what the first row names. Fails if the culprit is not first in 98 % of the pairs, if more than 2 % of
the pairs with nothing but noise raise an alarm (a verdict, or a row, that says slower or faster), if the interval of the change
does not contain the truth in 85 % of the pairs, or if any figure differs. In few pairs one failure is allowed.
"""
import argparse
import collections
import gc
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import mutate  # noqa: E402
import oracle  # noqa: E402
import rounds  # noqa: E402
from patience import patience  # noqa: E402
from retime import Edits, Trace, retime, write  # noqa: E402

DATA = Path(__file__).resolve().parents[2].parent / "shared/data"
REAL = ("kineto/resnet50_2021.json.gz", "kineto/negative_queue_rank0.json.gz")     # with five steps or more
KINDS = [kind for kind in mutate.KINDS if kind != "noise"]
QUIET = {"noise", "drop"}       # nothing is slower or faster


def diff(heddle, *args):
    done = subprocess.run([heddle, "diff", "--json", *map(str, args)], capture_output=True, text=True, timeout=patience(300), check=False)
    if done.returncode not in (0, 1, 2) or not done.stdout:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def row_names(row):
    return {name for name in (row["name"], row.get("name_after")) if name}


def judge(answer, truth):
    """(the culprit was found, what the first row is). A kind without a culprit: no alarm was raised."""
    rows = [row for row in answer["rows"] if row["verdict"] in ("slower", "faster", "new", "gone")]
    said = f"{rows[0]['kind']} {rows[0]['verdict']}" if rows else f"none, step {answer['verdict']}"
    kind = truth["kind"]
    if kind in QUIET:
        few = kind == "drop" and truth["steps"] < 5 and answer["verdict"] == "inconclusive"
        return (few or answer["verdict"] == "same") and not rows, said
    if kind == "rename":
        named = [row for row in answer["rows"] if row["matched"] == "renamed" and truth["renamed"] in row_names(row)]
        return bool(named) and not rows, said
    if kind == "move":
        return any(row["matched"] == "moved" and row_names(row) & set(truth["names"]) for row in answer["rows"]), said
    rows = answer["rows"]       # what has another form is listed though its time is the same
    if not rows:
        return False, said
    said = f"{rows[0]['kind']} {rows[0]['verdict']}"
    right = row_names(rows[0]) & set(truth["names"]) if truth["names"] else rows[0]["kind"] in truth["rows"]
    return bool(right), said if right else f"wrong {said}"


def rows_of_matched(answer, truth):
    """Whether the kernel's change is called what it is: split, fused, new …"""
    return truth["matched"] is None or any(row["matched"] == truth["matched"] and row_names(row) & set(truth["names"] + [truth["renamed"]])
                                           for row in answer["rows"])


def figures(answer, everything, paths):
    """What differs between the answer (`everything`: with all rows, or None) and the oracle."""
    wrong = []
    whole = [[step for step in oracle.account(path) if step["work"]] for path in paths]
    sides = oracle.compared(*whole)
    for side, steps, every in zip(("before", "after"), sides, whole):
        said = answer[side]
        if (said["steps"], said["dropped_steps"]) != (len(steps), len(every) - len(steps)):
            wrong.append(f"{side}: {said['steps']} steps and {said['dropped_steps']} left out, not {len(steps)} of {len(every)}")
    if wrong:
        return wrong
    step = answer["step"]
    medians = [oracle.median([s["window_ns"] for s in steps]) for steps in sides]
    for name, value in (("before_ns", medians[0]), ("after_ns", medians[1]), ("change_ns", medians[1] - medians[0])):
        if abs(step[name] - value) >= 1:
            wrong.append(f"step {name} {step[name]}, not {float(value)}")
    parts = collections.defaultdict(lambda: [0, 0])
    for part in answer["parts"]:
        for n, side in enumerate(("before", "after")):
            parts[part["part"].split(":")[0]][n] += part[side + "_total_ns"]
    for part in oracle.PARTS:
        for n, steps in enumerate(sides):
            value = sum(s[part] for s in steps)
            if parts[part][n] != value:
                wrong.append(f"{part} of side {n} {parts[part][n]}, not {value}")
    for n, steps in enumerate(sides):
        whole = sum(s["window_ns"] for s in steps)
        if sum(part[n] for part in parts.values()) != whole:
            wrong.append(f"parts of side {n} do not add up to {whole}")
        side = ("before", "after")[n]
        for count in answer["counts"]:
            value = sum(s[count["what"]] for s in steps) / len(steps) if count["what"] in ("kernels", "copies") else count[side]
            if abs(count[side] - value) > 1e-5:
                wrong.append(f"{count['what']} {side} {count[side]}, not {value}")
        if everything:
            rows = [row for row in everything["rows"] if row["kind"] in ("kernel", "collective", "copy")]
            value = sum(s["gpu_ns"] for s in steps) / len(steps)
            if abs(sum(row[side + "_ns"] or 0 for row in rows) - value) > len(rows):
                wrong.append(f"rows {side} do not add up to the GPU time, {value}")
    return wrong


def self_test(traces):
    for trace in traces:
        new = {id(raw): (start, end) for raw, start, end in retime(trace, Edits())}
        assert all(new[id(event.raw)] == (event.start, event.end) for event in trace.events), "a run without edits differs"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True, type=os.path.abspath)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--data", action="store_true")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--one", choices=mutate.KINDS)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    gc.disable()    # few cycles, many objects
    first = args.seed if args.seed is not None else rounds.seed(1)
    real = [Trace(DATA / name) for name in REAL if (DATA / name).exists()] if args.data else []
    table, found, quiet, covered, matched, wrong = collections.defaultdict(collections.Counter), [], [], [], [], []
    with tempfile.TemporaryDirectory(prefix="heddle-diff-") as folder:
        folder = args.keep or Path(folder)
        folder.mkdir(exist_ok=True)
        before, after = folder / "before.json", folder / "after.json"
        for n in range(args.pairs):
            seed = first + n
            kind = args.one or ("noise" if n % 5 == 4 else KINDS[(n - n // 5) % len(KINDS)])
            if real and n % 10 == 7 and kind not in ("launch", "collective"):
                trace = real[n // 10 % len(real)]
            else:
                mutate.synth(args.heddle, seed, kind, folder / "base.json")
                trace = Trace(folder / "base.json")
            if n == 0:
                self_test([trace, *real])
            first_side, second_side, truth = mutate.make(trace, kind, seed)
            write(trace, first_side, before)
            write(trace, second_side, after)
            kind = truth["kind"]
            answer = diff(args.heddle, before, after)
            right, said = judge(answer, truth)
            table[kind][said] += 1
            (quiet if kind in QUIET else found).append(right)
            if kind not in QUIET:
                matched.append(rows_of_matched(answer, truth))
            everything = diff(args.heddle, "--all", before, after) if n % 4 == 0 else None
            differs = figures(answer, everything, (before, after))
            wrong += [f"seed {seed}, {kind}: {text}" for text in differs]
            low, high = answer["step"]["low_ns"], answer["step"]["high_ns"]
            if low is not None and kind != "move":
                covered.append(low <= truth["step_change_ns"] <= high)
            if args.verbose or not right or differs or kind not in QUIET and not matched[-1]:
                top = [f"{row['kind']} {row['name'][:50]} {row['matched']} {row['verdict']} {row['change_ns']}" for row in answer["rows"][:3]]
                print(f"seed {seed}, {kind}: {'right' if right else 'not right'}, first {said}; step {answer['verdict']} "
                      f"{answer['step']['change_ns']} in [{low}, {high}], truth {truth['step_change_ns']}, GPU {truth['gpu_ns']}, "
                      f"{[name[:40] for name in truth['names'][:3]]}; rows {top}", flush=True)
    print("\nplanted       what the first row is")
    for kind in mutate.KINDS:
        if table[kind]:
            print(f"{kind:12}  " + ", ".join(f"{count} {said}" for said, count in table[kind].most_common()))
    print(f"culprit first: {sum(found)} of {len(found)}; how it was matched is said: {sum(matched)} of {len(matched)}; "
          f"quiet where only noise: {sum(quiet)} of {len(quiet)}; the interval contains the truth: {sum(covered)} of {len(covered)}")
    for text in wrong[:20]:
        print(text)
    failed = bool(wrong)
    for right, share, what in ((found, 0.98, "culprits"), (quiet, 0.98, "quiet pairs"), (matched, 0.95, "matches"), (covered, 0.85, "intervals")):
        if right and len(right) - sum(right) > max(1, (1 - share) * len(right)):
            print(f"too few {what} are right")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
