#!/usr/bin/env python3
"""SQL of `heddle view` over several traces has the times that `heddle query` has: on one clock, where all say what theirs count from.

  check_sql_clock.py --heddle HEDDLE
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import urllib.parse
import urllib.request

import job_server

APART_US = 2_000_000
TIMES = {
    "slices": "select input, id, ts, dur from slice order by id",
    "between": "select input, name, ts from slice where ts >= 2001000000 and ts < 2001300000 order by ts desc",
    "instants": "select input, ts from slice where type = 'instant' order by 1, 2",
    "async": "select input, ts, dur from slice where type = 'async' order by 1, 2",
    "launch": "select input, ts, work_ts, delay from launch order by 1, 2",
    "counter": "select input, ts, value from counter order by 1, 2",
    "flow": "select input, ts_out, ts_in from flow order by 1, 2",
    "step": "select input, ts, dur from step order by 1, 2",
    "track": "select input, start_ts, end_ts from track order by 1, 2",
    "report": "select input, step, step_start, count from kernels where \"by\" = 'step' order by 1, 3",
    "window": "select input, sum(count) from kernels(2001000000, 2001250000) group by 1",
    "info": "select input, clock_base, start, \"end\" from info order by 1",
    "overlap": "select ts, dur, a_id, b_id from interval_intersect('select id, ts, dur from slice where input = 0', 'select id, ts, dur from slice where input = 1') order by 1, 3, 4",
    "job": "select rank, step, step_start, latest from stragglers_steps order by 1, 3",
}


def events_of(rank):
    """Each trace counts from its own zero, which is that of the one clock plus 2 s of rank 0."""
    start = 1000 + (APART_US if rank == 0 else 0)
    events = []
    for i in range(6):
        at = start + 100 * i + rank
        events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at, "dur": 5, "args": {"correlation": i + 1}},
                   {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "ts": at + 10, "dur": 40 + 5 * rank,
                    "args": {"correlation": i + 1, "device": 0, "stream": 7, "Collective name": "allreduce", "Process Group Name": "0", "Group size": 2, "Seq": i}},
                   {"ph": "s", "id": i, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": at}, {"ph": "f", "bp": "e", "id": i, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": at + 10}]
    events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": start + 300 * i - 5, "dur": 290} for i in range(2)]
    return events + [{"ph": "i", "s": "t", "name": "mark", "pid": 1, "tid": 1, "ts": start + 50}, {"ph": "C", "name": "bytes", "pid": 1, "ts": start + 60, "args": {"n": rank}},
                     {"ph": "b", "cat": "a", "id": 1, "name": "async", "pid": 1, "tid": 1, "ts": start + 70}, {"ph": "e", "cat": "a", "id": 1, "name": "async", "pid": 1, "tid": 1, "ts": start + 90}]


def write(folder, rank, base):
    path = folder / f"clock_rank{rank}.json"
    about = {} if base is None else {"baseTimeNanoseconds": base}
    path.write_text(json.dumps({**about, "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events_of(rank)}))
    return path


def post(server, route, sql, **params):
    asked = f"{server.base}{route}?{urllib.parse.urlencode(params)}"
    with job_server.open_url(urllib.request.Request(asked, method="POST", data=sql.encode()), timeout=job_server.PATIENCE_S) as answer:
        return json.loads(answer.read())


def compare(heddle, server, paths):
    """All answers of the page against those of the command; the answer about slices. Traces are added in the order in which they are ready."""
    for name, sql in TIMES.items():
        found = post(server, "query", sql)
        assert "error" not in found, (name, found)
        order = [paths[i["trace"]] for i in found["inputs"]]
        said = json.loads(subprocess.run([heddle, "query", "-q", "--json", *order, sql], capture_output=True, text=True, check=True).stdout)
        wanted = [list(row.values()) for row in said]
        assert found["rows"] == wanted and wanted, (name, found["rows"][:5], wanted[:5])
        if name == "slices":
            slices = found
    return slices


def check_shared(heddle, folder):
    base = 1_700_000_000_000_000_000
    paths = [str(write(folder, 0, base)), str(write(folder, 1, base + APART_US * 1000))]
    with job_server.Server(heddle, *paths) as server:
        traces = server.ready(2)
        found = compare(heddle, server, paths)
        shifts = {i["trace"]: int(i.get("shift_ns", 0)) for i in found["inputs"]}
        assert shifts == {0: 0, 1: APART_US * 1000}, shifts
        assert {t["id"]: int(t.get("sql_shift_ns", 0)) for t in traces} == shifts, traces
        assert [min(row[2] for row in found["rows"] if row[0] == i) for i in range(2)] == [(1000 + APART_US - 5) * 1000] * 2, found["rows"][:3]
        for trace in traces: # a result as a track stands where its trace has it
            made = post(server, "query/tracks", "select id, ts, dur, name from slice where name like 'nccl%'", trace=trace["id"], title="t")
            shown = next(t for t in server.ask(f"tracks?trace={trace['id']}&from=0")["tracks"] if t["id"] == made["tracks"][0])
            kernels = [e for e in events_of(trace["id"]) if e.get("cat") == "kernel"]
            first = min(e["ts"] for e in kernels) * 1000 - int(trace["start_ns"])
            assert shown["start"] == first, (shown, first)


def check_own(heddle, folder):
    """One of them does not say what its clock counts from: all keep theirs."""
    paths = [str(write(folder, 0, None)), str(write(folder, 1, 1_700_000_000_000_000_000))]
    with job_server.Server(heddle, *paths) as server:
        server.ready(2)
        found = post(server, "query", TIMES["slices"])
        assert not any("shift_ns" in i for i in found["inputs"]), found["inputs"]
        for i, of in enumerate(found["inputs"]):
            assert min(row[2] for row in found["rows"] if row[0] == i) == (1000 + (0 if of["trace"] else APART_US) - 5) * 1000, found["rows"][:3]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        check_shared(args.heddle, folder)
        check_own(args.heddle, folder)
    print(f"{len(TIMES)} questions have one answer")


if __name__ == "__main__":
    main()
