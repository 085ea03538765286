#!/usr/bin/python3
"""A file that was cut has lost something, in every format and container.

usage: tests/format/checks/cuts.py --heddle PROGRAM [--places N] [FIXTURE...]

Each whole fixture, plain, and one of each format in gzip and zstd, is cut at N places, and one and two bytes before its
end. Then `heddle info` refuses the file, or its ledger has a loss, or the answer is that of the whole file. Where records
follow one another without a count, a size or an end, a cut between two of them cannot be told from a file that ends there:
ENDS says after which bytes that is.
"""
import argparse
import concurrent.futures
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parents[1]
SKIPPED = {".expect", ".py", ".c", ".h", ".mjs", ".md", ".txt", ".sh"}
LARGEST = 1 << 20


def is_json(text):
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


# By format: does a record end there? Folded stacks are made by scripts, which leave out the last end of line as well.
ENDS = {
    "chrome": lambda cut: cut.lstrip()[:1] == b"[" and is_json(cut.rstrip().rstrip(b",") + b"]"),
    "counters": lambda cut: cut[-1:] == b"\n",
    "cupti": lambda cut: cut.rstrip(b"\n")[-1:] == b"}" or cut[-1:] == b"\n",
    "folded": lambda cut: True,
    "ftrace": lambda cut: cut[-1:] == b"\n",
    "perf-script": lambda cut: cut[-1:] == b"\n",
    "pprof": lambda cut: cut[-1:] == b"\n",  # the text of gperftools
    "xray": lambda cut: len(cut) % 32 == 0,  # basic mode
}


def answers(heddle, paths):
    """What `heddle info` says of each file: (the events, whether a loss is in the ledger); None where it is refused with a reason."""
    done = subprocess.run([heddle, "info", "--json", *map(str, paths)], capture_output=True, text=True, errors="replace")
    listed = json.loads(done.stdout) if done.stdout.strip() else []
    said = {about["path"]: about for about in (listed if isinstance(listed, list) else [listed])}
    for path in map(str, paths):
        about = said.get(path)
        if about:
            facts = [about.get(key) for key in ("format", "events", "kinds", "start", "end", "tracks")]
            yield facts, any(row["level"] == "loss" for row in about["ledger"])
        else:
            yield None if done.returncode == 1 and path in done.stderr else (f"exit {done.returncode} without a word", False)


def packed(raw, container):
    if container == "gz":
        return gzip.compress(raw, mtime=0)
    if container == "zst":
        return subprocess.run(["zstd", "-qc"], input=raw, capture_output=True, check=True).stdout
    return raw


def check(heddle, path, containers, places, folder):
    faults = []
    for container in containers:
        data = packed(path.read_bytes(), container)
        places_cut = sorted({len(data) * i // (places + 1) for i in range(1, places + 1)} | {len(data) - 2, len(data) - 1, len(data)})
        names = {}
        for at in (at for at in places_cut if at > 0):
            names[at] = pathlib.Path(tempfile.mkdtemp(dir=folder)) / (path.name + (f".{container}" if container else ""))
            names[at].write_bytes(data[:at])
        said = dict(zip(names, answers(heddle, names.values())))
        whole = said.pop(len(data))
        for at, cut in said.items() if whole else ():
            ends = not container and cut is not None and ENDS.get(cut[0][0], lambda cut: False)(data[:at])
            if cut is not None and not cut[1] and cut[0] != whole[0] and not ends:
                faults.append(f"{path.parent.name}/{names[at].name} cut at {at} of {len(data)}: {cut[0][:2]} of {whole[0][1]} events, no loss")
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--places", type=int, default=5)
    parser.add_argument("fixtures", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    fixtures = args.fixtures or sorted(p for p in HERE.glob("*/*") if p.is_file() and p.suffix not in SKIPPED
                                       and not p.name.startswith("bad-") and 0 < p.stat().st_size < LARGEST)
    seen, faults = set(), []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = []
        for path in fixtures:
            containers = [""] if path.parent in seen else ["", "gz", "zst"]
            seen.add(path.parent)
            jobs.append(pool.submit(check, args.heddle, path, containers, args.places, folder))
        for job in jobs:
            faults += job.result()
    for fault in faults:
        print(fault)
    print(f"{len(fixtures)} fixtures of {len(seen)} folders, {len(faults)} cuts without a loss")
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(main())
