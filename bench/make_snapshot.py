#!/usr/bin/env python3
"""make_snapshot.py - write a memory snapshot of PyTorch of any size, as torch.cuda.memory._dump_snapshot pickles it

usage: make_snapshot.py [--seed N] [--depth FRAMES] EVENTS OUT.pickle

Allocations and frees of two devices, each event with one of 4,096 stacks, in a list of its own: frames are shared, as they are in
snapshots of PyTorch. An event has about 5 bytes for each frame: 12 million of depth 60 are 4.3 GB. The opcodes are written here, since
Python's own pickler would need all values at once; `pickle.load` reads the file.
"""
import argparse
import pickle
import random
import struct

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--depth", type=int, default=60)
parser.add_argument("events", type=int)
parser.add_argument("out")
args = parser.parse_args()

STACKS, FRAMES, BATCH, START_US = 4096, 20000, 1000, 1700000000000000
MARK, DICT, LIST, MEMOIZE, SETITEMS, APPENDS = b"(", b"}", b"]", b"\x94", b"u", b"e"
rng = random.Random(args.seed)


def text(value):
    data = value.encode()
    return b"\x8c" + bytes([len(data)]) + data


class Memo:
    """Numbers of memoized values, in the order in which they are written."""
    count = 0

    @classmethod
    def next(cls):
        cls.count += 1
        return cls.count - 1


def get(number):
    return b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number)


def integer(value):
    return b"K" + bytes([value]) if value < 256 else b"\x8a" + bytes([(value.bit_length() + 8) // 8]) + value.to_bytes((value.bit_length() + 8) // 8, "little", signed=True)


def named(value):
    """A text at its first place, and how it is written later."""
    return text(value) + MEMOIZE, get(Memo.next())


def main():
    with open(args.out, "wb") as out:
        def put(*parts):
            for part in parts:
                out.write(part)
        put(b"\x80\x04", DICT, MEMOIZE, MARK)
        Memo.next()
        first, later = {}, {}
        put(text("segments"), MEMOIZE, LIST, MEMOIZE, MARK)
        Memo.next(), Memo.next()
        live = [0, 0]
        # The segments are written behind the events, where their sizes are known; here, the words and frames of all.
        put(DICT, MEMOIZE, MARK)
        Memo.next()
        put(text("device"), MEMOIZE, integer(7), text("total_size"), MEMOIZE, integer(0), text("active_size"), MEMOIZE, integer(0))
        words = {"device": Memo.next(), "total_size": Memo.next(), "active_size": Memo.next()}
        put(text("words"), MEMOIZE, LIST, MEMOIZE, MARK)
        Memo.next(), Memo.next()
        for word in ("action", "addr", "size", "stream", "time_us", "frames", "compile_context", "alloc", "free_completed", "free_requested", "N/A",
                     "filename", "line", "name"):
            first[word], later[word] = named(word)
            put(first[word])
        put(APPENDS, text("frames_of_all"), MEMOIZE, LIST, MEMOIZE, MARK)
        Memo.next(), Memo.next()
        frames = []
        for n in range(FRAMES):
            put(DICT, MEMOIZE, MARK)
            frames.append(get(Memo.next()))
            put(later["filename"], text(f"/opt/torch/module{n % 97}.py"), MEMOIZE, later["line"], integer(n % 3000), later["name"], text(f"function_{n}"), MEMOIZE, SETITEMS)
            Memo.next(), Memo.next()
        put(APPENDS, SETITEMS, APPENDS)
        bodies = [b"".join(rng.choice(frames) for _ in range(rng.randrange(args.depth // 2, args.depth * 3 // 2))) for _ in range(STACKS)]
        put(text("device_traces"), MEMOIZE, LIST, MEMOIZE, MARK)
        Memo.next(), Memo.next()
        for device in range(2):
            live[device] = events(put, later, bodies, device)
        put(APPENDS, text("allocator_settings"), MEMOIZE, DICT, MEMOIZE, SETITEMS)
        put(b".")
    print(f"{args.events} events, live {live[0]} and {live[1]} bytes")


def events(put, later, bodies, device):
    live, addresses, sum_live = [], 0, 0
    put(LIST, MEMOIZE)
    head = [later[word] for word in ("action", "addr", "size", "stream", "time_us", "frames", "compile_context")]
    rest = head[6] + later["N/A"] + SETITEMS
    count = args.events // 2
    pack = struct.Struct("<I").pack
    for at in range(0, count, BATCH):
        parts = [MARK]
        for n in range(at, min(at + BATCH, count)):
            if len(live) > 2000 or (live and rng.random() < 0.45):
                action, (addr, size) = "free_completed", live.pop(rng.randrange(len(live)))
                sum_live -= size
            else:
                addresses += 1
                action, addr, size = "alloc", 0x7f0000000000 + addresses * 512, rng.randrange(1, 4000) * 512
                live.append((addr, size))
                sum_live += size
            parts.append(b"".join((DICT, MEMOIZE, MARK, head[0], later[action], head[1], b"\x8a\x06", addr.to_bytes(6, "little"), head[2], b"J", pack(size),
                                   head[3], b"K\x00", head[4], b"\x8a\x07", (START_US + n).to_bytes(7, "little"), head[5], LIST, MEMOIZE, MARK,
                                   bodies[(n * 2654435761 + device) % STACKS], APPENDS, rest)))
        put(*parts, APPENDS)
    return sum_live


if __name__ == "__main__":
    main()
