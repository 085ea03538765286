#!/usr/bin/python3
"""What a script does to get a Chrome trace into OTF2: json.load, then enter and leave of each slice by python3-otf2.

usage: peer_otf2.py IN.json OUT_DIR
"""
import json
import sys

import otf2
from otf2.enums import LocationType, LocationGroupType


def main(source, target):
    with open(source) as f:
        trace = json.load(f)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    slices = [e for e in events if e.get("ph") == "X"]
    with otf2.writer.open(target, timer_resolution=1_000_000_000) as archive:
        definitions = archive.definitions
        root = definitions.system_tree_node("host")
        groups, locations, regions, points = {}, {}, {}, {}
        for e in slices:
            pid, tid, name = e["pid"], e["tid"], e["name"]
            if pid not in groups:
                groups[pid] = definitions.location_group(str(pid), system_tree_parent=root,
                                                         location_group_type=LocationGroupType.PROCESS)
            if (pid, tid) not in locations:
                locations[pid, tid] = definitions.location(str(tid), group=groups[pid], type=LocationType.CPU_THREAD)
                points[pid, tid] = []
            if name not in regions:
                regions[name] = definitions.region(name)
            start = round(e["ts"] * 1000)
            points[pid, tid].append((start, 1, regions[name]))
            points[pid, tid].append((start + round(e["dur"] * 1000), 0, regions[name]))
        for key, list_of_points in points.items():
            writer = archive.event_writer_from_location(locations[key])
            for time, is_enter, region in sorted(list_of_points, key=lambda p: p[0]):
                (writer.enter if is_enter else writer.leave)(time, region)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
