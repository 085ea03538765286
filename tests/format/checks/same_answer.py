#!/usr/bin/env python3
"""same_answer.py --heddle HEDDLE - one file, one answer, whatever fresh memory contains and what was read before

Every damaged fixture, and damaged copies of the others: `heddle info --json` of several at a time, under three fillings of fresh
memory (glibc.malloc.perturb), in the one order and the other.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(1, str(HERE.parent))

import rounds  # noqa: E402

SKIPPED = {".expect", ".py", ".c", ".h", ".mjs", ".md", ".txt", ".sh"}
LARGEST, CHUNK = 1 << 20, 16


def answers(heddle, perturb, paths):
    """[(path, what `heddle info` says of it)] of several files in one process, and the messages."""
    env = {**os.environ, "GLIBC_TUNABLES": f"glibc.malloc.perturb={perturb}"}
    env.pop("MALLOC_PERTURB_", None)
    done = subprocess.run([heddle, "info", "--json", *map(str, paths)], capture_output=True, text=True, errors="replace", env=env)
    listed = json.loads(done.stdout) if done.stdout.strip() else []
    return [(facts["path"], json.dumps(facts)) for facts in (listed if isinstance(listed, list) else [listed])], done.stderr.splitlines()


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


def check(heddle, paths):
    """What is wrong with the answers about some files: each is read four times, behind others, in three processes."""
    said, messages = collections.defaultdict(list), []
    for perturb, order in ((0, paths), (65, paths), (170, paths[::-1] + paths)):
        try:
            found, lines = answers(heddle, perturb, order)
        except json.JSONDecodeError:
            return [f"no JSON of {', '.join(map(str, order))}"]
        for path, facts in found:
            said[path].append(facts)
        messages.append(set(lines))
    faults = [f"{path}: {len(set(facts))} answers in {len(facts)} of 4 reads, by what fresh memory contains or what was read before"
              for path, facts in said.items() if len(facts) != 4 or len(set(facts)) > 1]
    return faults + [f"only sometimes said: {line}" for line in set.union(*messages) - set.intersection(*messages)]


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
        chunks = [inputs[i:i + CHUNK] for i in range(0, len(inputs), CHUNK)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            failures = [fault for faults in pool.map(lambda chunk: check(heddle, chunk), chunks) for fault in faults]
        for failure in failures:
            print(failure)
    print(f"{len(inputs)} damaged files, {len(failures)} with several answers")
    return len(failures) > 0


if __name__ == "__main__":
    sys.exit(main())
