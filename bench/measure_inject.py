#!/usr/bin/env python3
"""What the injected tracer costs a launch, on the test double of CUDA.

  measure_inject.py BUILD [--runs N] [--launches N]

Runs bench_inject in turn: without a tracer, with one that does nothing (what the double itself takes, which is no
part of ours), with ours without stacks, and with stacks. Of each pair of runs the difference is taken; the median of
all pairs is told. BUILD is a release build with bench.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

GOALS = {"ours, without stacks": 1000, "ours, with stacks": 3000}


def run(build, name, launches, folder):
    fake = os.path.join(build, "tests/capture/fake_cuda")
    script = os.path.join(folder, "script")
    with open(script, "w") as file:
        file.write("latency 1\nkernel 1\n")  # the GPU is never what is waited for
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HEDDLE_", "CUDA_", "NVTX_", "FAKE_CUDA_"))}
    env.update(LD_LIBRARY_PATH=fake, FAKE_CUDA_SCRIPT=script)
    if name == "a tracer that does nothing":
        env["CUDA_INJECTION64_PATH"] = os.path.join(build, "tests/gpu/libnull-tracer.so")
    elif name != "no tracer":
        env["CUDA_INJECTION64_PATH"] = os.path.join(build, "src/capture/cuda/libheddle-cuda.so")
        env["HEDDLE_CUPTI"] = os.path.join(fake, "libcupti.so.13")
        env["HEDDLE_CAPTURE_DIR"] = folder
        env["HEDDLE_CAPTURE_OPTIONS"] = "stacks=1" if name.endswith("with stacks") else "stacks=0"
    done = subprocess.run([os.path.join(build, "bench/bench_inject"), str(launches)], env=env, capture_output=True,
                          text=True, check=True)
    captures = [f for f in os.listdir(folder) if f.endswith(".hdcap")]
    said = measured(build, os.path.join(folder, captures[0]), launches) if captures else None
    for capture in captures:
        os.unlink(os.path.join(folder, capture))
    return float(re.search(r"median_ns=([\d.]+)", done.stdout).group(1)), said


def measured(build, path, launches):
    """What the capture says of its own cost, ns a launch; and that all launches are in it."""
    out = path + ".json"
    subprocess.run([os.path.join(build, "src/cli/heddle"), "convert", path, out], check=True, capture_output=True)
    with open(out) as file:
        trace = json.load(file)
    os.unlink(out)
    kernels = sum(e.get("cat") == "kernel" for e in trace["traceEvents"])
    if kernels != launches + 100:
        sys.exit(f"measure_inject: {kernels} kernels in the capture of {launches + 100} launches")
    return trace["heddle.capture"]["callbackNs"] / kernels


def measure(build, runs, launches):
    """Of each name: ns a launch; and of ours what it takes beyond a tracer that does nothing, and what it says itself."""
    names = ["no tracer", "a tracer that does nothing", *GOALS]
    times, said = {n: [] for n in names}, {n: [] for n in names}
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as folder:
        for _ in range(runs):
            for name in names:
                ns, own = run(os.path.abspath(build), name, launches, folder)
                times[name].append(ns)
                if own is not None:
                    said[name].append(own)
    out = {}
    for name in names:
        ours = [a - b for a, b in zip(times[name], times["a tracer that does nothing"])]
        out[name] = (statistics.median(times[name]), statistics.median(ours),
                     statistics.median(said[name]) if said[name] else None)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--launches", type=int, default=10000)
    options = parser.parse_args()
    print(f"{options.launches} launches by the runtime, medians of {options.runs} runs in turn, ns a launch")
    for name, (whole, ours, said) in measure(options.build, options.runs, options.launches).items():
        line = f"  {name:28} {whole:8.0f}"
        if name in GOALS:
            line += f"   ours: {ours:6.0f} (goal: under {GOALS[name]}); by its own account {said:.0f}"
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
