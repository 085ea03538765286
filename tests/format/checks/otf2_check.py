#!/usr/bin/env python3
"""OTF2 archives of the real traces in ../shared/data, read with otf2-print and compared with the JSON.

usage: otf2_check.py --copy PROGRAM [FILE...]

PROGRAM IN OUT reads a trace and writes it, and prints the ledger. For every slice ("X") of the JSON the archive must have an
Enter and a Leave of its name at its times in ns, on every location times must not decrease and regions must nest, sends
must match receives, and the count of correlation attributes must be that of the slices. Where otf2-print or the traces are
absent the test is skipped, and says so.
"""
import argparse
import collections
import decimal
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
FILES = ["kineto/nccl_data", "kineto/b200_eager", "kineto/mi250_minitoy", "kineto/normalization_layer_test",
         "kineto/event_sync_multi_stream", "kineto/particle_transformer_a100", "ranks/dlrm/rank0"]
REGION = re.compile(r'Region: "(.*)" <\d+>$', re.S)


def load(path):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    document = json.loads(data.decode("utf-8", "replace"), parse_float=decimal.Decimal, strict=False)
    return document if isinstance(document, list) else document["traceEvents"]


def ns(value):
    return int((decimal.Decimal(value) * 1000).to_integral_value(decimal.ROUND_FLOOR))


def records(archive):
    """[kind, location, time, text] of each event, attributes joined to the text."""
    run = subprocess.run(["otf2-print", str(archive)], capture_output=True, text=True, errors="replace")
    if run.returncode or "warning" in run.stderr:
        raise AssertionError(f"otf2-print: {run.returncode} {run.stderr[:300]}")
    out = []
    for line in run.stdout.splitlines():
        found = re.match(r"([A-Z_]+) +(\d+) +(\d+)  (.*)$", line)
        if found:
            out.append([found[1], int(found[2]), int(found[3]), found[4]])
        elif out and line.strip():
            out[-1][3] += "\n" + line.strip()
    return out


def check(program, path, folder):
    """None, or what is wrong."""
    out = folder / "out.otf2"
    run = subprocess.run([program, str(path), str(out)], capture_output=True, text=True)
    if run.returncode:
        return f"exit status {run.returncode}: {run.stderr.strip()}"
    ledger = {line.split()[0]: int(line.split()[2]) for line in run.stdout.splitlines() if line.startswith("otf2.")}
    events = [e for e in load(path) if isinstance(e, dict)]
    wanted = collections.Counter(
        (e.get("name", "(no name)"), ns(e["ts"]), ns(decimal.Decimal(e["ts"]) + decimal.Decimal(e["dur"])))
        for e in events if e.get("ph") == "X" and "dur" in e)
    if "otf2.times-shifted" in ledger:
        return "times are shifted"
    found, stacks, last = collections.Counter(), collections.defaultdict(list), {}
    sends, receives, correlations, points = collections.Counter(), collections.Counter(), 0, 0
    for kind, location, time, text in records(out / "traces.otf2"):
        if time < last.get(location, 0):
            return f"time decreases at location {location}: {time}"
        last[location] = time
        if kind == "ENTER":
            name = REGION.match(text.split("\nADDITIONAL ATTRIBUTES")[0])[1]
            kept = '("heddle.kind"' not in text
            points += not kept
            correlations += kept and '("correlation"' in text
            stacks[location].append((name, time, kept))
        elif kind == "LEAVE":
            name = REGION.match(text.split("\nADDITIONAL ATTRIBUTES")[0])[1]
            if not stacks[location] or stacks[location][-1][0] != name:
                return f"regions do not nest at location {location}, time {time}"
            _, start, kept = stacks[location].pop()
            if kept:
                found[name, start, time] += 1
        elif kind in ("MPI_SEND", "MPI_RECV"):
            tag = re.search(r'Communicator: (".*?" <\d+>), Tag: (\d+)', text, re.S).groups()
            (sends if kind == "MPI_SEND" else receives)[tag] += 1
    if any(stacks.values()):
        return "regions without Leave"
    if sends != receives:
        return "sends and receives differ"
    moved = ledger.get("otf2.time-outside-trace", 0)
    wrong = (wanted - found) + (found - wanted)
    if sum(wrong.values()) > 2 * moved:
        return f"{sum(wrong.values())} slices differ, such as {wrong.most_common(3)}"
    with_correlation = sum(e.get("ph") == "X" and "correlation" in (e.get("args") or {}) for e in events)
    if correlations != with_correlation:
        return f"{correlations} correlations, {with_correlation} in the JSON"
    instants = sum(e.get("ph") in ("i", "I") for e in events)
    if points < instants:
        return f"{points} points, {instants} instants in the JSON"
    flows = sum(e.get("ph") in ("s", "t", "f") for e in events)
    if flows and not sends and ledger.get("otf2.flow-unmatched") != flows:
        return "flows vanished"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--copy", required=True)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    root = pathlib.Path(os.environ.get("HEDDLE_SOURCE_ROOT", pathlib.Path(__file__).parents[3]))
    data = pathlib.Path(os.environ.get("HEDDLE_SHARED", root.parent / "shared")) / "data"
    files = options.files or [p for name in FILES for p in sorted(data.glob(name + ".json*"))]
    if not files or not shutil.which("otf2-print"):
        print(f"skipped: no otf2-print, or no traces in {data}")
        return SKIP
    bad = 0
    for path in files:
        with tempfile.TemporaryDirectory() as folder:
            problem = check(options.copy, path, pathlib.Path(folder))
        if problem:
            bad += 1
            print(f"{path}: {problem[:1000]}")
    print(f"{len(files)} files, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
