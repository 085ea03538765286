#!/usr/bin/env python3
"""make.py - writes the fixtures small.pb, edge.pb and bad-cut.pb beside itself, and the seeds of fuzz/corpus/xplane"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2]))
from wire import put  # noqa: E402


def stat(number, field, value):
    return put(1, number) + put(field, value)


def named(number, name, *stats, display=None):
    """an entry of event_metadata"""
    inner = put(1, number) + put(2, name) + put(4, display) + b"".join(put(5, s) for s in stats)
    return put(1, number) + put(2, inner)


def stat_names(*names):
    return b"".join(put(5, put(1, i) + put(2, put(1, i) + put(2, n))) for i, n in enumerate(names, 1))


def event(name, offset, duration, *stats, occurrences=None):
    return put(1, name) + put(2, offset) + put(3, duration) + b"".join(put(4, s) for s in stats) + put(5, occurrences)


def line(number, name, ns, *events):
    return put(1, number) + put(2, name) + put(3, ns) + b"".join(put(4, e) for e in events)


def plane(name, *lines, events=(), stats=(), names=()):
    return put(2, name) + b"".join(put(3, x) for x in lines) + b"".join(put(4, e) for e in events) + \
        stat_names(*names) + b"".join(put(6, s) for s in stats)


def small():
    gpu = plane(
        "/device:GPU:1",
        line(13, "Stream #13(Compute,MemcpyH2D)", 1000,
             event(1, 500, 2000999, stat(1, 3, 7), stat(2, 7, 3), stat(4, 2, 0.5)),
             event(2, 3000000, 1000, stat(1, 3, 8), stat(5, 5, "kind:H2D size:4096 dest:1 async:1"))),
        line(99, "XLA Modules", 1000, event(3, 0, 4000000)),
        events=(named(1, "fusion"), named(2, "MemcpyH2D"), named(3, "jit_step(1)")),
        names=("correlation_id", "kernel_details", "regs:32 static_shared:16 dynamic_shared:8 grid:2,3,4 block:128,1,1",
               "occupancy", "memcpy_details", "device_type_string"),
        stats=(stat(6, 5, "NVIDIA H100"),))
    tpu = put(1, 2) + plane(
        "/device:TPU:0", line(3, "XLA Ops", 0, event(4, 1, 5, stat(2, 4, -1))),
        events=(named(4, "%add = f32[]", stat(1, 3, 2**64 - 1), stat(2, 4, 9), stat(3, 6, b"\x00\xff"), display="add"),),
        names=("flops", "bytes_accessed", "breakdown"))
    host = plane(
        "/host:CPU",
        line(2**64 - 5, "python", 1000, event(1, 0, 9000, stat(1, 4, 5), stat(2, 4, 77)), event(2, 10, None, stat(3, 4, 5), stat(4, 4, 77)),
             event(3, 20, 10)),
        events=(named(1, "launch"), named(2, "run"), named(3, "$train.py:7 step")), names=("_pt", "_p", "_ct", "_c"))
    about = plane("Task Environment", names=("profile_start_time",), stats=(stat(1, 3, 1700000000000000000),))
    hlo = plane("/host:metadata", events=(named(1, "jit_step(1)", stat(1, 6, b"HLO")),), names=("Hlo Proto",))
    return b"".join(put(1, p) for p in (gpu, tpu, hlo, host, about)) + put(2, "an error") + put(3, "a warning") + put(4, "host1")


def edge():
    """no names, several occurrences, times at the ends, two lines of a number, an empty line and plane"""
    host = plane("/host:CPU", line(1, "a", 0, event(5, 1, 2, stat(9, 3, 1)), event(6, None, 10, occurrences=3)),
                 line(1, "b", 2**63 - 1, event(5, 2**63 - 1, 1)), line(2, "", -5, event(5, 1, 1)), line(3, "none", 0))
    return put(1, host) + put(1, plane("/device:CUSTOM:x")) + put(4, b"\xff")


if __name__ == "__main__":
    place = pathlib.Path(__file__).parent
    cut = small()[:260]
    for name, data in (("small", small()), ("bad-names", edge()), ("bad-cut", cut)):
        (place / f"{name}.pb").write_bytes(data)
        (place.parents[2] / "fuzz/corpus/xplane" / name).write_bytes(data)
    (place / "edge-empty.pb").write_bytes(put(1, plane("/host:CPU", line(1, "t", 5, event(1, 0, 1)), events=(named(1, "one"),))))
