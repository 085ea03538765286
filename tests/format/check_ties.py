"""Results do not depend on how libc's qsort leaves elements that compare as equal.

usage: check_ties.py --heddle PROGRAM --preload LIBRARY

Each fixture is converted, and all reports are made of it, with libc's sort and with one that turns around what is equal
(ties.c, by LD_PRELOAD): the bytes are the same.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPORTS = "summary,kernels,operators,queue,idle,launches,communication,memory,steps,ranges,modules,copies,states,syncs,check"
NOT_TRACES = {".c", ".h", ".py", ".expect", ".md", ".inc", ".build", ".txt"}


def fixtures():
    for folder in sorted(HERE.iterdir()):
        for path in sorted(folder.glob("*")) if folder.is_dir() else []:
            if path.is_file() and path.suffix not in NOT_TRACES and path.stem.startswith(("edge", "ties")):
                yield path


def steps_that_begin_together():
    events = [{"ph": "X", "name": f"ProfilerStep#{i}", "cat": "user_annotation", "pid": 1, "tid": 1, "ts": 10, "dur": 50} for i in range(9)]
    events += [{"ph": "X", "name": "op", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 20 + i, "dur": 1} for i in range(9)]
    path = Path("steps.json").absolute()
    path.write_text(json.dumps(events))
    return path


def outputs(heddle, path, env):
    for command in (["report", "--json", REPORTS, path], ["flame", "-q", "--by", "step", path, "-o", "out.folded"],
                    ["convert", "-q", path, "out.json"], ["convert", "-q", path, "out.pftrace"]):
        out = Path(command[-1])
        if out.name.startswith("out."):
            out.unlink(missing_ok=True)
        done = subprocess.run([heddle, *map(str, command)], capture_output=True, env=env)
        kept = out.read_bytes() if out.name.startswith("out.") and out.exists() else b""
        yield command[0], (done.returncode, done.stdout, done.stderr, kept)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--preload", required=True)
    args = parser.parse_args()
    heddle, preload = os.path.abspath(args.heddle), os.path.abspath(args.preload)
    compared = wrong = 0
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for path in [*fixtures(), steps_that_begin_together()]:
            turned = dict(os.environ, LD_PRELOAD=preload)
            for (what, plain), (_, other) in zip(outputs(heddle, path, os.environ), outputs(heddle, path, turned)):
                compared += plain[0] == 0
                if plain != other:
                    wrong += 1
                    print(f"{what} of {path} depends on the order among equals")
    print(f"{compared} outputs compared")
    return 1 if wrong or compared < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
