#!/usr/bin/python3
"""Memory, FLOP/s and bandwidths of heddle diff against sums over the raw file, and what it says where a trace lacks their data.

usage: tests/diff/check_figures.py --heddle PROGRAM
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import rounds  # noqa: E402
from patience import patience  # noqa: E402
from small import Op, write  # noqa: E402

RANKS = 4
RING = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def make(path, rng, *, memory=True, shapes=True, sizes=True):
    """A run with products, a kernel of an operator without shapes, an all-reduce, and allocations."""
    ops = [Op("aten::mm", ("gemm", 200_000)), Op("aten::custom", ("custom_kernel", rng.randrange(5_000, 60_000))),
           Op("c10d::allreduce_", (RING, rng.randrange(50_000, 90_000)))]
    write(path, ops, steps=6, seed=rng.random())
    whole = json.loads(path.read_text())
    events, level = whole["traceEvents"], 10**9
    for event in list(events):
        if event["name"] == "aten::mm" and shapes:
            event["args"]["Input Dims"] = [[64, rng.randrange(100, 4000)], [rng.randrange(100, 4000), 16]]
            event["args"]["Input Dims"][1][0] = event["args"]["Input Dims"][0][1]
            event["args"]["Input type"] = ["float", "float"]
        if event["name"] == RING and sizes:
            event["args"] |= {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": rng.randrange(10**6), "Group size": RANKS}
        if event["name"].startswith("ProfilerStep") and memory:
            for n in range(20):
                level += (size := rng.randrange(-level // 4, level // 4))
                events.append({"ph": "i", "s": "t", "name": "[memory]", "pid": event["pid"], "tid": 1, "ts": event["ts"] + event["dur"] * n / 25,
                               "args": {"Bytes": size, "Addr": n, "Device Id": 0, "Device Type": 1, "Total Allocated": level, "Total Reserved": level}})
    path.write_text(json.dumps(whole))


def account(path, lengths):
    """The figures of the compared steps by their names, and what they rest on in percent; None: the file has no data for them."""
    events = json.loads(path.read_text())["traceEvents"]
    steps = sorted((e for e in events if e["name"].startswith("ProfilerStep")), key=lambda e: e["ts"])[1:]
    links = {e["args"]["correlation"]: e["ts"] for e in events if e["name"].startswith("cuda")}
    levels = sorted((e["ts"], e["args"]["Total Allocated"]) for e in events if e["name"] == "[memory]")

    def within(time):
        return any(step["ts"] <= time < step["ts"] + step["dur"] for step in steps)

    kernels = [e for e in events if e.get("cat") == "kernel" and within(links[e["args"]["correlation"]])]
    computing = sum(e["dur"] for e in kernels if e["name"] != RING)
    known = sum(e["dur"] for e in kernels if e["name"] == "gemm")
    dims = [e["args"]["Input Dims"] for e in events if e["name"] == "aten::mm" and within(e["ts"]) and "Input Dims" in e["args"]]
    flop = sum(2 * a[0] * a[1] * b[1] for a, b in dims)
    rings = [e for e in kernels if e["name"] == RING]
    sent = sum(4 * e["args"]["In msg nelems"] for e in rings if "dtype" in e["args"])
    peaks = []
    for step in steps:
        before = [level for time, level in levels if time <= step["ts"]][-1:]
        peaks.append(max(before + [level for time, level in levels if step["ts"] < time < step["ts"] + step["dur"]], default=0))
    none = (None, None)
    return {"memory_peak": (sum(peaks) / len(steps) / 1e6, 100) if levels else none,
            "flop": (flop / len(steps) / 1e9, 100 * known / computing) if dims else none,
            "tflops": (flop / lengths / 1e3, 100 * known / computing) if dims else none,
            "collective_bytes": (sent / len(steps) / 1e6, 100) if sent else none,
            "bus_bandwidth": (2 * (RANKS - 1) / RANKS * sent / sum(e["dur"] for e in rings) / 1e3, 100) if sent else none}


def diff(heddle, *args):
    done = subprocess.run([heddle, "diff", "--json", *map(str, args)], capture_output=True, text=True, timeout=patience(120), check=False)
    assert done.stdout, f"exit {done.returncode}: {done.stderr}"
    return done.returncode, json.loads(done.stdout)


def close(is_, should):
    return is_ is None if should is None else is_ is not None and abs(is_ - should) <= 2e-6 + 1e-6 * abs(should)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True, type=os.path.abspath)
    args = parser.parse_args()
    rng = random.Random(rounds.seed(1))
    with tempfile.TemporaryDirectory(prefix="heddle-diff-") as folder:
        paths = [Path(folder, name) for name in ("before.json", "after.json", "bare.json")]
        make(paths[0], rng)
        make(paths[1], rng)
        make(paths[2], rng, memory=False, shapes=False, sizes=False)
        for one, other in ((0, 1), (0, 2)):
            _, answer = diff(args.heddle, paths[one], paths[other])
            said = {figure["what"]: figure for figure in answer["figures"]}
            for side, path in (("before", paths[one]), ("after", paths[other])):
                for what, (value, coverage) in account(path, answer["step"][f"{side}_total_ns"]).items():
                    row = said[what]
                    assert close(row[side], value), f"{what} {side} {row[side]}, not {value}"
                    assert close(row[f"coverage_{side}"], coverage), f"coverage of {what} {side} {row[f'coverage_{side}']}, not {coverage}"
                    assert value is not None or row["note"].startswith("not known after: "), f"{what}: {row['note']}"
        for what, more in (("memory_peak", 10), ("flop", 10), ("collective_bytes", 10)):
            status, answer = diff(args.heddle, "--fail-if", f"{what}>{more}%", paths[0], paths[2])
            assert status == 2 and "is not known after" in answer["gate"][0]["text"], f"{what}: exit {status}, {answer['gate']}"
            status, answer = diff(args.heddle, "--fail-if", f"{what}>500%", paths[0], paths[1])
            assert status == 0, f"{what}: exit {status}, {answer['gate']}"
    print("figures are those of the raw files, and null with the reason where these lack them")


if __name__ == "__main__":
    sys.exit(main())
