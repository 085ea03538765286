#!/usr/bin/env python3
"""Summaries of ranks, read by what docs/formats/hds.md says (hds.py), against the traces and the reports they are made of; and
combined in every order, cut, flipped, of another version, lost in part.

  check_hds.py --heddle HEDDLE

Real traces are those of ../shared/data/ranks (or in HEDDLE_SHARED), if they are there.
"""
import argparse
import collections
import gzip
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import hds

REPORTS = {"steps": ("steps", []), "breakdown": ("breakdown", ["--by", "step"]), "copies": ("copies", ["--by", "step"]),
           "idle": ("idle", ["--by", "step"])}


def run(*command, ok=(0,)):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode in ok, (command, done.returncode, done.stderr[-2000:])
    return done


def plain(value):
    return value.decode() if isinstance(value, bytes) else value


def check_tables(heddle, path, member):
    """Each table of the summary that is one of a report."""
    for name, (report, options) in REPORTS.items():
        said = json.loads(run(heddle, "report", report, *options, "--json", path).stdout)
        wanted = next((t for key, t in said.items() if key == name), None) or []
        names, rows = hds.table(member.tables[name]) if member.tables.get(name) else ([], [])
        assert len(rows) == len(wanted), (path, name, len(rows), len(wanted))
        for row, want in zip(rows, wanted):
            for column, value in zip(names, row):
                have = plain(value)
                assert want.get(column, have) == have or abs(want[column] - have) < 1e-9 * abs(have), (path, name, column, want, row)


def check_sums(path, member):
    """Kernels and operators, from the JSON."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    sums = {"kernels": collections.defaultdict(list), "operators": collections.defaultdict(list)}
    outer = collections.Counter()  # time of operators that are within none of their name
    for e in events:
        table = {"kernel": "kernels", "cpu_op": "operators"}.get(e.get("cat"))
        if e.get("ph") == "X" and table:
            sums[table][e["name"]].append(round(e["dur"] * 1000))
    lanes = collections.defaultdict(list)
    for e in events:
        if e.get("ph") == "X" and e.get("cat") == "cpu_op":
            lanes[e["pid"], e["tid"], e["name"]].append((e["ts"], -e["dur"]))
    for (_, _, name), calls in lanes.items():
        reach = float("-inf")
        for start, length in sorted(calls):
            outer[name] += round(-length * 1000) if start >= reach else 0
            reach = max(reach, start - length)
    for name, wanted in sums.items():
        columns, rows = hds.table(member.tables[name])
        assert len(rows) == len(wanted), (path, name, len(rows), len(wanted))
        for row in rows:
            row = dict(zip(columns, map(plain, row)))
            ns = wanted[row["name"]]
            histogram = collections.Counter(n.bit_length() - 1 if n else 0 for n in ns)
            text = " ".join(f"{k}:{histogram[k]}" for k in sorted(histogram))
            have = [row[k] for k in ("count", "total", "min", "max", "histogram")]
            total = outer[row["name"]] if name == "operators" else sum(ns)
            assert have == [len(ns), total, min(ns), max(ns), text], (path, row, ns[:4])
            assert abs(row["squares"] - sum(n * n for n in ns)) <= 1e-9 * row["squares"], (path, row)


def check_orders(heddle, folder, parts):
    """Every order of five, and every way to put them together in pairs first: the same bytes."""
    whole = folder / "whole.hds"
    run(heddle, "combine", "-q", *parts, "-o", whole)
    wanted = whole.read_bytes()
    orders = list(itertools.permutations(parts))
    for order in random.Random(7).sample(orders, 30):
        run(heddle, "combine", "-q", *order, order[0], "-o", folder / "order.hds")
        assert (folder / "order.hds").read_bytes() == wanted, order
    for cut in itertools.product(range(2), repeat=len(parts) - 1):
        groups, group = [], [parts[0]]
        for part, new in zip(parts[1:], cut):
            if new:
                groups.append(group)
                group = []
            group.append(part)
        for i, members in enumerate([*groups, group]):
            run(heddle, "combine", "-q", *members, "-o", folder / f"group{i}.hds")
        run(heddle, "combine", "-q", *(folder / f"group{i}.hds" for i in reversed(range(len(groups) + 1))), "-o", folder / "tree.hds")
        assert (folder / "tree.hds").read_bytes() == wanted, cut
    rewritten = folder / "rewritten.hds"
    hds.write(rewritten, hds.read(whole))
    run(heddle, "combine", "-q", rewritten, "-o", folder / "again.hds")
    assert (folder / "again.hds").read_bytes() == wanted, "a file of another writer"
    return whole


def check_damage(heddle, folder, whole, rounds=60):
    """Whatever is cut or flipped: no crash; a summary is there as it was, or is told."""
    data, good, rng = whole.read_bytes(), hds.read(whole), random.Random(3)
    told = 0
    for i in range(rounds):
        broken = bytearray(data)
        if i % 2:
            broken = broken[:rng.randrange(len(data))]
        else:
            broken[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        (folder / "broken.hds").write_bytes(broken)
        done = run(heddle, "combine", folder / "broken.hds", "-o", folder / "rest.hds", ok=(0, 1))
        same = done.returncode == 0 and (folder / "rest.hds").read_bytes() == data
        assert same or done.stderr, (i, done)
        told += not same
        if done.returncode == 0 and not same:
            strict = run(heddle, "combine", "--strict", folder / "broken.hds", "-o", folder / "strict.hds", ok=(1,))
            assert strict.stderr
            for have, want in zip(hds.read(folder / "rest.hds").members, good.members):
                for name, chunk in have.tables.items():
                    assert chunk is None or chunk == want.tables[name], (i, name)
    later = bytearray(data)
    later[8] = 2
    (folder / "later.hds").write_bytes(later)
    assert "later version" in run(heddle, "combine", folder / "later.hds", whole, "-o", folder / "rest.hds").stderr
    assert (folder / "rest.hds").read_bytes() == data
    return told


def check_lost(heddle, folder, whole):
    """A table that is lost stays lost, hides nothing else, and is told by reports."""
    job = hds.read(whole)
    job.members[1].tables["collectives"] = None
    hds.write(folder / "lost.hds", job)
    run(heddle, "combine", "-q", folder / "lost.hds", "-o", folder / "again.hds")
    again = hds.read(folder / "again.hds")
    assert again.members[1].tables["collectives"] is None and again.members[1].tables["steps"] == job.members[1].tables["steps"]
    said = json.loads(run(heddle, "report", "stragglers", "--json", folder / "lost.hds").stdout)
    assert len(said["stragglers"]) == len(job.members) - 1, said["stragglers"]


def check_real(heddle, folder, data):
    """Traces of PyTorch's, as far as they are there."""
    traces = sorted(data.glob("ranks/*/rank[03].json.gz"))
    for path in traces:
        run(heddle, "summarize", "-q", path, "-o", folder / "real.hds")
        member, = hds.read(folder / "real.hds").members
        assert b"rank%d.json.gz" % member.rank == member.file == path.name.encode(), member
        check_tables(heddle, path, member)
        check_sums(path, member)
    return len(traces)


def check_unstored(stored, unstored):
    """What heddle synth summarises without a file, but for what tells of the file."""
    columns, (row,) = hds.table(stored.tables["rank"])
    _, (other,) = hds.table(unstored.tables["rank"])
    assert {c for c, x, y in zip(columns, row, other) if x != y} == {"file", "format", "producer"}, (row, other)
    assert stored.tables.keys() == unstored.tables.keys()
    assert all(stored.tables[t] == unstored.tables[t] for t in stored.tables if t != "rank")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    data = pathlib.Path(os.environ.get("HEDDLE_SHARED", pathlib.Path(__file__).resolve().parents[3] / "shared")) / "data"
    if not hds.ZSTD or not hds.XXH:
        print("skipped: libzstd.so or libxxhash.so is not here")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kind in "json", "hds":
            run(heddle, "synth", "-q", "--ranks", 5, "--steps", 3, "--layers", 2, "--host-ranks", 2, "-o", folder / f"t.{kind}")
        parts = []
        for rank in range(5):
            path, part = folder / f"t_rank{rank}.json", folder / f"r{rank}.hds"
            run(heddle, "summarize", "-q", path, "-o", part)
            member, = hds.read(part).members
            assert (member.rank, member.world_size, member.host, member.file) == (rank, 5, b"node%d" % (rank // 2), path.name.encode())
            check_tables(heddle, path, member)
            check_sums(path, member)
            check_unstored(member, *hds.read(path.with_suffix(".hds")).members)
            parts.append(part)
        whole = check_orders(heddle, folder, parts)
        told = check_damage(heddle, folder, whole)
        check_lost(heddle, folder, whole)
        real = check_real(heddle, folder, data)
        print(f"5 summaries agree, and {real} of real traces; 46 orders and groupings give the same bytes; {told} of 60 damaged files were told, the rest was whole")
    return 0


sys.exit(main())
