#!/usr/bin/env python3
"""`heddle replay --gpu A=>B` against rooflines reckoned here, from the table of GPUs and shapes: every kernel of a made trace, by
the trace that -o writes. And `--against`: the order of work of each queue, from the JSON of traces of an H100.

  check_gpu.py --heddle HEDDLE --gpus share/gpus.toml
"""
import argparse
import collections
import gzip
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import tomllib

FOLDER = pathlib.Path(__file__).parent / "h100"
TYPES = {"float": ("fp32", 4), "c10::BFloat16": ("bf16", 2), "c10::Half": ("fp16", 2), "double": ("fp64", 8)}


def make(rng, model):
    """Operators on a thread, each with a launch; (trace, kernels: name, duration, roofline or None)"""
    events, kernels, time = [], [], 0
    events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 1e5})
    for i in range(1, 60):
        kind = rng.choice(["aten::mm", "aten::add", "mine::op", "nccl", "copy"])
        dtype = rng.choice(list(TYPES))
        m, k, n = (rng.choice([8, 64, 1024, 4096]) for _ in range(3))
        size, duration = TYPES[dtype][1], rng.randint(2000, 90000)
        args, roofline = {"External id": i}, None
        if kind == "aten::mm":
            args |= {"Input Dims": [[m, k], [k, n]], "Input type": [dtype, dtype], "Concrete Inputs": ["", ""]}
            roofline = (dtype, 2 * m * k * n, size * (m * k + k * n + m * n))
        events.append({"ph": "X", "cat": "cpu_op", "name": kind, "pid": 1, "tid": 1, "ts": time, "dur": 10, "args": args})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync" if kind == "copy" else "cudaLaunchKernel", "pid": 1, "tid": 1,
                       "ts": time + 2, "dur": 5, "args": {"correlation": i}})
        name = {"nccl": "ncclDevKernel_AllReduce", "copy": "Memcpy HtoD (Pinned -> Device)"}.get(kind, f"kernel_{kind}")
        events.append({"ph": "X", "cat": "gpu_memcpy" if kind == "copy" else "kernel", "name": name, "pid": 0, "tid": 7, "ts": time + 9,
                       "dur": duration / 1000, "args": {"device": 0, "stream": 7, "correlation": i, "n": i}})
        kernels.append((i, duration, kind, roofline))
        time += 100
    return {"deviceProperties": [{"id": 0, "name": model}], "traceEvents": events}, kernels


def least(gpu, roofline):
    dtype, flop, size = roofline
    return max(flop / (gpu[TYPES[dtype][0]] * 1000), size / gpu["bandwidth"]) if TYPES[dtype][0] in gpu else None


def check_rooflines(heddle, gpus, seed, folder):
    rng = random.Random(seed)
    names = sorted(gpus)
    a, b = rng.choice(names), rng.choice(names)
    trace, kernels = make(rng, a)
    path, out = folder / "a.json", folder / "b.json"
    path.write_text(json.dumps(trace))
    which = rng.choice([f"{a}=>{b}", f"=>{b}", b])
    run = subprocess.run([heddle, "replay", "-q", "--gpu", which, "-o", out, path], capture_output=True, text=True)
    if run.returncode:
        return [f"{which}: {run.stderr}"]
    got = {e["args"]["n"]: round(e["dur"] * 1000) for e in json.loads(out.read_text())["traceEvents"] if e["ph"] == "X" and "n" in e.get("args", {})}
    wrong = []
    for n, duration, kind, roofline in kernels:
        factor = gpus[a]["bandwidth"] / gpus[b]["bandwidth"] if kind not in ("nccl", "copy") else 1
        if roofline and least(gpus[a], roofline) and least(gpus[b], roofline):
            factor = least(gpus[b], roofline) / least(gpus[a], roofline)
        if abs(got[n] - duration * factor) > 1:
            wrong.append(f"seed {seed} {which}: {kind} {roofline}: {duration} became {got[n]}, not {duration * factor:.1f}")
    return wrong


def queues(path):
    out = collections.defaultdict(list)
    for e in json.load(gzip.open(path))["traceEvents"]:
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            out[e["args"]["stream"]].append((e["ts"], e["name"]))
    return [[name for _, name in sorted(out[stream])] for stream in sorted(out)]


def check_orders(heddle):
    paths, wrong, same = sorted(FOLDER.glob("*.json.gz")), [], 0
    orders = {path: queues(path) for path in paths}
    for a, b in itertools.combinations_with_replacement(paths, 2):
        run = subprocess.run([heddle, "replay", "--json", "--against", b, a], capture_output=True, text=True)
        rows = json.loads(run.stdout)["order"]
        wanted = []
        for x, y in itertools.zip_longest(orders[a], orders[b], fillvalue=[]):
            head = next((i for i, (p, q) in enumerate(zip(x, y)) if p != q), min(len(x), len(y)))
            rest = min(len(x), len(y)) - head
            wanted.append((len(x), len(y), head, next((i for i in range(rest) if x[-1 - i] != y[-1 - i]), rest)))
        if [(r["works"], r["works_against"], r["same_first"], r["same_last"]) for r in rows] != wanted:
            wrong.append(f"{a.name} against {b.name}: {rows}, not {wanted}")
        if (a == b or orders[a] != orders[b]) and (run.returncode == 0) != (a == b):
            wrong.append(f"{a.name} against {b.name}: status {run.returncode}")
        same += run.returncode == 0
    programs = [FOLDER / f"sleep-{name}.json.gz" for name in ("base", "half", "tenth")]  # of kernels of other durations
    if same != len(paths) + len(programs) * (len(programs) - 1) // 2:
        wrong.append(f"{same} pairs of traces are the same")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--gpus", required=True)
    args = parser.parse_args()
    gpus = {name: gpu for gpu in tomllib.loads(pathlib.Path(args.gpus).read_text())["gpu"] for name in gpu["names"]}
    wrong = check_orders(args.heddle)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(30):
            wrong += check_rooflines(args.heddle, gpus, seed, pathlib.Path(folder))
    print(f"rooflines of 30 traces and the orders of pairs of {len(list(FOLDER.glob('*.json.gz')))}: {len(wrong)} wrong")
    sys.exit("\n".join(wrong[:20]) or 0)


if __name__ == "__main__":
    main()
