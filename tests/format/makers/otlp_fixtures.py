#!/usr/bin/python3
"""Make the fixtures of the format otlp, tests/format/otlp/*.otlp, and the seeds of its fuzz target.

usage: otlp_fixtures.py FOLDER

small       two processes, threads, samples with a value, with times, with both; attributes, a link, inlined functions, an address
edge        the dictionary first, numbers that are not packed, lists and objects, one key twice, a unit, no stack, no type, int64's limits
bad-cut     the message ends in its samples
bad-refs    indices of strings, functions, locations, stacks, attributes, links and mappings that no table has
bad-values  other numbers of values than of times, neither, times beyond int64, fields that are not known, messages that are none, no UTF-8
"""
import struct
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2]))
from wire import put, put_varint  # noqa: E402


def packed(field, values):
    return put(field, b"".join(map(put_varint, values)))


def fixed64(field, value):
    return put_varint(field << 3 | 1) + struct.pack("<Q", value)


class Dictionary:
    def __init__(self):
        self.tables = {n: [b""] for n in range(1, 8)}

    def add(self, table, entry):
        if entry not in self.tables[table]:
            self.tables[table].append(entry)
        return self.tables[table].index(entry)

    def string(self, text):
        return self.add(5, text if isinstance(text, bytes) else text.encode())

    def function(self, name, file="", system=""):
        return self.add(3, put(1, self.string(name)) + put(2, self.string(system)) + put(3, self.string(file)))

    def location(self, lines, mapping=0, address=0):
        return self.add(2, put(1, mapping) + put(2, address) + b"".join(put(3, put(1, f) + put(2, l) + put(3, c)) for f, l, c in lines))

    def stack(self, *locations):
        return self.add(7, packed(1, locations))

    def attribute(self, key, value, unit=""):
        return self.add(6, put(1, self.string(key)) + put(2, any_value(value)) + (put(3, self.string(unit)) if unit else b""))

    def link(self, trace, span):
        return self.add(4, put(1, trace) + put(2, span))

    def bytes(self):
        return put(2, b"".join(put(table, entry) for table, entries in self.tables.items() for entry in entries))


def any_value(value):
    if isinstance(value, bool):
        return put(2, int(value))
    if isinstance(value, int):
        return put(3, value)
    if isinstance(value, float):
        return put(4, value)
    if isinstance(value, list):
        return put(5, b"".join(put(1, any_value(v)) for v in value))
    if isinstance(value, dict):
        return put(6, b"".join(put(1, pair(k, v)) for k, v in value.items()))
    return put(7, value) if isinstance(value, bytes) else put(1, value)


def pair(key, value):
    return put(1, key) + put(2, any_value(value))


def value_type(d, name, unit):
    return put(1, d.string(name)) + put(2, d.string(unit))


def sample(stack, values=(), times=(), attributes=(), link=0):
    return put(2, put(1, stack) + (packed(2, attributes) if attributes else b"") + (put(3, link) if link else b"") + (packed(4, values) if values else b"") +
               (put(5, struct.pack(f"<{len(times)}Q", *times)) if times else b""))


def resource(attributes, profiles):
    scope = put(1, put(1, "profiler") + put(2, "1.2") + put(3, pair("host", "a")))
    return put(1, put(1, b"".join(put(1, pair(k, v)) for k, v in attributes.items())) + put(2, scope + b"".join(put(2, p) for p in profiles)) + put(3, "https://opentelemetry.io/schemas/1.37.0"))


def small():
    d = Dictionary()
    mapping = d.add(1, put(1, 0x400000) + put(2, 0x500000) + put(4, d.string("/bin/app")) + packed(5, [d.attribute("process.executable.build_id.gnu", "abcd")]))
    inlined = d.location([(d.function("inlined()", "/src/a.h", "_Z7inlinedv"), 10, 3), (d.function("outer", "/src/a.c"), 20, 0)], mapping, 0x401000)
    main, bare = d.location([(d.function("main", "/src/a.c"), 5, 0)], mapping, 0x402000), d.location([], mapping, 0x403010)
    train = d.location([(d.function("train", "train.py"), 0, 0)])
    deep, flat, native = d.stack(inlined, main), d.stack(train, main), d.stack(bare, main)
    worker = [d.attribute("thread.id", 12), d.attribute("thread.name", "worker")]
    cpu = put(1, value_type(d, "cpu", "nanoseconds")) + fixed64(3, 1700000000000000001) + put(4, 60000000) + put(5, value_type(d, "cpu", "nanoseconds")) + put(6, 10000000)
    cpu += put(7, bytes(range(16))) + packed(11, [d.attribute("note", "of the profile")])
    cpu += sample(deep, [30000000]) + sample(flat, [10000000, 20000000], [1700000000000000100, 1700000000000000300], worker)
    cpu += sample(native, [], [1700000000000000200], worker + [d.attribute("cpu.logical_number", 3), d.attribute("share", 0.25), d.attribute("on", True)], d.link(bytes(range(16)), bytes(range(8))))
    space = put(1, value_type(d, "inuse_space", "bytes")) + sample(deep, [4096]) + sample(flat, [-1])
    return resource({"service.name": "train", "process.pid": 7}, [cpu]) + resource({"service.name": "serve", "ranks": [0, 1]}, [space]) + d.bytes()


def edge():
    d = Dictionary()
    odd = d.location([(d.function("", "", "_Z3oddv"), 0, 0)])
    nowhere = d.location([], 0, 0xffffffffffffffff)
    many = d.add(7, put(1, odd) + put(1, nowhere))
    attributes = [d.attribute("list", [1, "a", None or False, [2.5]]), d.attribute("object", {"k": {"deep": -1}, "n": 1}), d.attribute("bytes", b"\x00\xff"),
                  d.attribute("size", 8, "By"), d.attribute("same", 1), d.attribute("same", 2), d.attribute("weight", 5)]
    by_index = d.add(6, put(1, d.string("text")) + put(2, put(8, d.string("by index"))))
    limits = [(1 << 63) - 1, 0, 7]
    one = put(2, put(1, many) + b"".join(put(2, a) for a in attributes + [by_index]) + b"".join(put(4, v) for v in limits) + b"".join(fixed64(5, t) for t in (5, 4, 0)))
    profile = put(8, 2) + put(9, "pprof") + put(10, b"payload") + one + sample(0, [3])
    return d.bytes() + resource({}, [profile, put(1, value_type(d, "", "")) + sample(many, [1])])


def bad_refs():
    d = Dictionary()
    far = d.location([(99, 1, 0), (d.add(3, put(1, 98)), 2, 0)], 0)
    stacks = [d.stack(far), d.stack(97), d.stack(d.location([], 96, 0x10))]
    profile = put(1, put(1, 95) + put(2, 94)) + b"".join(sample(s, [1]) for s in stacks) + sample(93, [2]) + sample(stacks[0], [3], [], [92, -1], 91) + packed(11, [90])
    return resource({"a": 1}, [profile]) + d.bytes()


def bad_values():
    d = Dictionary()
    stack = d.stack(d.location([(d.function(b"bad\xff"), 1, 0)]))
    broken = d.add(7, b"\x0a\x7f\x01")
    profile = put(1, value_type(d, "a", "x")) + sample(stack, [1, 2], [5]) + sample(stack, [1], [5, 6]) + sample(stack) + sample(stack, [1], [1 << 63])
    profile += put(2, put(1, stack) + put(4, put_varint(1)) + put(9, 1)) + sample(broken, [1]) + put(2, b"\x22\x02\x81")
    return resource({"bad": b"\xff", "odd": "x"}, [profile]) + d.bytes()


def main():
    folder = Path(sys.argv[1])
    seeds = folder.parents[2] / "fuzz/corpus/otlp"
    whole = small()
    files = {"small": whole, "edge": edge(), "bad-cut": whole[:330], "bad-refs": bad_refs(), "bad-values": bad_values()}
    for target in (folder, seeds):
        target.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (target / (name + ".otlp" if target == folder else name)).write_bytes(content)


main()
