#!/usr/bin/python3
"""convert --fix does what fix does, on synthetic and real traces.

usage: tests/convert/compare_convert.py --heddle PROGRAM [--rest|--all] [FILE...]

For each trace, `fix` and then `convert` must write the same bytes as `convert --fix`: the repair that patches the text and
the one that makes a new trace are one. And `convert` on its own must write what reading its output writes again. Without
files: traces of `heddle synth`, and the Chrome JSON in $HEDDLE_SHARED/data, or ../shared/data beside the project, that
tests/sizes.py says; of ranks, which are alike, the first.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = Path(os.environ.get("HEDDLE_SHARED") or ROOT.parent / "shared")
DATA = ("chrome", "cupti", "kineto", "ranks", "rocm", "xray")
sys.path.insert(0, str(ROOT / "tests"))
import sizes  # noqa: E402


class Failure(Exception):
    pass


def heddle(program, *words):
    result = subprocess.run([program, *map(str, words)], capture_output=True)
    if result.returncode != 0:
        raise Failure(f"heddle {' '.join(map(str, words))}: {result.stderr.decode('utf-8', 'replace')}")
    return result.stdout


def require_same(one, other, what):
    if one.read_bytes() != other.read_bytes():
        raise Failure(f"{what} differ: {one}, {other}")


def check(program, path, work):
    if b"no array of trace events" in subprocess.run([program, "info", "-q", path], capture_output=True).stderr:
        return "not of this format"
    patched, wanted, got = work / "patched.json", work / "wanted.json", work / "got.json"
    heddle(program, "fix", "-q", path, patched)
    heddle(program, "convert", "-q", patched, wanted)
    report = json.loads(heddle(program, "convert", "--json", "--fix", path, got))
    require_same(wanted, got, "the repairs")
    if report["events_in"] + report["added"] != report["events_out"] or report["removed"] or report["lost"]:
        raise Failure(f"events do not add up: {report}")
    plain, again = work / "plain.json", work / "again.json"
    heddle(program, "convert", "-q", path, plain)
    heddle(program, "convert", "-q", plain, again)
    require_same(plain, again, "a trace and its copy")
    return f"{report['events_in']} events, {report['moved_slices']} moved, {report['snapped_crossings']} snapped"


def synthetic(program, work):
    for seed in (1, 2, 3):
        path = work / f"synth{seed}.json"
        heddle(program, "synth", "-q", "--seed", seed, "--events", 20000, "--crossings", 500, "-o", path)
        yield path


def real():
    for folder in DATA:
        for path in sorted((SHARED / "data" / folder).rglob("*.json*")):
            if path.name.endswith((".json", ".json.gz")) and not re.search("memory_timeline|rocprofv3|rank[1-7]", path.name):
                yield path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    sizes.options(parser)
    parser.add_argument("files", nargs="*", type=Path)
    args = parser.parse_args()
    count = failed = 0
    with tempfile.TemporaryDirectory(prefix="heddle-convert-") as folder:
        work = Path(folder)
        files = args.files or [*([] if args.choice == "rest" else synthetic(args.heddle, work)), *sizes.chosen(real(), args.choice)]
        for path in files:
            count += 1
            try:
                print(f"{path.name}: {check(args.heddle, path, work)}", flush=True)
            except Failure as failure:
                failed += 1
                print(f"FAILED {path}: {failure}", flush=True)
    print(f"{count} traces, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
