#!/usr/bin/env python3
"""Writes a Kineto trace of N memory events, with operators around them, to see what `heddle memory` takes.

usage: synth_memory.py [--events N] [--shuffle] OUT.json

Four threads allocate and free in operators of three levels. With --shuffle pieces of the file change places, so that
events are out of order.
"""
import argparse
import random


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1000000)
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("out")
    args = parser.parse_args()
    rng = random.Random(7)
    live, total, when, pieces, lines = [], 0, 0, [], []
    names = ["aten::op_%d" % i for i in range(200)]
    for i in range(args.events):
        thread = i >> 4 & 3
        if i % 16 == 0:
            for depth in range(3):
                lines.append('{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":%d,"ts":%d,"dur":%d}'
                             % (names[rng.randrange(200)], thread, when + depth, 60 - 2 * depth))
            when += 3
        if live and (len(live) > 5000 or rng.random() < 0.49):
            at = rng.randrange(len(live))
            live[at], live[-1] = live[-1], live[at]
            address, size = live.pop()
            size = -size
        else:
            address, size = 0x7f0000000000 + i * 512, 512 * rng.randrange(1, 4096)
            live.append((address, size))
        total += size
        when += 3
        lines.append('{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":%d,"ts":%d,"args":'
                     '{"Device Type":1,"Device Id":0,"Addr":%d,"Bytes":%d,"Total Allocated":%d,"Total Reserved":%d}}'
                     % (thread, when, address, size, total, 1 << 40))
        if i % 16 == 15:
            when += 20
        if len(lines) > 50000:
            pieces.append(",\n".join(lines))
            lines = []
    if lines:
        pieces.append(",\n".join(lines))
    if args.shuffle:
        rng.shuffle(pieces)
    with open(args.out, "w") as out:
        out.write('{"traceEvents":[\n')
        for n, piece in enumerate(pieces):
            out.write((",\n" if n else "") + piece)
        out.write("\n]}\n")


main()
