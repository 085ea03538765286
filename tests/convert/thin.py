#!/usr/bin/python3
"""convert --min-duration removes short slices, and no sum.

usage: tests/convert/thin.py --heddle PROGRAM [FILE...]

Random traces of one process and one GPU (the seed is printed; HEDDLE_TEST_SEED), or the Chrome JSON of the files. Which
slices stay, and thinned_count and thinned_ns of each, are worked out again here from the JSON: time belongs to the slice
that started last. With --keep gpu all reports of GPU activities must be as before, and the sums of the top-level key
heddle.thinned, the arguments and what stays must be the whole.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

LEAST_NS = 5000
GPU = {"kernel", "gpu_memcpy", "gpu_memset"}


class Failure(Exception):
    pass


def heddle(program, *words):
    result = subprocess.run([program, *map(str, words)], capture_output=True)
    if result.returncode != 0:
        raise Failure(f"heddle {' '.join(map(str, words))}: {result.stderr.decode('utf-8', 'replace')}")
    return result.stdout


def random_trace(random, path):
    events, correlation = [], [0]

    def slices(start, end, depth, tid):
        at = start
        while at < end:
            length = min(random.choice([0.4, 1.5, 3, 6, 20, 90, 400]), end - at)
            if depth > 3 or length < 2 and random.random() < 0.5:
                correlation[0] += 1
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": tid,
                               "ts": at, "dur": length, "args": {"correlation": correlation[0]}})
                if random.random() < 0.9:
                    name, cat = random.choice([("gemm", "kernel"), ("ncclDevKernel_AllReduce", "kernel"),
                                               ("Memcpy HtoD", "gpu_memcpy")])
                    events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": random.choice([7, 8]),
                                   "ts": at + random.choice([3, 30]), "dur": random.choice([0.5, 4.999, 5, 50]),
                                   "args": {"device": 0, "stream": 7, "correlation": correlation[0]}})
            else:
                pair = {"cat": "cpu_op", "name": random.choice(["aten::mm", "aten::add", "own"]), "pid": 1, "tid": tid}
                if random.random() < 0.2:
                    events.append({**pair, "ph": "B", "ts": at})
                    slices(at, at + length, depth + 1, tid)
                    events.append({**pair, "ph": "E", "ts": at + length})
                else:
                    events.append({**pair, "ph": "X", "ts": at, "dur": length})
                    slices(at, at + length, depth + 1, tid)
            at += length + random.choice([0, 0.25, 2])

    for n in range(3):
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "pid": 1, "tid": 1,
                       "ts": 1000 * n, "dur": 999})
        slices(1000 * n + 1, 1000 * n + 990, 0, 1)
        slices(1000 * n + 1, 1000 * n + 500, 1, 2)
    for event in events:
        event["ts"] = round(event["ts"], 3)
        if "dur" in event:
            event["dur"] = round(event["dur"], 3)
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))


def ns(micros):
    return round(micros * 1000)


def slices_of(path):
    """Complete slices as (tid, start, end, event), with B and E as one."""
    out, open_ones = [], {}
    for event in json.loads(path.read_bytes())["traceEvents"]:
        lane = event.get("pid"), event.get("tid")
        if event["ph"] == "X":
            out.append((lane, ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]), event))
        elif event["ph"] == "B":
            open_ones.setdefault(lane, []).append((len(out), event))
            out.append(None)
        elif event["ph"] == "E":
            at, begin = open_ones[lane].pop()
            out[at] = (lane, ns(begin["ts"]), ns(event["ts"]), begin)
    return out


def expected(slices, keep_gpu):
    """By index: whether it stays; of those that stay, [count, ns] of removed ones within; the sums of lanes."""
    launched = {s[3]["args"]["correlation"] for s in slices if s[3].get("cat") in GPU and
                (keep_gpu or s[2] - s[1] >= LEAST_NS)}
    recorded = {s[3]["args"]["correlation"] for s in slices if s[3].get("cat") in GPU}

    def remains(s):
        event, call = s[3], s[3].get("args", {}).get("correlation")
        if s[2] - s[1] >= LEAST_NS or event["name"].startswith("ProfilerStep#"):
            return True
        if event.get("cat") in GPU:
            return keep_gpu
        return event.get("cat") == "cuda_runtime" and (call in launched or call not in recorded)

    stays = [remains(s) for s in slices]
    inside, lanes, host, gpu = {}, Counter(), [0, 0], [0, 0]
    by_lane = {}
    for i, s in enumerate(slices):
        by_lane.setdefault(s[0], []).append(i)
    for lane, list_ in by_lane.items():
        list_.sort(key=lambda i: (slices[i][1], -slices[i][2], i))
        if slices[list_[0]][3].get("cat") in GPU:
            for i in list_:
                if not stays[i]:
                    gpu[0] += 1
                    gpu[1] += slices[i][2] - slices[i][1]
                    lanes[lane] += 1
            continue
        own = {i: slices[i][2] - slices[i][1] for i in list_}
        parents, stack = {}, []
        for i in list_:
            while stack and (slices[stack[-1]][2] < slices[i][2] or slices[stack[-1]][2] <= slices[i][1]):
                stack.pop()
            parents[i] = stack[-1] if stack else None
            if stack:
                own[stack[-1]] -= own[i]
            stack.append(i)
        for i in list_:
            if stays[i]:
                continue
            host[0] += 1
            host[1] += own[i]
            parent = parents[i]
            while parent is not None and not stays[parent]:
                parent = parents[parent]
            if parent is None:
                lanes[lane] += 1
            else:
                counts = inside.setdefault(parent, [0, 0])
                counts[0] += 1
                counts[1] += own[i]
    return stays, inside, lanes, host, gpu


def require(got, wanted, what):
    if got != wanted:
        if isinstance(got, Counter):
            got, wanted = got - wanted, wanted - got
        raise Failure(f"{what}: {got}, not {wanted}"[:2000])


def key_of(s):
    return s[0], s[1], s[2], s[3]["name"]


def report(program, name, path):
    """The table, without numbers of rows."""
    rows = json.loads(heddle(program, "report", name, "--json", path))[name]
    return [{k: v for k, v in row.items() if not k.endswith("_id")} for row in rows]


def check(program, path, work, keep):
    plain, thin = work / "plain.json", work / "thin.json"
    heddle(program, "convert", "-q", path, plain)
    said = json.loads(heddle(program, "convert", "--json", "--min-duration", "5us", *keep, plain, thin))
    before = slices_of(plain)
    after = slices_of(thin)
    stays, inside, lanes, host, gpu = expected(before, bool(keep))
    require(Counter(map(key_of, after)), Counter(key_of(s) for i, s in enumerate(before) if stays[i]), "slices that stay")
    got = Counter((*key_of(s), s[3]["args"]["thinned_count"], s[3]["args"]["thinned_ns"]) for s in after
                  if "thinned_count" in s[3].get("args", {}))
    require(got, Counter((*key_of(before[i]), *counts) for i, counts in inside.items()), "thinned within")
    sums = json.loads(thin.read_bytes())["heddle.thinned"]
    require([sums["slices"], sums["slices_ns"]], host, "removed slices")
    require([sums["activities"], sums["activities_ns"]], gpu, "removed activities")
    require({(row["pid"], row["tid"]): row["count"] for row in sums["outermost"]}, dict(lanes), "outermost")
    codes = {row["code"]: row["count"] for row in said["ledger"]}
    require(codes.get("thin.slices", 0), host[0], "the ledger")
    if keep:
        for name in ("breakdown", "kernels", "launches"):
            require(report(program, name, thin), report(program, name, plain), name)
    elif gpu[0]:
        row = report(program, "breakdown", thin)[0]
        if "thinned-gpu" not in (row["doubt"] or ""):
            raise Failure(f"GPU activities were removed, and the breakdown has no doubt: {row}")
    again = subprocess.run([program, "convert", "-q", "--min-duration", "9us", thin, work / "x.json"], capture_output=True)
    if inside and again.returncode != 1:
        raise Failure("a thinned trace was thinned again")
    return host[0] + gpu[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    seed = int(os.environ.get("HEDDLE_TEST_SEED") or random.randrange(1 << 32))
    print("seed", seed)
    removed = 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        made = work / "made.json"
        random_trace(random.Random(seed), made)
        for path in options.files or [made]:
            for keep in ([], ["--keep", "gpu"]):
                removed += check(options.heddle, path, work, keep)
    print(removed, "slices removed")
    return removed == 0


if __name__ == "__main__":
    sys.exit(main())
