#!/usr/bin/env python3
"""Reports imbalance and topology of synthetic jobs, and the roles and bandwidths in report stragglers, recomputed from the traces' JSON;
report stragglers of random summaries with defects of all kinds, recomputed from their tables (lateness.py).

  check_job_reports.py --heddle HEDDLE
"""
import argparse
import collections
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

import hds
import lateness

RANKS, TP, DP = 8, 2, 2


def run(*command, ok=(0,)):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode in ok, (command, done.returncode, done.stderr[-2000:])
    return done.stdout


def make(heddle, folder, *options):
    """A job whose ranks have positions: tp fastest, then dp, then pp."""
    run(heddle, "synth", "-q", "--ranks", RANKS, "--steps", 12, "--layers", 2, "--host-ranks", 2, *options, "-o", folder / "t.json")
    groups = {"TENSOR_MODEL_PARALLEL_GROUP": lambda r: r // TP, "mesh_dp": lambda r: r % TP + r // (TP * DP) * TP * DP,
              "pp": lambda r: r % (TP * DP)}
    paths = []
    for rank in range(RANKS):
        path = folder / f"t_rank{rank}.json"
        data = json.loads(path.read_text())
        config = data["distributedInfo"]["pg_config"]
        for number, (description, key) in enumerate(groups.items()):
            members = [r for r in range(RANKS) if key(r) == key(rank)]
            config.append({"pg_name": f"{number + 1}_{members[0]}", "pg_desc": description, "pg_size": len(members), "backend_config": "cuda:nccl",
                           "ranks": members})
        recursive = next(e for e in data["traceEvents"] if e.get("cat") == "cpu_op" and e["dur"] > 2)
        data["traceEvents"].append({**recursive, "ts": round(recursive["ts"] + 0.5, 3), "dur": 1})
        path.write_text(json.dumps(data))
        paths.append(path)
    return paths


def spread(values):
    middle = statistics.median(values)
    return middle, 1.4826 * statistics.median(abs(v - middle) for v in values)


def close(have, want, relative=1e-6):
    return abs(have - want) <= relative * max(abs(have), abs(want), 1)


def check_imbalance(heddle, paths):
    kernels, operators, steps = (collections.defaultdict(lambda: collections.Counter()) for _ in range(3))
    calls = collections.defaultdict(list)
    for rank, path in enumerate(paths):
        for e in json.loads(path.read_text())["traceEvents"]:
            if e.get("ph") != "X":
                continue
            if e.get("cat") == "kernel":
                kernels[e["name"]][rank] += round(e["dur"] * 1000)
            elif e.get("cat") == "cpu_op":
                calls[rank, e["name"], e["tid"]].append((e["ts"], -e["dur"]))
            elif e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep#"):
                steps["steps"][rank] += round(e["dur"] * 1000)
    nested = 0
    for (rank, name, _), of_thread in calls.items():
        end = -1
        for start, length in sorted(of_thread):
            operators[name][rank] += round(-length * 1000) if start >= end else 0
            nested += start < end
            end = max(end, start - length)
    assert nested == RANKS, nested
    said = json.loads(run(heddle, "report", "imbalance", "--json", *paths))
    for table, wanted, key in (("kernels", kernels, "name"), ("operators", operators, "name"), ("imbalance", steps, "what")):
        rows = {row[key]: row for row in said[table]}
        assert table == "imbalance" or rows.keys() == wanted.keys(), (table, rows.keys() ^ wanted.keys())
        for name, by_rank in wanted.items():
            row, values = rows[name], list(by_rank.values())
            mean, (middle, mad), high, low = statistics.fmean(values), spread(values), max(values), min(values)
            assert (row["ranks"], row["max"], row["min"]) == (len(values), high, low), (name, row, values)
            assert by_rank[row["max_rank"]] == high and by_rank[row["min_rank"]] == low
            assert abs(row["mean"] - mean) <= 1 and abs(row["median"] - middle) <= 1 and abs(row["cost"] - (high - mean)) <= 1, (row, values)
            assert close(row["imbalance_percent"], 100 * (high - mean) / mean), (row, values)
            assert close(row["variation_percent"], 100 * statistics.stdev(values) / mean), (row, values)
            assert row["z"] is None and mad == 0 or close(row["z"], (high - middle) / mad), (row, values)
    worst = max((r for r in said["imbalance"] if r["what"] == "compute"), key=lambda r: r["cost"])
    assert worst["max_rank"] == 3 and worst["z"] > 10, worst
    return len(kernels) + len(operators)


def check_equal_steps(heddle, folder):
    """Rank 1 works behind its last step, rank 2 did not record step 2: both are not unevenness of the steps that all have."""
    paths = []
    for rank, steps in enumerate(((0, 1, 2), (0, 1, 2), (0, 1))):
        events = []
        for at, step in enumerate((*steps, None) if rank == 1 else steps):
            start, duration = 100 * at + rank, 50 if step is None else 10 + rank
            events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": start, "dur": 1,
                        "args": {"correlation": at + 1}},
                       {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": start + 5, "dur": duration,
                        "args": {"device": 0, "stream": 7, "correlation": at + 1}}]
            if step is not None:
                events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": start - 1, "dur": 90})
        paths.append(folder / f"equal_rank{rank}.json")
        paths[-1].write_text(json.dumps({"traceEvents": events}))
    said = json.loads(run(heddle, "report", "imbalance", "--json", *paths))
    parts = {row["what"]: row for row in said["imbalance"]}
    values = [2 * (10 + rank) * 1000 for rank in range(3)]
    for what, wanted in (("compute", values), ("steps", [180_000] * 3)):
        row = parts[what]
        assert (row["min"], row["max"], row["mean"]) == (min(wanted), max(wanted), statistics.fmean(wanted)), row
        assert close(row["variation_percent"], 100 * statistics.stdev(wanted) / statistics.fmean(wanted)), row
    assert [(row["rank"], row["steps"], row["compute"]) for row in said["ranks"]] == \
        [(rank, 180_000, value) for rank, value in enumerate(values)], said["ranks"]
    (note,) = said["notes"]
    assert "the 2 steps that all 3 ranks have" in note["note"] and "ProfilerStep#2, which 2 of them" in note["note"], note
    assert {row["name"]: row["max"] for row in said["kernels"]} == {"k": 83_000}, said["kernels"]
    none = json.loads(run(heddle, "report", "imbalance", "--json", paths[0], stepless(folder, paths[1])))
    assert [row["ranks"] for row in none["imbalance"]] == [1] * 6 and "in no step" in none["notes"][0]["note"], none
    assert [row["rank"] for row in none["ranks"]] == [0], none["ranks"]


def check_groups_of_one_name(heddle, folder):
    """Two groups named "tp" of other ranks: ranks 0 and 2, where 2 comes last by 40 us, and 1 and 3, where 1 does by 70."""
    late = {0: 0, 2: 40, 1: 70, 3: 0}
    paths = []
    for rank in range(4):
        members = [r for r in range(4) if r % 2 == rank % 2]
        events = [{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 20, "ts": 1000 * i + late[rank],
                   "dur": 100 - late[rank], "args": {"device": 0, "stream": 20, "Collective name": "allreduce", "In msg nelems": 8, "dtype": "Float",
                                                     "Process Group Name": "tp", "Process Group Ranks": str(members), "Group size": 2, "Seq": i}}
                  for i in range(3)]
        told = {"rank": rank, "world_size": 4, "pg_config": [{"pg_name": "tp", "pg_desc": "tensor", "pg_size": 2, "ranks": members}]}
        paths.append(folder / f"tp_rank{rank}.json")
        paths[-1].write_text(json.dumps({"traceEvents": events, "distributedInfo": told}))
    said = json.loads(run(heddle, "report", "stragglers", "--json", *paths))
    rows = {row["rank"]: (row["collectives"], row["last"], row["late"]) for row in said["stragglers"]}
    assert rows == {0: (3, 0, 0), 1: (3, 3, 210_000), 2: (3, 3, 120_000), 3: (3, 0, 0)}, rows
    assert {(c["group"], c["members"], c["last_rank"]) for c in said["collectives"]} == {("tp from 0", 2, 2), ("tp from 1", 2, 1)}
    assert not said["mismatched"], said["mismatched"]
    groups = json.loads(run(heddle, "report", "topology", "--json", *paths))["groups"]
    assert sorted((g["group"], g["ranks"]) for g in groups) == [("tp from 0", "0 2"), ("tp from 1", "1 3")], groups


def stepless(folder, path):
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e["cat"] != "user_annotation"]
    (folder / "stepless_rank1.json").write_text(json.dumps({"traceEvents": events}))
    return folder / "stepless_rank1.json"


def check_topology(heddle, paths):
    said = json.loads(run(heddle, "report", "topology", "--json", *paths))
    for row in said["ranks"]:
        r = row["rank"]
        assert (row["tp"], row["dp"], row["pp"], row["host"]) == (r % TP, r // TP % DP, r // (TP * DP), f"node{r // 2}"), row
        assert row["ep"] is None and row["cp"] is None
    assert [(h["host"], h["ranks"], h["gpus"]) for h in said["hosts"]] == [(f"node{h}", 2, 2) for h in range(RANKS // 2)], said["hosts"]
    told = collections.Counter(g["dimension"] for g in said["groups"])
    assert told == {"tp": 4, "dp": 4, "pp": 4, None: 1}, told
    members = collections.defaultdict(list)
    for row in said["members"]:
        assert row["position"] == len(members[row["group"], row["dimension"]])
        members[row["group"], row["dimension"]].append(row["rank"])
    for g in said["groups"]:
        ranks = [r for run_of in g["ranks"].split() for first, *last in [run_of.split("-")] for r in range(int(first), int((last or [first])[0]) + 1)]
        assert members.pop((g["group"], g["dimension"])) == ranks, g
    assert not members
    run(heddle, "report", "topology", "-q", "-o", paths[0].parent / "job.dot", *paths)
    dot = (paths[0].parent / "job.dot").read_text()
    edges = sorted(re.findall(r"r(\d+) -- r(\d+) .*label=\"(\w+)\"", dot))
    want = sorted([(str(r), str(r + 1), "tp") for r in range(0, RANKS, TP)] + [(str(r), str(r + TP), "dp") for r in (0, 1, 4, 5)] +
                  [(str(r), str(r + TP * DP), "pp") for r in range(TP * DP)])
    assert edges == want and dot.count("subgraph") == RANKS // 2 and dot.count(" [label=") == RANKS, dot
    assert all(g["told"] for g in said["groups"] if g["dimension"]), said["groups"]


def check_roles(heddle, paths):
    said = json.loads(run(heddle, "report", "stragglers", "--json", *paths))
    rows = said["stragglers"]
    for role in {(row["tp"], row["pp"]) for row in rows}:
        peers = [row for row in rows if (row["tp"], row["pp"]) == role]
        means = [row["late"] / row["collectives"] for row in peers]
        middle, mad = spread(means)
        for row, mean in zip(peers, means):
            assert (row["tp"], row["pp"]) == (row["rank"] % TP, row["rank"] // (TP * DP)), row
            assert row["z"] is None and mad == 0 or close(row["z"], (mean - middle) / mad, 1e-3), (row, middle, mad)
    for by, key in (("host", lambda r: r["host"]), ("pp", lambda r: str(r["pp"])), ("tp", lambda r: str(r["tp"]))):
        sums, means = collections.Counter(), collections.defaultdict(list)
        for row in rows:
            sums[key(row)] += row["late"]
            means[key(row)].append(row["late"] / row["collectives"])
        shares = {r["of"]: r for r in said["shares"] if r["by"] == by}
        assert {of: r["late"] for of, r in shares.items()} == dict(sums), (by, sums)
        medians = {of: statistics.median(list_of) for of, list_of in means.items()}
        middle, mad = spread(medians.values())
        for of, r in shares.items():
            assert abs(r["median_late"] - medians[of]) <= 1, (by, r, medians)
            assert r["z"] is None and mad < 1 or close(r["z"], (medians[of] - middle) / mad, 1e-2), (by, r, middle, mad)


def check_bandwidths(heddle, paths):
    """The collectives of the synthetic job are those of one group, in order."""
    widths = {"Float": 4, "BFloat16": 2, "Half": 2, "Int": 4, "Long": 8, "Double": 8, "Byte": 1}
    names = {"allreduce": "AllReduce", "_allgather_base": "AllGather", "_reduce_scatter_base": "ReduceScatter"}
    ranks = []
    for path in paths:
        found = [e for e in json.loads(path.read_text())["traceEvents"] if e.get("cat") == "kernel" and e["name"].startswith("nccl")]
        ranks.append(sorted(found, key=lambda e: e["ts"]))
    want = collections.defaultdict(list)
    for members in zip(*ranks):
        args = members[0]["args"]
        operation = names[args["Collective name"]]
        elements = args["Out msg nelems" if operation == "AllGather" else "In msg nelems"]
        want[operation, args["Group size"], elements * widths[args["dtype"]]].append([round(e["dur"] * 1000) for e in members])
    rows = json.loads(run(heddle, "report", "stragglers", "--json", "-t", "bandwidths", *paths))["bandwidths"]
    assert {(r["operation"], r["size"], r["bytes"]) for r in rows} == set(want) and len(rows) == len(want) > 1, rows
    for r in rows:
        n, size, of = r["size"], r["bytes"], want[r["operation"], r["size"], r["bytes"]]
        shortest, time = [min(d) for d in of], sum(map(sum, of))
        factor = (2 if r["operation"] == "AllReduce" else 1) * (n - 1) / n
        assert (r["count"], r["time"], r["min_transfer"], r["max_transfer"]) == (len(of), time, min(shortest), max(shortest)), r
        middle = statistics.median(shortest)
        assert abs(r["transfer"] - middle) <= 0.5, r
        assert close(r["waited"], 100 * (time - n * sum(shortest)) / time), r
        for key, duration in (("min_bus_bandwidth", max(shortest)), ("bus_bandwidth", r["transfer"]), ("max_bus_bandwidth", min(shortest))):
            assert close(r[key], size * factor / duration), (key, r)
        assert close(r["algorithm_bandwidth"], size / r["transfer"]), r
    return len(rows)


COLUMNS = (("rank", hds.INT), ("device", hds.INT), ("step", hds.STRING), ("step_start", hds.TIME), ("group", hds.STRING), ("stream", hds.INT),
           ("point_to_point", hds.BOOL), ("sequence", hds.INT), ("counted", hds.BOOL), ("operation", hds.STRING), ("size", hds.INT), ("bytes", hds.COUNT),
           ("start", hds.TIME), ("end", hds.TIME))


def random_rows(chance, ranks, groups, harm):
    """Of a summary of these ranks; a change of each kind in a share `harm` of the rows."""
    rows = []
    for rank, device, (name, stream, point, counted, size, count) in ((r, d, g) for r in ranks for d in (0, 1)[:chance.choice((1, 1, 2))] for g in groups):
        number = lambda n: lateness.OF_STEP * (n // 5 + 1) + n % 5 if counted and count > 12 else n
        for n in range(count):
            step, start = n // 5, chance.randrange(1000) + 10000 * n
            row = {"rank": rank, "device": device, "step": b"step %d" % step if step else None, "step_start": 50000 * step if step else None, "group": name,
                   "stream": stream, "point_to_point": point, "sequence": number(n), "counted": counted, "operation": (b"AllReduce", b"AllReduce", b"AllToAll")[count % 3], "size": size, "bytes": 64 * (n % 3),
                   "start": start, "end": start + chance.randrange(20)}
            changes = {"operation": b"Broadcast", "bytes": 7, "size": 9, "start": None, "end": start - 1, "sequence": number(n - 1 if n else n), "step": b"other"}
            for column in changes:
                if chance.random() < harm:
                    row[column] = changes[column]
            rows += [row] * (chance.random() >= harm) + [row] * (chance.random() < harm)
    return rows


def random_job(chance, path):
    harm = chance.choice((0, 0, 0.005, 0.02))
    groups = [(name, stream, chance.random() < 0.2, chance.random() < 0.4, chance.choice((None, 30, 30, 3)), chance.choice((3, 12, 20)))
              for name, stream in ((b"world", 1), (None, 7), (None, 9), (b"tp", 2), (b"", 0))[:chance.randrange(1, 6)]]
    jobs = [[rank] for rank in range(chance.randrange(1, 8))] + chance.choice(([], [[2]], [[None]], [[3, 20, 21]]))
    members = []
    for place, ranks in enumerate(jobs):
        rows = random_rows(chance, ranks, groups[:chance.choice((len(groups), len(groups), 1))], harm)
        table = hds.pack([(name, kind, [row[name] for row in rows]) for name, kind in COLUMNS])
        members.append(hds.Member(ranks[0] if len(ranks) == 1 and ranks[0] is not None else -1 << 63, 8, 0, b"node", b"%02d.json" % place, {"collectives": table}))
    hds.write(path, hds.Job(["collectives"], sorted(members, key=lambda m: (m.rank == -1 << 63, m.rank, m.file))))


def rows_of_job(path):
    for place, member in enumerate(hds.read(path).members):
        names, rows = hds.table(member.tables["collectives"])
        yield place, [{n: v.decode() if isinstance(v, bytes) else v for n, v in zip(names, row)} for row in rows]


def check_lateness(heddle, path):
    of, said = lateness.expected(rows_of_job(path)), json.loads(run(heddle, "report", "stragglers", "--each", "--json", path))
    group = lambda r: (r["group"], r["stream"], r["point_to_point"])
    party = lambda r: (r["rank"], r["device"])
    compared = {k: m for k, m in of.meetings.items() if m.compared}
    have = {(group(r), r["sequence"]): (r["members"], (r["last_rank"], r["last_device"]), r["late"], r["transfer"], r["operation"]) for r in said["collectives"]}
    want = {}
    for k, m in compared.items():
        d = m.durations()
        last = next(p for _, p, _ in m.rows if lateness.key(p) == m.last()) if max(d) > min(d) else (None, None)
        want[k] = (len(d), last, max(d) - min(d), min(d), m.rows[0][2]["operation"])
    assert have == want and len(said["collectives"]) == len(want), (have.items() ^ want.items())
    sums, steps, waits = (collections.defaultdict(lambda: [0, 0, 0, 0]) for _ in range(3))
    for _, p, row, m in of.arrivals:
        d, own = m.durations(), lateness.duration(row)
        sums[p] = [a + b for a, b in zip(sums[p], (1, max(d) - own, own - min(d), min(d)))]
        waits[p, row["step"], own - min(d)][0] += 1
        if row["step"] is not None:
            s = steps[p, row["step"], row["step_start"]]
            s[:] = s[0] + 1, s[1] + max(d) - own, max(s[2], max(d) - own), s[3] + own - min(d)
    parties = {p for _, p in of.seats}
    assert {party(r): [r["collectives"], r["late"], r["waited"], r["transfer"]] for r in said["stragglers"]} == {p: sums[p] for p in parties}
    assert {party(r): r["last"] for r in said["stragglers"]} == {p: sum(w[1] == p for w in want.values()) for p in parties}
    assert {(party(r), r["step"], r["step_start"]): [r["collectives"], r["late"], r["latest"], r["waited"]] for r in said["steps"]} == steps
    assert collections.Counter((party(r), r["step"], r["wait"]) for r in said["waits"]) == {k: v[0] for k, v in waits.items()}
    assert {(group(r), r["sequence"], r["defect"]): (party(r), r["members"]) for r in said["mismatched"]} == of.defects
    numbers = collections.defaultdict(list)
    for g, sequence in of.meetings:
        numbers[g].append(sequence)
    behind = lambda g, row: sum(n > row["sequence"] for n in numbers[g]) if row["counted"] else max(numbers[g]) - row["sequence"]
    assert {(group(r), party(r)): (r["sequence"], r["operation"], r["behind"]) for r in said["last"]} == {
        (g, p): (row["sequence"], row["operation"], behind(g, row)) for (g, p), row in of.seats.items()}
    return len(of.meetings), len(compared), {defect for _, _, defect in of.defects}


def check_random_jobs(heddle, folder, seeds):
    all_of, compared, defects = 0, 0, set()
    for seed in range(seeds):
        chance = random.Random(seed)
        random_job(chance, folder / "random.hds")
        some, of_these, found = check_lateness(heddle, folder / "random.hds")
        all_of, compared, defects = all_of + some, compared + of_these, defects | found
    assert compared > all_of / 5 and len(defects) == (9 if seeds > 5 else len(defects)), (all_of, compared, defects)
    print(f"{all_of} collectives of {seeds} random jobs agree; {compared} are compared; defects: {', '.join(sorted(defects))}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--seeds", type=int, default=8)
    args = parser.parse_args()
    heddle = args.heddle
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = make(heddle, folder, "--slow-gpu", "3=40")
        names = check_imbalance(heddle, paths)
        check_equal_steps(heddle, folder)
        check_groups_of_one_name(heddle, folder)
        check_topology(heddle, paths)
        check_roles(heddle, paths)
        print(f"{check_bandwidths(heddle, paths)} kinds of collectives agree")
        if hds.ZSTD and hds.XXH:
            check_random_jobs(heddle, folder, args.seeds)
        print(f"{names} names and {RANKS} ranks with roles agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
