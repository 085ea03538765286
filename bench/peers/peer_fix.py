#!/usr/bin/env python3
"""The lane repair that scripts do: load all, greedy lanes by (start, longer first), dump all.

usage: peer_fix.py IN.json [OUT.json]      without OUT: only load

Prints `key=value` words, as the programs of bench/ do. It is a baseline for speed and memory: it keeps no digits, no
flow arrows, no layout, and names no lanes.
"""
import json
import os
import sys
import time
from collections import defaultdict


def repair(events):
    tracks = defaultdict(list)
    for event in events:
        if event.get("ph") == "X" and "ts" in event:
            tracks[event.get("pid"), event.get("tid")].append(event)
    moved = 0
    for (_, tid), slices in tracks.items():
        slices.sort(key=lambda e: (float(e["ts"]), -float(e.get("dur", 0))))
        lanes = []  # per lane the ends of the slices that are open
        for event in slices:
            start = float(event["ts"])
            end = start + float(event.get("dur", 0))
            for number, open_ends in enumerate(lanes):
                while open_ends and open_ends[-1] <= start:
                    open_ends.pop()
                if not open_ends or end <= open_ends[-1]:
                    break
            else:
                number = len(lanes)
                lanes.append([])
            lanes[number].append(end)
            if number:
                event["tid"] = tid * 1000 + number if isinstance(tid, int) else f"{tid} lane {number}"
                moved += 1
    return moved


def main(source, target=None):
    start = time.monotonic()
    with open(source, encoding="utf-8", errors="replace") as f:
        trace = json.load(f, strict=False)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    moved = 0
    if target:
        moved = repair(events)
        with open(target, "w", encoding="utf-8") as f:
            json.dump(trace, f)
    took = time.monotonic() - start
    print(f"seconds={took:.4f} mb_per_s={os.path.getsize(source) / took / 1e6:.1f} events={len(events)} moved={moved}")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
