#!/usr/bin/env python3
"""Asks `heddle memory --json` and computes the same from the JSON of real traces, without any code of ours.

  check_memory.py --heddle HEDDLE [FILE.json[.gz] ...]

Without files: one that `heddle synth` makes, and those of HEDDLE_SHARED or ../shared that have [memory] instants.
"""
import argparse
import collections
import fractions
import gc
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile

SKIP = 77
TYPES = {0: "cpu", 1: "cuda", 6: "hip"}
problems = []


def events_of(path):
    """(time in ns, args, pid) of each memory instant, in the order of time, then of the file."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    if '"[memory]"' not in text:
        return []
    document = json.loads(text, parse_float=fractions.Fraction)
    events = document["traceEvents"] if isinstance(document, dict) else document
    found = []
    for event in events:
        if event.get("name") == "[memory]" and event.get("ph") == "i":
            found.append((int(fractions.Fraction(event["ts"]) * 1000 // 1), event["args"], event["pid"]))
    return sorted(found, key=lambda item: item[0])  # stable


def add_level(pool, live, when, totals):
    level = totals["Total Allocated"] if pool["totals"] else live
    if pool["peak"] is None or level > pool["peak"]:
        pool.update(peak=level, peak_time=when, peak_live=live)
    pool["final"] = level
    if "Total Allocated" in totals and totals.get("Total Reserved"):
        pool["idle"].append((when, max(0, totals["Total Reserved"] - totals["Total Allocated"])))


def expected_of(events):
    """By (pid, device): what heddle must say."""
    pools = collections.OrderedDict()
    for when, args, pid in events:
        key = (str(pid), TYPES[args["Device Type"]] + (":%d" % args["Device Id"] if args["Device Id"] >= 0 else ""))
        pool = pools.setdefault(key, collections.defaultdict(int, peak=None, idle=[], held={}, totals=True, list=[]))
        pool["list"].append((when, args))
    for pool in pools.values():
        said = [args for _, args in pool["list"]]
        pool["totals"] = all("Total Allocated" in a for a in said) and any(
            a["Total Allocated"] or a.get("Total Reserved", 0) > 0 for a in said)
        held, live, loose = pool["held"], 0, 0
        for when, args in pool["list"]:
            size, where = args["Bytes"], args.get("Addr")
            pool["allocations" if size >= 0 else "frees"] += 1
            if size >= 0:
                pool["allocated"] += size
            if where is None:
                loose += size
                live += size
                pool["freed"] -= min(size, 0)
                pool["no-address"] += 1
            elif size >= 0:
                if where in held:
                    pool["replaced"] += held[where]
                    live -= held[where]
                    pool["allocated-twice"] += 1
                held[where] = size
                live += size
            elif where in held:
                pool["size-differs"] += held[where] != -size
                pool["freed"] += held[where]
                live -= held.pop(where)
            else:
                pool["free-unknown"] += 1
            add_level(pool, live, when, args)
        pool["live"] = live
        pool["loose"] = loose
    return pools


def compare(path, what, got, wanted):
    if got != wanted:
        problems.append("%s: %s: heddle says %r, the JSON %r" % (os.path.basename(path), what, got, wanted))


def check_pool(path, row, pool, reserved):
    name = "%s of %s" % (row["device"], row["process"])
    for key in ("allocations", "frees", "allocated", "freed", "replaced", "peak", "peak_time", "final"):
        compare(path, "%s, %s" % (name, key), row[key], pool[key])
    for key in ("live", "peak_live"):
        compare(path, "%s, %s" % (name, key), row[key], pool[key] if pool[key] >= 0 else None)
    compare(path, name + ", accounts", pool["allocated"], pool["freed"] + pool["replaced"] + pool["live"])
    steps = pool["idle"]
    compare(path, name + ", has reserved", reserved is not None, bool(steps))
    if reserved and steps:
        compare(path, name + ", idle_max", reserved["idle_max"], max(idle for _, idle in steps))
        area = sum(idle * (after - when) for (when, idle), (after, _) in zip(steps, steps[1:]))
        span = steps[-1][0] - steps[0][0]
        mean = area // span if span else steps[-1][1]
        if abs(reserved["idle_mean"] - mean) > 1:
            compare(path, name + ", idle_mean", reserved["idle_mean"], mean)


def check(heddle, path):
    events = events_of(path)
    if not events:
        return 0
    out = subprocess.run([heddle, "memory", "--json", "--top", "1000000", path], stdout=subprocess.PIPE, check=True)
    report = json.loads(out.stdout)[0]
    pools = expected_of(events)
    compare(path, "events", report["memory"][0]["events"], len(events))
    compare(path, "devices", sorted((row["process"], row["device"]) for row in report["devices"]), sorted(pools))
    reserved = {(row["process"], row["device"]): row for row in report["reserved"]}
    for row in report["devices"]:
        key = (row["process"], row["device"])
        if key in pools:
            check_pool(path, row, pools[key], reserved.get(key))
    odd = {row["code"]: row["events"] for row in report["anomalies"]}
    for code in ("free-unknown", "allocated-twice", "size-differs", "no-address"):
        compare(path, code, odd.get(code, 0), sum(pool[code] for pool in pools.values()))
    leaked = sum(sum(pool["held"].values()) + max(0, pool["loose"]) for pool in pools.values())
    compare(path, "bytes of leaks", sum(row["bytes"] for row in report["leaks"]), leaked)
    compare(path, "number of leaks", sum(row["count"] or 0 for row in report["leaks"]),
            sum(len(pool["held"]) for pool in pools.values()))
    return len(events)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    gc.disable()  # it would walk millions of objects again and again, and none of them is in a cycle
    root = os.environ.get("HEDDLE_SOURCE_ROOT", ".")
    shared = os.environ.get("HEDDLE_SHARED", os.path.join(root, "..", "shared"))
    with tempfile.TemporaryDirectory() as folder:
        files = args.files
        if not files:
            made = os.path.join(folder, "synth.json")
            subprocess.run([args.heddle, "synth", "-q", "--events", "60k", "-o", made], check=True,
                           stdout=subprocess.DEVNULL)
            real = sorted(glob.glob(os.path.join(shared, "data", "kineto", "*.json.gz")))
            files = [made] + real
        counts = {path: check(args.heddle, path) for path in files}
    for path, count in counts.items():
        if count:
            print("%s: %d events" % (os.path.basename(path), count))
    if not args.files and not real:
        print("no real traces: ../shared is not there")
    for problem in problems[:40]:
        print(problem, file=sys.stderr)
    if not any(counts.values()):
        sys.exit("no file has memory events")
    sys.exit(1 if problems else 0)


main()
