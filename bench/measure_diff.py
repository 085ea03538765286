#!/usr/bin/env python3
"""What heddle diff takes of two traces beyond reading them, and how it grows.

  measure_diff.py HEDDLE [--events 1250000,2500000,5000000] [--runs 3] [--folder DIR]

Two runs of heddle synth with other seeds, as JSON (5 million events: 1 GB) and as stores. A figure is the median of the user and system
time of all threads, and of the peak resident set. Beyond reading is what `diff` of the stores takes, as these are mapped, and what `diff`
of the JSON takes more than `info` of both. Floors: 3 s for twice 1 GB, and the memory of both stores in addition to that of reading one.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

from measure_against import MB, run_once


def medians(runs, *commands):
    """Of all commands, one after the other: the sum of their times, the most memory."""
    measured = []
    for _ in range(runs):
        each = [run_once(command, pathlib.Path("/nonexistent")) for command in commands]
        if None in each:
            sys.exit(f"{commands}: failed")
        measured.append((sum(seconds for seconds, _ in each), max(memory for _, memory in each)))
    return [statistics.median(column) for column in zip(*measured)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heddle")
    parser.add_argument("--events", default="1250000,2500000,5000000")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=pathlib.Path)
    args = parser.parse_args()
    print(f"{'events':>9} {'MB JSON':>8} {'stores':>7} {'info s':>7} {'diff s':>7} {'beyond':>7} {'of stores':>9} {'MB info':>8} {'MB diff':>8} {'of stores':>9}")
    for events in args.events.split(","):
        with tempfile.TemporaryDirectory(prefix="heddle-diff-", dir=args.folder) as folder:
            texts = [pathlib.Path(folder, f"{side}.json") for side in ("before", "after")]
            stores = [text.with_suffix(".heddle") for text in texts]
            for seed, (text, store) in enumerate(zip(texts, stores)):
                subprocess.run([args.heddle, "synth", "-q", "--events", events, "--seed", str(seed), "-o", text], check=True)
                subprocess.run([args.heddle, "convert", "-q", text, store], check=True, stdout=subprocess.DEVNULL)
            size, stored = (sum(path.stat().st_size for path in paths) / MB for paths in (texts, stores))
            info, info_memory = medians(args.runs, *[[args.heddle, "info", text] for text in texts])
            diff, diff_memory = medians(args.runs, [args.heddle, "diff", *texts])
            mapped, mapped_memory = medians(args.runs, [args.heddle, "diff", *stores])
            print(f"{events:>9} {size:8.0f} {stored:7.0f} {info:7.2f} {diff:7.2f} {diff - info:7.2f} {mapped:9.2f} "
                  f"{info_memory:8.0f} {diff_memory:8.0f} {mapped_memory:9.0f}", flush=True)


if __name__ == "__main__":
    main()
