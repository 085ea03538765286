#!/usr/bin/env python3
"""Reading and writing again keeps every event of the real traces in ../shared/data: a check that shares no code with us.

usage: compare_json.py --copy PROGRAM [--rest|--all] [FILE...]

PROGRAM IN OUT reads a trace and writes it. Both files are parsed with Python's json, numbers as Decimal, so that no digit
is lost, and compared event by event and key by key. With no FILE, the JSON traces of HEDDLE_SHARED/data (default:
../shared/data beside the project) are taken as tests/sizes.py says; where there are none the test is
skipped, and says so. The counts of
events and slices are compared with those in data/README.md. Then the trace is written as a .heddle file, and the JSON
that is made from that must be the same, byte for byte.
"""
import argparse
import decimal
import filecmp
import gc
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import sizes  # noqa: E402

SKIP = 77


def load(path):
    """The document with numbers as Decimal; NaN and the like as text, as the reader repairs them."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode("utf-8", "replace")
    constant = {"NaN": "NaN", "Infinity": "Infinity", "-Infinity": "-Infinity"}.get
    return json.loads(text, parse_float=decimal.Decimal, parse_int=decimal.Decimal, parse_constant=constant)


def events_of(document):
    return document if isinstance(document, list) else document.get("traceEvents")


def take_samples(document):
    """The top-level key `samples`, out of the document, as the events that say the same."""
    samples = document.get("samples") if isinstance(document, dict) else None
    if not samples or not isinstance(samples, list) or not isinstance(samples[0], dict) or "sf" not in samples[0]:
        return []
    del document["samples"]
    events = []
    for sample in samples:
        event = {"ph": "P"} | {k: v for k, v in sample.items() if k in ("name", "cat", "ts", "pid", "tid", "sf")}
        args = {k: v for k, v in sample.items() if k not in event}
        events.append(event | ({"args": args} if args else {}))
    return events


def find_pids(events):
    """{tid: its pid} of the tids that one process has."""
    pids = {}
    for event in events:
        if isinstance(event, dict) and isinstance(event.get("tid"), decimal.Decimal) and isinstance(event.get("pid"), decimal.Decimal):
            pids.setdefault(event["tid"], set()).add(event["pid"])
    return {tid: next(iter(of)) for tid, of in pids.items() if len(of) == 1}


def first_difference(before, after):
    """What differs between two documents, or None."""
    samples = take_samples(before)
    old, new = events_of(before), events_of(after)
    if samples:
        pids = find_pids(old)
        old = old + [{"pid": pids[s["tid"]]} | s if s.get("tid") in pids else s for s in samples]
    if len(old) != len(new):
        return f"{len(old)} events became {len(new)}"
    for index, (a, b) in enumerate(zip(old, new)):
        if a != b:
            return f"event {index}: {a} became {b}"
    if isinstance(before, dict):
        rest = [(k, v) for k, v in before.items() if k != "traceEvents"]
        kept = [(k, v) for k, v in after.items() if k != "traceEvents"]
        if rest != kept:
            return f"top-level keys: {[k for k, _ in rest]} became {[k for k, _ in kept]}, or a value differs"
    return None


def readme_counts(data):
    """{"kineto/nccl_data": (events, slices)} from the table."""
    counts = {}
    for line in (data / "README.md").read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) > 6 and re.fullmatch(r"[\d,]+", cells[4]) and re.fullmatch(r"[\d,]+", cells[5]):
            counts[cells[0].removesuffix(".json")] = tuple(int(c.replace(",", "")) for c in cells[4:6])
    return counts


def traces(data):
    for path in sorted(data.rglob("*.json*")):
        if path.suffix not in (".json", ".gz") or "memory_timeline" in path.name or "rocprofv3" in path.name:
            continue
        yield path


def copy(program, *steps):
    """A trace copied from one file to the next."""
    for source, target in zip(steps, steps[1:]):
        run = subprocess.run([program, str(source), str(target)], capture_output=True, text=True)
        if run.returncode != 0:
            return f"{target.name}: exit status {run.returncode}: {run.stderr.strip()}"
    return None


def check(program, path, folder, counts):
    """None: fine; a text: what is wrong; raises ValueError for what is not a trace to Python."""
    before = load(path)
    if events_of(before) is None:
        raise ValueError("no traceEvents")
    out, between, again = folder / "out.json", folder / "between.heddle", folder / "again.json"
    problem = copy(program, path, out) or first_difference(before, load(out)) or copy(program, path, between, again)
    if not problem and not filecmp.cmp(out, again, shallow=False):
        problem = "by way of .heddle: " + (first_difference(before, load(again)) or "the same in other bytes")
    return problem or (count_problem(events_of(before), counts) if counts else None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--copy", required=True)
    sizes.options(parser)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    gc.disable()  # it would walk millions of objects again and again, and none of them is in a cycle
    root = pathlib.Path(os.environ.get("HEDDLE_SOURCE_ROOT", pathlib.Path(__file__).parents[3]))
    data = pathlib.Path(os.environ.get("HEDDLE_SHARED", root.parent / "shared")) / "data"
    files = options.files or sizes.chosen(traces(data), options.choice)
    if not files:
        print(f"skipped: no traces in {data}")
        return SKIP
    counts = readme_counts(data) if (data / "README.md").exists() else {}
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            name = str(path).removeprefix(str(data) + "/").removesuffix(".gz").removesuffix(".json")
            try:
                problem = check(options.copy, path, pathlib.Path(folder), counts.get(name))
            except ValueError as error:
                print(f"left out {path}: {error}")
                continue
            if problem:
                bad += 1
                print(f"{path}: {problem[:2000]}")
    print(f"{len(files)} files, {bad} differ")
    return 1 if bad else 0


def slice_count(events):
    """Complete slices, and pairs of a begin and an end on one track."""
    count, begins, depth = 0, [], {}
    for event in events:
        if not isinstance(event, dict):
            continue
        if event.get("ph") == "X":
            count += 1
        elif event.get("ph") in ("B", "E"):
            begins.append((decimal.Decimal(event["ts"]), event["ph"] == "B", str(event.get("pid")), str(event.get("tid"))))
    for _, is_begin, pid, tid in sorted(begins, key=lambda b: b[0]):
        open_now = depth.get((pid, tid), 0)
        if is_begin:
            depth[pid, tid] = open_now + 1
        elif open_now:
            depth[pid, tid] = open_now - 1
            count += 1
    return count


def count_problem(events, expected):
    found = len(events), slice_count(events)
    return None if found == expected else f"{found} events and slices, README says {expected}"


if __name__ == "__main__":
    sys.exit(main())
