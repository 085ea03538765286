#!/usr/bin/env python3
"""check_real.py HEDDLE - XRay logs record by record: `heddle convert` to Chrome JSON against a reader of our own

Compares of each enter, exit and event the thread, time, CPU, arguments and data; the names of functions and the nesting
with what llvm-xray made of the log (LOG.trace_event.json); and all with `llvm-xray convert -output-format=yaml`, where
it is installed. Exit status 77 where ../shared/data/xray is not there.
"""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from decimal import Decimal


def naive(data):
    """(pid, tid): [kind, function, time, cpu, args or data]"""
    threads, last = defaultdict(list), None
    for at in range(32, len(data) - 31, 32):
        kind, cpu, call, function, tsc, tid, pid = struct.unpack_from("<HBBiQII", data, at)
        if kind == 0:
            last = ["BEEB"[call], function, tsc, cpu, []]
            threads[pid, tid].append(last)
        else:
            last[4].append(struct.unpack_from("<Q", data, at + 16)[0])
    return threads


def fdr(data):
    buffers, at, number = [], 32, 0
    while at < len(data):
        size = struct.unpack_from("<Q", data, at + 1)[0]
        buffers.append(data[at + 16:at + 16 + size])
        at += 16 + size
    threads = defaultdict(list)
    for part in sorted(buffers, key=lambda b: struct.unpack_from("<QI", b, b.index(b"\x09", 16) + 1)):
        at, tid, pid, tsc, cpu, rows = 0, 0, 0, 0, 0, []
        while at < len(part):
            if part[at] & 1:
                kind, body = part[at] >> 1, part[at + 1:at + 16]
                at += 16
                if kind == 0:
                    tid = struct.unpack_from("<i", body)[0]
                elif kind == 2:
                    cpu, tsc = struct.unpack_from("<HQ", body)
                elif kind == 3:
                    tsc = struct.unpack_from("<Q", body)[0]
                elif kind in (5, 8):
                    size, delta = struct.unpack_from("<ii", body)
                    tsc += delta
                    rows.append(["i", 0, tsc, cpu, part[at:at + size].decode()])
                    at += size
                elif kind == 6:
                    rows[-1][4].append(struct.unpack_from("<Q", body)[0])
                elif kind == 9:
                    pid = struct.unpack_from("<i", body)[0]
            else:
                first, delta = struct.unpack_from("<II", part, at)
                at += 8
                tsc += delta
                rows.append(["BEEB"[first >> 1 & 7], first >> 4, tsc, cpu, []])
        threads[pid, tid] += rows
    return threads


def slices(rows):
    """enters and exits as slices (function, start, end, cpu, args), instants as (None, time, None, cpu, data)"""
    stack, out = [], []
    for phase, function, tsc, cpu, more in rows:
        if phase == "i":
            out.append((None, tsc, None, cpu, more))
        elif phase == "B":
            stack.append((function, tsc, cpu, more))
        else:
            while True:
                top = stack.pop()
                out.append((top[0], top[1], tsc, top[2], tuple(top[3])))
                if top[0] == function:
                    break
    return out + [(f, a, None, c, tuple(m)) for f, a, c, m in stack]


def times(event):
    start = int(Decimal(str(event["ts"])) * 1000)
    return start, start + int(Decimal(str(event["dur"])) * 1000) if event["ph"] == "X" else None


def converted(heddle, path, binary):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        subprocess.run([heddle, "convert", "-q", "--strict", "--binary", binary, path, str(out)], check=True)
        beside = pathlib.Path(folder) / "beside.json"
        subprocess.run([heddle, "convert", "-q", "--strict", path, str(beside)], check=True)
        assert out.read_bytes() == beside.read_bytes(), "the program beside the log gives other names"
        return [e for e in json.loads(out.read_text(), parse_float=Decimal)["traceEvents"] if e["ph"] in "XBi"]


def check_yaml(path, binary, threads, names):
    """what llvm-xray reads of the log"""
    text = subprocess.run(["llvm-xray", "convert", "-symbolize", "-output-format=yaml", f"-instr_map={binary}", path], check=True, capture_output=True,
                          text=True).stdout
    kinds = {"function-enter": "B", "function-enter-arg": "B", "function-exit": "E", "function-tail-exit": "E"}
    got = defaultdict(list)
    for line in text.splitlines():
        m = re.match(r"  - \{ type: \d+, func-id: (\d+), function: '?(.*?)'?, (?:args: \[(.*?)\], )?cpu: (\d+), thread: (\d+), process: (\d+), kind: ([\w-]+), "
                     r"tsc: (\d+), data: (.*) \}", line)
        if not m:
            continue
        function, name, args, cpu, tid, pid, kind, tsc, data = m.groups()
        phase = kinds.get(kind, "i")
        if phase != "i":
            assert names[int(function)] == name, (path, function, name, names[int(function)])
        more = data.strip("'") if phase == "i" else [int(x) for x in args.split(",")] if args else []
        got[int(pid), int(tid)].append([phase, int(function) if phase != "i" else 0, int(tsc), int(cpu), more])
    assert got == threads, (path, "llvm-xray reads other records")
    return sum(map(len, got.values()))


def check(heddle, path, binary):
    data = path.read_bytes()
    threads = (fdr if data[2] else naive)(data)
    wanted, got, names, phases = defaultdict(list), defaultdict(list), {}, defaultdict(list)
    for thread, rows in threads.items():
        wanted[thread] = slices(rows)
    events = converted(heddle, path, binary)
    for e in events:
        got[e["pid"], e["tid"]].append(e)
    assert got.keys() == wanted.keys(), path
    for thread, rows in wanted.items():
        mine = sorted(got[thread], key=lambda e: (e["ph"] == "B", ))
        assert len(mine) == len(rows), (path, thread, len(mine), len(rows))
        for e, (function, start, end, cpu, more) in zip(mine, sorted(rows, key=lambda r: r[0] is not None and r[2] is None)):
            assert times(e) == (start, end), (path, e, start, end)
            assert e["args"].pop("cpu") == cpu, (path, e)
            if function is None:
                assert e["args"]["data"] == more, (path, e)
                continue
            assert tuple(e["args"].values()) == more, (path, e, more)
            assert names.setdefault(function, e["name"]) == e["name"], (path, e)
            phases[thread].append((start, "B", e["name"]))
            if end is not None:
                phases[thread].append((end, "E", e["name"]))
    oracle = defaultdict(list)
    for e in json.loads((path.parent / f"{path.name}.trace_event.json").read_text())["traceEvents"]:
        oracle[int(e["pid"]), int(e["tid"])].append(e)
    assert oracle.keys() == phases.keys(), path
    for thread, rows in oracle.items():
        order = [p for p in threads[thread] if p[0] != "i"]
        assert sorted((e["ph"], e["name"]) for e in rows) == sorted((p, n) for _, p, n in phases[thread]), (path, thread)
        for e, (time, _, name) in zip([e for e in rows if e["ph"] == "B"], [(p[2], 0, names[p[1]]) for p in order if p[0] == "B"]):
            assert e["name"] == name and abs(float(e["ts"]) - time / 1000) < 0.5, (path, e, name, time)
    records = check_yaml(path, binary, threads, names) if shutil.which("llvm-xray") else "no"
    print(f"{path}: {len(events)} events are the same; {records} records of llvm-xray")


def count_in_view(heddle, log, options):
    """How often heddle view finds the function main."""
    view = subprocess.Popen([heddle, "view", "--no-open", "--port", "0", "--stop-after", "3600", *options, log], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        url = re.search(r"http://\S+", view.stdout.readline())[0]
        state = "reading"
        while state == "reading":
            state = json.load(urllib.request.urlopen(url + "api/session"))["traces"][0]["state"]
            time.sleep(0.02)
        assert state == "ready", state
        return json.load(urllib.request.urlopen(url + "api/search?trace=0&q=main"))["count"]
    finally:
        view.terminate()
        view.wait()


def check_view(heddle, path, binary):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "alone"
        log.write_bytes(path.read_bytes())
        assert count_in_view(heddle, log, []) == 0, "names without a program"
        assert count_in_view(heddle, log, ["--binary", binary]) == 1


def main():
    heddle = os.path.abspath(sys.argv[1])
    folder = pathlib.Path(__file__).resolve().parents[3] / "../shared/data/xray"
    logs = sorted(p.with_name(p.name.removesuffix(".trace_event.json")) for p in folder.glob("*.trace_event.json"))
    if not logs:
        print("skipped: there is no ../shared/data/xray")
        return 77
    for path in logs:
        check(heddle, path, folder / path.name.split(".")[1])
    check_view(heddle, logs[0], folder / logs[0].name.split(".")[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
