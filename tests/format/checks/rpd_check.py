#!/usr/bin/python3
"""Real files of rocmProfileData against Python's sqlite3, event by event, and against its own Chrome JSON. Skips where ../shared is absent.

usage: rpd_check.py --heddle HEDDLE
"""
import argparse
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

SKIP = 77
MODULE_LAUNCHES = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")


def ns(value):
    return int(Decimal(str(value)) * 1000)


def check_tables(name, db, slices, counters):
    wrong = 0

    def expect(what, got, wanted):
        nonlocal wrong
        got, wanted = Counter(got), Counter(wanted)
        if got != wanted or not wanted:
            wrong += 1
            print(f"{name}: {what}: {sum(got.values())} events, {sum(wanted.values())} rows; {list((got - wanted).items())[:2]} {list((wanted - got).items())[:2]}")

    texts = dict(db.execute("select id, string from rocpd_string"))
    call_of = {op: api for api, op in db.execute("select api_id, op_id from rocpd_api_ops")}
    call_names = {a: texts[n] for a, n in db.execute("select id, apiName_id from rocpd_api")}
    sizes = dict(db.execute("select api_ptr_id, size from rocpd_copyapi"))
    launches = {row[0]: row[1:] for row in db.execute("select api_ptr_id, gridX, gridY, gridZ, workgroupX, workgroupY, workgroupZ from rocpd_kernelapi")}
    wanted = []
    for op, gpu, queue, start, end, description, kind in db.execute("select id, gpuId, queueId, start, end, description_id, opType_id from rocpd_op"):
        kind, call = texts[kind], call_of.get(op)
        category = "gpu_memcpy" if kind.startswith("Copy") else "gpu_memset" if kind == "FillBuffer" else "kernel"
        grid = block = None
        if category == "kernel" and call in launches:
            grid, block = launches[call][:3], launches[call][3:]
            if call_names[call] in MODULE_LAUNCHES:
                grid = tuple(-(-g // b) for g, b in zip(grid, block))
        wanted.append((start, end - start, gpu, queue, texts[description] or kind, category, call, sizes.get(call) if category == "gpu_memcpy" else None, grid, block))
    works = [e for e in slices if "op type" in e.get("args", {})]
    expect("rocpd_op", [(ns(e["ts"]), ns(e["dur"]), e["args"]["device"], e["args"]["stream"], e["name"], e["cat"], e["args"].get("correlation"), e["args"].get("bytes"),
                         *(tuple(e["args"][k]) if k in e["args"] else None for k in ("grid", "block"))) for e in works], wanted)
    expect("rocpd_api", [(ns(e["ts"]), ns(e["dur"]), e["pid"], e["tid"], e["name"]) for e in slices if "op type" not in e.get("args", {})],
           [(s, e - s, p, t, texts[a] if texts[n] == "UserMarker" and texts[a] else texts[n]) for s, e, p, t, n, a in db.execute(
               "select start, end, pid, tid, apiName_id, args_id from rocpd_api")])
    expect("rocpd_monitor", [(ns(e["ts"]), e["pid"], e["name"], str(e["args"][e["name"]])) for e in counters],
           [(s, f"{t.upper()} {d} monitor", m, v) for t, d, m, s, v in db.execute("select deviceType, deviceId, monitorType, start, value from rocpd_monitor")])
    return wrong


def check_json(path, slices, counters):
    """Times there are cut to microseconds, and the last value of a monitor is told once more where it ends."""
    with open(path) as file:
        other = [e for e in json.load(file) if e]
    clock = [(e["ts"], e["args"]["sclk"]) for e in other if e["ph"] == "C" and e["name"] == "sclk"][:-1]
    wrong = 0
    for what, got, wanted in (
            ("GPU", [(ns(e["ts"]) // 1000, str(e["args"]["device"]), str(e["args"]["stream"]), e["name"]) for e in slices if "op type" in e.get("args", {})],
             [(int(e["ts"]), e["pid"], e["tid"], e["name"]) for e in other if e["ph"] == "X" and e["pid"] == "2"]),
            ("calls", [(ns(e["ts"]) // 1000, str(e["pid"]), str(e["tid"]), e["name"]) for e in slices if "op type" not in e.get("args", {})],
             [(int(e["ts"]), e["pid"], e["tid"], e["name"]) for e in other if e["ph"] == "X" and e["pid"] != "2"]),
            ("clock", [(ns(e["ts"]) // 1000, e["args"]["sclk"]) for e in counters], clock)):
        if Counter(got) != Counter(wanted) or not wanted:
            wrong += 1
            print(f"{path.name}: {what}: {list((Counter(got) - Counter(wanted)).items())[:2]} {list((Counter(wanted) - Counter(got)).items())[:2]}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = os.path.abspath(parser.parse_args().heddle)
    folder = Path(os.environ.get("HEDDLE_SOURCE_ROOT", Path(__file__).parents[3])).resolve().parent / "shared/data/rocm"
    if not folder.is_dir():
        print("skipped: there are no files of rocmProfileData in ../shared/data/rocm")
        return SKIP
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        for path in sorted(folder.glob("*.rpd*")):
            out, plain = Path(place) / "out.json", Path(place) / "plain.rpd"
            plain.write_bytes(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
            subprocess.run([heddle, "convert", "-q", path, out], check=True)
            events = json.loads(out.read_text(), parse_float=Decimal)["traceEvents"]
            slices, counters = [e for e in events if e["ph"] == "X"], [e for e in events if e["ph"] == "C"]
            wrong += check_tables(path.name, sqlite3.connect(f"file:{plain}?immutable=1&mode=ro", uri=True), slices, counters)
            if path.name == "matmul_result.rpd":
                wrong += check_json(folder / "matmul_result.json", slices, counters)
    print(f"{wrong} differences")
    return wrong > 0


sys.exit(main())
