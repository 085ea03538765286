#!/usr/bin/env python3
"""make.py - writes the fixtures *.xray and program.elf beside itself, and the seeds of fuzz/corpus/xray"""

import pathlib
import struct


def header(version, kind, hertz=10**9, free=0):
    return struct.pack("<HHIQQQ", version, kind, 3, hertz, free, 0)


def call(kind, function, tsc, tid=7, pid=5, cpu=1):
    return struct.pack("<HBBiQII8x", 0, cpu, kind, function, tsc, tid, pid)


def argument(function, value, tid=7, pid=5):
    return struct.pack("<H2xiIIQ8x", 1, function, tid, pid, value)


def meta(kind, fmt="", *values):
    return struct.pack("<B", kind << 1 | 1) + struct.pack("<" + fmt, *values).ljust(15, b"\0")


def fcall(kind, function, delta):
    return struct.pack("<II", function << 4 | kind << 1, delta)


def buffer(tid, wall, tsc, *records, pid=5):
    body = meta(0, "i", tid) + meta(4, "QI", *divmod(wall, 10**9)) + meta(9, "i", pid) + meta(2, "HQ", 3, tsc) + b"".join(records)
    return meta(7, "Q", len(body)) + body


def custom(delta, data):
    return meta(5, "ii", len(data), delta) + data


def typed(delta, kind, data):
    return meta(8, "iiH", len(data), delta, kind) + data


def naive():
    return header(3, 0) + call(0, 1, 1000) + call(3, 2, 1100) + argument(2, 2**64 - 1) + call(0, 9, 1150, tid=8, cpu=2) + \
        call(1, 2, 1200) + call(2, 1, 1300) + call(0, 3, 1300) + call(1, 3, 1400) + call(1, 9, 1500, tid=8)


def fdr():
    """the second buffer of thread 7 stands first"""
    wall = 1700000000000000000
    return header(5, 1) + \
        buffer(7, wall + 5000, 6000, fcall(1, 2, 10), fcall(1, 1, 10)) + \
        buffer(7, wall, 1000, fcall(0, 1, 0), custom(50, b"hello"), typed(25, 4, b"\xff\0"), fcall(3, 2, 30), meta(6, "Q", 42), meta(6, "Q", 43)) + \
        buffer(8, wall, 1000, fcall(0, 4, 5), meta(3, "Q", 2**32), fcall(1, 4, 1))


def fixed():
    """version 2: buffers of 128 bytes; what is behind their ends is none"""
    one = meta(0, "i", 7) + meta(4, "QI", 1700000000, 0) + meta(2, "HQ", 0, 100) + fcall(0, 1, 1) + meta(5, "iQ", 8, 150) + b"12345678" + meta(1)
    two = meta(0, "i", 7) + meta(4, "QI", 1700000001, 0) + meta(2, "HQ", 0, 900) + fcall(1, 1, 1) + meta(1)
    return header(2, 1, free=128) + one.ljust(128, b"\xaa") + two.ljust(128, b"\x77")


def edge():
    """a clock of 3 GHz; exits without enters, enters without exits, an exit of an outer function, times that go back"""
    return header(3, 0, hertz=3 * 10**9) + call(1, 5, 1) + call(0, 1, 2) + call(0, 2, 4) + call(0, 3, 5) + call(1, 1, 10**10) + \
        call(0, 70000, 7) + call(0, 6, 100) + call(1, 6, 100)


def last():
    """the last nanosecond that there is, and the one behind it"""
    return header(3, 0) + call(0, 1, 2**63 - 1) + call(1, 1, 2**63 - 1) + call(0, 2, 2**63 - 2) + call(1, 2, 2**63)


def bad_naive():
    records = [call(0, 1, 10), call(0, 2, 20), argument(3, 1), struct.pack("<H30x", 9), call(9, 2, 25), call(1, 2, 15), call(1, 1, 40)]
    return header(3, 0, hertz=1000) + b"".join(records) + call(0, 4, 2**64 - 1) + call(1, 4, 2**64 - 1) + b"\0" * 7


def bad_fdr():
    whole = fdr()
    extents = [i for i in range(32, len(whole) - 16) if whole[i] == 15 and whole[i + 16] == 1]
    broken = bytearray(whole)
    broken[extents[1]] = 0
    broken += buffer(9, 1, 1, fcall(7, 1, 1), meta(20), custom(1, b"x" * 40)[:30])
    return bytes(broken) + meta(7, "Q", 2**40) + meta(0, "i", 7) + fcall(0, 1, 1) + b"\0\0\0"


def program():
    """an ELF file with two functions, of two sleds each"""
    names = b"\0.shstrtab\0.symtab\0.strtab\0xray_instr_map\0"
    strings = b"\0_Z3fooPv\0main\0"
    base = 0x1000
    sleds = b"".join(struct.pack("<qqBBB13x", 0, at - (base + 32 * i + 8), i & 1, 1, 2) for i, at in enumerate((0x400, 0x400, 0x500, 0x500)))
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x400, 16) + struct.pack("<IBBHQQ", 10, 0x12, 0, 1, 0x500, 16)
    parts, sections, at = b"", struct.pack("<IIQQQQIIQQ", *[0] * 10), 64
    for name, kind, address, data, link, size in ((1, 3, 0, names, 0, 0), (11, 2, 0, symbols, 3, 24), (19, 3, 0, strings, 0, 0), (27, 1, base, sleds, 0, 0)):
        sections += struct.pack("<IIQQQQIIQQ", name, kind, 0, address, at + len(parts), len(data), link, 0, 1, size)
        parts += data
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 0, at + len(parts), 0, 64, 0, 0, 64, 5, 1)
    return head + parts + sections


if __name__ == "__main__":
    place = pathlib.Path(__file__).parent
    for name, data in (("naive", naive()), ("fdr", fdr()), ("edge-fixed", fixed()), ("edge-stacks", edge()), ("bad-last", last()), ("bad-naive", bad_naive()), ("bad-fdr", bad_fdr())):
        (place / f"{name}.xray").write_bytes(data)
        (place.parents[2] / "fuzz/corpus/xray" / name).write_bytes(data)
    (place / "program.elf").write_bytes(program())
