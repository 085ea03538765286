#!/usr/bin/python3
"""Make the fixtures of the format flight, tests/format/flight/*.pickle and *.json, and the seeds of its fuzz target.

usage: flight_fixtures.py FOLDER

small          version 2.10, protocol 2: two groups, all states, a send, shared frames
protocol-four  version 2.4: the same with a description "undefined", no frames, times of zero
early          version 2.0, protocol 4: `entries` first, groups without configuration
dump           JSON as PyTorch writes it: keys sorted, numbers of the status as texts, 0 for no time
bad-cut        the pickle ends in its entries; bad-json: a damaged entry, one of another type, no end
bad-entry      entries that are none, one without any time, one that ends before it starts, an object
"""
import json
import os
import pickle
import sys
from pathlib import Path

T0 = 1700000000000000000
FRAMES = [{"name": "all_reduce", "filename": "distributed_c10d.py", "line": 2696}, {"name": "step", "filename": "train.py", "line": 42}]


def entry(i, group, name, state, seq, p2p=0, frames=FRAMES, sizes=(1024,), **more):
    started = state != "scheduled"
    return {"frames": frames, "record_id": i, "pg_id": int(group[0]), "process_group": group, "thread_name": "pt_main", "thread_id": "140", "collective_seq_id": seq,
            "p2p_seq_id": p2p, "op_id": i + 1, "profiling_name": name, "time_created_ns": T0 + i * 1000, "duration_ms": 0.5 if state == "completed" else None,
            "input_sizes": [list(sizes)], "input_dtypes": ["Float"], "output_sizes": [list(sizes)], "output_dtypes": ["Float"], "state": state,
            "time_discovered_started_ns": T0 + i * 1000 + 300 if started else None,
            "time_discovered_completed_ns": T0 + i * 1000 + 700 if state == "completed" else None,
            "retired": state == "completed", "timeout_ms": 600000, "is_p2p": p2p > 0, **more}


def dump(version, entries, status=None):
    return {"version": version, "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}, "1": {"name": "1", "desc": "tp", "ranks": "[0, 2]"}},
            "nccl_version": "2.21.5", "pg_status": status or {"0": {"last_enqueued_collective": 3, "last_started_collective": 2, "last_completed_collective": 1}},
            "entries": entries}


def small():
    world, tp = ("0", "default_pg"), ("1", "tp")
    return [entry(0, world, "nccl:all_reduce", "completed", 1), entry(1, tp, "nccl:_all_gather_base", "completed", 1, sizes=(2, 3)),
            entry(2, world, "nccl:broadcast", "started", 2), entry(3, tp, "nccl:send 0->1", "completed", 1, p2p=1), entry(4, world, "nccl:all_reduce", "scheduled", 3)]


class Evil:
    def __reduce__(self):
        return os.getenv, ("HOME",)


def as_json(document):
    entries = [{k: 0 if v is None else v for k, v in e.items() if k not in ("frames", "duration_ms")} for e in document["entries"]]
    status = {k: {n: str(x) for n, x in v.items()} for k, v in document["pg_status"].items()}
    return json.dumps({**document, "entries": entries, "pg_status": status}, sort_keys=True, separators=(",", ":"))


def main():
    folder = Path(sys.argv[1])
    undefined = [{k: v for k, v in entry(i, ("0", "undefined"), "nccl:all_reduce", state, i + 1).items() if k != "frames"} for i, state in enumerate(["completed", "started"])]
    early = {"entries": [entry(0, ("7", ""), "nccl:all_reduce", "completed", 1), {**entry(1, ("7", ""), "nccl:barrier", "started", 2), "process_group": "7"},
                         {k: v for k, v in entry(2, ("7", ""), "nccl:barrier", "started", 3).items() if k != "process_group"}], "version": "2.0", "rank": 5}
    bad = small() + [7, {"record_id": 9}, entry(5, ("0", "default_pg"), "nccl:barrier", "completed", 4, time_discovered_completed_ns=T0),
                     entry(6, ("0", "default_pg"), "nccl:barrier", "scheduled", 5, time_created_ns=None), entry(7, ("0", "default_pg"), "nccl:barrier", "scheduled", 6, more=Evil())]
    whole = pickle.dumps(dump("2.10", small()), 2)
    text = as_json(dump("2.10", small()))
    files = {"small.pickle": whole, "protocol-four.pickle": pickle.dumps(dump("2.4", undefined), 4), "early.pickle": pickle.dumps(early, 4),
             "dump.json": text.encode(), "bad-cut.pickle": whole[:whole.rindex(b"output_sizes") - 60] if whole.count(b"output_sizes") > 1 else whole[:-300],
             "bad-json.json": text[:text.rindex('"record_id":3')].replace('"record_id":1', '"record_id":nul').replace('"entries":[', '"entries":[7,').encode(),
             "bad-entry.pickle": pickle.dumps(dump("2.10", bad), 4)}
    seeds = folder.parents[2] / "fuzz/corpus/flight"
    for target in (folder, seeds):
        target.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (target / (name if target == folder else name.split(".")[0])).write_bytes(content)


if __name__ == "__main__":
    main()
