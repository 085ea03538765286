#!/usr/bin/env python3
"""A synthetic job with a slow GPU, a slow host, a late data loader and a shifted clock: the reports name all four.

  check_faults.py --heddle HEDDLE [--ranks 32] [--events 20000] [--folder DIR]

Each rank is summarised where it is made, so that no trace is on the disk. Prints what is found, wall time and memory.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HOST, SLOW_GPU, LATE, SLOW_HOST, SHIFTED = 8, 3, 13, 2, 1


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.returncode, done.stderr[-2000:])
    return done.stdout


def summarize(options, folder, rank):
    run(options.heddle, "synth", "-q", "--ranks", options.ranks, "--rank", rank, "--events", options.events, "--steps", options.steps,
        "--host-ranks", HOST, "--no-python", "--slow-gpu", f"{SLOW_GPU}=30", "--slow-host", f"{SLOW_HOST}=60", "--late-loader", f"{LATE}=15ms",
        "--clock-shift", f"{SHIFTED}=4ms", "-o", folder / "parts" / f"{rank}.hds")


def timed(what, *command):
    start = time.monotonic()
    out = run(*command)
    print(f"{what}: {time.monotonic() - start:.2f} s, {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB at most so far", flush=True)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--ranks", type=int, default=32)
    parser.add_argument("--events", type=int, default=20000)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        (folder / "parts").mkdir()
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda rank: summarize(options, folder, rank), range(options.ranks)))
        print(f"{options.ranks} ranks of {options.events} events made and summarised: {time.monotonic() - start:.1f} s, "
              f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB a process", flush=True)
        job = folder / "job.hds"
        timed("combine", options.heddle, "combine", "-q", folder / "parts", "-o", job)
        print(f"job.hds: {job.stat().st_size / 1e6:.1f} MB")
        late = json.loads(timed("stragglers", options.heddle, "report", "stragglers", "--json", job))
        uneven = json.loads(timed("imbalance", options.heddle, "report", "imbalance", "--json", job))
        clocks = json.loads(timed("clocks", options.heddle, "report", "clocks", "--json", job))
    for row in late["stragglers"]: # arrivals are gone through twice
        of_rank = [s for s in late["steps"] if s["rank"] == row["rank"]]
        assert [row[c] for c in ("collectives", "late", "waited")] == [sum(s[c] for s in of_rank) for c in ("collectives", "late", "waited")], row
    rows = sorted((r for r in late["stragglers"] if r["z"] is not None), key=lambda r: -r["z"])
    print("latest ranks:", [(r["rank"], round(r["z"], 1)) for r in rows[:4]])
    hosts = sorted((r for r in late["shares"] if r["by"] == "host" and r["z"] is not None), key=lambda r: -r["z"])
    print("latest hosts:", [(r["of"], round(r["z"], 1)) for r in hosts[:4]])
    compute = next(r for r in uneven["imbalance"] if r["what"] == "compute")
    shifted = max(clocks["clocks"], key=lambda r: abs(r["offset"] or 0))
    operators = max(uneven["operators"], key=lambda r: r["cost"])
    print(f"most compute: rank {compute['max_rank']}, z {compute['z']:.1f}; clock: {shifted['host']} {shifted['offset']} +- {shifted['bar']} ns; "
          f"costliest operator {operators['name']} of rank {operators['max_rank']}")
    assert LATE in [r["rank"] for r in rows[:2]] and rows[1]["z"] > 3, rows[:4]
    assert compute["max_rank"] == SLOW_GPU and compute["z"] > 10, compute
    assert hosts[0]["of"] == f"node{SLOW_HOST}" and hosts[0]["z"] > 3, hosts[:3]
    slow = [r["max_rank"] // HOST for r in uneven["operators"] if r["name"].startswith("aten::") and r["z"] and r["z"] > 3]
    assert slow.count(SLOW_HOST) > len(slow) / 2, slow
    assert shifted["host"] == f"node{SHIFTED}" and abs(shifted["offset"] + 4_000_000) < 1_300_000, shifted
    print("slow GPU, late loader, slow host and shifted clock are named, the slow host before those that hold one late rank")
    return 0


sys.exit(main())
