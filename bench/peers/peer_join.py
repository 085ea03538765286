#!/usr/bin/python3
"""What a script does to join CPU stacks with GPU kernels: json.load, then stacks and launches of each thread in order.

usage: peer_join.py CPU.txt GPU.json OUT.folded

CPU.txt is extended folded text, GPU.json a Chrome trace of a CUPTI library. The n-th stack of a thread is taken for its
n-th launch, so clocks do not matter, and one lost stack spoils all that come after it on the thread; ids of threads
have to agree, and a graph's kernels all get the stack of its launch. Times are floats, and weights whole nanoseconds.
"""
import json
import re
import sys
from collections import defaultdict

LINE = re.compile(r"(\d+) (.*) (\d+) (\d+) (\d+) (.*)")
LAUNCH = re.compile(r"(?:Runtime: )?cuda(?:LaunchKernel|GraphLaunch)")


def read_stacks(path):
    threads = defaultdict(list)
    with open(path) as lines:
        for line in lines:
            found = LINE.match(line)
            if not found:
                continue
            time, _, pid, tid, _, stack = found.groups()
            frames = [f for f in stack.split(";") if f not in ("", "_start", "__libc_start_main", "<no-symbol>")]
            threads[int(pid), int(tid)].append((int(time), ";".join(frames)))
    return threads


def read_gpu(path):
    with open(path) as f:
        trace = json.load(f)
    launches, kernels = defaultdict(list), defaultdict(list)
    for event in trace["traceEvents"] if isinstance(trace, dict) else trace:
        category = event.get("cat")
        if category == "CUDA_Runtime" and LAUNCH.match(event["name"]):
            launches[event["pid"], event["tid"]].append((event["ts"], event["args"]["correlationId"]))
        elif category == "GPU_Kernel":
            kernels[event["args"]["correlationId"]].append((event["name"], event["dur"]))
    return launches, kernels


def main(cpu, gpu, out):
    stacks, (launches, kernels) = read_stacks(cpu), read_gpu(gpu)
    weights, joined = defaultdict(int), 0
    for thread, calls in launches.items():
        calls.sort()
        own = sorted(stacks.get(thread, []))
        for i, (_, correlation) in enumerate(calls):
            stack = own[i][1] if i < len(own) else "[no stack]"
            joined += i < len(own)
            for name, duration in kernels.pop(correlation, []):
                weights[f"{stack};[GPU_Kernel]{name.removeprefix('Kernel: ')}"] += round(duration * 1000)
    for rest in kernels.values():
        for name, duration in rest:
            weights[f"[no stack];[GPU_Kernel]{name.removeprefix('Kernel: ')}"] += round(duration * 1000)
    with open(out, "w") as f:
        f.writelines(f"{stack} {weight}\n" for stack, weight in sorted(weights.items()))
    print(f"joined={joined} stacks={len(weights)} weight={sum(weights.values())}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
