#!/usr/bin/env python3
"""Reports imbalance and topology of synthetic jobs, and the roles and bandwidths in report stragglers, recomputed from the traces' JSON.

  check_job_reports.py --heddle HEDDLE
"""
import argparse
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

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
    for rank, path in enumerate(paths):
        for e in json.loads(path.read_text())["traceEvents"]:
            if e.get("ph") != "X":
                continue
            if e.get("cat") == "kernel":
                kernels[e["name"]][rank] += round(e["dur"] * 1000)
            elif e.get("cat") == "cpu_op":
                operators[e["name"]][rank] += round(e["dur"] * 1000)
            elif e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep#"):
                steps["steps"][rank] += round(e["dur"] * 1000)
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
            assert close(row["variation_percent"], 100 * statistics.pstdev(values) / mean), (row, values)
            assert row["z"] is None and mad == 0 or close(row["z"], (high - middle) / mad), (row, values)
    worst = max((r for r in said["imbalance"] if r["what"] == "compute"), key=lambda r: r["cost"])
    assert worst["max_rank"] == 3 and worst["z"] > 10, worst
    return len(kernels) + len(operators)


def check_topology(heddle, paths):
    said = json.loads(run(heddle, "report", "topology", "--json", *paths))
    for row in said["ranks"]:
        r = row["rank"]
        assert (row["tp"], row["dp"], row["pp"], row["host"]) == (r % TP, r // TP % DP, r // (TP * DP), f"node{r // 2}"), row
        assert row["ep"] is None and row["cp"] is None
    assert [(h["host"], h["ranks"], h["gpus"]) for h in said["hosts"]] == [(f"node{h}", 2, 2) for h in range(RANKS // 2)], said["hosts"]
    told = collections.Counter(g["dimension"] for g in said["groups"])
    assert told == {"tp": 4, "dp": 4, "pp": 4, None: 1}, told
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
        sums = collections.Counter()
        for row in rows:
            sums[key(row)] += row["late"]
        assert {r["of"]: r["late"] for r in said["shares"] if r["by"] == by} == dict(sums), (by, sums)


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = make(heddle, folder, "--slow-gpu", "3=40")
        names = check_imbalance(heddle, paths)
        check_topology(heddle, paths)
        check_roles(heddle, paths)
        print(f"{check_bandwidths(heddle, paths)} kinds of collectives agree")
        print(f"{names} names and {RANKS} ranks with roles agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
