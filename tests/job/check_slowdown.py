#!/usr/bin/env python3
"""`heddle report slowdown` of synthetic and real jobs, against a slow simulation from their JSON, and against what is known.

  check_slowdown.py --heddle HEDDLE

The real jobs are ../shared/data/ranks (or in HEDDLE_SHARED); where they are absent only made ones are looked at."""
import argparse
import collections
import dataclasses
import functools
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import hds  # noqa: E402

RANKS, SLOW, STEPS = 8, 3, 25


def run(*command, status=0):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == status, (command, done.returncode, done.stderr[-2000:])
    return done.stdout if status == 0 else done.stderr


def load(path):
    with (gzip.open(path) if path.name.endswith(".gz") else open(path, "rb")) as file:
        return json.load(file, parse_float=Decimal)


class Rank:
    """Collectives by start: (collective, kind of transfer, step, operation, start, end), each in the step of its launch."""

    def __init__(self, trace):
        events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
        self.number = trace["distributedInfo"]["rank"]
        steps = sorted((e["ts"], e["ts"] + e["dur"], e["name"]) for e in events
                       if e.get("cat", "").lower() == "user_annotation" and e["name"].startswith("ProfilerStep#"))
        calls = {e["args"]["correlation"]: e["ts"] for e in events if e.get("cat", "").lower() in ("cuda_runtime", "cuda_driver")}
        seen, self.ops, parts = collections.Counter(), [], {}
        nccl = [e for e in events if e.get("cat", "").lower() == "kernel" and e["name"].lower().startswith("nccl")]
        for e in sorted(nccl, key=lambda e: e["ts"]):
            args, name = e["args"], e["name"].lower()
            operation = next(o for o in ("allreduce", "allgather", "reducescatter", "alltoall", "sendrecv") if o in name)
            group = (args.get("Process Group Name") or args["stream"], operation == "sendrecv")
            elements = args.get("Out msg nelems" if operation == "allgather" else "In msg nelems")
            at = calls.get(args["correlation"])
            step = next((n for s, end, n in reversed(steps) if at is not None and s <= at < end), None)
            start = int(e["ts"] * 1000)
            # without a number it counts within its step, or the one before; what comes before the first step within that before it
            parts[group] = step or parts.get(group)
            number = (args["Seq"],) if "Seq" in args else (parts[group], seen[group, parts[group]])
            self.ops.append(((*group, *number), (operation, args.get("Group size"), elements, args.get("dtype")), step, operation,
                             start, start + int(e["dur"] * 1000)))
            seen[group, parts[group]] += 1


def part(ranks):
    """Makes those one rank's that are counted in a step in which ranks of their group have others; how many these are."""
    units, everyone = collections.defaultdict(lambda: collections.defaultdict(list)), collections.defaultdict(set)
    for r in ranks:
        for c, transfer, *_ in r.ops:
            everyone[c[:2]].add(r.number)
            if len(c) == 4:
                units[c[:3]][c[3]].append(transfer[0] if transfer[0] in ("alltoall", "sendrecv") else transfer)
    apart = {unit for unit, places in units.items()
             if len({len(of) for of in places.values()}) > 1 or any(len(set(of)) > 1 for of in places.values())
             or (len(everyone[unit[:2]]) > 1 and any(len(of) == 1 for of in places.values()))}
    for r in ranks:
        r.ops = [(((*c, r.number) if c[:3] in apart and len(c) == 4 else c), *rest) for c, *rest in r.ops]
    return sum(len(c) == 5 for r in ranks for c, *_ in r.ops)


def expected_of(ranks, stage_of):
    unmatched = part(ranks)
    members, before, gaps, kinds = collections.defaultdict(list), {}, {}, {}
    shortest, transfer_kinds = {}, {}
    by_kind, by_transfer = collections.defaultdict(list), collections.defaultdict(list)
    for r in ranks:
        place = 0
        for i, (c, transfer, step, operation, start, end) in enumerate(r.ops):
            members[c].append(r.number)
            place = place + 1 if i and r.ops[i - 1][2] == step else 0
            before[r.number, c] = r.ops[i - 1][0] if i else None
            gaps[r.number, c] = start - r.ops[i - 1][5] if i else 0
            kinds[r.number, c] = (stage_of(r.number), place, operation if i else None)
            by_kind[kinds[r.number, c]].append(gaps[r.number, c])
            shortest[c] = min(shortest.get(c, end - start), end - start)
            transfer_kinds.setdefault(c, transfer)
    joined = [c for c in shortest if len(c) < 5]
    for c in joined:
        duration = shortest[c]
        by_transfer[transfer_kinds[c]].append(duration)
    ideal_gap = {k: statistics.fmean(v) for k, v in by_kind.items()}
    ideal_transfer = {k: statistics.median(v) for k, v in by_transfer.items()}

    def time_of(kept, ideal, operation=None, gaps=gaps):
        @functools.lru_cache(None)
        def end(c):
            same = transfer_kinds[c][0] == operation
            return (max((end(before[m, c]) if before[m, c] else 0) + (gaps[m, c] if same or m in kept else ideal_gap[kinds[m, c]]) for m in members[c])
                    + (ideal_transfer[transfer_kinds[c]] if ideal and not same and len(c) < 5 else shortest[c]))
        return statistics.fmean(end(r.ops[-1][0]) - end(r.ops[0][0]) for r in ranks)

    everyone = {r.number for r in ranks}
    measured = statistics.fmean(r.ops[-1][5] - r.ops[0][5] for r in ranks)
    best = time_of(set(), True)
    # one rank as the median of the others, at the same place of the same step
    fixed, steps = ranks[-1].number, {(r.number, op[0]): op[2] for r in ranks for op in r.ops}
    peers = collections.defaultdict(list)
    for key in gaps:
        if key[0] != fixed:
            peers[kinds[key], steps[key]].append(gaps[key])
    medians = {key: peers.get((kinds[key], steps[key])) for key in gaps if key[0] == fixed}
    as_peers = time_of(everyone, False, gaps={**gaps, **{k: statistics.median(v) for k, v in medians.items() if v}})
    operations = {t[0]: time_of(set(), True, t[0]) / best for t in map(transfer_kinds.get, joined)}
    return (len(joined), unmatched, measured, time_of(everyone, False), best, time_of(set(), False) / best,
            {m: time_of({m}, True) / best for m in everyone},
            {r.number: sum(gaps[r.number, op[0]] for op in r.ops) for r in ranks},
            {s: time_of({m for m in everyone if stage_of(m) == s}, True) / best for s in map(stage_of, everyone) if s is not None},
            operations, (fixed, as_peers, sum(v is None for v in medians.values())))


def close(a, b):
    return abs(a - b) <= max(2, 1e-6 * abs(b))


def near(a, b):
    return abs(a - b) < 1e-5


def check(heddle, paths, stage_of=lambda rank: None):
    sys.setrecursionlimit(100000)
    collectives, unmatched, measured, replayed, ideal, transfers, alone, compute, stages, operations, (fixed, as_peers, lonely) = expected_of([Rank(load(p)) for p in paths], stage_of)
    report = json.loads(run(heddle, "report", "slowdown", "--rank", f"{fixed}=median", "--json", *paths))
    have, s = report["self_check"][0], report["slowdown"][0]
    assert have["ranks"] == len(paths) and (have["collectives"], have["unmatched"]) == (collectives, unmatched), (have, collectives, unmatched)
    assert close(have["measured"], measured) and close(have["replayed"], replayed), (have, measured, replayed)
    assert near(have["error"], 100 * abs(replayed - measured) / measured), have
    assert close(s["ideal"], ideal) and near(s["slowdown"], replayed / ideal) and near(s["transfer_slowdown"], transfers), (s, ideal, transfers)
    assert all(near(r["slowdown"], alone[r["rank"]]) and r["compute"] == compute[r["rank"]] for r in report["ranks"]), (report["ranks"], alone)
    assert {r["pp"] for r in report["stages"]} == set(stages) and all(near(r["slowdown"], stages[r["pp"]]) for r in report["stages"]), (report["stages"], stages)
    assert len(report["operations"]) == len(operations), (report["operations"], operations)
    assert all(near(r["slowdown"], operations[r["operation"].replace("_", "").lower()]) for r in report["operations"]), (report["operations"], operations)
    peer = report["as_peers"][0]
    assert abs(peer["after"] - as_peers) <= max(2, 1e-6 * as_peers) and peer["before"] == have["replayed"] and peer["alone"] == lonely, (peer, as_peers, lonely)
    assert [r["slowdown"] for r in report["ranks"]] == sorted((r["slowdown"] for r in report["ranks"]), reverse=True)
    return report


def make(heddle, folder, *options):
    folder.mkdir()
    run(heddle, "synth", "-q", "--ranks", RANKS, "--steps", 6, "--layers", 4, "--no-python", "--host-ranks", RANKS, *options, "-o", folder / "t.json")
    return [folder / f"t_rank{r}.json" for r in range(RANKS)]


def check_known(heddle, folder):
    """A job with a slow GPU would be about as fast without it as it is where there is none."""
    even, slow = make(heddle, folder / "even"), make(heddle, folder / "slow", "--slow-gpu", f"{SLOW}=40")
    base, found = check(heddle, even), check(heddle, slow)
    truth, s = base["self_check"][0]["measured"], found["slowdown"][0]
    assert base["slowdown"][0]["slowdown"] < 1.05, base["slowdown"]
    assert truth < s["ideal"] < truth * 1.06, (truth, s)  # the mean has an eighth of the slow GPU's 40 %
    first, second = found["ranks"][:2]
    assert first["rank"] == SLOW and s["slowdown"] - first["slowdown"] < 0.02 and second["slowdown"] < 1.03, found["ranks"]
    peer = json.loads(run(heddle, "report", "slowdown", "--rank", f"{SLOW}=median", "--json", *slow))["as_peers"][0]
    assert abs(peer["after"] / truth - 1) < 0.02, (peer, truth)
    print(f"a slow GPU as its peers: {peer['after'] / truth:.4f} of the job that has none")
    print(f"a slow GPU: S {s['slowdown']:.3f}; {s['replayed'] / truth:.3f} of the job that has none")
    return slow


def check_stages(heddle, paths):
    """Two stages of a pipeline, as PyTorch tells their groups."""
    for path in paths:
        trace = json.loads(path.read_text())
        trace["distributedInfo"]["pg_config"] += [{"pg_name": f"pp{r}", "pg_desc": "pp", "pg_size": 2, "ranks": [r, r + RANKS // 2]} for r in range(RANKS // 2)]
        path.write_text(json.dumps(trace))
    report = check(heddle, paths, lambda rank: rank // (RANKS // 2))
    assert [r["ranks"] for r in report["stages"]] == [RANKS // 2] * 2 and report["stages"][0]["slowdown"] > report["stages"][1]["slowdown"], report["stages"]


def change(path, edit):
    trace = json.loads(path.read_text())
    edit([e for e in trace["traceEvents"] if e.get("cat") == "kernel" and e["name"].startswith("nccl")])
    path.write_text(json.dumps(trace))


def check_options(heddle, paths):
    for text, told in ((f"{SLOW}=mean", "RANK=median"), ("median", "RANK=median"), ("99=median", "no collectives of rank 99")):
        assert told in run(heddle, "report", "slowdown", "--rank", text, *paths, status=2), text


def check_split(heddle, folder, paths):
    """Members whose collectives are in several summaries, in no order, are as those that have them in one."""
    if not hds.ZSTD or not hds.XXH:
        return
    whole, split = folder / "whole.hds", folder / "split.hds"
    run(heddle, "summarize", "-q", *paths, "-o", whole)
    job = hds.read(whole)
    for at in SLOW, 0:
        names, rows = hds.table(job.members[at].tables["collectives"])
        kinds = {**dict.fromkeys(("rank", "device", "stream", "sequence", "size", "id"), hds.INT), "bytes": hds.COUNT, "busy": hds.DURATION,
                 **dict.fromkeys(("step", "group", "operation"), hds.STRING), **dict.fromkeys(("point_to_point", "counted"), hds.BOOL),
                 **dict.fromkeys(("step_start", "start", "end"), hds.TIME)}
        parts = [hds.pack([(n, kinds[n], [row[c] for row in rows[i::3]]) for c, n in enumerate(names)]) for i in (2, 0, 1)]
        job.members[at:at + 1] = [dataclasses.replace(job.members[at], file=b"part%d" % i, tables=dict(job.members[at].tables, collectives=part))
                                  for i, part in enumerate(parts)]
    hds.write(split, job)
    reports = [json.loads(run(heddle, "report", "slowdown", "--rank", f"{SLOW}=median", "--json", path)) for path in (whole, split)]
    assert {**reports[0], "path": "", "trust": None} == {**reports[1], "path": "", "trust": None}, reports
    assert len(hds.read(split).members) == len(paths) + 4


def skip(path, steps, nth):
    """The rank has not the nth collective of these steps; how many a step had."""
    trace = json.loads(path.read_text())
    nccl = sorted((e for e in trace["traceEvents"] if e.get("cat") == "kernel" and e["name"].startswith("nccl")), key=lambda e: e["ts"])
    each = len(nccl) // STEPS
    gone = [id(nccl[each * step + nth]) for step in steps]
    trace["traceEvents"] = [e for e in trace["traceEvents"] if id(e) not in gone]
    path.write_text(json.dumps(trace))
    return each


def check_skipped(heddle, folder):
    """A rank skips a collective, in one step of many or in all: what is counted is not joined with others, and too much of
    that is refused. Told numbers say what is true."""
    paths = make(heddle, folder / "skips", "--steps", STEPS, "--slow-gpu", f"{SLOW}=40")[:4]
    original = [path.read_text() for path in paths]

    def changes(steps, has_numbers):
        for path, text in zip(paths, original):
            path.write_text(text)
            if has_numbers:
                change(path, lambda events: [e["args"].update(Seq=i) for i, e in enumerate(sorted(events, key=lambda e: e["ts"]))])
        each = skip(paths[1], steps, 1)
        if len(steps) == STEPS and not has_numbers:
            told = run(heddle, "report", "slowdown", *paths, status=1)
            assert "100.0 %" in told and "mismatched" in told, told
            return None
        unmatched = check(heddle, paths)["self_check"][0]["unmatched"]
        assert unmatched == (0 if has_numbers else len(paths) * each - len(steps)), (unmatched, each)
        return json.loads(run(heddle, "report", "slowdown", "--rank", f"{SLOW}=median", "--json", *paths))["as_peers"][0]["change_percent"]

    true, counted = changes([7], True), changes([7], False)
    assert abs(true - counted) < 1.5, (true, counted)  # what stays as measured is 4 % of the time
    check_split(heddle, folder / "skips", paths)
    print(f"a slow GPU as its peers, where another rank skips a collective: {counted:.2f} %, with numbers {true:.2f} %")
    assert changes(range(STEPS), True) is not None and changes(range(STEPS), False) is None


def check_refused(heddle, paths):
    """A clock that runs at less than half the pace; two groups whose collectives two ranks have in the other order."""
    original = paths[1].read_text()

    def slower(events):
        first = events[0]["ts"]
        for e in events:
            e["ts"], e["dur"] = first + (e["ts"] - first) * 0.4, e["dur"] * 0.4
    change(paths[1], slower)
    assert "% off" in run(heddle, "report", "slowdown", *paths, status=1)
    paths[1].write_text(original)
    for rank, path in enumerate(paths):
        names = ("a", "b") if rank != 1 else ("b", "a")
        change(path, lambda events: [e["args"].update({"Process Group Name": n, "Seq": 0}) for e, n in zip(sorted(events, key=lambda e: e["ts"])[4:], names)])
    assert "different orders" in run(heddle, "report", "slowdown", *paths, status=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    with tempfile.TemporaryDirectory() as name:
        slow = check_known(heddle, pathlib.Path(name))
        check_options(heddle, slow)
        check_stages(heddle, slow)
        check_split(heddle, pathlib.Path(name), slow)
        check_refused(heddle, slow)
        check_skipped(heddle, pathlib.Path(name))
    shared = pathlib.Path(os.environ.get("HEDDLE_SHARED", pathlib.Path(__file__).resolve().parents[3] / "shared"))
    for job in sorted((shared / "data/ranks").glob("*")):
        report = check(heddle, sorted(job.glob("rank*.json.gz")))
        print(f"{job.name}: S {report['slowdown'][0]['slowdown']:.3f}, self-check {report['self_check'][0]['error']:.2f} % off")


main()
