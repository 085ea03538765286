#!/usr/bin/python3
"""Real exports of nsys against Python's sqlite3 and nsys' own CSVs, event by event. Skips where ../shared is absent.

usage: nsys_check.py --heddle HEDDLE
"""
import argparse
import csv
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

SKIP = 77
WORK = {"kernel": "KERNEL", "gpu_memcpy": "MEMCPY", "gpu_memset": "MEMSET", "cuda_sync": "SYNCHRONIZATION"}


def ns(value):
    return int(Decimal(str(value)) * 1000)


def events_of(heddle, path, folder):
    out = Path(folder) / "out.json"
    subprocess.run([heddle, "convert", "-q", path, out], check=True)
    return json.loads(out.read_text(), parse_float=Decimal)["traceEvents"]


def has(db, table):
    return db.execute("select count(*) from sqlite_master where type='table' and name=?", (table,)).fetchone()[0]


def check_tables(path, events):
    db = sqlite3.connect(f"file:{path}?immutable=1&mode=ro", uri=True)
    strings = dict(db.execute("select id, value from StringIds"))
    wrong = 0

    def expect(what, got, wanted):
        nonlocal wrong
        if got != wanted:
            wrong += 1
            print(f"{path.name}: {what}: {sum(got.values())} events, {sum(wanted.values())} rows; {list((got - wanted).items())[:1]} {list((wanted - got).items())[:1]}")

    slices = [e for e in events if e["ph"] == "X"]
    for category, table in WORK.items():
        table = f"CUPTI_ACTIVITY_KIND_{table}"
        if not has(db, table):
            continue
        got = Counter((ns(e["ts"]), ns(e["dur"]), e["args"]["device"], e["args"]["stream"], e["args"].get("correlationId", e["args"]["correlation"]),
                       e["args"].get("bytes")) for e in slices if e.get("cat") == category)
        columns = [row[1] for row in db.execute(f"pragma table_info({table})")]
        size = "bytes" if "bytes" in columns else "null"
        expect(table, got, Counter(db.execute(f"select start, end-start, deviceId, streamId, correlationId, {size} from {table}")))
    streams = {(p, c, s): n - (1 << 32) * (n > 1 << 31) for p, c, s, n in db.execute("select processId, contextId, streamId, priority from TARGET_INFO_CUDA_STREAM")}
    got = Counter((ns(e["ts"]), e["args"]["stream"], e["args"].get("priority", 0)) for e in slices if e.get("cat") == "kernel")
    expect("kernels' priorities", got, Counter((s, n, streams.get((g >> 24 & 0xffffff, c, n), 0)) for s, n, g, c in db.execute(
        "select start, streamId, globalPid, contextId from CUPTI_ACTIVITY_KIND_KERNEL")))
    got = Counter((ns(e["ts"]), ns(e["dur"]), e["name"], tuple(json.loads(json.dumps(e["args"]["grid"])))) for e in slices if e.get("cat") == "kernel")
    expect("kernels' names", got, Counter((s, d, strings[n], (x, y, z)) for s, d, n, x, y, z in db.execute(
        "select start, end-start, demangledName, gridX, gridY, gridZ from CUPTI_ACTIVITY_KIND_KERNEL")))
    got = Counter((ns(e["ts"]), ns(e["dur"]), e["name"], e["pid"], e["tid"]) for e in slices if e.get("cat") in ("cuda_runtime", "cuda_driver"))
    expect("calls", got, Counter((s, d, re.sub(r"_v\d+$", "", strings[n]), t >> 24 & 0xffffff, t & 0xffffff) for s, d, n, t in db.execute(
        "select start, end-start, nameId, globalTid from CUPTI_ACTIVITY_KIND_RUNTIME")))
    if has(db, "NVTX_EVENTS"):
        got = Counter((ns(e["ts"]), ns(e["dur"]) if "dur" in e else None, e["name"]) for e in slices if e.get("cat") == "user_annotation")
        expect("NVTX", got, Counter(db.execute("select start, end-start, text from NVTX_EVENTS where eventType=59 and text is not null")) +
               Counter((s, d, strings[n]) for s, d, n in db.execute(
                   "select start, end-start, textId from NVTX_EVENTS where eventType=59 and text is null")))
    if has(db, "SCHED_EVENTS"):
        got = Counter((ns(e["ts"]), e["ph"]) for e in events if e.get("cat") == "sched")
        expect("SCHED_EVENTS", got, Counter((s, "B" if i else "E") for s, i in db.execute("select start, isSchedIn from SCHED_EVENTS")))
    if has(db, "COMPOSITE_EVENTS"):
        got = Counter(ns(e["ts"]) for e in events if e["ph"] == "P")
        expect("COMPOSITE_EVENTS", got, Counter(s for s, in db.execute("select start from COMPOSITE_EVENTS")))
    return wrong


def check_csv(folder, events):
    """Enter and leave of nsys' own tables: time and name."""
    wrong = 0
    for name, categories in {"cloverleaf_gpu_trace.csv": ("kernel", "gpu_memcpy", "gpu_memset"),
                             "cloverleaf-cuda_api_trace.csv": ("cuda_runtime", "cuda_driver")}.items():
        with open(folder / name, newline="") as file:
            wanted = Counter((int(float(row["Timestamp (ns)"])), int(float(row["_matching_timestamp"])))
                             for row in csv.DictReader(file) if row["Event Type"] == "Enter")
        got = Counter((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in events if e["ph"] == "X" and e.get("cat") in categories)
        if got != wanted:
            wrong += 1
            print(f"{name}: {sum(got.values())} events, {sum(wanted.values())} rows of the CSV; {list((got - wanted).items())[:2]}, {list((wanted - got).items())[:2]}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = os.path.abspath(parser.parse_args().heddle)
    folder = Path(os.environ.get("HEDDLE_SOURCE_ROOT", Path(__file__).parents[3])).resolve().parent / "shared/data/nsys"
    if not folder.is_dir():
        folder = Path(os.environ.get("HEDDLE_SHARED", "/nonexistent")) / "data/nsys"
    if not folder.is_dir():
        print("skipped: there are no exports of nsys in ../shared/data/nsys")
        return SKIP
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        for path in sorted(folder.glob("*.sqlite")):
            events = events_of(heddle, path, place)
            wrong += check_tables(path, events)
            if "cloverleaf" in path.name:
                wrong += check_csv(folder, events)
    print(f"{wrong} differences")
    return wrong > 0


sys.exit(main())
