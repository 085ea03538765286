#!/usr/bin/python3
"""Functions of intervals give what asking each pair gives.

usage: tests/query/intervals.py --heddle PROGRAM

Random intervals, of no length, nested, crossing, in partitions, are slices of a trace; unions are counted instant by
instant, intersections and ranges pair by pair. Besides: what makes no sense is refused, and says why.
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from rounds import rounds, seed  # noqa: E402

US = 1000


class Failure(Exception):
    pass


def run(program, trace, query):
    result = subprocess.run([program, "query", "-f", "json", trace, query], capture_output=True)
    if result.returncode != 0:
        return None, result.stderr.decode()
    return [tuple(row.values()) for row in json.loads(result.stdout)], ""


def random_events(r):
    span = r.choice((3, 30, 300))
    return [{"ph": "X", "pid": 1, "tid": r.randrange(3), "name": r.choice("ab"), "cat": "c", "ts": r.randrange(span),
             "dur": r.choice((0, 1, r.randrange(span)))} for _ in range(r.choice((0, 1, 7, 60)))]


def overlap(a, b):
    """The overlap of two intervals, None: they have none. One of no length is at its start."""
    start, end = max(a["ts"], b["ts"]), min(a["ts"] + a["dur"], b["ts"] + b["dur"])
    if start < end or (a["ts"] == b["ts"]):
        return start, max(end, start) - start
    instant = a if a["dur"] == 0 else b if b["dur"] == 0 else None
    other = b if instant is a else a
    if instant and other["ts"] <= instant["ts"] < other["ts"] + other["dur"]:
        return instant["ts"], 0
    return None


def holds(range_, event):
    inside = range_["ts"] <= event["ts"] and event["ts"] + event["dur"] <= range_["ts"] + range_["dur"]
    return inside and (event["ts"] < range_["ts"] + range_["dur"] or event["ts"] == range_["ts"])


def union(intervals):
    out = []
    for one in sorted(intervals, key=lambda i: i["ts"]):
        if out and one["ts"] <= out[-1][1]:
            out[-1][1] = max(out[-1][1], one["ts"] + one["dur"])
            out[-1][2] += 1
        else:
            out.append([one["ts"], one["ts"] + one["dur"], 1])
    return [(start * US, (end - start) * US, count) for start, end, count in out]


def check(program, trace, events):
    def same(query, wanted):
        got, problem = run(program, trace, query)
        if got is None or sorted(got) != sorted(wanted):
            raise Failure(f"{query}\n  wanted {sorted(wanted)[:20]}\n  got {problem or sorted(got)[:20]}\n  of {events}")

    for number, event in enumerate(events):
        event["id"] = number
    a, b = ([e for e in events if e["name"] == name] for name in "ab")
    same("select ts, dur, count from interval_union('slice')", union(events))
    covered = {t for e in events for t in range(e["ts"], e["ts"] + e["dur"])}
    same("select coalesce(sum(dur), 0) from interval_union('select ts, dur from slice')", [(len(covered) * US,)])
    parts = {(tid, *row) for tid in range(3) for row in union([e for e in events if e["tid"] == tid])}
    same("select t.tid, u.ts, u.dur, u.count from interval_union('select * from thread_slice', 'tid') u "
         "join thread t on t.tid = u.partition", parts)
    qa, qb = (f"select id, ts, dur, track_id from slice where name = ''{name}''" for name in "ab")
    pairs = [(x, y, overlap(x, y)) for x in a for y in b]
    same(f"select a_id, b_id, ts, dur from interval_intersect('{qa}', '{qb}')",
         [(x["id"], y["id"], o[0] * US, o[1] * US) for x, y, o in pairs if o])
    same(f"select a_id, b_id from interval_intersect('{qa}', '{qb}', 'track_id')",
         [(x["id"], y["id"]) for x, y, o in pairs if o and x["tid"] == y["tid"]])
    same(f"select range_id, event_id, ts, dur, range_ts, range_dur from containing('{qa}', '{qb}')",
         [(x["id"], y["id"], y["ts"] * US, y["dur"] * US, x["ts"] * US, x["dur"] * US) for x in a for y in b if holds(x, y)])
    same(f"select range_id, event_id from containing where ranges = '{qb}' and events = '{qa}' and partition_by = 'track_id'",
         [(x["id"], y["id"]) for x in b for y in a if holds(x, y) and x["tid"] == y["tid"]])


REFUSED = {
    "select * from interval_union": "query is missing",
    "select * from interval_union(null)": "is null",
    "select * from interval_union('')": "one select",
    "select * from interval_union('select 1')": "no column ts",
    "select * from interval_union('select 1 as ts')": "no column dur",
    "select * from interval_union('select ''x'' as ts, 1 as dur')": "a text as ts",
    "select * from interval_union('slice', 'nothing')": "no column nothing",
    "select * from interval_union('no_such_table')": "no such table",
    "select * from interval_union('select * from slice; select 1')": "one select",
    "select * from interval_union('delete from slice')": "",
    "select * from interval_union('attach ''/tmp/x'' as y')": "",
    "select * from interval_intersect('slice')": "b is missing",
}


def check_refused(program, trace):
    for query, words in REFUSED.items():
        got, problem = run(program, trace, query)
        if got is not None or words not in problem:
            raise Failure(f"{query}: wanted '{words}' in {problem or got}")
    nested = "slice"
    for _ in range(10):
        nested = "select * from interval_union('" + nested.replace("'", "''") + "')"
    got, problem = run(program, trace, nested)
    if got is not None or "queries in queries" not in problem:
        raise Failure(f"queries in one another without end: {problem[:200] or got}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    options = parser.parse_args()
    r = random.Random(seed(1))
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        try:
            for _ in range(rounds(8)):
                events = random_events(r)
                trace.write_text(json.dumps({"traceEvents": events}))
                check(options.heddle, trace, events)
            check_refused(options.heddle, trace)
        except Failure as failure:
            print(failure)
            return 1
    print(f"{rounds(8)} traces, {len(REFUSED) + 1} refusals")
    return 0


if __name__ == "__main__":
    sys.exit(main())
