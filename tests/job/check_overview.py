#!/usr/bin/env python3
"""`heddle report job` of jobs with known defects and of real ones, against a slow computation from their JSON.

  check_overview.py --heddle PROGRAM

The real jobs are ../shared/data/ranks (or in HEDDLE_SHARED); where they are absent only made ones are looked at."""
import argparse
import collections
import gzip
import itertools
import json
import os
import random
import subprocess
import tempfile
from decimal import Decimal
from pathlib import Path


def load(path):
    opened = gzip.open(path) if path.name.endswith(".gz") else open(path, "rb")
    with opened as file:
        return json.load(file, parse_float=Decimal)


def ns(trace, event):
    return int(event["ts"] * 1000) + int(trace.get("baseTimeNanoseconds", 0))


def steps_of(trace):
    found = [(e["ts"], e["name"]) for e in trace["traceEvents"]
             if e.get("cat", "").lower() == "user_annotation" and e["name"].startswith("ProfilerStep#")]
    return [name for _, name in sorted(found)]


def groups_of(trace):
    """{(device, group, stream, is point to point): collectives}"""
    counts = collections.Counter()
    for e in trace["traceEvents"]:
        if e.get("cat", "").lower() == "kernel" and e["name"].lower().startswith("nccl"):
            group = e["args"].get("Process Group Name")
            counts[e["args"]["device"], group, None if group else e["args"]["stream"], "SendRecv" in e["name"]] += 1
    return counts


def runs(numbers):
    """Whole numbers in order, as (first, last, how many)."""
    found = []
    for _, run in itertools.groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0]):
        run = [n for _, n in run]
        found.append((run[0], run[-1], len(run)))
    return found


def most(values):
    counts = collections.Counter(values)
    return max(counts, key=counts.get)


def check_overview(report, traces):
    """traces: {file: its JSON}, whole ones."""
    ranks = collections.defaultdict(list)
    for file, trace in traces.items():
        ranks[trace["distributedInfo"]["rank"]].append(file)
    worlds = collections.Counter(t["distributedInfo"]["world_size"] for t in traces.values())
    world = max(worlds, key=worlds.get)
    steps = {file: steps_of(t) for file, t in traces.items()}
    shape = {file: (len(s), s[0] if s else None, s[-1] if s else None) for file, s in steps.items()}
    usual = most(shape.values())
    furthest = collections.Counter()
    for trace in traces.values():
        for (_, *group), count in groups_of(trace).items():
            furthest[tuple(group)] = max(furthest[tuple(group)], count)
    behind = [(t["distributedInfo"]["rank"], *key, furthest[key[1:]] - n) for t in traces.values()
              for key, n in groups_of(t).items() if n < furthest[key[1:]]]
    behind += [(t["distributedInfo"]["rank"], None, told["pg_name"], None, False, None) for t in traces.values() for told in t["distributedInfo"].get("pg_config", ())
               if (told["pg_name"], None, False) in furthest and not any(key[1:] == (told["pg_name"], None, False) for key in groups_of(t))]
    behind.sort(key=str)
    missing = runs(set(range(world)) - set(ranks))
    doubles = {rank: files for rank, files in ranks.items() if len(files) > 1}
    found = report["job"][0]
    expected = {"summaries": len(traces), "ranks": len(ranks), "unknown": 0, "world_size": world,
                "missing": sum(n for _, _, n in missing), "doubles": len(doubles),
                "beyond": sum(rank >= world for rank in ranks),
                "hosts": len({t["hostname"] for t in traces.values() if "hostname" in t}), "steps": usual[0],
                "first_step": usual[1], "last_step": usual[2], "behind": len({b[0] for b in behind})}
    assert {key: found[key] for key in expected} == expected, (found, expected)
    assert [tuple(r.values()) for r in report["missing"]] == missing
    assert sorted((r["rank"], r["file"]) for r in report["doubles"]) == sorted((k, f) for k, v in doubles.items() for f in v)
    assert {r["world_size"]: r["summaries"] for r in report["world_sizes"]} == worlds
    others = {r["file"]: (r["steps"], r["first_step"], r["last_step"]) for r in report["other_steps"]}
    assert others == {file: s for file, s in shape.items() if s != usual}, others
    keys = ("rank", "device", "group", "stream", "point_to_point", "behind")
    assert sorted((tuple(r[k] for k in keys) for r in report["behind"]), key=str) == behind, (report["behind"], behind)
    assert not report["lost"]
    return behind


class Program:
    def __init__(self, path):
        self.path = path

    def __call__(self, *args):
        return subprocess.run([self.path, *map(str, args)], check=True, capture_output=True, text=True).stdout

    def report(self, name, *files):
        return json.loads(self("report", name, "--json", *files))


def spoil(folder, heddle):
    """8 ranks, of which 3, 6 and 7 are not there; 2 stops early, 1 begins late, 0 is there twice, and 5 has been cut."""
    heddle("synth", "-q", "-o", folder / "j.json", "--ranks", 8, "--host-ranks", 2, "--steps", 3, "--layers", 2, "--no-python")
    files = {rank: folder / f"j_rank{rank}.json" for rank in (0, 1, 2, 4, 5)}
    traces = {rank: load(path) for rank, path in files.items()}
    nccl = sorted(e["ts"] for e in traces[2]["traceEvents"] if e.get("cat") == "kernel" and e["name"].startswith("nccl"))
    traces[2]["traceEvents"] = [e for e in traces[2]["traceEvents"] if e.get("ts", 0) < nccl[-3]]
    traces[1]["traceEvents"] = [e for e in traces[1]["traceEvents"] if e["name"] != "ProfilerStep#1"]
    twin = dict(traces[0], distributedInfo=dict(traces[0]["distributedInfo"], world_size=16))
    files["twin"], traces["twin"] = folder / "other_rank0.json", twin
    for rank, path in files.items():
        path.write_text(json.dumps(traces[rank], default=float))
    return {path.name: load(path) for path in files.values()}, files


def check_spoiled(heddle, folder):
    traces, files = spoil(folder, heddle)
    job = folder / "job.hds"
    heddle("summarize", "-q", *files.values(), "-o", job)
    behind = check_overview(heddle.report("job", job), traces)
    assert [(b[0], b[-1]) for b in behind] == [(2, 3)], behind
    cut = files[5].read_bytes()
    files[5].write_bytes(cut[:len(cut) * 9 // 10])
    files[4].write_text(files[4].read_text().replace('"traceEvents": [', '"traceEvents": [@@@, ', 1))
    made = subprocess.run([heddle.path, "summarize", *map(str, files.values()), "-o", str(job)], capture_output=True, text=True)
    again = subprocess.run([heddle.path, "combine", job, "-o", folder / "again.hds"], capture_output=True, text=True)
    assert all("of 2 traces something was lost or repaired: rank 4-5;" in done.stderr for done in (made, again)), (made, again)
    report = heddle.report("job", job)
    ledger = collections.Counter()
    for path in files.values():
        for row in json.loads(heddle("report", "info", "-t", "ledger", "--json", path))["ledger"]:
            ledger[row["stage"], row["code"], row["level"]] += row["count"]
    assert {(r["stage"], r["code"], r["level"]): r["count"] for r in report["ledger"]} == ledger, report["ledger"]
    assert report["job"][0]["damaged"] == 2, report["job"]
    assert report["job"][0]["lost"] == sum(n for key, n in ledger.items() if key[2] == "loss") > 0
    print(f"a spoiled job: {len(files)} summaries, {report['job'][0]['lost']} lost events")


def check_stopped(heddle, folder):
    """A rank that stopped steps ago is behind, by how many nobody can count."""
    heddle("synth", "-q", "-o", folder / "s.json", "--ranks", 4, "--steps", 4, "--layers", 2, "--no-python")
    files = [folder / f"s_rank{rank}.json" for rank in range(4)]
    trace = load(files[2])
    second = next(e["ts"] for e in trace["traceEvents"] if e["name"] == steps_of(trace)[1] and e["cat"] == "user_annotation")
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e.get("ts", 0) < second]
    files[2].write_text(json.dumps(trace, default=float))
    found = {(b["rank"], b["step"], b["behind"]) for b in heddle.report("job", *files)["behind"]}
    assert found == {(2, steps_of(trace)[-1], None)}, found
    last = {row["rank"]: row["behind"] for row in heddle.report("stragglers", *files)["last"]}
    whole, part = (sum(groups_of(load(path)).values()) for path in (files[0], files[2]))
    assert last == {0: 0, 1: 0, 2: whole - part, 3: 0} and whole > part > 0, (last, whole, part)
    trace["traceEvents"] = [e for e in trace["traceEvents"] if not e["name"].startswith("nccl")]
    files[2].write_text(json.dumps(trace, default=float))
    behind, = check_overview(heddle.report("job", *files), {path.name: load(path) for path in files})
    assert (behind[0], behind[-1]) == (2, None), behind


def make_pipeline(folder, stages, rng):
    """1F1B-like: ranks compute and send activations down and gradients up a pipeline. As PyTorch has it, "Rank" is the other's place in the
    group, Src and Dst Rank its rank in the job, and Seq counts all messages of a rank in the group. Durations by pair and place."""
    events, free, numbers, truth = {r: [] for r in range(stages)}, [0] * stages, [100] * stages, collections.defaultdict(list)
    for _ in range(7):
        for s, r in [(s, s + 1) for s in range(stages - 1)] + [(s, s - 1) for s in range(stages - 1, 0, -1)]:
            for rank in (s, r):
                free[rank] += rng.randrange(1, 400)
            begin, end = {s: free[s], r: free[r]}, max(free[s], free[r]) + rng.randrange(20, 60)
            truth[s, r].append({rank: end - begin[rank] for rank in (s, r)})
            for rank, name, other, key in (s, "send", r, "Dst Rank"), (r, "recv", s, "Src Rank"):
                numbers[rank] += 1
                events[rank].append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "pid": 0, "tid": 20,
                                     "ts": begin[rank], "dur": end - begin[rank],
                                     "args": {"device": 0, "stream": 20, "Collective name": name, "In msg nelems": 64, "Out msg nelems": 64, "dtype": "Float",
                                              "Group size": stages, "Process Group Name": "5", "Rank": other, key: other, "Seq": numbers[rank]}})
                free[rank] = end
    for rank, of in events.items():
        (folder / f"pp{rank}.json").write_text(json.dumps({"distributedInfo": {"rank": rank, "world_size": stages}, "traceEvents": of}))
    return truth


def check_messages(heddle, folder):
    """Each message has its sender and its receiver, in whatever numbers; with two ranks their numbers are those that are told."""
    for stages in 2, 5:
        truth = make_pipeline(folder, stages, random.Random(stages))
        files = [folder / f"pp{rank}.json" for rank in range(stages)]
        report = heddle.report("stragglers", *files)
        found = {(r["group"], r["sequence"]): (r["members"], r["last_rank"], r["late"], r["transfer"]) for r in report["collectives"]}
        wanted = {}
        for (s, r), messages in truth.items():
            for i, d in enumerate(messages):
                wanted[f"5 {s}>{r}", i] = 2, min(d, key=lambda rank: (d[rank], rank)), 1000 * (max(d.values()) - min(d.values())), 1000 * min(d.values())
        if stages == 2:
            assert {group for group, _ in found} == {"5"} and min(n for _, n in found) == 101, found
            found, wanted = sorted(found.values()), sorted(wanted.values())
        assert found == wanted and not report["mismatched"], (found, wanted)
        assert not heddle.report("job", *files)["behind"]
    trace = json.loads(files[-1].read_text())
    trace["traceEvents"].pop()  # the last gradient is not sent
    files[-1].write_text(json.dumps(trace))
    behind = heddle.report("job", *files)["behind"]
    assert [(b["rank"], b["group"], b["behind"]) for b in behind] == [(4, "5 4>3", 1)], behind
    print("messages of pipelines of 2 and 5 ranks")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = Program(parser.parse_args().heddle)
    shared = Path(os.environ.get("HEDDLE_SHARED", Path(__file__).resolve().parents[3] / "shared"))
    with tempfile.TemporaryDirectory() as folder:
        check_spoiled(heddle, Path(folder))
        check_stopped(heddle, Path(folder))
        check_messages(heddle, Path(folder))
    for job in sorted((shared / "data/ranks").glob("*")):
        traces = {path.name: load(path) for path in sorted(job.glob("rank*.json.gz"))}
        check_overview(heddle.report("job", *job.glob("rank*.json.gz")), traces)
        some = dict(list(traces.items())[1:6:2])
        check_overview(heddle.report("job", *(job / name for name in some)), some)
        print(f"{job.name}: {len(traces)} ranks")


main()
