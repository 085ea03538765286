#!/usr/bin/python3
"""What heddle says of small traces as their producers write them: who wrote it, what the device did, what launched it. The
numbers were counted by hand from the files beside this one.

usage: check.py HEDDLE
"""
import json
import subprocess
import sys
from pathlib import Path

# producer; ns in which devices compute, communicate and copy; pieces of work; launches with work; rows of the host that are busy, in ns
EXPECTED = {
    "ascend": ("Ascend (CANN)", 20000, 0, 5000, 2, 1, {"3096": 9500, "31709": 3000}),
    "jax": ("TensorFlow or JAX", 20000, 0, 6000, 2, 0, {"2": 8000}),
    "mctracer": ("MetaX mcTracer", 18944, 0, 999, 2, 1, {"1": 42001}),
    "mindspore": ("MindSpore", 25000, 10000, 0, 3, 0, {"11000": 9000}),
    "mindspore-gpu": ("MindSpore", 15000, 0, 0, 1, 0, {}),
    "onnxruntime": ("ONNX Runtime", 30000, 0, 0, 1, 0, {"5": 960000}),
    "paddle": ("PaddlePaddle", 20000, 0, 2000, 2, 1, {"77": 5000}),
    "tensorflow1": ("TensorFlow 1", 30000, 0, 4000, 2, 0, {"1": 12000}),
    "unitrace": ("Intel unitrace", 40000, 0, 10000, 4, 2, {"100": 45000, "101": 45000}),
    "unitrace-cut": ("Intel unitrace", 40000, 0, 10000, 4, 2, {"100": 45000, "101": 45000}),
}


def report(heddle, path, *words):
    return json.loads(subprocess.run([heddle, *words, path], check=True, capture_output=True, text=True).stdout)


def check(heddle, path):
    producer, compute, communication, copy, works, linked, host = EXPECTED[path.stem]
    info = report(heddle, path, "info", "--json")
    rows = report(heddle, path, "report", "--json", "breakdown")["breakdown"]
    launches = report(heddle, path, "report", "--json", "launches")["launches"]
    got = (info["producer"], sum(r["compute"] for r in rows), sum(r["communication"] for r in rows), sum(r["copy"] for r in rows),
           sum(r["works"] for r in rows), sum(r["works"] for r in launches),
           {str(t["pid"]): t["busy"] for t in info["tracks"] if t["kind"] == "thread" and t["slices"]})
    if got == EXPECTED[path.stem]:
        return 0
    print(f"{path.name}: {got}, expected {EXPECTED[path.stem]}")
    return 1


def main():
    heddle, folder = sys.argv[1], Path(__file__).parent
    paths = sorted(folder.glob("*.json"))
    wrong = sum(check(heddle, path) for path in paths) + ({p.stem for p in paths} != set(EXPECTED))
    ranks = {r["rank"] for r in report(heddle, folder / "unitrace.json", "report", "--json", "breakdown")["breakdown"]}
    if ranks != {0, 1}:
        wrong += 1
        print(f"unitrace.json: ranks {ranks}")
    print(f"{len(paths)} traces, {wrong} wrong")
    return wrong > 0


sys.exit(main())
