#!/usr/bin/env python3
"""make.py - writes the fixtures beside itself, and the seeds of fuzz/corpus/perfdata"""
import importlib.util
import pathlib
import struct

from big_endian import File

spec = importlib.util.spec_from_file_location("ftrace_make", pathlib.Path(__file__).parent.parent / "ftrace/make.py")
ftrace = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ftrace)

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM, RAW, BRANCH, REGS, STACK, WEIGHT = (1 << i for i in range(15))
IDENTIFIER = 1 << 16
SAMPLE_ID_ALL = 1 << 18
KERNEL, USER = 2**64 - 128, 2**64 - 512
ROUND = struct.pack("<IHH", 68, 0, 8)


def attr(sample_type, kind=1, config=0, flags=SAMPLE_ID_ALL, read_format=0, registers=0):
    return struct.pack("<IIQQQQQ", kind, 96, config, 1000, sample_type, read_format, flags) + bytes(32) + \
        struct.pack("<QIi", registers, 16, 0) + bytes(0)


def record(kind, body, misc=0, align=True):
    body += bytes(-len(body) % 8 if align else 0)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def text(value, sized=False):
    data = value.encode() if isinstance(value, str) else value
    data += bytes(8 - len(data) % 8)
    return struct.pack("<I", len(data)) + data if sized else data


def chain(*addresses):
    return struct.pack(f"<Q{len(addresses)}Q", len(addresses), *addresses)


class Writer:
    """records of an event with IDENTIFIER, IP, TID, TIME, CPU, PERIOD, CALLCHAIN"""
    TYPE = IDENTIFIER | IP | TID | TIME | CPU | PERIOD | CALLCHAIN

    def __init__(self, ident=77):
        self.ident = ident

    def end(self, pid, tid, time, cpu):
        return struct.pack("<IIQIIQ", pid, tid, time, cpu, 0, self.ident)

    def other(self, kind, body, pid=10, tid=10, time=0, cpu=0, misc=0):
        body += bytes(-len(body) % 8)
        return record(kind, body + self.end(pid, tid, time, cpu), misc)

    def mmap(self, start, size, offset, path, pid=10, time=0, misc=2):
        return self.other(1, struct.pack("<IIQQQ", pid & 0xffffffff, pid & 0xffffffff, start, size, offset) + text(path), time=time, misc=misc)

    def mmap2(self, start, size, offset, path, build_id, pid=10, time=0):
        body = struct.pack("<IIQQQ", pid, pid, start, size, offset) + bytes([len(build_id), 0, 0, 0]) + build_id.ljust(20, b"\0")
        return self.other(10, body + struct.pack("<II", 5, 2) + text(path), time=time, misc=2 | 1 << 14)

    def comm(self, name, pid=10, tid=10, time=0, execs=False):
        return self.other(3, struct.pack("<II", pid, tid) + text(name), pid, tid, time, misc=1 << 13 if execs else 0)

    def task(self, kind, pid, ppid, tid, ptid, time):
        return self.other(kind, struct.pack("<IIIIQ", pid, ppid, tid, ptid, time), pid, tid, time)

    def sample(self, time, *addresses, pid=10, tid=10, cpu=0, period=1000, ident=None, misc=2):
        ip = next((a for a in addresses if a < 2**64 - 4096), 0)
        return record(9, struct.pack("<QQIIQIIQ", ident or self.ident, ip, pid, tid, time, cpu, 0, period) + chain(*addresses), misc)


def event_desc(*events):
    out = struct.pack("<II", len(events), 96)
    for data, name, ids in events:
        out += data + struct.pack("<I", len(ids)) + text(name, True) + struct.pack(f"<{len(ids)}Q", *ids)
    return out


def build_id(path, ident, pid=2**32 - 1):
    name = text(path)
    return struct.pack("<IHHI", 0, 2 | 1 << 15, 36 + len(name), pid) + ident.ljust(20, b"\0") + bytes([len(ident), 0, 0, 0]) + name


def file(events, data, features):
    """events: (attr, ids); features: bit -> bytes"""
    head, ids, attrs = 0x68, b"", b""
    for data_of, numbers in events:
        attrs += data_of + struct.pack("<QQ", head + len(ids), 8 * len(numbers))
        ids += struct.pack(f"<{len(numbers)}Q", *numbers)
    at_attrs = head + len(ids)
    at_data = at_attrs + len(attrs)
    bits = sum(1 << b for b in features)
    at, table, tail = at_data + len(data) + 16 * len(features), b"", b""
    for bit in sorted(features):
        table += struct.pack("<QQ", at + len(tail), len(features[bit]))
        tail += features[bit]
    header = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 0x68, 112, at_attrs, len(attrs), at_data, len(data), 0, 0) + \
        bits.to_bytes(32, "little")
    return header + ids + attrs + data + table + tail


def records():
    w = Writer()
    early = w.mmap(0xffffffff81000000, 0x1000000, 0xffffffff81000000, "[kernel.kallsyms]_text", pid=-1, misc=1) + \
        w.mmap(0xffffffffa0000000, 0x4000, 0, "/lib/modules/6.1/kernel/net/x-y.ko", pid=-1, misc=1) + w.comm("sh")
    one = w.sample(1_000_300, KERNEL, 0xffffffff81000010, 0xffffffffa0000123, USER, 0x401010, 0x7f0000001234, cpu=1) + \
        w.sample(1_000_100, USER, 0x401010)
    two = w.mmap2(0x400000, 0x2000, 0, "/usr/bin/app", b"\xab\xcd\xef\x01", time=1_000_050) + \
        w.comm("app", time=1_000_040, execs=True) + \
        w.mmap(0x7f0000000000, 0x10000, 0x3000, "/usr/lib/libc.so.6", time=1_000_060) + \
        w.mmap(0x7f0000100000, 0x10000, 0, "/opt/lib/libc.so.6", time=1_000_070)
    three = w.task(7, 11, 10, 11, 10, 1_000_400) + \
        w.sample(1_000_500, USER, 0x401020, 0x7f0000100001, pid=11, tid=11, ident=78, period=2**63) + \
        w.mmap(0x401000, 0x10, 0x77, "/usr/bin/other", pid=11, time=1_000_510) + \
        w.sample(1_000_520, USER, 0x401005, 0x401010, 0x400fff, 0x1, pid=11, tid=11, ident=78) + \
        w.other(14, b"", time=1_000_530, misc=1 << 13) + \
        w.other(15, struct.pack("<II", 12, 13), time=1_000_540) + \
        w.other(17, struct.pack("<QIHH", 0xffffffffc0000000, 64, 1, 0) + text("bpf_prog_1"), time=1_000_550) + \
        w.sample(1_000_560, KERNEL, 0xffffffffc0000008, pid=0, tid=0, misc=1) + \
        w.task(4, 11, 10, 11, 10, 1_000_600) + w.other(5, struct.pack("<QQQ", 1_000_610, 77, 5), time=1_000_610)
    return early + one + two + ROUND + three + ROUND


def small():
    cycles, misses = attr(Writer.TYPE, 0, 0), attr(Writer.TYPE, 0, 3)
    return file([(cycles, [77]), (misses, [78])], records(),
                {2: build_id("/usr/lib/libc.so.6", b"\x12\x34\x56\x78"), 3: text("host1", True), 4: text("6.1.0", True),
                 11: struct.pack("<I", 2) + text("perf", True) + text("record", True),
                 12: event_desc((cycles, "cycles:u", [77]), (misses, "L3/misses/", [78])),
                 29: struct.pack("<IIQQ", 1, 1, 1_700_000_000_000_000_000, 1_000_000)})


def raw_block(data):
    return struct.pack("<I", len(data) << 3)[:3] + data


def pipe():
    """by pipe, and compressed: a frame that goes on from record to record, and a record likewise"""
    w = Writer()
    out = b"PERFILE2" + struct.pack("<Q", 16) + record(64, attr(Writer.TYPE, 1, 0) + struct.pack("<Q", 77)) + \
        record(78, struct.pack("<QQ", 2, 77) + text("my clock")) + record(80, struct.pack("<Q", 3) + text("host2", True)) + \
        record(67, build_id("/bin/a", b"\1\2\3\4")[8:], misc=2 | 1 << 15) + w.comm("piped")
    inner = w.mmap(0x1000, 0x1000, 0, "/bin/a", time=5) + w.sample(10, USER, 0x1010) + w.sample(7, USER, 0x1020)
    out += record(81, b"\x28\xb5\x2f\xfd\x00\x58" + raw_block(inner[:100]), align=False)
    out += record(81, raw_block(inner[100:]), align=False)
    body = raw_block(w.sample(12, USER, 0x1030))
    out += record(83, struct.pack("<Q", len(body)) + body)
    return out + w.sample(20)


def plain():
    """an event alone, old: no sample_id_all, so the file's order; addresses beyond int64; no chain, no name"""
    kind = IP | TID | TIME | ADDR | ID | STREAM | PERIOD
    sample = [record(9, struct.pack("<QIIQQQQQ", 0x1004 + i, 5, 6, 100 - i, 2**64 - 1 - i, 1, 2, 3), 2) for i in range(2)]
    return file([(attr(kind, 4, 0x1c2, 0), [])], record(3, struct.pack("<II", 5, 6) + text("old")) + b"".join(sample), {})


def periods():
    """samples without a period: it is in the attribute, or, of an event with a frequency, nowhere; the second event first"""
    kind = IDENTIFIER | IP | TID | TIME
    events = [(attr(kind, 1, 0), [1]), (attr(kind, 1, 2, SAMPLE_ID_ALL | 1 << 10), [2])]
    return file(events, b"".join(record(9, struct.pack("<QQIIQ", ident, 0x10, 1, 1, time), 2) for ident, time in ((2, 10), (1, 20), (1, 30))), {})


def others():
    """what a trace has no place for, each counted"""
    kind = IP | TID | TIME | READ | RAW | BRANCH | REGS | STACK | WEIGHT
    data = struct.pack("<QIIQ", 0x10, 1, 1, 50) + struct.pack("<QQQQQ", 2, 10, 20, 30, 40) + struct.pack("<I", 4) + b"rawd" + \
        struct.pack("<Q", 1) + bytes(24) + struct.pack("<QQQ", 2, 1, 2) + struct.pack("<Q", 16) + bytes(16) + struct.pack("<QQ", 16, 9)
    w = struct.pack("<IIQ", 1, 1, 60)
    return file([(attr(kind, 2, 99, SAMPLE_ID_ALL, 4 | 8, 3), [])],
                record(9, data) + record(9, data[:60]) + record(2, struct.pack("<QQ", 1, 42) + w) + record(13, struct.pack("<Q", 7) + w) +
                record(11, bytes(24) + w) + record(3, struct.pack("<II", 1, 1) + text(b"bad\xff") + w) +
                record(9, struct.pack("<QIIQ", 0x10, 1, 1, 2**63) + data[24:]), {})


def fields():
    """a healthy file whose samples carry counter values, branches and weights, which a trace does not keep"""
    kind = IP | TID | TIME | READ | BRANCH | WEIGHT
    data = b"".join(record(9, struct.pack("<QIIQ", 0x10 + i, 1, 1, 50 + i) + struct.pack("<QQQQQ", 2, 10, 20, 30, 40) + struct.pack("<Q", 1) + bytes(24) +
                                  struct.pack("<Q", 7)) for i in range(3))
    return file([(attr(kind, 2, 99, SAMPLE_ID_ALL, 4 | 8, 3), [])], data, {})


def tracing_data():
    data = b"\x17\x08\x44tracing0.6\0" + struct.pack("<BBI", 0, 8, 4096) + ftrace.header_info() + struct.pack("<I", 0) + \
        ftrace.systems() + struct.pack("<II", 0, 0) + ftrace.block("7 worker\n")
    return data + bytes(-len(data) % 8)


def tracepoints(pipe=False):
    """switches and another event, with their layouts; one whose layout is not there; one that is cut"""
    kind = IP | TID | TIME | CPU | PERIOD | RAW
    rows = [(1, 0, 1000, 10, ftrace.event("sched_switch", 0, "swapper/0", 0, 120, 0, "worker", 7, 120)),
            (2, 7, 1100, 12, ftrace.event("sched_process_exec", 7, "/bin/x", 7)),
            (1, 7, 1200, 10, ftrace.event("sched_switch", 7, "worker", 7, 120, 2, "swapper/0", 0, 120)),
            (3, 7, 1300, 99, ftrace.event("irq_handler_exit", 7, 1, 2)), (2, 7, 1400, 12, ftrace.event("sched_process_exec", 7, "/bin/y", 7)[:12])]
    events = [(attr(kind | IDENTIFIER, 2, number, SAMPLE_ID_ALL), [n]) for n, number in ((1, 10), (2, 12), (3, 99))]
    data = b""
    for ident, tid, time, _, raw in rows:
        raw += bytes((4 - len(raw)) % 8)
        data += record(9, struct.pack("<QQIIQIIQI", ident, 0x10, tid, tid, time, 0, 0, 1, len(raw)) + raw, 1)
    if not pipe:
        return file(events, data, {1: tracing_data(), 12: event_desc((events[0][0], "sched:sched_switch", [1]), (events[1][0], "sched:exec", [2]))})
    layouts = tracing_data()
    head = b"PERFILE2" + struct.pack("<Q", 16) + b"".join(record(64, a + struct.pack("<Q", ids[0])) for a, ids in events)
    return head + record(66, struct.pack("<I", len(layouts)), align=False) + layouts + data


if __name__ == "__main__":
    place = pathlib.Path(__file__).parent
    whole = small()
    zero = bytearray(whole)
    at = bytes(whole).index(struct.pack("<I", 9) + b"\2\0")
    zero[at + 6:at + 8] = b"\0\0"
    for name, data in (("small", whole), ("edge-pipe", pipe()), ("edge-plain", plain()), ("edge-big", File(plain()).turned()), ("edge-period", periods()), ("edge-fields", fields()), ("bad-others", others()), ("bad-tracepoints", tracepoints()),
                       ("bad-tracepoints-pipe", tracepoints(True)),
                       ("bad-cut", whole[:len(whole) // 2]), ("bad-zero-size", bytes(zero))):
        (place / f"{name}.data").write_bytes(data)
        (place.parents[2] / "fuzz/corpus/perfdata" / name).write_bytes(data)
