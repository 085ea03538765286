#!/usr/bin/env python3
"""Asks `heddle info` and `heddle flame` how long rows were busy, and computes the same from the JSON of the traces,
without any code of ours: on a device's row only kernels, copies and memsets count, on others whatever covers them.

  check_busy.py --heddle HEDDLE [--rest|--all] [FILE.json[.gz] ...]

Without files: made ones, and of HEDDLE_SHARED or ../shared a few real ones; with --rest or --all those that
tests/sizes.py says.
"""
import argparse
import collections
import glob
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import sizes  # noqa: E402

WORK = {"kernel", "gpu_kernel", "concurrent_kernel", "memcpy", "gpu_memcpy", "memset", "gpu_memset"}
SHOWN = {"gpu_user_annotation", "cuda_sync", "gpu_sync"}  # on a device's row, and no work
WAITS = {"NOTIFY WAIT", "EVENT WAIT", "EVENT RECORD", "NOTIFY RECORD", "WRITE VALUE", "PROFILING ENABLE",
         "PROFILING DISABLE"}
problems = []

MADE = {
    # what Kineto shows of a stream
    "kineto": [
        {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 0, "dur": 50},
        {"ph": "X", "cat": "gpu_user_annotation", "name": "step", "pid": 0, "tid": 7, "ts": 0, "dur": 100,
         "args": {"device": 0, "stream": 7}},
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10, "dur": 20,
         "args": {"device": 0, "stream": 7}},
        {"ph": "X", "cat": "gpu_memcpy", "name": "c", "pid": 0, "tid": 7, "ts": 20, "dur": 20,
         "args": {"device": 0, "stream": 7}},
        {"ph": "X", "cat": "cuda_sync", "name": "w", "pid": 0, "tid": 7, "ts": 60, "dur": 30,
         "args": {"device": 0, "stream": 7}},
        {"ph": "X", "cat": "gpu_user_annotation", "name": "alone", "pid": 0, "tid": 9, "ts": 0, "dur": 5,
         "args": {"device": 0, "stream": 9}},
    ],
    "ascend": [
        {"ph": "M", "name": "process_name", "pid": 5, "args": {"name": "Ascend Hardware"}},
        {"ph": "M", "name": "process_labels", "pid": 5, "args": {"labels": "NPU"}},
        {"ph": "M", "name": "process_name", "pid": 6, "args": {"name": "Overlap Analysis"}},
        {"ph": "M", "name": "process_labels", "pid": 6, "args": {"labels": "NPU"}},
        {"ph": "M", "name": "thread_name", "pid": 6, "tid": 3, "args": {"name": "Free"}},
        {"ph": "X", "name": "aten::mm", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 0, "dur": 7},
        {"ph": "X", "name": "MatMul", "pid": 5, "tid": 2, "ts": 0, "dur": 10},
        {"ph": "X", "name": "MEMCPY_ASYNC", "pid": 5, "tid": 2, "ts": 10, "dur": 10},
        {"ph": "X", "name": "EVENT_WAIT", "pid": 5, "tid": 2, "ts": 20, "dur": 70},
        {"ph": "X", "name": "Notify Wait", "pid": 5, "tid": 4, "ts": 20, "dur": 70},
        {"ph": "X", "name": "Free", "pid": 6, "tid": 3, "ts": 20, "dur": 70},
    ],
    "jax": [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "/host:CPU"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "Stream #14(Kernel)"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "XLA Modules"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 3, "args": {"name": "XLA Ops"}},
        {"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "/device:TPU:0"}},
        {"ph": "M", "name": "thread_name", "pid": 3, "tid": 3, "args": {"name": "XLA Ops"}},
        {"ph": "M", "name": "thread_name", "pid": 3, "tid": 4, "args": {"name": "Steps"}},
        {"ph": "X", "name": "fusion_1", "pid": 1, "tid": 1, "ts": 0, "dur": 10},
        {"ph": "X", "name": "jit_f", "pid": 1, "tid": 2, "ts": 0, "dur": 90},
        {"ph": "X", "name": "fusion.1", "pid": 1, "tid": 3, "ts": 0, "dur": 10},
        {"ph": "X", "name": "PjitFunction(f)", "pid": 2, "tid": 1, "ts": 0, "dur": 33},
        {"ph": "X", "name": "copy.1", "pid": 3, "tid": 3, "ts": 0, "dur": 21},
        {"ph": "X", "name": "1", "pid": 3, "tid": 4, "ts": 0, "dur": 80},
    ],
    "tensorflow1": [
        {"ph": "M", "name": "process_name", "pid": 1,
         "args": {"name": "/job:localhost/replica:0/task:0/device:CPU:0 Compute"}},
        {"ph": "M", "name": "process_name", "pid": 2,
         "args": {"name": "/job:localhost/replica:0/task:0/device:GPU:0 Compute"}},
        {"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "/device:GPU:0/stream:all Compute"}},
        {"ph": "M", "name": "process_name", "pid": 4, "args": {"name": "/device:GPU:0/stream:13 Compute"}},
        {"ph": "X", "cat": "Op", "name": "Const", "pid": 1, "tid": 0, "ts": 0, "dur": 12},
        {"ph": "X", "cat": "Op", "name": "MatMul", "pid": 2, "tid": 0, "ts": 0, "dur": 40},
        {"ph": "X", "cat": "Op", "name": "MatMul", "pid": 3, "tid": 0, "ts": 5, "dur": 30},
        {"ph": "X", "cat": "Op", "name": "MatMul", "pid": 4, "tid": 0, "ts": 5, "dur": 30},
    ],
    "rocm": [
        {"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "GPU2"}},
        {"ph": "X", "name": "Cijk_Ailk", "pid": "2", "tid": "0", "ts": 0, "dur": 10},
        {"ph": "X", "name": "hipLaunchKernel", "pid": "9", "tid": "9", "ts": 0, "dur": 4},
    ],
}


def read(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", errors="surrogateescape") as file:
        document = json.load(file, parse_float=Decimal)
    return document["traceEvents"] if isinstance(document, dict) else document


class Row:
    def __init__(self):
        self.slices = []  # (category, name, start ps, end ps)
        self.process = self.name = self.labels = ""
        self.kinds = set()

    def device(self):
        """None: a thread; True: where a device works; False: what tells of it."""
        process, name = self.process, self.name
        if re.fullmatch(r"GPU\d+|COPY|Ascend Hardware", process):
            return True
        if process == "Overlap Analysis" or self.labels == "NPU":
            return False
        if process.startswith("/") and re.search(r"/device:(?!CPU)[A-Z]", process):
            stream = re.search(r"/stream:(\w+)", process)
            if stream:
                return stream.group(1) != "all"
            streams = any(other.startswith("Stream #") for other in self.siblings)
            return name.startswith("Stream #") if streams else name == "XLA Ops"
        return True if self.kinds & (WORK | SHOWN) or any(k.startswith("mtia_ccp_") for k in self.kinds) else None

    def works(self):
        return [piece[2:] for piece in self.work_slices()]

    def work_slices(self):
        for category, name, start, end in self.slices:
            plain = name.upper().replace("_", " ")
            if category in WORK or category.startswith("mtia_ccp_"):
                yield category, name, start, end
            elif category in ("", "op") and plain not in WAITS:
                yield category, name, start, end


def union(spans):
    total, until = 0, None
    for start, end in sorted(spans):
        if until is None or start > until:
            until = start
        if end > until:
            total += end - until
            until = end
    return total


def rows_of(events):
    rows = collections.defaultdict(Row)
    about = collections.defaultdict(dict)
    for event in events:
        if not isinstance(event, dict) or "pid" not in event:
            continue
        pid, tid = str(event["pid"]), str(event.get("tid", ""))
        if event.get("ph") == "M" and event["name"] in ("process_name", "process_labels"):
            about[pid][event["name"]] = event["args"].get("name", event["args"].get("labels"))
        elif event.get("ph") == "M" and event["name"] == "thread_name":
            about[pid, tid]["name"] = event["args"]["name"]
        elif event.get("ph") == "X" and "dur" in event and "ts" in event:
            start = Decimal(event["ts"]) * 1000000
            end = start + Decimal(event["dur"]) * 1000000
            category = str(event.get("cat", "")).lower()
            rows[pid, tid].slices.append((category, str(event.get("name", "")), int(start // 1), int(end // 1)))
            rows[pid, tid].kinds.add(category)
        elif event.get("ph") in ("B", "E"):
            rows[pid, tid].kinds.add("B")
    for (pid, tid), row in rows.items():
        row.process, row.labels = about[pid].get("process_name") or "", about[pid].get("process_labels") or ""
        row.name = about[pid, tid].get("name") or ""
        row.siblings = [names.get("name", "") for key, names in about.items() if key[0] == pid and key != pid]
    return rows


def near(got, wanted_ps, count):
    """Times finer than a picosecond are cut at both ends of a slice."""
    return got is not None and abs(got - wanted_ps // 1000) <= 1 + count // 500


def ask(heddle, *words):
    return json.loads(subprocess.run([heddle, *words], stdout=subprocess.PIPE, check=True).stdout)


def check_info(heddle, path, name, rows):
    said = {(row["pid"], row["tid"]): row for row in ask(heddle, "info", "--json", path)["tracks"]}
    checked = 0
    for key, row in rows.items():
        if not row.slices or "B" in row.kinds:
            continue
        device = row.device()
        got = said[key]["busy"]
        wanted = None if device is False else union(row.works() if device else [s[2:] for s in row.slices])
        if got is not None if wanted is None else not near(got, wanted, len(row.slices)):
            problems.append("%s: row %s %s: info says busy %r ns, the JSON %r ps" % (name, *key, got, wanted))
        checked += device is not None
    return checked


def check_flame(heddle, path, name, rows, folder):
    """GPU time is the sum of the work; CPU time is at most what threads can have, and nothing of a device."""
    out = os.path.join(folder, "out.folded")
    works = [span for row in rows.values() if row.device() for span in row.works()]
    gpu = sum(end - start for start, end in works)
    if gpu and not any("B" in row.kinds for row in rows.values()):
        got = ask(heddle, "flame", "--json", "--of", "gpu-time", "-o", out, path)["total"]
        if not near(got, gpu, 500 * len(works)):
            problems.append("%s: flame says %r ns of GPU time, the JSON %r ps" % (name, got, gpu))
    cpu = sum(union([s[2:] for s in row.slices]) for row in rows.values() if row.device() is None)
    got = ask(heddle, "flame", "--json", "--of", "cpu-time", "-o", out, path)["total"]
    if got > cpu // 1000 + 1 and not any("B" in row.kinds for row in rows.values()):
        problems.append("%s: flame says %r ns of CPU time, threads have %r ps" % (name, got, cpu))


def check(heddle, path, name, folder):
    rows = rows_of(read(path))
    checked = check_info(heddle, path, name, rows)
    store = os.path.join(folder, "out.heddle")
    subprocess.run([heddle, "convert", "-q", path, store], check=True, stdout=subprocess.DEVNULL)
    check_info(heddle, store, name + " as a store", rows)
    check_flame(heddle, path, name, rows, folder)
    return checked


def real_traces(choice):
    root = os.environ.get("HEDDLE_SHARED") or os.path.join(os.environ.get("HEDDLE_SOURCE_ROOT", "."), "..", "shared")
    few = ["kineto/b200_eager", "kineto/event_sync", "ascend/", "rocm/", "cupti/"]
    found = []
    for kind in ("kineto", "ranks/*", "ascend", "rocm", "cupti", "analysis/*"):
        found += sorted(glob.glob(os.path.join(root, "data", kind, "*.json*")))
    found = [path for path in found if "rocprofv3" not in path and "_py_" not in path]
    return sizes.chosen(found, choice, few=lambda path: any(word in path for word in few))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    sizes.options(parser)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    checked = traces = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, events in ({} if args.files else MADE).items():
            path = os.path.join(folder, name + ".json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(events, file)
            checked += check(args.heddle, path, name, folder)
            traces += 1
        for path in args.files or real_traces(args.choice):
            checked += check(args.heddle, path, os.path.basename(os.path.dirname(path)) + "/" + os.path.basename(path),
                             folder)
            traces += 1
    print("%d rows of devices in %d traces" % (checked, traces))
    print("\n".join(problems[:40]))
    return 1 if problems or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
