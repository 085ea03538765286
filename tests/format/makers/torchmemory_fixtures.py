#!/usr/bin/python3
"""Make the fixtures of the format torchmemory, tests/format/torchmemory/*.pickle and *.json, and the seeds of its fuzz target.

usage: torchmemory_fixtures.py FOLDER

small        two devices, all actions, stacks that are shared, segments
protocol2    the same by the oldest protocol that is known
edge         no segments, addresses up to 2^64 - 1, numbers of all kinds
bad-devices  of two lists of events behind 1,023 empty ones, the second is of no device
bad-cut      the pickle ends in its events; bad-cut-single: of one device, a list that is written without a mark
timeline     raw JSON of a memory timeline; bad-timeline: entries that are none, and no end
bad-loop     a list that holds itself
bad-object   what would call a function, an event without an action, one without a time
"""
import os
import pickle
import sys
from pathlib import Path


def frames(*lines):
    return [{"filename": "train.py", "line": line, "name": name} for name, line in lines]


def event(action, addr, size, time, stack=(), **more):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time, "frames": list(stack) if isinstance(stack, tuple) else stack, **more}


def small():
    t = 1700000000000000
    step = frames(("forward", 12), ("step", 30), ("<module>", 99))
    first = [event("segment_alloc", 0x7f0000000000, 2097152, t, step), event("alloc", 0x7f0000000000, 512, t + 1, step),
             event("alloc", 0x7f0000000200, 1024, t + 2, frames(("backward", 7))), event("free_requested", 0x7f0000000000, 512, t + 3, step),
             event("free_completed", 0x7f0000000000, 512, t + 4), event("snapshot", 0, 0, t + 5),
             event("oom", 0, 1 << 40, t + 6, step, device_free=12345)]
    second = [event("alloc", 0x7f1000000000, 4096, t + 2), event("segment_free", 0x7f1100000000, 1048576, t + 9, compile_context="ctx")]
    segments = [{"device": 0, "address": 0x7f0000000000, "total_size": 2097152, "allocated_size": 1024, "active_size": 1024, "stream": 0,
                 "blocks": [{"size": 1024, "state": "active_allocated"}]},
                {"device": 1, "address": 0x7f1000000000, "total_size": 2097152, "allocated_size": 8192, "active_size": 8192, "stream": 0, "blocks": []}]
    return {"segments": segments, "device_traces": [first, second, []], "allocator_settings": {"expandable_segments": False, "x": 1.5, "y": None}}


def edge():
    events = [event("alloc", (1 << 64) - 1, 1, 5, n=-1, big=1 << 31, huge=-(1 << 63), text="ä", flag=True, nothing=None, pair=(1, 2.25)),
              event("free_completed", (1 << 64) - 1, 1, 6, user_metadata={"a": [1, {"b": "c"}]})]
    return {"device_traces": [[], events]}


class Evil:
    def __reduce__(self):
        return os.getenv, ("HOME",)


def main():
    folder = Path(sys.argv[1])
    loop = [1]
    loop.append(loop)
    bad = small()
    bad["device_traces"][0] += [{"addr": 1}, {"action": "alloc", "addr": 1, "size": 2, "frames": []}, 7]
    bad["evil"] = Evil()
    whole = pickle.dumps(small(), 4)
    single = pickle.dumps({**small(), "device_traces": small()["device_traces"][:1]}, 4)
    files = {"small": whole, "protocol2": pickle.dumps(small(), 2), "edge": pickle.dumps(edge(), 5), "bad-cut": whole[:whole.index(b"device_free") - 40],
             "bad-cut-single": single[:single.index(b"device_free") - 40],
             "timeline": b"[[-1, 1, 4096, 0], [1700000000000000001, 2, 512, 4],\n [1700000000000000002, 4, -512, 4], [1700000000000000000, 3, 9223372036854775807, 7]]",
             "bad-timeline": b"[[-1, 1, 4096, 0], [5, 9, 1, 1], [5, 2, 1, 8], [5, 2, 1], [5, 2, \"x\", 1], 7, [6, 2, 1, 1]",
             "bad-devices": pickle.dumps({"device_traces": [[]] * 1023 + [small()["device_traces"][0]] * 2}, 4),
             "bad-loop": pickle.dumps({**edge(), "loop": loop}, 4), "bad-object": pickle.dumps(bad, 4)}
    seeds = folder.parents[2] / "fuzz/corpus/torchmemory"
    for target in (folder, seeds):
        target.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (target / (name + (".json" if "timeline" in name else ".pickle") if target == folder else name)).write_bytes(content)


if __name__ == "__main__":
    main()
