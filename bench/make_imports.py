"""Large files of other profilers, made of small real ones: rows, records or messages of one file again and again, each time
later. A maker takes the real file, the path to write and how many bytes it should have at least."""
import gzip
import json
import os
import pickle
import random
import sqlite3
import struct


def sqlite_rows(source, path, size, tables):
    """The database with the rows of `tables` again and again; each names its columns of time."""
    with open(source, "rb") as real, open(path, "wb") as out:
        out.write(real.read())
    db = sqlite3.connect(path)
    db.executescript("pragma journal_mode=off; pragma synchronous=off; pragma cache_size=-200000")
    copies = max(1, size // os.path.getsize(source))
    for table, times in tables.items():
        columns = [row[1] for row in db.execute(f'pragma table_info("{table}")')]
        keys = {row[1] for row in db.execute(f'pragma table_info("{table}")') if row[5]}
        if not columns:
            continue
        kept = [c for c in columns if c not in keys]
        shown = ", ".join(f'"{c}" + {{0}}' if c in times else f'"{c}"' for c in kept)
        first = ", ".join(f'"{c}"' for c in kept)
        span = max(db.execute(f'select max("{c}") - min("{c}") from "{table}"').fetchone()[0] or 0 for c in times)
        last = db.execute(f'select max(rowid) from "{table}"').fetchone()[0] or 0
        for copy in range(1, copies):
            db.execute(f'insert into "{table}" ({first}) select {shown.format((span + 1000) * copy)} from "{table}" where rowid <= {last}')
    db.commit()
    db.close()


def nsys(source, path, size):
    both = ("start", "end")
    sqlite_rows(source, path, size, {**{f"CUPTI_ACTIVITY_KIND_{kind}": both for kind in (
        "KERNEL", "RUNTIME", "MEMCPY", "MEMSET", "SYNCHRONIZATION")}, "NVTX_EVENTS": both, "OSRT_API": both,
                                     "COMPOSITE_EVENTS": ("start",), "SCHED_EVENTS": ("start",)})


def ascend(source, path, size):
    both = ("startNs", "endNs")
    sqlite_rows(source, path, size, {"TASK": both, "CANN_API": both, "PYTORCH_API": both, "COMMUNICATION_OP": both})


def rpd(source, path, size):
    both = ("start", "end")
    sqlite_rows(source, path, size, {"rocpd_op": both, "rocpd_api": both})


def repeated(source, path, size):
    """The bytes again and again: a protobuf message behind itself is one message with its lists again."""
    with (gzip.open if source.endswith(".gz") else open)(source, "rb") as real:
        data = real.read()
    with open(path, "wb") as out:
        while out.tell() < size:
            out.write(data)


def varint_bytes(value):
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def members(data):
    """(number, value, bytes) of each member of a protobuf message; value: a number or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 0x7f) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 0x80:
                return value

    while at < len(data):
        begin, key = at, varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            value, at = data[at:at + size], at + size
        yield key >> 3, value, data[begin:at]


def member(number, data):
    return varint_bytes(number << 3 | 2) + varint_bytes(len(data)) + data


def xplane(source, path, size):
    """The events of each line again and again, each time later: planes > 1, lines > 3, events > 4, offset_ps 2, duration_ps 3."""
    with open(source, "rb") as real:
        data = real.read()
    lines = [[field == 3 and list(members(value)) for field, value, _ in members(plane)] if number == 1 else [] for number, plane, _ in members(data)]
    timed = [dict((n, v) for n, v, _ in members(value)) for plane in lines for line in plane if line for n, value, _ in line if n == 4]
    later = max((event.get(2, 0) + event.get(3, 0) for event in timed), default=0) + 1000000
    events = sum(len(raw) for plane in lines for line in plane if line for n, _, raw in line if n == 4)
    copies = range(1, 1 + max(0, size - len(data)) // max(1, events))

    def longer(line):
        out = [raw for _, _, raw in line]
        for copy in copies:
            for number, event, _ in line:
                if number != 4:
                    continue
                rest = b"".join(raw for n, _, raw in members(event) if n != 2)
                offset = next((v for n, v, _ in members(event) if n == 2), 0)
                out.append(member(4, b"\x10" + varint_bytes(offset + copy * later) + rest))
        return b"".join(out)

    with open(path, "wb") as out:
        for (number, plane, raw), of in zip(members(data), lines):
            parts = [member(3, longer(line)) if line else part for line, (_, _, part) in zip(of, members(plane))] if number == 1 else None
            out.write(member(1, b"".join(parts)) if parts else raw)


def samples(source, path, size):
    """The samples of a pprof profile again and again, its tables once."""
    with open(source, "rb") as real:
        data = real.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    found, at = [], 0

    def varint(at):
        value = shift = 0
        while True:
            value |= (data[at] & 0x7f) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 0x80:
                return value, at

    while at < len(data):
        start = at
        tag, at = varint(at)
        length, at = varint(at)
        if tag & 7 == 2:
            at += length
        if tag >> 3 == 2:
            found.append(data[start:at])
    block = b"".join(found)
    with open(path, "wb") as out:
        out.write(data)
        while out.tell() < size:
            out.write(block)


def lines(source, path, size):
    """The lines behind the head again and again."""
    with (gzip.open if source.endswith(".gz") else open)(source, "rb") as real:
        text = real.read().split(b"\n")
    head = next(i for i, line in enumerate(text) if b": sched_" in line or b"KERNEL_DISPATCH" in line)
    body = b"\n".join(text[head:]).rstrip(b"\n") + b"\n"
    with open(path, "wb") as out:
        out.write(b"\n".join(text[:head]) + b"\n")
        while out.tell() < size:
            out.write(body)


def snapshot(_, path, size):
    """A memory snapshot as PyTorch writes it: frames are shared, each event has a list of them of its own."""
    rnd = random.Random(1)
    frames = [{"name": f"function_{i}", "filename": f"site-packages/torch/nn/modules/file_{i % 97}.py", "line": i % 1500} for i in range(3000)]
    stacks = [rnd.choices(frames, k=rnd.randint(15, 40)) for _ in range(4000)]
    events, live, now = [], [], 1_700_000_000_000_000
    while len(events) < size // 190:
        now += rnd.randint(1, 90)
        done = len(live) > 100 and rnd.random() < .5
        addr, length = live.pop(rnd.randrange(len(live))) if done else (0x7f0000000000 + rnd.getrandbits(35) * 512, rnd.randint(1, 100000) * 512)
        if not done:
            live.append((addr, length))
        for action in ("free_requested", "free_completed") if done else ("alloc",):
            events.append({"action": action, "addr": addr, "size": length, "stream": 0, "time_us": now, "compile_context": "N/A",
                           "user_metadata": "", "frames": list(rnd.choice(stacks))})
    with open(path, "wb") as out:
        pickle.dump({"segments": [], "device_traces": [events], "allocator_settings": {}}, out, protocol=4)


def perf_data(source, path, size):
    """The records of a perf.data file again and again, without the features behind them."""
    with open(source, "rb") as real:
        data = real.read()
    at, length = struct.unpack_from("<QQ", data, 40)
    copies = max(1, size // length)
    head = bytearray(data[:at])
    struct.pack_into("<QQ", head, 40, at, length * copies)
    head[72:104] = bytes(32)
    with open(path, "wb") as out:
        out.write(head)
        for _ in range(copies):
            out.write(data[at:at + length])


def xray(source, path, size):
    """The records, or buffers, behind the header again and again."""
    with open(source, "rb") as real:
        data = real.read()
    with open(path, "wb") as out:
        out.write(data[:32])
        while out.tell() < size:
            out.write(data[32:])


def cpu_profile(_, path, size):
    """A profile as V8 writes it: 5,000 nodes, then samples and the time between them."""
    rnd = random.Random(1)
    nodes = [{"id": i + 1, "callFrame": {"functionName": f"function{i}", "scriptId": str(i % 50), "url": f"file:///app/module{i % 50}.js",
                                         "lineNumber": i % 900, "columnNumber": i % 80}, "hitCount": 1, "children": []} for i in range(5000)]
    for i in range(1, len(nodes)):
        nodes[rnd.randrange(max(0, i - 40), i)]["children"].append(i + 1)
    count = size // 9
    ids, deltas = (",".join(str(rnd.randint(*span)) for _ in range(count)) for span in ((1, 5000), (100, 999)))
    with open(path, "w") as out:
        out.write(f'{{"nodes":{json.dumps(nodes, separators=(",", ":"))},"startTime":1000,"endTime":{count * 1000 + 1000},'
                  f'"samples":[{ids}],"timeDeltas":[{deltas}]}}')


def speedscope(_, path, size):
    """A sampled profile: stacks of 5 to 30 of 3,000 frames, of which 4,000 differ."""
    rnd = random.Random(1)
    frames = [{"name": f"function_{i}", "file": f"src/module_{i % 97}.py", "line": i % 1500} for i in range(3000)]
    stacks = [json.dumps([rnd.randrange(3000) for _ in range(rnd.randint(5, 30))], separators=(",", ":")) for _ in range(4000)]
    count = size // 88
    chosen = ",".join(rnd.choices(stacks, k=count))
    with open(path, "w") as out:
        out.write(f'{{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{{"frames":{json.dumps(frames)}}},"profiles":'
                  f'[{{"type":"sampled","name":"cpu","unit":"microseconds","startValue":0,"endValue":{count},"samples":[{chosen}],'
                  f'"weights":[{",".join(["1"] * count)}]}}]}}')


MAKERS = {  # format: maker, real file below ../shared/data, whether it is text
    "nsys": (nsys, "nsys/h100_2gpu_1s.sqlite", False),
    "ascend": (ascend, "ascend/level1_rank0.db", False),
    "rpd": (rpd, "rocm/matmul_result.rpd", False),
    "xplane": (xplane, "xplane/tpu_inference_2.h2cc1243f.xplane.pb", False),
    "pprof": (samples, "pprof/large.cpu", False),
    "rocprofv3": (lines, "rocm/rocprofv3_csv/prefill_kernel_trace.csv", True),
    "ftrace": (lines, "ftrace/trace.txt.gz", True),
    "perf-script": (repeated, "stacks/example-perf-stacks.txt.gz", True),
    "perfdata": (perf_data, "perf/single-event-single-process.perf.data", False),
    "xray": (xray, "xray/basic.xbin.H9qt9c", False),
    "xray-fdr": (xray, "xray/fdr.xfbin.5xc6Dn", False),
    # Made of nothing real:
    "torchmemory": (snapshot, "", False),
    "cpuprofile": (cpu_profile, "", True),
    "speedscope": (speedscope, "", True),
}
