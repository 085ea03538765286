#!/usr/bin/env python3
"""What a tracer costs a step: workloads with and without it in turn (there and back, ABBA), with confidence intervals.

usage: zoo/capture_cost.py [--tracer NAME]... [--workload NAME]... [--rounds N] [--heddle PROGRAM] [--out FILE.json]

workloads  launches  2,000 kernels of 1 element a step: the host is the limit
           gpt       a step of a small transformer, that of tests/gpu/programs_torch.py: forward, backward, AdamW
           graph     the launches as one CUDA graph
           host      no GPU: a loop in Python; it shows the noise of the harness itself
tracers    again     nothing, once more (A against A): the noise
           heddle    heddle record
           torch     torch.profiler, CPU and CUDA activities
           nsys      nsys profile --trace=cuda,nvtx
           proton    triton.profiler

A round runs a workload four times, each in a fresh process: without, with, with, without. Of each run the median step counts; of each
round the ratio of the geometric means. Printed are the mean of the rounds and its 95 % interval (Student's t). What is not
there is skipped, with the reason; without a GPU only `host` runs, and the exit status is 77 if nothing ran.
"""
import argparse
import importlib.util
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, WARM_UP = 30, 10
WORKLOADS, TRACERS = ("launches", "gpt", "graph", "host"), ("again", "heddle", "torch", "nsys", "proton")
# 97.5 % of Student's t by degrees of freedom; beyond them the normal distribution.
STUDENT = (None, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)


class Skip(Exception):
    """Why a tracer or a workload cannot run here."""


# ---- workloads, in a process of their own ----

def launches():
    import torch
    x = torch.zeros(1, device="cuda")

    def step():
        for _ in range(2000):
            x.add_(1)
        torch.cuda.synchronize()
    return step


def graph():
    import torch
    x, one = torch.zeros(1, device="cuda"), torch.cuda.CUDAGraph()
    x.add_(1)
    torch.cuda.synchronize()
    with torch.cuda.graph(one):
        for _ in range(2000):
            x.add_(1)

    def step():
        one.replay()
        torch.cuda.synchronize()
    return step


def gpt():
    import torch
    sys.path.insert(0, os.path.join(HERE, "../tests/gpu"))
    from programs_torch import Trainer
    trainer = Trainer()

    def step():
        trainer.step()
        torch.cuda.synchronize()
    return step


def host():
    def step():
        total = 0
        for i in range(200_000):
            total += i * i
        return total
    return step


def work(name, tracer, out):
    """Runs the steps, within a tracer that lives in the process, and prints their times in ns."""
    step = {"launches": launches, "gpt": gpt, "graph": graph, "host": host}[name]()
    for _ in range(WARM_UP):
        step()
    profiler = None
    if tracer == "torch":
        import torch
        profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA])
        profiler.__enter__()
    elif tracer == "proton":
        import triton.profiler as proton
        proton.start(os.path.join(out, "proton"))
    times = []
    for _ in range(STEPS):
        start = time.perf_counter_ns()
        step()
        times.append(time.perf_counter_ns() - start)
    if profiler:
        profiler.__exit__(None, None, None)
    elif tracer == "proton":
        proton.finalize()
    with open(os.path.join(out, "steps.json"), "w", encoding="utf-8") as file:
        json.dump(times, file)


# ---- the harness ----

def need(tracer, options):
    """Raises Skip where the tracer is not there."""
    if tracer == "heddle" and not (shutil.which(options.heddle) or os.path.exists(options.heddle)):
        raise Skip(f"{options.heddle} is not there: make build")
    if tracer == "nsys" and not shutil.which("nsys"):
        raise Skip("nsys is not on PATH")
    if tracer == "torch" and not importlib.util.find_spec("torch"):
        raise Skip("Python has no torch")
    if tracer == "proton" and not (importlib.util.find_spec("triton") and importlib.util.find_spec("triton.profiler")):
        raise Skip("Python has no triton.profiler")


def need_gpu():
    if not importlib.util.find_spec("torch"):
        raise Skip("Python has no torch")
    done = subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"], capture_output=True, check=False)
    if done.returncode:
        raise Skip("torch sees no GPU")


def run(workload, tracer, options):
    """The median step in ns."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, os.path.abspath(__file__), "--work", workload, "--within", tracer, "--folder", out]
        if tracer == "heddle":
            command = [options.heddle, "record", "-q", "-o", os.path.join(out, "trace.heddle"), "--", *command]
        elif tracer == "nsys":
            command = ["nsys", "profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", "-o", os.path.join(out, "trace"), *command]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            with open(os.path.join(out, "steps.json"), encoding="utf-8") as file:
                return statistics.median(json.load(file))
        except OSError:
            raise Skip(f"{workload} within {tracer} ended with {done.returncode}: {done.stderr.strip()[-200:]}") from None


def interval(logs):
    """(low, mean, high) in percent, of logarithms of ratios."""
    mean = statistics.fmean(logs)
    half = math.inf if len(logs) < 2 else (STUDENT[len(logs) - 1] if len(logs) <= len(STUDENT) else 1.96) * statistics.stdev(logs) / math.sqrt(len(logs))
    return tuple(100 * math.expm1(x) if x < 700 else math.inf for x in (mean - half, mean, mean + half))


def measure(workload, tracer, options):
    logs, plain = [], []
    for _ in range(options.rounds):
        a, b, c, d = (run(workload, t, options) for t in ("none", tracer, tracer, "none"))
        logs.append((math.log(b) + math.log(c) - math.log(a) - math.log(d)) / 2)
        plain += [a, d]
    low, mean, high = interval(logs)
    return {"workload": workload, "tracer": tracer, "rounds": options.rounds, "step_ns": statistics.median(plain), "cost_percent": mean, "low_percent": low, "high_percent": high}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tracer", action="append", choices=TRACERS)
    parser.add_argument("--workload", action="append", choices=WORKLOADS)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--heddle", default=os.path.join(HERE, "../build/release/src/cli/heddle"))
    parser.add_argument("--out", help="write the rows as JSON as well")
    for word in ("--work", "--within", "--folder"):
        parser.add_argument(word, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.within, options.folder)
        return 0
    rows = []
    print(f"{'workload':10} {'tracer':8} {'step':>12} {'cost':>9}   95 %")
    for workload in options.workload or WORKLOADS:
        try:
            if workload != "host":
                need_gpu()
        except Skip as e:
            print(f"{workload:10} skipped: {e}")
            continue
        for tracer in options.tracer or TRACERS:
            try:
                need(tracer, options)
                row = measure(workload, tracer, options)
            except Skip as e:
                print(f"{workload:10} {tracer:8} skipped: {e}")
                continue
            rows.append(row)
            print(f"{workload:10} {tracer:8} {row['step_ns'] / 1e6:9.3f} ms {row['cost_percent']:+8.2f} %   {row['low_percent']:+.2f} to {row['high_percent']:+.2f} %", flush=True)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0 if rows else 77


if __name__ == "__main__":
    sys.exit(main())
