#!/usr/bin/env python3
"""Replays Perfetto protobuf files as Perfetto would, and compares them with the JSON they were made of.

usage: perfetto_model.py --write PROGRAM [--rest|--all] [FILE...]

PROGRAM [--raw] IN OUT writes IN as Perfetto protobuf and prints "events N" and its ledger. The protobuf is read here from
its bytes, with nothing shared with the writer: packets, groups of compressed packets, incremental state, interned strings,
clocks, tracks, and a stack of open slices for each track. Compared with Python's own reading of the JSON are

  slices, instants    start, duration, name and category of each, by thread or stream
  asynchronous slices start and name of each begin
  counters            time and value of each sample, by name
  arguments           of a sample of the slices, typed
  flows               that none ends which was not begun; how many join slices, with the number in data/README.md
  the ledger          events = written + events lost

With no FILE: the fixtures of the Chrome format, and the traces of HEDDLE_SHARED/data (default: ../shared/data beside the
project; one rank of many; as tests/sizes.py says, up to LARGEST; where they are absent, that is said).
"""
import argparse
import collections
import concurrent.futures
import decimal
import gc
import gzip
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from pairs import pairs_of  # noqa: E402
import sizes  # noqa: E402

decimal.getcontext().prec = 100  # sums of times are exact

SAMPLE, PROTOC_BYTES, LARGEST = 16, 8 << 20, 32 << 20
UNCLOSED = None
TOO_FAR = 2**62


class Broken(Exception):
    pass


# ---- the wire ----


def fields(data):
    """(number, value) of each field: integers for varints, 8-byte strings for fixed64, bytes for the rest."""
    at, end = 0, len(data)
    while at < end:
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        elif kind == 5:
            value, at = data[at:at + 4], at + 4
        else:
            raise Broken(f"wire type {kind}")
        if at > end:
            raise Broken("a field runs over the end")
        yield key >> 3, value


def varint(data, at):
    byte = data[at]
    if byte < 128:
        return byte, at + 1
    value, shift = byte & 127, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at + 1
        shift += 7
        if shift > 63:
            raise Broken("a varint without end")


def signed(value):
    return value - 2**64 if value >= 2**63 else value


def message(data):
    """The last value of each field."""
    return dict(fields(data))


# ---- replay ----


class Track:
    def __init__(self, descriptor):
        self.uuid = descriptor[1]
        self.parent = descriptor.get(5, 0)
        self.name = descriptor.get(2, b"").decode("utf-8", "surrogatepass")
        self.process = message(descriptor[3]) if 3 in descriptor else None
        self.thread = message(descriptor[4]) if 4 in descriptor else None
        self.is_counter = 8 in descriptor
        self.merge = descriptor.get(17, descriptor[1])


class Replay:
    """The state that a reader of one file keeps."""

    def __init__(self, data):
        self.tracks, self.stacks = {}, collections.defaultdict(list)
        self.interned = None  # {field: {iid: bytes}} once the state was cleared
        self.defaults, self.clocks, self.realtime = {}, {}, None
        self.slices, self.instants, self.counters = [], [], []
        self.metadata = {}
        self.flows, self.joined, self.last_slice = {}, 0, 0
        for number, packet in fields(data):
            if number != 1:
                raise Broken(f"field {number} in the file")
            self.packet(packet)

    def packet(self, data):
        packet = message(data)
        if 50 in packet:
            for number, inner in fields(zlib.decompress(packet[50])):
                if number != 1:
                    raise Broken(f"field {number} among compressed packets")
                self.packet(inner)
            return
        flags = packet.get(13, 0)
        if flags & 1:
            self.interned, self.defaults = collections.defaultdict(dict), {}
        if 59 in packet:
            self.defaults = message(packet[59])
        if 12 in packet:
            for space, entry in fields(packet[12]):
                entry = message(entry)
                if entry[1] in self.interned[space]:
                    raise Broken("an iid stands twice")
                self.interned[space][entry[1]] = entry.get(2)  # the one mapping of stacks has no more than its iid
        if 6 in packet:
            self.snapshot(packet[6])
        if 60 in packet:
            track = Track(message(packet[60]))
            if track.uuid in self.tracks:
                raise Broken("a uuid stands twice")
            self.tracks[track.uuid] = track
        if 5 in packet:
            for _, entry in fields(packet[5]):
                entry = message(entry)
                self.metadata[entry[1].decode()] = entry[5]
        if 66 in packet:  # a stack sample: its time, too, is the step from the packet before
            self.time(packet)
        if 11 in packet:
            if flags & 2 and self.interned is None:
                raise Broken("a packet needs state that was never cleared")
            self.event(self.time(packet), packet[11])

    def snapshot(self, data):
        for _, clock in fields(data):
            clock = message(clock)
            self.clocks[clock[1]] = [clock[2], clock.get(3, 0), clock.get(4, 1)]
        if self.clocks[6][0] != self.clocks[64][0]:
            raise Broken("clock 64 is not that of the trace")
        if 1 in self.clocks:
            self.realtime = self.clocks[1][0] - self.clocks[6][0]

    def time(self, packet):
        clock = self.clocks[packet.get(58, self.defaults.get(58))]
        if not clock[1] or clock[2] != 1:
            raise Broken("expected an incremental clock")
        clock[0] += packet[8]
        return clock[0]

    def event(self, now, data):
        kinds = collections.defaultdict(list)
        for number, value in fields(data):
            kinds[number].append(value)
        kind = kinds[9][0]
        uuid = kinds[11][0] if 11 in kinds else message(self.defaults[11])[11]
        if uuid not in self.tracks:
            raise Broken(f"track {uuid} has no descriptor")
        if kind == 4:
            value = signed(kinds[30][0]) if 30 in kinds else struct.unpack("<d", kinds[44][0])[0]
            if not self.tracks[uuid].is_counter:
                raise Broken("a counter on a track that is none")
            self.counters.append((uuid, now, value))
            return
        if kind == 2:
            if not self.stacks[uuid]:
                raise Broken("an end without a begin")
            opened = self.stacks[uuid].pop()
            opened["end"] = now
            opened["begin_annotations"] = len(opened["annotations"])
            opened["annotations"] += kinds[4]
            return
        record = {
            "uuid": uuid, "start": now, "end": UNCLOSED, "annotations": kinds[4],
            "name": self.interned[2][kinds[10][0]] if 10 in kinds else None,
            "category": self.interned[1][kinds[3][0]] if 3 in kinds else None,
        }
        self.bind(kinds)
        if kind == 1:
            self.slices.append(record)
            self.stacks[uuid].append(record)
        elif kind == 3:
            self.instants.append(record)
        else:
            raise Broken(f"event type {kind}")

    def bind(self, kinds):
        self.last_slice += 1
        for flow in kinds[47]:
            if flow in self.flows:
                self.joined += 1
            self.flows[flow] = self.last_slice
        for flow in kinds[48]:
            if flow not in self.flows:
                raise Broken("a flow ends that was not begun")
            del self.flows[flow]
            self.joined += 1

    def args(self, record):
        return {self.interned[3][a[1]].decode("utf-8", "surrogatepass"): self.value(a, raw)
                for raw in record["annotations"] for a in (message(raw),)}

    def value(self, a, raw):
        if 2 in a:
            return bool(a[2])
        if 3 in a:
            return a[3]
        if 4 in a:
            return signed(a[4])
        if 5 in a:
            return struct.unpack("<d", a[5])[0]
        if 17 in a:
            return self.interned[29][a[17]].decode("utf-8", "surrogatepass")
        if 8 in a:  # JSON that is not taken apart
            return json.loads(message(a[8])[8])
        if 11 in a:
            entries = [(message(v), v) for n, v in fields(raw) if n == 11]
            return {self.interned[3][e[1]].decode("utf-8", "surrogatepass"): self.value(e, v) for e, v in entries}
        if 12 in a:
            return [self.value(message(v), v) for n, v in fields(raw) if n == 12]
        if a.keys() - {1}:  # legacy_json_value (9) among them, whose nulls end trace_processor
            raise Broken(f"an annotation with fields {sorted(a)}")
        return None

    def key(self, uuid):
        """What a track is: ("thread", pid, tid), ("row", process, name), or what stands above it."""
        track = self.tracks[uuid]
        if track.merge != uuid:  # a lane
            return self.key(track.merge)
        if track.thread:
            return ("thread", track.thread[1], track.thread[2])
        if track.process:
            return ("process", track.process[1])
        if track.parent:
            return ("row", self.key(track.parent), track.name)
        return ("group", track.name)


# ---- what the JSON says ----


def load(path):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    keep = {"NaN": "NaN", "Infinity": "Infinity", "-Infinity": "-Infinity"}.get
    return json.loads(data, parse_float=decimal.Decimal, parse_constant=keep)


def events_of(document):
    return document if isinstance(document, list) else document["traceEvents"]


def nanoseconds(text):
    """Microseconds to whole nanoseconds, rounded down."""
    try:
        return math.floor(decimal.Decimal(text) * 1000)
    except (decimal.InvalidOperation, TypeError, ValueError, OverflowError):
        return None


def number(ident):
    """A pid or tid as Perfetto numbers it, or None."""
    text = str(ident)
    if isinstance(ident, bool) or not re.fullmatch(r"0|[1-9][0-9]{0,17}", text):
        return None
    return int(text)


class Json:
    def __init__(self, events):
        self.names, self.streams = {}, {}
        self.slices, self.instants, self.counters, self.begins = [], [], [], []
        self.first = 0
        opened = collections.defaultdict(list)
        # Of a phase the first letter counts.
        timed = [e | {"ph": e["ph"][:1]} for e in events if isinstance(e, dict) and isinstance(e.get("ph"), str)]
        for e in timed:
            self.meta(e)
        stamped = []
        for e in timed:
            start = nanoseconds(e.get("ts")) if e["ph"] != "M" else None
            if start is not None and abs(start) < TOO_FAR:
                stamped.append((start, e))
                if e["ph"] in "XBiIRCbnSTpe":
                    self.first = min(self.first, start)
        for start, e in stamped:
            self.event(start, e)
        for start, e in stamped:
            if e["ph"] in "BE":
                opened[str(e.get("pid")), str(e.get("tid"))].append((start, e["ph"] == "E", e.get("name"), (start, e)))
        for markers in opened.values():
            self.slices += [(b, begin, end[0] if end else UNCLOSED) for (begin, b), end in pairs_of(markers)[0]]

    def meta(self, e):
        args = e.get("args") if isinstance(e.get("args"), dict) else {}
        track = (str(e.get("pid")), str(e.get("tid")))
        if e["ph"] == "M" and e.get("name") == "thread_name" and isinstance(args.get("name"), str):
            self.names[track] = args["name"]
        elif e["ph"] == "M" and e.get("name") == "process_name" and isinstance(args.get("name"), str):
            self.names[track[0]] = args["name"]
        elif e["ph"] == "X" and "stream" in args:
            self.streams.setdefault(track, f"stream {args['stream']}")

    def event(self, start, e):
        phase = e["ph"]
        if phase == "X":
            end = start
            if "dur" in e:
                try:
                    end = math.floor((decimal.Decimal(e["ts"]) + decimal.Decimal(e["dur"])) * 1000)
                except (decimal.InvalidOperation, TypeError, ValueError):
                    pass
            self.slices.append((e, start, max(start, end)))
        elif phase in ("i", "I", "R"):
            self.instants.append((e, start, start))
        elif phase == "C":
            self.counters.append((e, start))
        elif phase in ("b", "S"):
            self.begins.append((e, start))

    def key(self, e, threads):
        pid, tid = e.get("pid"), e.get("tid")
        process = ("process", number(pid))
        if process[1] is None or process[1] >= 2**31:
            process = ("group", self.names.get(str(pid), "without process" if pid is None else str(pid)))
        if tid is None:
            return process
        if process[0] == "process" and ("thread", number(pid), number(tid)) in threads:
            return ("thread", number(pid), number(tid))
        track = (str(pid), str(tid))
        return ("row", process, self.names.get(track) or self.streams.get(track) or str(tid))


def text(value):
    return None if value is None else value.encode("utf-8", "surrogatepass")


def normal(value):
    """Values as annotations hold them: decimals are doubles where these print the same digits."""
    if isinstance(value, decimal.Decimal):
        as_float = float(value)
        if math.isfinite(as_float):
            digits = len(value.normalize().as_tuple().digits)
            if digits <= 17 and decimal.Decimal(f"{as_float:.{digits - 1}e}") == value:
                return as_float
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and not -2**63 <= value < 2**64:
        return normal(decimal.Decimal(value))
    if isinstance(value, dict):
        return {k: normal(v) for k, v in value.items()}
    if isinstance(value, list):
        return [normal(v) for v in value]
    return value


# ---- comparison ----


def difference(what, expected, found):
    if expected == found:
        return []
    missing, extra = list((expected - found).items())[:3], list((found - expected).items())[:3]
    return [f"{what}: {sum(expected.values())} expected, {sum(found.values())} found; missing {missing}, extra {extra}"]


def counted(replay, records, keys):
    return collections.Counter(
        (keys[r["uuid"]], r["start"], r["end"], r["name"], r["category"]) for r in records)


def wanted(expected, shift, threads, records):
    return collections.Counter((expected.key(e, threads), start + shift, None if end is None else end + shift,
                                text(e.get("name")), text(e.get("cat"))) for e, start, end in records)


def compare_slices(replay, expected, shift):
    keys = {uuid: replay.key(uuid) for uuid in replay.tracks}
    threads = {k for k in keys.values() if k[0] == "thread"}
    # Asynchronous tracks are below a process by a name that no thread or stream has; they are compared by their begins.
    rows = {expected.key(e, threads) for e, _, _ in expected.slices + expected.instants}
    own = [r for r in replay.slices if keys[r["uuid"]] in rows]
    points = [r for r in replay.instants if keys[r["uuid"]] in rows]
    for r in points:
        r["end"] = r["start"]
    begins = collections.Counter((r["start"] - shift, r["name"]) for r in replay.slices if keys[r["uuid"]] not in rows)
    begun = collections.Counter((start, text(e.get("name"))) for e, start in expected.begins)
    problems = difference("slices", wanted(expected, shift, threads, expected.slices), counted(replay, own, keys))
    if not begun:  # else steps of asynchronous slices are instants, too
        problems += difference("instants", wanted(expected, shift, threads, expected.instants),
                               counted(replay, points, keys))
    problems += difference("asynchronous begins", begun, begins)
    return problems + compare_args(replay, expected, shift, keys, threads, own)


def compare_args(replay, expected, shift, keys, threads, own):
    def shape(args):
        return json.dumps(args, sort_keys=True, default=str)

    def sampled(start):
        return start % SAMPLE == 0 or len(own) < 1000

    before, after = collections.Counter(), collections.Counter()
    for e, start, end in expected.slices:
        if e["ph"] == "X" and sampled(start + shift) and isinstance(e.get("args", {}), dict):
            key = (expected.key(e, threads), start + shift, end + shift, text(e.get("name")))
            before[key, shape(normal(e.get("args", {})))] += 1
    known = {key for key, _ in before}
    for r in own:
        key = (keys[r["uuid"]], r["start"], r["end"], r["name"])
        if sampled(r["start"]) and key in known:
            args = {k: v for k, v in replay.args(r).items() if not k.startswith("event.")}
            after[key, shape(args)] += 1
    return difference("arguments", before, after)


def compare_counters(replay, expected, shift):
    found, wanted_values = collections.Counter(), collections.Counter()
    for uuid, now, value in replay.counters:
        found[replay.tracks[uuid].name, now - shift, float(value)] += 1
    for e, start in expected.counters:
        name = str(e.get("name", "")) + (f" id: {e['id']}" if "id" in e else "")
        for key, value in (e.get("args") or {}).items():
            try:
                value = float(value)
            except (TypeError, ValueError):
                continue
            label = name if key in ("", "value") else f"{name} {key}" if name else key
            wanted_values[label, start, value] += 1
    return difference("counters", wanted_values, found)


def compare_ledger(lines):
    rows = {line.split()[0]: int(line.split()[-1]) for line in lines}
    lost = sum(n for code, n in rows.items() if code.startswith("perfetto.event-"))
    out = rows.get("perfetto.events-written", 0)
    return [] if rows["events"] == out + lost else [f"{rows['events']} events in, {out} written, {lost} lost"]


def write(program, path, out, raw):
    run = subprocess.run([program, *(["--raw"] if raw else []), str(path), str(out)], capture_output=True, text=True)
    if run.returncode:
        raise Broken(f"exit status {run.returncode}: {run.stderr.strip()}")
    return run.stdout.splitlines()


def check_file(program, path, folder, flows=None):
    """What is wrong with what the program makes of a trace."""
    try:
        document = load(path)
        expected = Json(events_of(document))
    except (ValueError, KeyError, TypeError, RecursionError):
        document = None  # no JSON: what the reader repairs is not compared
    if path.name.startswith(("bad-", "edge-")):  # types that Python would have to treat as the reader does
        document = None
    packed, raw = folder / "packed.pftrace", folder / "raw.pftrace"
    ledger = write(program, path, packed, False)
    write(program, path, raw, True)
    data = packed.read_bytes()
    inner = b"".join(zlib.decompress(message(p)[50]) for _, p in fields(data))
    problems = [] if inner == raw.read_bytes() else ["the compressed packets are not the raw ones"]
    problems += compare_ledger(ledger)
    replay = Replay(data)
    if document is None:
        return problems
    shift = -expected.first
    problems += compare_slices(replay, expected, shift) + compare_counters(replay, expected, shift)
    if flows is not None and replay.joined != flows:
        problems.append(f"{replay.joined} flows join slices, {flows} do in Perfetto")
    if isinstance(document, dict) and "baseTimeNanoseconds" in document and replay.realtime is not None:
        if replay.realtime != int(document["baseTimeNanoseconds"]) - shift:
            problems.append(f"real time is {replay.realtime} behind the trace's clock")
    if shutil.which("protoc") and raw.stat().st_size < PROTOC_BYTES:
        with raw.open("rb") as stream:
            if subprocess.run(["protoc", "--decode_raw"], stdin=stream, stdout=subprocess.DEVNULL).returncode:
                problems.append("protoc --decode_raw does not read it")
    return problems


# ---- which files ----


def readme_flows(data):
    """{"nccl_data": flows that Perfetto joins}, from the table."""
    counts = {}
    for line in (data / "README.md").read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        match = len(cells) > 7 and re.match(r"[\d,]+, ([\d,]+), [\d,]+$", cells[7])
        if match:
            counts[cells[0].split("/")[-1].removesuffix(".json")] = int(match.group(1).replace(",", ""))
    return counts


def inputs(root, choice=None):
    for path in sorted((root / "tests/format/chrome").glob("*.json")):
        yield path, None
    data = pathlib.Path(os.environ.get("HEDDLE_SHARED", root.parent / "shared")) / "data"
    if not data.is_dir():
        print(f"skipped: the real traces, {data} is not there")
        return
    flows = readme_flows(data)
    files = [p for p in data.rglob("*.json*") if p.suffix in (".json", ".gz")]
    # What is not a trace of events; and of ranks, which are alike, the first.
    others = re.compile("memory_timeline|rocprofv3|matmul|rank[1-9]|result-ST")
    files = [p for p in files if not others.search(p.name)]
    for path in sorted(sizes.chosen(files, choice), key=sizes.unpacked, reverse=True):  # the longest first, so that no process waits at the end
        if sizes.unpacked(path) <= LARGEST:
            yield path, flows.get(path.name.split(".")[0])


def run(program, path, flows):
    """(name, problems)."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return path.name, check_file(program, path, pathlib.Path(folder), flows)
        except Broken as error:
            return path.name, [str(error)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", required=True)
    sizes.options(parser)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    root = pathlib.Path(os.environ.get("HEDDLE_SOURCE_ROOT", pathlib.Path(__file__).parents[3]))
    gc.disable()  # it would walk millions of objects again and again, and none of them is in a cycle
    work = [(f, None) for f in options.files] or list(inputs(root, options.choice))
    failed = 0
    with concurrent.futures.ProcessPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        tasks = [pool.submit(run, options.write, path, flows) for path, flows in work]
        for task in tasks:
            name, problems = task.result()
            failed += bool(problems)
            print("\n  ".join([("FAIL " if problems else "ok   ") + name] + problems), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
