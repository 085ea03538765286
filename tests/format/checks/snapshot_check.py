#!/usr/bin/env python3
"""snapshot_check.py - memory snapshots of PyTorch in all forms that Python's pickler gives them, event by event

The reader takes events while it reads and forgets them, unless lists or events are there several times. What pickle.loads() makes
of the same bytes is what it reads, with totals that begin at what the segments leave.
"""
import argparse
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2]))
from rounds import rounds, seed as first_seed  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--heddle", required=True)
HEDDLE = os.path.abspath(parser.parse_args().heddle)
ROWS = ("SELECT t.name track, i.ts, i.name, extract_arg(i.arg_set_id, 'args.Bytes') bytes, extract_arg(i.arg_set_id, 'args.Addr') addr, "
        "extract_arg(i.arg_set_id, 'args.Total Allocated') total, extract_arg(i.arg_set_id, 'args.user_metadata') note FROM instant i "
        "JOIN track t ON t.id = i.track_id ORDER BY i.id")


def heddle(*args):
    run = subprocess.run([HEDDLE, *map(str, args)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def make_event(rng, time, frames):
    action = rng.choice(["alloc", "alloc", "free_completed", "free_requested"])
    event = {"action": action, "addr": rng.choice([0, 255, 65536, 1 << 40, (1 << 47) + time]), "size": rng.choice([0, 1, 512, 1 << 20, 1 << 33]), "stream": 0,
             "time_us": time, "frames": rng.choice(frames)}
    if rng.random() < 0.3:
        event["user_metadata"] = rng.choice(["", "größe", "C:\\u12\n", "✓𝄞", "n" * 300, f"step {time}"])
    return event


def make_snapshot(rng, is_shared):
    frames = [[{"filename": f"f{n % 5}.py", "line": n, "name": f"name{n}"} for n in rng.sample(range(40), rng.randrange(6))] for _ in range(8)]
    time, traces = 1700000000000000, []
    for _ in range(rng.choice([1, 1, 2, 3])):
        events = []
        for _ in range(rng.choice([0, 1, 2, 3, 40, 999, 1000, 1001, 2001])):
            time += rng.randrange(3)
            events.append(make_event(rng, time, frames))
        traces.append(events)
    if is_shared:
        for events in traces:
            for _ in range(min(3, len(events))):
                events[rng.randrange(len(events))] = rng.choice(events)
        traces.append(rng.choice(traces))
    traces = rng.choice([list, list, tuple])([rng.choice([list, list, list, tuple])(events) if not is_shared else events for events in traces])
    segments = [{"device": rng.randrange(3), "total_size": 1 << 21, "active_size": rng.randrange(1 << 20), "blocks": []} for _ in range(rng.randrange(4))]
    members = [("segments", segments), ("device_traces", traces), ("allocator_settings", {"x": ["device_traces", [[1, 2], [3]]]}), ("more", [["device_traces", [[{}]]]])]
    return dict(members if rng.random() < 0.5 else rng.sample(members, 4))


def expect(snapshot):
    rows = []
    for device, events in enumerate(snapshot["device_traces"]):
        changes = [{"alloc": 1, "free_completed": -1}.get(event["action"], 0) * event["size"] for event in events]
        total = sum(s["active_size"] for s in snapshot["segments"] if s["device"] == device) - sum(changes)
        for event, change in zip(events, changes):
            total += change
            is_memory = event["action"] != "free_requested"
            rows.append((f"cuda:{device}", event["time_us"] * 1000, "[memory]" if is_memory else event["action"], change if is_memory else None,
                         event["addr"] if is_memory else None, total if is_memory else None, event.get("user_metadata")))
    return rows


def main():
    rng = random.Random(first_seed(random.randrange(1, 1 << 31)))
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "snapshot.pickle"
        for at in range(rounds(30)):
            is_shared = at % 5 == 4
            protocol = at % 6
            data = pickle.dumps(make_snapshot(rng, is_shared), protocol)
            path.write_bytes(data)
            want = expect(pickle.loads(data))
            got = sorted((tuple(row.values()) for row in heddle("query", "--json", path, ROWS)), key=lambda row: row[0])
            losses = {entry["code"]: entry["count"] for entry in heddle("info", "--json", path)["ledger"] if entry["level"] == "loss"}
            wrong = [pair for pair in zip(got, want) if pair[0] != pair[1]]
            assert not losses and not wrong and len(got) == len(want), f"{at}: {len(got)} rows of {len(want)}, {losses}, {wrong[:3]}"


main()
