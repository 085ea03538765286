#!/usr/bin/python3
"""Make the fixtures of the format pprof, tests/format/pprof/*.pprof, and the seeds of its fuzz target.

usage: pprof_fixtures.py FOLDER

small       two types, inlined functions, a label, a mapping, time and duration
edge        fields in another order, numbers that are not packed, the default type, types of one name, labels of one key,
            sparse ids, negative values, names of int64's limits, no functions, an empty stack
cpu         gperftools' CPU profile with its signal handler, 64 bits; cpu32: big-endian words of 32 bits
heap        sampled heap with allocations; growth: growth, mapped by "start-end: path"
bad-cpu32   without its trailer; bad-heap: a line that is none
bad-cut     the message ends in its samples
bad-refs    numbers of strings, locations, functions and mappings that nothing has
bad-values  samples with too few and too many values, fields that are not known, a message that is none, no UTF-8
"""
import struct
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2]))
from wire import put, put_varint  # noqa: E402


def packed(field, values):
    return put(field, b"".join(map(put_varint, values)))


class Strings(list):
    def __init__(self):
        super().__init__([b""])

    def __call__(self, text):
        text = text if isinstance(text, bytes) else text.encode()
        if text not in self:
            self.append(text)
        return self.index(text)

    def fields(self):
        return b"".join(put(6, s) for s in self)


def value_type(s, name, unit):
    return put(1, s(name)) + put(2, s(unit))


def function(s, ident, name, file="", system=None, line=0):
    return put(5, put(1, ident) + put(2, s(name)) + put(3, s(name if system is None else system)) + put(4, s(file)) +
                (put(5, line) if line else b""))


def location(ident, lines, mapping=0, address=0):
    return put(4, put(1, ident) + put(2, mapping) + put(3, address) + b"".join(put(4, put(1, f) + put(2, l)) for f, l in lines))


def small():
    s = Strings()
    out = put(1, value_type(s, "samples", "count")) + put(1, value_type(s, "cpu", "nanoseconds"))
    out += put(2, packed(1, [1, 2]) + packed(2, [3, 30000000]))
    out += put(2, packed(1, [3, 2]) + packed(2, [1, 10000000]) + put(3, put(1, s("thread")) + put(2, s("worker"))))
    out += put(2, packed(1, [1, 2]) + packed(2, [2, 20000000]) + put(3, put(1, s("bytes")) + put(3, 4096) + put(4, s("bytes"))))
    out += put(3, put(1, 1) + put(2, 0x400000) + put(3, 0x500000) + put(5, s("/bin/app")) + put(6, s("abcd")) + put(7, 1))
    out += location(1, [(1, 10), (2, 20)], 1, 0x401000) + location(2, [(3, 5)], 1, 0x402000) + location(3, [(4, 0)], 1, 0x403000)
    out += function(s, 1, "inlined()", "/src/a.h", "_Z7inlinedv", 8) + function(s, 2, "outer", "/src/a.c") + function(s, 3, "main", "/src/a.c")
    out += function(s, 4, "train", "train.py")
    out += put(9, 1700000000000000001) + put(10, 60000000) + put(11, value_type(s, "cpu", "nanoseconds")) + put(12, 10000000)
    out += put(13, s("a comment")) + put(14, s("samples"))
    return out + s.fields()


def edge():
    s = Strings()
    names = [s("space"), s("inuse"), s("odd;näme"), s("/lib/libx.so"), s("key"), s("weight"), s("v"), s("bytes")]
    out = s.fields() + put(9, 5)
    out += function(s, 1 << 40, "odd;näme") + location((1 << 63) + 5, [(1 << 40, 0)]) + location(7, [], 9, 0x7f0000001234) + location(8, [], 0, 0xffffffffffffffff)
    out += put(3, put(1, 9) + put(2, 0x7f0000000000) + put(3, 0x7f0000002000) + put(4, 0x1000) + put(5, s("/lib/libx.so")))
    for unit in ("inuse", "bytes", "key"):
        out += put(1, value_type(s, "space", unit))
    ids = [(1 << 63) + 5, 7, 8]
    limits = [(1 << 63) - 1, -(1 << 63), -1]
    out += put(2, b"".join(put(1, i) for i in ids) + b"".join(put(2, v) for v in limits) +
                put(3, put(1, s("key")) + put(2, s("v"))) + put(3, put(1, s("key")) + put(3, 7)) +
                put(3, put(1, s("weight")) + put(3, -1)))
    out += put(2, packed(1, [7]) + packed(1, [8]) + packed(2, [1]) + packed(2, [2, 3]))
    out += put(2, packed(2, [0, 0, 4]))
    assert len(names) + 1 == len(s)
    return out


def cpu(order, width, trailer=True):
    word = {8: "Q", 4: "I"}[width]

    def words(*values):
        return struct.pack(f"{order}{len(values)}{word}", *values)

    base = 0x7f5e0000 if width == 4 else 0x7f5e53061000
    out = words(0, 3, 0, 10000, 0)
    out += words(3, 4, base + 0x10, base + 0x999, 0x401001, 0x400501) + words(1, 3, 0x401500, base + 0x999, 0x400501)
    out += words(2, 4, 0x401500, base + 0x999, 0x401500, 0x400501)
    if not trailer:
        return out + words(5, 40, 1)
    out += words(0, 1, 0)
    out += "00400000-00500000 r-xp 00000000 00:00 77    /bin/app\n00600000-00700000 rw-p 00000000 00:00 77 /bin/app\n".encode()
    return out + f"{base:x}-{base + 0x2000:x} r-xp 00001000 00:00 0    /lib/with blank.so\n".encode()


def heap():
    return b"""heap profile:    3:   4096 [    9:  20000] @ heap_v2/524288
     2:     1024 [     6:    16000] @ 0x401001 0x400501
     0:        0 [     3:     4000] @ 0x401500
     1:     3072 [     0:        0] @
# a comment
nonsense

MAPPED_LIBRARIES:
source=/home/me
00400000-00500000 r-xp 00000000 00:00 77    $source/app
"""


def growth():
    return b"""heap profile:      2:  4096 [     2:  4096] @ growthz
     1:     1024 [     1:     1024] @ 0x401001 0x7fcdc2ff214e
     1:     3072 [     1:     3072] @ 0x401001
--- Memory map: ---
  00400000-00500000: app
  7fcdc2ff2000-7fcdc2ff3000: /lib/libc.so
"""


def bad_refs():
    s = Strings()
    out = put(1, value_type(s, "cpu", "ns")) + put(2, packed(1, [1, 2, 99]) + packed(2, [5]) + put(3, put(1, 77) + put(2, 78)))
    out += location(1, [(50, 1)]) + location(2, [(1, 3)], 44) + put(5, put(1, 1) + put(2, 1000) + put(4, 1001))
    out += location(3, [], 44, 0x1234) + put(2, packed(1, [3]) + packed(2, [6]))
    return out + s.fields()


def bad_values():
    s = Strings()
    out = put(1, value_type(s, "a", "x")) + put(1, value_type(s, "b", "x"))
    out += put(2, packed(2, [1])) + put(2, packed(2, [1, 2, 3])) + put(2, packed(2, [1, 2]) + put(9, 1))
    out += put(2, b"\x0a\x7f\x01") + put(2, packed(2, [7, 8]) + packed(1, [1]))
    out += function(s, 1, b"bad\xff") + location(1, [(1, 1)])
    return out + put(99, 1) + s.fields()


def main():
    folder = Path(sys.argv[1])
    seeds = folder.parents[2] / "fuzz/corpus/pprof"
    whole = small()
    files = {"small": whole, "edge": edge(), "cpu": cpu("<", 8), "cpu32": None, "heap": None, "growth": growth(), "bad-cpu32": cpu(">", 4, False),
             "bad-heap": heap(), "bad-cut": whole[:60], "bad-refs": bad_refs(), "bad-values": bad_values()}
    files["heap"] = heap().replace(b"nonsense\n", b"")
    files["cpu32"] = cpu(">", 4)
    for target in (folder, seeds):
        target.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (target / (name + ".pprof" if target == folder else name)).write_bytes(content)


main()
