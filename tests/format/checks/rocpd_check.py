#!/usr/bin/python3
"""Databases of ROCm 7, of both schemas, made of random rows of two guids, against what SQLite's own joins say of them, event by event; and
one made of the dispatches of a real run. No file that the profiler wrote is public. The last is left out where ../shared is absent.

usage: rocpd_check.py --heddle HEDDLE
"""
import argparse
import gzip
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "makers"))
from nsys_fixtures import create  # noqa: E402
from rocpd_fixtures import GUIDS, V3, V4, tables  # noqa: E402

CALLS = ["HIP_RUNTIME_API_EXT", "HSA_CORE_API", "MARKER_CORE_RANGE_API", "RCCL_API", "KERNEL_DISPATCH"]
CATEGORIES = {"HIP_RUNTIME_API_EXT": "hip_api", "HSA_CORE_API": "hsa_api", "MARKER_CORE_RANGE_API": "user_annotation"}


def ns(value):
    return int(Decimal(str(value)) * 1000)


def random_rows(rng, v4, count, pid):
    strings = CALLS + [f"name {i}" for i in range(20)]
    rows = {
        "metadata": [("schema_version", "4" if v4 else "3")], "string": [(s,) for s in strings], "info_node": [(1, "m", "Linux", "host")],
        "info_process": [(1, 1, pid, "app", "{}")], "info_thread": [(1, 1, 1, pid + i, None) for i in range(4)],
        "info_agent": [(1, 1, "CPU", 0, 0, 0, 1, "cpu", "EPYC")] + [(1, 1, "GPU", i, i, i - 1, i, "gfx", "MI") for i in (1, 2)],
        "info_queue": [(1, 1, f"Queue {i}") for i in range(3)], "info_stream": [(1, 1, f"Stream {i}") for i in range(4)],
        "info_pmc": [(1, 1, 2, "GPU", f"PMC_{i}", "x", "") for i in range(3)],
        "info_kernel_symbol": [(1, 1, 1, f"_Zk{i}", f"kernel {pid} {i}", 8, i) for i in range(10)],
        "event": [], "arg": [], "pmc_event": [], "region": [], "sample": [], "kernel_dispatch": [], "memory_copy": [], "memory_allocate": [], "track": [], "timestamp": []}
    if v4:
        rows["info_category"] = [(c,) for c in CALLS]
    track_of = {}

    def track(tid, agent, queue, stream):
        key = (tid, agent, queue, stream)
        if key not in track_of:
            rows["track"].append((1, 1, 1, tid, agent, queue, stream, None) if v4 else (1, 1, tid, None))
            track_of[key] = len(rows["track"])
        return track_of[key]

    def time(value):
        rows["timestamp"].append((value, 0, None))
        return len(rows["timestamp"])

    def event():
        rows["event"].append((rng.randrange(1, len(CALLS) + 1), rng.randrange(1, count), 0, rng.choice([0, 5])))
        for i in range(rng.randrange(3)):
            rows["arg"].append((len(rows["event"]), i, "int", f"arg{i}", str(rng.randrange(99))))
        return len(rows["event"])

    for i in range(count):
        start = rng.randrange(1 << 50)
        end, tid, agent, queue, stream = start + rng.randrange(1 << 20), rng.randrange(1, 5), rng.choice([2, 3]), rng.randrange(1, 4), rng.randrange(1, 5)
        block, grid = [rng.choice([1, 64, 256]) for _ in range(3)], [rng.randrange(1, 5000) for _ in range(3)]
        kind = rng.randrange(4)
        where = (track(tid, agent, queue, stream),) if v4 else (1, 1, tid)
        times = (time(start), time(end)) if v4 else (start, end)
        number, name = event(), rng.randrange(6, 26)
        if kind == 0:
            rows["region"].append(where + ((name,) + times if v4 else times + (name,)) + (number,))
        elif kind == 1:
            head = where + (() if v4 else (agent,)) + (rng.randrange(1, 11), i) + (times if v4 else (queue, stream) + times)
            rows["kernel_dispatch"].append(head + (0, 64, *block, *grid, name, number))
            for pmc in rng.sample([1, 2, 3], 2):
                rows["pmc_event"].append((number, pmc, rng.randrange(1000) / 8))
        elif kind == 2:
            rows["memory_copy"].append(where + times + (name, agent, 1, 1, 2, rng.randrange(1 << 40)) + (() if v4 else (queue, stream)) + (None, number))
        else:
            rows["sample"].append((track(tid, agent, queue, stream),) + ((name, times[0]) if v4 else (start,)) + (number,))
            rows["pmc_event"].append((number, rng.randrange(1, 4), rng.randrange(1000) / 8))
    return rows


def wanted_of(path, v4, several):
    """By SQLite itself, guid by guid."""
    db = sqlite3.connect(path)
    regions, kernels, copies, samples = [], [], [], []
    for scope, guid in enumerate(GUIDS if several else GUIDS[:1], 1):
        x = "_" + guid.replace("-", "_")
        t = lambda name: f"rocpd_{name}{x}"
        times = f"(select value from {t('timestamp')} where id=r.start_id), (select value from {t('timestamp')} where id=r.end_id)" if v4 else "r.start, r.end"
        track = f"join {t('track')} w on w.id=r.track_id" if v4 else ""
        w = "w" if v4 else "r"
        category = t("info_category") if v4 else t("string")
        column = "name" if v4 else "string"
        args = lambda e: tuple(sorted(db.execute(f"select name, value from {t('arg')} where event_id=?", (e,))))
        counted = lambda e: tuple(sorted(db.execute(f"select p.name, e.value from {t('pmc_event')} e join {t('info_pmc')} p on p.id=e.pmc_id where e.event_id=?", (e,))))
        key = lambda stack: scope << 32 | stack if several else stack
        for start, end, pid, tid, name, c, stack, event in db.execute(
                f"select {times}, p.pid, h.tid, s.string, c.{column}, e.stack_id, e.id from {t('region')} r {track} join {t('info_process')} p on p.id={w}.pid "
                f"join {t('info_thread')} h on h.id={w}.tid join {t('string')} s on s.id=r.name_id join {t('event')} e on e.id=r.event_id join {category} c on c.id=e.category_id").fetchall():
            regions.append((start, end - start, pid, tid, name, CATEGORIES.get(c, c), key(stack), args(event)))
        for start, end, device, stream, queue, name, stack, event, *sizes in db.execute(
                f"select {times}, a.type_index, {w}.stream_id, {w}.queue_id, k.display_name, e.stack_id, e.id, grid_size_x, workgroup_size_x, grid_size_y, workgroup_size_y, grid_size_z, "
                f"workgroup_size_z from {t('kernel_dispatch')} r {track} join {t('info_agent')} a on a.id={w}.agent_id join {t('info_kernel_symbol')} k on k.id=r.kernel_id "
                f"join {t('event')} e on e.id=r.event_id").fetchall():
            grid = tuple(-(-g // b) for g, b in zip(sizes[::2], sizes[1::2]))
            kernels.append((start, end - start, device, stream, queue, name, key(stack), grid, tuple(sizes[1::2]), counted(event)))
        for start, end, device, stream, name, size, stack in db.execute(
                f"select {times}, a.type_index, {w}.stream_id, s.string, r.size, e.stack_id from {t('memory_copy')} r {track} join {t('info_agent')} a on a.id=r.dst_agent_id "
                f"join {t('string')} s on s.id=r.name_id join {t('event')} e on e.id=r.event_id").fetchall():
            copies.append((start, end - start, device, stream, name, size, key(stack)))
        when = f"(select value from {t('timestamp')} where id=r.timestamp_id)" if v4 else "r.timestamp"
        for start, event in db.execute(f"select {when}, event_id from {t('sample')} r").fetchall():
            samples.append((start, counted(event)))
    return regions, kernels, copies, samples


def got_of(heddle, path, place):
    out = Path(place) / "out.json"
    subprocess.run([heddle, "convert", "-q", path, out], check=True)
    events = json.loads(out.read_text(), parse_float=Decimal)["traceEvents"]
    slices = [e | {"ns": ns(e["ts"]), "dur": ns(e["dur"])} for e in events if e["ph"] == "X"]
    counted = lambda e: tuple(sorted((k, float(v)) for k, v in e["args"].items() if k.startswith("PMC_")))
    regions = [(e["ns"], e["dur"], e["pid"], e["tid"], e["name"], e["cat"], e["args"]["correlation"], tuple(sorted((k, v) for k, v in e["args"].items() if k.startswith("arg"))))
               for e in slices if e["cat"] not in ("kernel", "gpu_memcpy")]
    kernels = [(e["ns"], e["dur"], e["args"]["device"], e["args"]["stream"], e["args"]["queue"], e["name"], e["args"]["correlation"], tuple(e["args"]["grid"]), tuple(e["args"]["block"]),
                counted(e)) for e in slices if e["cat"] == "kernel"]
    copies = [(e["ns"], e["dur"], e["args"]["device"], e["args"]["stream"], e["name"], e["args"]["bytes"], e["args"]["correlation"]) for e in slices if e["cat"] == "gpu_memcpy"]
    return regions, kernels, copies, [(ns(e["ts"]), counted(e)) for e in events if e["ph"] == "C"]


def compare(what, got, wanted):
    wrong = 0
    for name, g, w in zip(("regions", "kernels", "copies", "samples"), got, wanted):
        g, w = Counter(g), Counter(w)
        if g != w:
            wrong += 1
            print(f"{what}: {name}: {sum(g.values())} events, {sum(w.values())} rows; {list((g - w).items())[:2]} {list((w - g).items())[:2]}")
    return wrong


def check_real(heddle, path, place):
    """The dispatches of a real run as rocprofv3's JSON tells them, in tables of schema 3."""
    with gzip.open(path) as file:
        tool = json.load(file)["rocprofiler-sdk-tool"][0]
    symbols = {k["kernel_id"]: (i + 1, k["formatted_kernel_name"]) for i, k in enumerate(tool["kernel_symbols"])}
    agents = {a["id"]["handle"]: (i + 1, a) for i, a in enumerate(tool["agents"])}
    rows = {"string": [("KERNEL_DISPATCH",)], "info_kernel_symbol": [(1, 1, 1, "", name, 0, 0) for _, name in sorted(symbols.values())], "event": [], "kernel_dispatch": [],
            "info_agent": [(1, 1, "GPU" if a["type"] == 2 else "CPU", a["node_id"], a["logical_node_id"], a["logical_node_type_id"], 0, "", a["product_name"]) for _, a in agents.values()]}
    wanted = []
    for d in tool["buffer_records"]["kernel_dispatch"]:
        info, start, end = d["dispatch_info"], d["start_timestamp"], d["end_timestamp"]
        agent, kernel, stack = agents[info["agent_id"]["handle"]], symbols[info["kernel_id"]], d["correlation_id"]["internal"]
        block, grid = [info["workgroup_size"][k] for k in "xyz"], [info["grid_size"][k] for k in "xyz"]
        rows["event"].append((1, stack, 0, 0))
        rows["kernel_dispatch"].append((1, 1, 1, agent[0], kernel[0], info["dispatch_id"], info["queue_id"]["handle"], d["stream_id"]["handle"], start, end, 0, 0, *block, *grid, None, len(rows["event"])))
        wanted.append((start, end - start, agent[1]["logical_node_type_id"], d["stream_id"]["handle"], info["queue_id"]["handle"], kernel[1], stack, tuple(-(-g // b) for g, b in zip(grid, block)),
                       tuple(block), ()))
    create(f"{place}/real.db", tables(V3, rows))
    return compare(path.name, got_of(heddle, f"{place}/real.db", place), ([], wanted, [], []))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = os.path.abspath(parser.parse_args().heddle)
    shared = Path(os.environ.get("HEDDLE_SOURCE_ROOT", Path(__file__).parents[3])).resolve().parent / "shared/data/rocm/rocprofv3_908_results.json.gz"
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        for seed, (v4, several) in enumerate(((False, False), (False, True), (True, False), (True, True))):
            rng, path, content = random.Random(seed), f"{place}/random{seed}.db", {}
            for i, guid in enumerate(GUIDS if several else GUIDS[:1]):
                content |= tables(V4 if v4 else V3, random_rows(rng, v4, 400, 500 + 100 * i), guid)
            create(path, content)
            wrong += compare(f"schema {4 if v4 else 3}, {2 if several else 1} guids", got_of(heddle, path, place), wanted_of(path, v4, several))
        if shared.is_file():
            wrong += check_real(heddle, shared, place)
        else:
            print("left out: there is no ../shared/data/rocm")
    print(f"{wrong} differences")
    return wrong > 0


sys.exit(main())
