#!/usr/bin/python3
"""Real runs of rocprofv3, record by record, against Python's json and csv. Skips where ../shared is absent.

usage: check_real.py HEDDLE
"""
import csv
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

SKIP = 77


def ns(value):
    return int(Decimal(str(value)) * 1000)


def slices_of(heddle, path, category):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        subprocess.run([heddle, "convert", "-q", path, out], check=True)
        events = json.loads(out.read_text(), parse_float=Decimal)["traceEvents"]
    return [e for e in events if e["ph"] == "X" and e.get("cat") == category]


def differ(what, got, wanted):
    if got == wanted:
        print(f"{what}: {sum(got.values())} records are the same")
        return 0
    print(f"{what}: {sum(got.values())} events, {sum(wanted.values())} records; only here {list((got - wanted).items())[:1]}, only there {list((wanted - got).items())[:1]}")
    return 1


def blocks(items, size):
    return [-(-i // s) for i, s in zip(items, size)]


def check_json(heddle, path):
    with gzip.open(path) as file:
        run = json.load(file)["rocprofiler-sdk-tool"][0]
    symbols = {s["kernel_id"]: s for s in run["kernel_symbols"]}
    gpus = {a["id"]["handle"]: a["logical_node_type_id"] for a in run["agents"] if a["type"] == 2}
    wanted = Counter()
    for record in run["buffer_records"]["kernel_dispatch"]:
        info = record["dispatch_info"]
        size, items = ([info[key][axis] for axis in "xyz"] for key in ("workgroup_size", "grid_size"))
        symbol = symbols[info["kernel_id"]]
        wanted[(record["start_timestamp"], record["end_timestamp"] - record["start_timestamp"], symbol["formatted_kernel_name"],
                gpus[info["agent_id"]["handle"]], record["stream_id"]["handle"], info["queue_id"]["handle"], record["correlation_id"]["internal"],
                info["dispatch_id"], record["thread_id"], str(size), str(items), str(blocks(items, size)), symbol["arch_vgpr_count"],
                info["group_segment_size"], info["private_segment_size"])] += 1
    got = Counter()
    for e in slices_of(heddle, path, "kernel"):
        a = e["args"]
        got[(ns(e["ts"]), ns(e["dur"]), e["name"], a["device"], a["stream"], a["queue"], a["correlation"], a["dispatch_id"], a["thread"],
             str(a["block"]), str(a["grid_size"]), str(a["grid"]), a["registers per thread"], a["shared memory"], a["scratch_size"])] += 1
    return differ(path.name, got, wanted)


def check_csv(heddle, folder):
    wrong = 0
    wanted = {"kernel": Counter(), "hip_api": Counter()}
    by_file = {}
    for path in sorted(folder.glob("*.csv")):
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                start = int(row["Start_Timestamp"])
                key = (start, int(row["End_Timestamp"]) - start)
                if "Kernel_Name" in row:
                    size, items = ([int(row[f"{key_}_Size_{axis}"]) for axis in "XYZ"] for key_ in ("Workgroup", "Grid"))
                    key += (row["Kernel_Name"], int(row["Agent_Id"].split()[-1]), int(row["Stream_Id"]), int(row["Queue_Id"]), int(row["Correlation_Id"]),
                            int(row["Dispatch_Id"]), str(blocks(items, size)), str(size), int(row["VGPR_Count"]), int(row["LDS_Block_Size"]))
                else:
                    key += (row["Function"], int(row["Process_Id"]), int(row["Thread_Id"]), int(row["Correlation_Id"]), row["Domain"])
                category = "kernel" if "Kernel_Name" in row else "hip_api"
                wanted[category][key] += 1
                by_file.setdefault((path, category), Counter())[key] += 1

    def kernels(path):
        return Counter((ns(e["ts"]), ns(e["dur"]), e["name"], a["device"], a["stream"], a["queue"], a["correlation"] & 0xffffffff, a["dispatch_id"], str(a["grid"]),
                        str(a["block"]), a["registers per thread"], a["shared memory"]) for e in slices_of(heddle, path, "kernel") for a in [e["args"]])

    def calls(path):
        return Counter((ns(e["ts"]), ns(e["dur"]), e["name"], e["pid"], e["tid"], e["args"]["correlation"] & 0xffffffff, e["args"]["domain"])
                       for e in slices_of(heddle, path, "hip_api"))

    wrong += differ(f"{folder.name}: kernels", kernels(folder), wanted["kernel"])
    wrong += differ(f"{folder.name}: calls", calls(folder), wanted["hip_api"])
    for (path, category), rows in by_file.items():
        wrong += differ(path.name, (kernels if category == "kernel" else calls)(path), rows)
    return wrong


def main():
    heddle = os.path.abspath(sys.argv[1])
    folder = Path(os.environ.get("HEDDLE_SOURCE_ROOT", Path(__file__).parents[3])).resolve().parent / "shared/data/rocm"
    if not folder.is_dir():
        folder = Path(os.environ.get("HEDDLE_SHARED", "/nonexistent")) / "data/rocm"
    if not folder.is_dir():
        print("skipped: there are no runs of rocprofv3 in ../shared/data/rocm")
        return SKIP
    return (check_json(heddle, folder / "rocprofv3_908_results.json.gz") + check_csv(heddle, folder / "rocprofv3_csv")) > 0


sys.exit(main())
