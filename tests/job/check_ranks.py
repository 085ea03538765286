#!/usr/bin/env python3
"""hd_report_stragglers of real jobs of 8 ranks, against a slow computation from their JSON that shares no code with it.

  check_ranks.py --print PRINT_STRAGGLERS

The jobs are ../shared/data/ranks (or in HEDDLE_SHARED). Their collectives name no group and no sequence, so a stream
stands for a group, and the sequence is counted in the only step that each has."""
import argparse
import collections
import glob
import gzip
import json
import os
import statistics
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

OPERATIONS = ("AllReduce", "AllGather", "ReduceScatter", "AllToAll", "Broadcast", "SendRecv")


def collectives_of(path):
    """The rank, {(stream, is point to point): [(duration in ns, operation), ...] by start}, the number of the first in its step."""
    trace = json.load(gzip.open(path), parse_float=Decimal)
    found = collections.defaultdict(list)
    for i, e in enumerate(trace["traceEvents"]):
        if e.get("cat", "").lower() != "kernel" or not e["name"].lower().startswith("nccl"):
            continue
        operation = next(o for o in OPERATIONS if o.lower() in e["name"].lower())
        key = (e["args"]["stream"], operation == "SendRecv")
        found[key].append((e["ts"], i, int(e["dur"] * 1000), operation))
    step, = (int(e["name"].split("#")[1]) for e in trace["traceEvents"] if e.get("name", "").startswith("ProfilerStep#") and e.get("cat") == "user_annotation")
    return trace["distributedInfo"]["rank"], {k: [x[2:] for x in sorted(v)] for k, v in found.items()}, 10**9 * (step + 1)


def expected_of(paths):
    read = [collectives_of(path) for path in paths]
    ranks = {rank: found for rank, found, _ in read}
    first, = {first for _, _, first in read}
    members = {r: dict.fromkeys(("collectives", "last", "late", "waited", "transfer"), 0) for r in ranks if ranks[r]}
    compared, last, mismatched = [], [], 0
    for group in sorted({group for found in ranks.values() for group in found}):
        here = {r: found[group] for r, found in sorted(ranks.items()) if group in found}
        most = max(map(len, here.values()))
        last += [(r, *group, first + len(of) - 1, most - len(of)) for r, of in here.items()]
        for n in range(most):
            durations = {r: of[n][0] for r, of in here.items() if n < len(of)}
            operations = {of[n][1] for of in here.values() if n < len(of)}
            mismatched += (len(durations) < len(here)) + (len(operations) > 1)
            if len(durations) < 2 or len(operations) > 1:
                continue
            low, high = min(durations.values()), max(durations.values())
            slowest = min(r for r, d in durations.items() if d == low) if low < high else None
            compared.append((*group, first + n, *operations, len(durations), slowest, high - low, low))
            if slowest is not None:
                members[slowest]["last"] += 1
            for r, d in durations.items():
                for key, value in (("collectives", 1), ("late", high - d), ("waited", d - low), ("transfer", low)):
                    members[r][key] += value
    return members, compared, last, mismatched


def check_scores(members, rows):
    means = [m["late"] / m["collectives"] for m in members.values() if m["collectives"]]
    middle = statistics.median(means)
    spread = 1.4826 * statistics.median(abs(x - middle) for x in means)
    for row in rows:
        m = members[row["rank"]]
        score = (m["late"] / m["collectives"] - middle) / spread
        assert abs(row["z"] - score) < 0.01, (row, score)


def check(paths, printed):
    members, compared, last, mismatched = expected_of(paths)
    rows = printed["stragglers"]
    assert {r["rank"]: {k: r[k] for k in members[r["rank"]]} for r in rows} == members, rows
    check_scores(members, rows)
    keys = ("stream", "point_to_point", "sequence", "operation", "members", "last_rank", "late", "transfer")
    assert [tuple(r[k] for k in keys) for r in printed["collectives"]] == compared
    kinds = collections.defaultdict(list)
    for *_, operation, count, _, _, low in compared:
        kinds[operation, count].append(low)
    found = {(r["operation"], r["size"]): (r["count"], r["min_transfer"], r["max_transfer"], r["time"]) for r in printed["bandwidths"]}
    assert {k: v[:3] for k, v in found.items()} == {k: (len(v), min(v), max(v)) for k, v in kinds.items()}, found
    assert sum(v[3] for v in found.values()) == sum(m["waited"] + m["transfer"] for m in members.values())
    keys = ("rank", "stream", "point_to_point", "sequence", "behind")
    assert [tuple(r[k] for k in keys) for r in printed["last"]] == last
    assert len(printed["mismatched"]) == mismatched
    return len(members), len(compared)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--print", required=True)
    program = parser.parse_args().print
    shared = Path(os.environ.get("HEDDLE_SHARED", Path(__file__).resolve().parents[3] / "shared"))
    jobs = [sorted(glob.glob(f"{job}/rank*.json.gz")) for job in sorted((shared / "data/ranks").glob("*"))]
    if not jobs:
        print(f"skipped: no {shared}/data/ranks")
        sys.exit(77)
    for paths in jobs:
        for order in (paths, paths[::-1], paths[3:] + paths[:3]):
            done = subprocess.run([program, *order], check=True, capture_output=True, text=True)
            ranks, count = check(paths, json.loads(done.stdout))
        print(f"{Path(paths[0]).parent.name}: {ranks} ranks, {count} collectives compared")


main()
