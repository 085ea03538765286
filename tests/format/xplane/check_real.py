#!/usr/bin/env python3
"""check_real.py HEDDLE FILE... - XPlanes event by event: `heddle convert` to Chrome JSON against a reader of our own

Compares of each event the process, thread, name, start and end to the picosecond, arguments; of each flow its ends; and
the time that streams are busy. Without files: all of ../shared/data/xplane; exit status 77 where that is not there.
"""

import base64
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
from decimal import Decimal

sys.path.append(str(pathlib.Path(__file__).parents[2]))
from wire import fields, signed  # noqa: E402

ADDED = {"bytes", "grid", "block", "registers per thread", "shared memory", "long_name"}


def stat(data, names):
    got = {n: v for n, _, v in fields(data)}
    key = names.get(got.get(1, 0))
    if 7 in got:
        return key, names[got[7]]
    if 5 in got:
        return key, got[5].decode("utf-8", "replace")
    if 6 in got:
        return key, base64.b64encode(got[6]).decode()
    if 4 in got:
        return key, signed(got[4])
    if 3 in got:
        return key, got[3]
    return key, struct.unpack("<d", got[2])[0] if 2 in got else None


def message(data):
    out = {}
    for number, _, value in fields(data):
        out.setdefault(number, []).append(value)
    return out


def last(m, number, default=0):
    return m.get(number, [default])[-1]


def ps_of(event):
    return int(Decimal(str(event["ts"])) * 1000000)


def expected(path):
    """planes: name, [line: id, name, events]"""
    for number, _, plane in fields(pathlib.Path(path).read_bytes()):
        if number != 1:
            continue
        p = message(plane)
        names, events = {}, {}
        for entry in p.get(5, []):
            e = message(entry)
            names[last(e, 1)] = last(message(last(e, 2, b"")), 2, b"").decode("utf-8", "replace")
        for entry in p.get(4, []):
            e = message(entry)
            m = message(last(e, 2, b""))
            name = last(m, 4, b"") or last(m, 2, b"")
            shared = dict(stat(s, names) for s in m.get(5, []))
            events[last(e, 1)] = (name.decode("utf-8", "replace"), shared)
        lines = []
        for line in p.get(3, []):
            m = message(line)
            rows = []
            for event in m.get(4, []):
                e = message(event)
                name, shared = events[last(e, 1)]
                args = dict(shared)
                args.update(stat(s, names) for s in e.get(4, []))
                start = signed(last(m, 3)) * 1000 + signed(last(e, 2))
                rows.append((name, start, signed(last(e, 3)), args))
            lines.append((signed(last(m, 1)), (last(m, 11, b"") or last(m, 2, b"")).decode(), rows))
        yield last(p, 2, b"").decode(), lines


def union(intervals):
    total, end = 0, None
    for a, b in sorted(intervals):
        if end is None or a > end:
            total, end = total + b - a, b
        elif b > end:
            total, end = total + b - end, b
    return total


def equal(a, b):
    return a == b or (isinstance(a, (int, float, Decimal)) and isinstance(b, (int, float)) and float(a) == float(b))


def flow_ends(planes):
    """how many producers and consumers have one of the other kind"""
    ends = {}
    for _, lines in planes:
        for _, _, rows in lines:
            for _, _, _, args in rows:
                if "_p" in args:
                    ends.setdefault((args.get("_pt", 0), args["_p"] % 2**64), []).append("s")
                if "_c" in args:
                    ends.setdefault((args.get("_ct", 0), args["_c"] % 2**64), []).append("f")
                if args.get("flow", 0) & 3:
                    flow = args["flow"]
                    ends.setdefault(("flow", flow >> 58, flow >> 2 & (1 << 56) - 1), []).append(" fst"[flow & 3])
    return sum(len(e) for e in ends.values() if {"s", "f"} <= set(e))


def check(heddle, path):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        subprocess.run([heddle, "convert", "--strict", path, str(out)], check=True, stdout=subprocess.DEVNULL)
        trace = json.loads(out.read_text(), parse_float=Decimal)
        info = json.loads(subprocess.run([heddle, "info", "--json", "--all", path], check=True, capture_output=True).stdout)
    events = trace["traceEvents"]
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    processes = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    timed = iter([e for e in events if e["ph"] in "Xi"])
    planes, count = list(expected(path)), 0
    busy = {}
    for number, (plane, lines) in enumerate(planes, 1):
        for tid, line, rows in lines:
            for name, start, duration, args in rows:
                got = next(timed)
                where = f"{path}: event {count} ({name})"
                place = (processes[got["pid"]], got["pid"], got["tid"], threads[got["pid"], got["tid"]])
                assert place == (plane, number, tid, line), (where, place, plane, number, tid, line)
                assert got["name"] == name, (where, got["name"])
                assert ps_of(got) == start, (where, got["ts"], start)
                assert (got["ph"] == "X") == (duration > 0 or "/device:" in plane), where
                assert int(Decimal(str(got.get("dur", 0))) * 1000000) == duration, (where, got.get("dur"), duration)
                mine = {k: v for k, v in got.get("args", {}).items() if k not in ADDED or k in args}
                assert mine.keys() == args.keys(), (where, mine.keys() ^ args.keys())
                for key, value in args.items():
                    assert equal(mine[key], value), (where, key, mine[key], value)
                details = args.get("kernel_details", "")
                if "grid:" in details and "/device:" in plane:
                    grid = details.split("grid:")[1].split(" ")[0]
                    assert got["args"]["grid"] == [int(x) for x in grid.split(",")], where
                if line.startswith("Stream #") or (line == "XLA Ops" and "TPU" in plane):
                    is_wait = "TPU" in plane and re.match(r"%?[a-z-]+-done\b", name)
                    busy.setdefault((number, tid), []).extend([] if is_wait else [(start, start + duration)])
                count += 1
    assert next(timed, None) is None, path
    flows = sum(e["ph"] in "stf" for e in events)
    assert flows == flow_ends(planes), (path, flows, flow_ends(planes))
    lanes = {(int(t["pid"]), int(t["tid"])): t for t in info["tracks"] if t["kind"] == "stream"}
    assert lanes.keys() == busy.keys(), (path, lanes.keys() ^ busy.keys())
    for place, intervals in busy.items():
        off = lanes[place]["busy"] * 1000 - union(intervals)
        assert abs(off) <= 1000 * (len(intervals) + 1), (path, place, off)
    print(f"{path}: {count} events, {flows} ends of flows and {len(busy)} streams are the same")


def check_hosts(heddle, paths):
    """a run of several hosts: the events of each file, its times moved from its own start to that of the first"""
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "plugins/profile/run"
        run.mkdir(parents=True)
        alone, starts = [], []
        for i, path in enumerate(paths):
            (run / f"host{i}.xplane.pb").write_bytes(pathlib.Path(path).read_bytes())
            out = pathlib.Path(folder) / f"{i}.json"
            subprocess.run([heddle, "convert", "-q", path, str(out)], check=True)
            alone.append(json.loads(out.read_text(), parse_float=Decimal)["traceEvents"])
            stats = {k: v for name, _, plane in ((last(message(p), 2, b""), 0, p) for n, _, p in fields(pathlib.Path(path).read_bytes()) if n == 1)
                     if name == b"Task Environment" for k, v in plane_stats(plane)}
            starts.append(stats["profile_start_time"])
        out = pathlib.Path(folder) / "all.json"
        subprocess.run([heddle, "convert", "-q", folder, str(out)], check=True)
        together = json.loads(out.read_text(), parse_float=Decimal)["traceEvents"]
    planes, wanted = 0, []
    for events, start, path in zip(alone, starts, paths):
        ns = min(int(e["ts"] * 1000) for e in events if e["ph"] in "Xi")
        shift = Decimal(start - starts[0]) / 1000 if ns < 10**18 else 0
        wanted += [(e["ph"], e["name"], e["pid"] + planes, e["tid"], e["ts"] + shift, e.get("dur")) for e in events if e["ph"] in "Xi"]
        planes += sum(n == 1 for n, _, _ in fields(pathlib.Path(path).read_bytes()))
    got = [(e["ph"], e["name"], e["pid"], e["tid"], e["ts"], e.get("dur")) for e in together if e["ph"] in "Xi"]
    assert got == wanted, next((g, w) for g, w in zip(got, wanted) if g != w)
    ends = [sum(e["ph"] in "stf" for e in events) for events in alone]
    assert sum(e["ph"] in "stf" for e in together) == sum(ends)
    ids = [{e["id"] for e in together if e["ph"] in "stf" and (e["pid"] <= 8) == first} for first in (True, False)]
    assert not ids[0] & ids[1], "flows join hosts"
    print(f"{len(paths)} hosts in one folder: {len(got)} events are the same")


def plane_stats(plane):
    p = message(plane)
    names = {}
    for entry in p.get(5, []):
        e = message(entry)
        names[last(e, 1)] = last(message(last(e, 2, b"")), 2, b"").decode("utf-8", "replace")
    return [stat(s, names) for s in p.get(6, [])]


def main():
    heddle, files = sys.argv[1], sys.argv[2:]
    if not files:
        folder = pathlib.Path(__file__).resolve().parents[3] / "../shared/data/xplane"
        files = sorted(str(f) for f in folder.glob("*.xplane.pb") if b"\xef\xbf\xbd\xef\xbf\xbd" not in f.read_bytes()[:64])
        files += [str(f) for f in (pathlib.Path(__file__).parents[1] / "h100").glob("*.xplane.pb")]
        if not files:
            print("skipped: there is no ../shared/data/xplane")
            return 77
    for path in files:
        check(heddle, path)
    hosts = [p for p in files if "tpu_inference_2.h2" in p or "jax_conv" in p]
    if len(hosts) == 2:
        check_hosts(heddle, hosts[::-1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
