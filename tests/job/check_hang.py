#!/usr/bin/python3
"""Report hang over flight recorders' dumps of random jobs, against what was done to them.

usage: check_hang.py --heddle HEDDLE [--seed [SEED ...]]

A job enqueues collectives of random groups in one order on all ranks, some of them coalesced: several entries of one number. One thing goes
wrong: a rank skips a collective or the rest of a coalesced one, enqueues another one, other sizes or types, its kernel hangs, it has no dump. Ranks
run until they would wait. Rings are cut, so that nothing may be said of what fell out. Other jobs send messages, of which one end is missing.
"""
import argparse
import json
import pickle
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from rounds import rounds, seed as first_seed  # noqa: E402

T0 = 1700000000 * 10**9
NAMES = ("nccl:all_reduce", "nccl:_all_gather_base", "nccl:_reduce_scatter_base", "nccl:broadcast")
WRONGS = ("missing", "part", "operation", "sizes", "types", "unfinished", "no dump", "fine")


def frames(line):
    return [{"name": "all_reduce", "filename": "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py", "line": 2696},
            {"name": "wrapper", "filename": "/usr/lib/python3/dist-packages/torch/distributed/c10d_logger.py", "line": 83},
            {"name": "step", "filename": "/home/me/train.py", "line": line}, {"name": "<module>", "filename": "/home/me/train.py", "line": 99}]


class Job:
    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.world = rng.randrange(2, 7)
        self.groups = [("0", "default_pg", list(range(self.world)))]
        for n in range(1, rng.randrange(1, 4)):
            self.groups.append((str(n), rng.choice(("tp", "dp", "undefined")), sorted(rng.sample(range(self.world), rng.randrange(2, self.world + 1)))))
        plan = [(rng.randrange(len(self.groups)), rng.choice(NAMES)) for _ in range(rng.randrange(8, 40))]
        self.wrong, self.at = rng.choice(WRONGS), rng.randrange(len(plan) // 2, len(plan))
        self.parts = [rng.choice((1, 1, 1, 3)) for _ in plan]
        if self.wrong == "part":
            self.parts[self.at] = 3
        self.group = plan[self.at][0]
        self.culprit = rng.choice(self.groups[self.group][2])
        # In a group of two neither is what most ranks have: the first one is taken.
        members = self.groups[self.group][2]
        if self.wrong in ("operation", "sizes", "types") and len(members) == 2:
            self.culprit = members[1]
        self.sequence = 1 + sum(g == self.group for g, _ in plan[:self.at])
        self.operation = plan[self.at][1]
        self.run(plan)

    def run(self, plan):
        """Ranks walk through the plan; one that waits stops, as the host of PyTorch does with a synchronous collective."""
        self.entries = {r: [] for r in range(self.world)}
        counts = [0] * len(self.groups)
        stopped = set()
        for i, (g, name) in enumerate(plan):
            counts[g] += 1
            is_at = i == self.at
            there = [r for r in self.groups[g][2] if r not in stopped]
            if is_at and self.wrong in ("missing", "no dump"):
                stopped.add(self.culprit)
                there.remove(self.culprit)
            hangs = len(there) < len(self.groups[g][2]) or (is_at and self.wrong not in ("fine",))
            for r in there:
                mine, size, dtype = name, 64 + i, "Float"
                if is_at and r == self.culprit:
                    mine = {"operation": NAMES[NAMES.index(name) - 1]}.get(self.wrong, name)
                    size += self.wrong == "sizes"
                    dtype = "BFloat16" if self.wrong == "types" else "Float"
                done = not hangs or (is_at and self.wrong == "unfinished" and r != self.culprit)
                t = T0 + i * 10**6 + r
                state = "completed" if done else self.rng.choice(("started", "scheduled"))
                parts = 1 if self.wrong == "part" and is_at and r == self.culprit else self.parts[i]
                for part in range(parts):
                    last = 0 < part == self.parts[i] - 1
                    self.entries[r].append({
                        "frames": frames(i + 1), "record_id": len(self.entries[r]), "pg_id": g, "process_group": self.groups[g][:2], "collective_seq_id": counts[g],
                        "p2p_seq_id": 0, "op_id": counts[g], "profiling_name": "nccl:coalesced" if last else name if part else mine, "time_created_ns": t,
                        "input_sizes": [[64 + i if part else size]], "input_dtypes": [dtype], "output_sizes": [[64 + i if part else size]], "output_dtypes": [dtype], "state": state,
                        "time_discovered_started_ns": t + 5 if done else None, "time_discovered_completed_ns": t + 9 if done else None, "retired": done,
                        "timeout_ms": 600000, "is_p2p": False})
                if not done:
                    stopped.add(r)

    def write(self, folder):
        rng = self.rng
        self.ring = rng.choice((4, 10, 1000))
        self.version = rng.choice(("2.0", "2.4", "2.10"))
        paths = []
        for r in range(self.world):
            if self.wrong == "no dump" and r == self.culprit:
                continue
            entries = self.entries[r][-self.ring:]
            status = {}
            for g in range(len(self.groups)):
                of = [e for e in self.entries[r] if e["pg_id"] == g]
                if of:
                    status[str(g)] = {"last_enqueued_collective": of[-1]["collective_seq_id"], "last_started_collective": -1, "last_completed_collective": -1}
            dump = {"version": self.version, "pg_config": {n: {"name": n, "desc": d, "ranks": str(m)} for n, d, m in self.groups if r in m}, "entries": entries}
            if self.version != "2.0":
                dump["pg_status"] = status
            path = folder / f"hang_{r}"
            if rng.random() < 0.3:
                plain = [{k: 0 if v is None else v for k, v in e.items() if k != "frames"} for e in entries]
                path.write_text(json.dumps({**dump, "entries": plain}, sort_keys=True))
            else:
                path.write_bytes(pickle.dumps(dump, rng.choice((2, 4))))
            paths.append(path)
        rng.shuffle(paths)
        return paths


def check(heddle, seed, folder):
    job = Job(seed)
    paths = job.write(folder)
    said = json.loads(subprocess.run([heddle, "report", "hang", "--json", *paths], check=True, capture_output=True, text=True).stdout)
    rows, wrong = said["culprits"], []
    first = rows[0] if rows else None
    stored = {r: entries[-job.ring:] for r, entries in job.entries.items() if not (job.wrong == "no dump" and r == job.culprit)}
    # Whether dumps show it: the collective is in a ring, and a missing one can be told from one that fell out.
    shown = any(e["pg_id"] == job.group and e["collective_seq_id"] == job.sequence for r, entries in stored.items() if r != job.culprit for e in entries)
    if job.wrong == "missing":
        of = [e for e in stored[job.culprit] if e["pg_id"] == job.group]
        shown &= bool(of) or len(job.entries[job.culprit]) <= job.ring
    expected = None
    if job.wrong != "fine" and shown:
        expected = (job.culprit, "missing" if job.wrong == "part" else job.wrong, job.groups[job.group][0], job.sequence)
        got = first and (first["rank"], first["problem"], first["group"], first["sequence"])
        if got != expected:
            wrong.append(("first", got, expected))
        elif job.wrong in ("operation", "sizes", "types", "unfinished") and first["frame"] not in (f"step (/home/me/train.py:{job.at + 1})", None):
            wrong.append(("frame", first["frame"]))
    if job.wrong == "fine" and rows:
        wrong.append(("fine", rows))
    # How far each rank came, from its ring alone.
    for row in said["ranks"]:
        of = [e for e in stored[row["rank"]] if e["pg_id"] == int(row["group"])]
        if not of:
            continue
        highest = lambda states: max((e["collective_seq_id"] for e in of if e["state"] in states), default=None)
        want = (highest(("scheduled", "started", "completed")), highest(("started", "completed")), highest(("completed",)), min(e["collective_seq_id"] for e in of), len(of),
                stored[row["rank"]][0]["record_id"], of[-1]["profiling_name"], of[-1]["state"])
        got = tuple(row[k] for k in ("enqueued", "started", "completed", "first", "entries", "fell_out", "operation", "state"))
        if want != got:
            wrong.append(("rank", row, want))
    listed = {r for entries in stored.values() for e in entries for r in job.groups[e["pg_id"]][2]}
    if [row["rank"] for row in said["missing"]] != sorted(listed - set(stored)):
        wrong.append(("missing", said["missing"], sorted(listed - set(stored))))
    for line in wrong[:2]:
        print(f"seed {seed}: {job.wrong} of rank {job.culprit} at {job.sequence} of group {job.group}, ring {job.ring}, {job.version}:", *line)
    return bool(wrong), bool(expected)


def check_messages(heddle, seed, folder):
    """Ranks send each other messages in one order; of the last one an end is missing, or neither end completes it."""
    rng = random.Random(seed)
    world, backend = rng.randrange(2, 5), rng.choice(("nccl", "nccl2", "nccl-lazy", "gloo"))
    wrong, entries = rng.choice(("send", "recv", "none")), {r: [] for r in range(world)}
    count = rng.randrange(1, 9)
    for i in range(count):
        source, target = rng.sample(range(world), 2)
        names = {"send": (source, f"{backend}:send {source}->{target}"), "recv": (target, f"{backend}:recv {target}<-{rng.choice((source, '?'))}")}
        is_last = i == count - 1
        for which, (rank, name) in names.items():
            if is_last and which == wrong:
                continue
            t = T0 + i * 10**6
            entries[rank].append({
                "frames": frames(i + 1), "record_id": len(entries[rank]), "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": 0, "p2p_seq_id": i + 1,
                "op_id": i + 1, "profiling_name": name, "time_created_ns": t, "input_sizes": [[8]], "input_dtypes": ["Float"], "output_sizes": [[8]], "output_dtypes": ["Float"],
                "state": "started" if is_last else "completed", "time_discovered_started_ns": t, "time_discovered_completed_ns": None if is_last else t + 9, "is_p2p": True})
    for r in range(world):
        config = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(world)))}}
        (folder / f"nccl_trace_rank_{r}").write_bytes(pickle.dumps({"version": "2.10", "pg_config": config, "entries": entries[r]}))
    said = json.loads(subprocess.run([heddle, "report", "hang", "--json", folder], check=True, capture_output=True, text=True).stdout)
    got = {(row["rank"], row["problem"], row["operation"]) for row in said["culprits"]}
    if wrong == "none":
        expected = {(rank, "unfinished", name) for rank, name in names.values()}
    else:
        other = names["recv" if wrong == "send" else "send"]
        expected = {(other[0], "unfinished", other[1]) if other[1].endswith("?") else (names[wrong][0], "missing", other[1])}
    if got != expected:
        print(f"messages, seed {seed}, {wrong} is missing:", got, expected)
    return got != expected


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--seed", nargs="*", type=int)
    options = parser.parse_args()
    first = first_seed(1)
    seeds = options.seed or range(first, first + rounds(12))
    bad = shown = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            failed, was_shown = check(options.heddle, seed, Path(folder))
            bad += failed
            shown += was_shown
        with tempfile.TemporaryDirectory() as folder:
            bad += check_messages(options.heddle, seed, Path(folder))
    print(f"{len(list(seeds))} jobs, {shown} whose dumps show what went wrong, {bad} differ")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
