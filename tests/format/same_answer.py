#!/usr/bin/env python3
"""same_answer.py --heddle HEDDLE - one file, one answer, whatever fresh memory contains and what was read before

Every damaged fixture, and damaged copies of the others: `heddle info --json` under three fillings of fresh memory
(glibc.malloc.perturb), and three times in one process with other files in between.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent))

import rounds  # noqa: E402

SKIPPED = {".expect", ".py", ".c", ".h", ".mjs", ".md", ".txt", ".sh"}
LARGEST = 1 << 20


def info(heddle, perturb, *paths):
    env = {**os.environ, "GLIBC_TUNABLES": f"glibc.malloc.perturb={perturb}"}
    env.pop("MALLOC_PERTURB_", None)
    done = subprocess.run([heddle, "info", "--json", *map(str, paths)], capture_output=True, text=True, errors="replace", env=env)
    return done.stdout, done.stderr


def damaged_copies(path, folder, random_of):
    """The file with some bits flipped, and cut."""
    data = path.read_bytes()
    for number in range(2):
        copy = bytearray(data)
        for _ in range(1 + number * 4):
            copy[random_of.randrange(len(copy))] ^= 1 << random_of.randrange(8)
        if number:
            del copy[random_of.randrange(len(copy)):]
        out = folder / f"{number}-{path.parent.name}-{path.name}"
        out.write_bytes(copy)
        yield out


def check(heddle, path, other):
    answers = {info(heddle, perturb, path) for perturb in (0, 65, 170)}
    if len(answers) > 1:
        return f"{path}: {len(answers)} answers by what fresh memory contains"
    (text, _), = answers
    if not text.strip():
        return None  # refused
    several, _ = info(heddle, 170, path, other, path, path)
    try:
        facts = [facts for facts in json.loads(several) if facts["path"] == str(path)]
    except json.JSONDecodeError:
        return f"{path}: no JSON of several files"
    if len(facts) != 3 or any(f != json.loads(text) for f in facts):
        return f"{path}: other answers behind other files in one process"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    heddle = parser.parse_args().heddle
    random_of = random.Random(rounds.seed(20261128))
    fixtures = sorted(p for p in HERE.glob("*/*") if p.is_file() and p.suffix not in SKIPPED and 0 < p.stat().st_size < LARGEST)
    assert len(fixtures) > 100, len(fixtures)
    with tempfile.TemporaryDirectory() as folder:
        inputs = [p for p in fixtures if p.name.startswith("bad-")]
        for path in fixtures:
            inputs += damaged_copies(path, pathlib.Path(folder), random_of)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            failures = [f for f in pool.map(lambda i: check(heddle, inputs[i], inputs[i - 1]), range(len(inputs))) if f]
        for failure in failures:
            print(failure)
    print(f"{len(inputs)} damaged files, {len(failures)} with several answers")
    return len(failures) > 0


if __name__ == "__main__":
    sys.exit(main())
