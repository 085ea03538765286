#!/usr/bin/python3
"""Read real OTF2 archives and compare every event with what otf2-print says.

usage: otf2_read_check.py --copy COPY_TRACE --heddle HEDDLE

For each archive in ../shared/data/otf2 otf2-print's list of events is the truth: the number of events by kind, the name,
location and exact time of every Enter and Leave, every value of every metric. Times are compared as nanoseconds, rounded
down from ticks in exact arithmetic. Skips where there are no archives, or no otf2-print.
"""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

SKIP = 77
EVENT = re.compile(r"^([A-Z_0-9]+) +(\d+) +(\d+)(?:  (.*))?$")
NAME = re.compile(r'"((?:[^"\\]|\\.)*)" <\d+>')
VALUE = re.compile(r'\("((?:[^"\\]|\\.)*)" <\d+>; (\w+); ([^;)]+)\)')


def printed(anchor):
    clock = subprocess.run(["otf2-print", "-G", str(anchor)], capture_output=True, text=True, check=True).stdout
    match = re.search(r"Ticks per Seconds: (\d+)", clock)
    text = subprocess.run(["otf2-print", str(anchor)], capture_output=True, text=True, check=True).stdout
    events = [EVENT.match(line) for line in text.splitlines()]
    return int(match.group(1)), [event.groups() for event in events if event]


def expected(anchor):
    """Slices, samples of counters and the number of all other events, from the text of otf2-print."""
    ticks_per_second, events = printed(anchor)
    slices, counters, others = collections.Counter(), collections.Counter(), collections.Counter()
    stacks = collections.defaultdict(list)
    for kind, location, ticks, rest in events:
        ns = int(ticks) * 10**9 // ticks_per_second
        if kind == "ENTER":
            stacks[location].append((NAME.search(rest).group(1), ns))
        elif kind == "LEAVE":
            name, start = stacks[location].pop()
            assert name == NAME.search(rest).group(1)
            slices[(name, location, start, ns - start)] += 1
        elif kind == "METRIC":
            for name, _, value in VALUE.findall(rest):
                counters[(name, ns, Decimal(value))] += 1
        elif not kind.startswith("PARAMETER"):
            others[kind.replace("_", "").lower()] += 1
    return slices, counters, others


def nanoseconds(text):
    return int(Decimal(text) * 1000)


def read(copy, anchor):
    """The same from the JSON that Heddle makes of the archive."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        subprocess.run([copy, str(anchor), str(out)], check=True)
        trace = json.loads(out.read_text(), parse_float=Decimal)
    slices, counters, others = collections.Counter(), collections.Counter(), collections.Counter()
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            start, end = nanoseconds(event["ts"]), (Decimal(event["ts"]) + Decimal(event["dur"])) * 1000
            slices[(event["name"], str(event["tid"]), start, int(end) - start)] += 1
        elif event["ph"] == "C":
            for value in event["args"].values():
                counters[(event["name"], nanoseconds(event["ts"]), Decimal(value))] += 1
        elif event["ph"] in "iI":
            others[event["name"].lower()] += 1
    return slices, counters, others


def differences(what, wanted, got):
    if wanted == got:
        return []
    lines = [f"{what}: {sum(wanted.values())} expected, {sum(got.values())} read"]
    lines += [f"  missing {item}" for item in list((wanted - got).keys())[:3]]
    lines += [f"  too many {item}" for item in list((got - wanted).keys())[:3]]
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--copy", required=True)
    parser.add_argument("--heddle", required=True)
    args = parser.parse_args()
    root = Path(os.environ.get("HEDDLE_SOURCE_ROOT", Path(__file__).resolve().parents[3]))
    anchors = sorted((root.parent / "shared" / "data" / "otf2").glob("*/*.otf2"))
    if not anchors or not shutil.which("otf2-print"):
        print("skipped: no archives in ../shared/data/otf2, or no otf2-print")
        return SKIP
    problems = []
    for anchor in anchors:
        wanted, got = expected(anchor), read(args.copy, anchor)
        for what, a, b in zip(("slices", "counters", "other events"), wanted, got):
            print(f"{anchor.parent.name}: {sum(b.values())} {what}")
            problems += differences(f"{anchor}: {what}", a, b)
        check = subprocess.run([args.heddle, "check", "-q", str(anchor.parent)], capture_output=True, text=True)
        if check.returncode != 0:
            problems.append(f"{anchor}: heddle check finds something: {check.stdout}{check.stderr}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
