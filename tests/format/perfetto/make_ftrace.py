#!/usr/bin/env python3
"""make_ftrace.py - Perfetto traces with events of ftrace; run, writes edge-ftrace.pftrace and its seed in fuzz/corpus/perfetto"""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2]))
from wire import put, put_varint  # noqa: E402


def packed(number, values):
    return put(number, b"".join(put_varint(v) for v in values)) if values else b""


def switch(time, prev, state, following):
    """prev, following: (comm, tid, prio)"""
    fields = put(1, prev[0]) + put(2, prev[1]) + put(3, prev[2]) + put(4, state) + put(5, following[0]) + put(6, following[1]) + put(7, following[2])
    return put(2, put(1, time) + put(2, prev[1]) + put(4, fields))


def waking(time, tid, woken, cpu):
    return put(2, put(1, time) + put(2, tid) + put(20, put(1, woken[0]) + put(2, woken[1]) + put(3, woken[2]) + put(4, 1) + put(5, cpu)))


def event(time, tid, number, *fields):
    return put(2, put(1, time) + put(2, tid) + put(number, b"".join(put(i, v) for i, v in enumerate(fields, 1) if v is not None)))


def deltas(times):
    return [b - a for a, b in zip([0] + times, times)]


def columns(switches, wakings):
    """switches: (time, state, (comm, tid, prio)); wakings: (time, (comm, tid, prio), cpu)"""
    names = sorted({s[2][0] for s in switches} | {w[1][0] for w in wakings})
    inner = packed(1, deltas([s[0] for s in switches])) + packed(2, [s[1] for s in switches]) + packed(3, [s[2][1] for s in switches]) + \
        packed(4, [s[2][2] for s in switches]) + b"".join(put(5, n) for n in names) + packed(6, [names.index(s[2][0]) for s in switches]) + \
        packed(7, deltas([w[0] for w in wakings])) + packed(8, [w[1][1] for w in wakings]) + packed(9, [w[2] for w in wakings]) + \
        packed(10, [w[1][2] for w in wakings]) + packed(11, [names.index(w[1][0]) for w in wakings]) + packed(12, [1 for w in wakings])
    return put(4, inner)


def bundle(cpu, *parts, lost=False):
    return put(1, put(10, 1) + put(1, put(1, cpu) + b"".join(parts) + (put(3, 1) if lost else b"")))


def system(release):
    return put(1, put(10, 1) + put(45, put(1, put(1, "Linux") + put(3, release))))


def tree(*threads):
    """threads: (tid, tgid, name)"""
    processes = {t[1] for t in threads}
    return put(1, put(10, 1) + put(2, b"".join(put(1, put(1, p) + put(2, 0) + put(3, f"program{p}")) for p in sorted(processes)) +
                                   b"".join(put(2, put(1, t[0]) + put(3, t[1]) + put(2, t[2])) for t in threads)))


def small():
    idle, a, b, c = ("swapper", 0, 120), ("a one", 11, 120), ("b", 12, 100), ("c", 20, 120)
    gpu = event(1500, 11, 411, 2**63 + 5, 2**63 + 7, 0, 1, 1, "gfx") + event(1600, 50, 412, 2**63 + 5, 2**63 + 7, 1, 1, 0, "gfx") + \
        event(1900, 0, 413, 2**63 + 7) + event(1910, 11, 340, 0, 10, 4096)
    return system("6.1.0-13-amd64") + tree((10, 10, "program"), (11, 10, "a one"), (12, 10, "b")) + \
        bundle(0, switch(1000, idle, 0, a), event(1100, 11, 24, 1), event(1150, 11, 25, 1), waking(1200, 11, b, 0), switch(1300, a, 1, b),
               switch(1400, b, 256, a), gpu) + \
        bundle(1, columns([(1050, 0, c), (1250, 2, idle), (1350, 0, c)], [(1330, c, 1)]), event(1340, 0, 11, 1200000, 1),
               event(1345, 0, 9999, 1)) + \
        bundle(0, switch(2000, a, 64, idle), lost=True)


if __name__ == "__main__":
    place = pathlib.Path(__file__).parent
    (place / "edge-ftrace.pftrace").write_bytes(small())
    (place.parents[2] / "fuzz/corpus/perfetto/events-of-ftrace.pftrace").write_bytes(small())
