#!/usr/bin/python3
"""Real stacks as text against a few lines of Python that fold them anew.

usage: tests/format/checks/stacks_model.py --heddle PROGRAM

Every file of ../shared/data/stacks is converted to JSON; the stacks in it, with their weights, must be those that the text
holds, as plain splitting and a regular expression see them. Skipped (77) where there is no such folder.
"""
import argparse
import collections
import gzip
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

STACKS = Path(__file__).resolve().parents[3].parent / "shared/data/stacks"
FRAME = re.compile(r"^\s*(\w+)\s*(.+) \((.*)\)$")


def of_folded(text):
    stacks = collections.Counter()
    for line in text.splitlines():
        frames, weight = line.rsplit(" ", 1)
        stacks[frames] += int(weight)
    return stacks


def frame_name(line):
    _, function, module = FRAME.match(line).groups()
    function = re.sub(r"\+0x[\da-f]+$", "", function)
    if function != "[unknown]" or module == "[unknown]":
        return function
    base = module.rsplit("/", 1)[-1]
    return base if base.startswith("[") else f"[{base}]"


def of_perf_script(text):
    stacks, frames = collections.Counter(), None
    for line in text.splitlines() + [""]:
        if line.startswith("#"):
            continue
        if line and not line[0].isspace():
            frames = []
        elif line.strip():
            frames.append(frame_name(line))
        elif frames is not None:
            stacks[";".join(reversed(frames))] += 1
            frames = None
    return stacks


def of_json(path, key):
    document, stacks = json.loads(path.read_bytes()), collections.Counter()
    for event in document["traceEvents"]:
        if event["ph"] != "P":
            continue
        names, node = [], event.get("sf")
        while node is not None:
            frame = document["stackFrames"][str(node)]
            names.append(frame["name"])
            node = frame.get("parent")
        stacks[";".join(reversed(names))] += event["args"][key] if key else 1
    return stacks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    files = [(path, of_folded(path.read_text()), "weight") for path in sorted(STACKS.glob("*.folded"))]
    files += [(path, of_perf_script(gzip.decompress(path.read_bytes()).decode()), None)
              for path in sorted(STACKS.glob("*perf-stacks.txt.gz"))]
    if not files:
        print(f"skipped: nothing in {STACKS.name}")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for path, expected, key in files:
            out = Path(folder) / "out.json"
            subprocess.run([heddle, "convert", path, out], check=True, stdout=subprocess.DEVNULL)
            got = of_json(out, key)
            print("ok  " if got == expected else "FAIL", path.name, sum(got.values()), "in", len(got), "stacks")
            failed += got != expected
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
