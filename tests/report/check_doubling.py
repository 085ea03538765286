#!/usr/bin/env python3
"""Each report of traces of odd shapes, and the conversion that they are read from, at a size and at four times that: time and
memory grow as the input does.

  check_doubling.py --heddle HEDDLE [--size N] [--report NAME] [--shape NAME] [--verbose]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

GROWTH = 4
# What n log n, caches and a busy machine may add. A quadratic report takes 16 times as long.
TIME_LIMIT, TIME_SLACK = 1.8 * GROWTH, 0.25  # seconds
MEMORY_LIMIT, MEMORY_SLACK = 1.25 * GROWTH, 16 << 20


def op(name, start, duration, **more):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": duration, **more}


def call(number, start, duration=1, name="cudaLaunchKernel"):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": duration,
            "args": {"correlation": number}}


def work(number, start, duration, stream=7, device=0, name="k", category="kernel", **args):
    return {"ph": "X", "cat": category, "name": name, "pid": device, "tid": stream, "ts": start, "dur": duration,
            "args": {"device": device, "stream": stream, "correlation": number, **args}}


def in_turn(n):
    """What is common: each launch has its kernel, a copy behind it, and a sync now and then."""
    for i in range(n):
        yield call(i + 1, 10 * i)
        if i % 5 == 0:
            yield call(-1, 10 * i + 2, 3, "cudaStreamSynchronize")
        category, name = ("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)") if i % 3 == 0 else ("kernel", "k%d" % (i % 50))
        yield work(i + 1, 10 * i + 4, 5, name=name, category=category, bytes=i)


def streams(n):
    for i in range(n):
        yield call(i + 1, 2 * i)
        yield work(i + 1, 2 * i + 1, 50, stream=i)


def devices(n):
    for i in range(n // 8):
        yield call(i + 1, 2 * i)
        yield work(i + 1, 2 * i + 1, 50, device=i)


def at_once(n):
    """All kernels are running at one time, on one stream, and so are the calls of one thread."""
    for i in range(n):
        yield call(i + 1, i, n)
        yield work(i + 1, n + i, n, stream=7)


def names(n):
    for i in range(n):
        yield op("aten::op%d" % i, 3 * i, 3)
        yield call(i + 1, 3 * i + 1)
        yield work(i + 1, 3 * i + 2, 3, name="kernel_%d" % i)


def nested(n, category):
    """Slices within slices, with a launch in each."""
    for i in range(n):
        yield {**op("n%d" % (i % 100), 2 * i, 4 * n - 4 * i), "cat": category}
        yield call(i + 1, 2 * i + 1)
        yield work(i + 1, 4 * n + 3 * i, 2)


def ops(n):
    return nested(n // 4, "cpu_op")


def annotations(n):
    return nested(n // 4, "user_annotation")


def frames(n):
    return nested(n // 4, "python_function")


def syncs(n):
    """Calls that wait, all at one time, for work that is under way."""
    for i in range(n):
        yield call(i + 1, i)
        yield call(-1, n + i, n, "cudaDeviceSynchronize")
        yield work(i + 1, n + 2 * i, 1, stream=i % 3)


def steps(n):
    """Steps that overlap."""
    for i in range(n // 4):
        yield {**op("ProfilerStep#%d" % i, 4 * i, n), "cat": "user_annotation"}
        yield call(i + 1, 4 * i)
        yield work(i + 1, 4 * i + 2, 3)


def unlinked(n):
    """Launches without work, work without launches."""
    for i in range(n):
        yield call(i + 1, 4 * i)
        yield work(n + i + 1, 4 * i + 2, 3)


def collectives(n):
    for i in range(n):
        group = {"Collective name": "allreduce", "Process Group Name": str(i), "In msg nelems": i, "dtype": "Float",
                 "Group size": 8}
        yield op("record_param_comms", 4 * i, 3, args=group)
        yield call(i + 1, 4 * i + 1)
        yield work(i + 1, 4 * i + 2, 30, name="ncclDevKernel_AllReduce_Sum_f16_RING_LL(x)", **group)


def shapes(n):
    for i in range(n):
        yield op("aten::mm", 4 * i, 3, args={"Input Dims": [[i, 8], [8, i]], "Input type": ["float", "float"]})
        yield call(i + 1, 4 * i + 1)
        yield work(i + 1, 4 * i + 2, 3)


def memory(n):
    for i in range(n):
        yield {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": i,
               "args": {"Device Type": 1, "Device Id": 0, "Addr": i % (n // 2), "Bytes": 64 if i < n // 2 else -64,
                        "Total Allocated": 64}}


SHAPES = (in_turn, streams, devices, at_once, names, ops, annotations, frames, syncs, steps, unlinked, collectives,
          shapes, memory)
WITH = {"kernels": ["--by", "op,stack"], "operators": ["--by", "shape"], "breakdown": ["--by", "step"],
        "queue": ["--pieces", "100"], "copies": ["--pieces", "100"]}


def run(command):
    """CPU seconds and the most memory of a command."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    if status not in (0, 256):
        sys.exit("%s: status %d: %s" % (" ".join(command), status, said.decode()[-500:]))
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--size", type=int, default=6000)
    parser.add_argument("--report")
    parser.add_argument("--shape")
    parser.add_argument("--verbose", action="store_true")
    o = parser.parse_args()
    listed = subprocess.run([o.heddle, "report", "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    of_job = {report["name"]: report["of_job"] for report in json.loads(listed) if not report["table_option"]}
    reports = [o.report] if o.report else list(of_job)
    least = run([o.heddle, "--version"])[1]
    failed, count = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for make in SHAPES:
            if o.shape and make.__name__ != o.shape:
                continue
            files, stores, jobs = [], [], []
            for n in (o.size, GROWTH * o.size):
                files.append(folder + "/%s%d.json" % (make.__name__, n))
                pathlib.Path(files[-1]).write_text("[%s]" % ",\n".join(json.dumps(e) for e in make(n)))
                stores.append(files[-1][:-4] + "heddle")
                jobs.append(files[-1][:-4] + "hds")
            commands = {"convert": [[o.heddle, "convert", "-q", *names] for names in zip(files, stores)]}
            commands["job"] = [[o.heddle, "job", "-q", "-o", *names] for names in zip(jobs, stores)]
            for report in reports:  # what they count is the same behind a conversion, and read once, as that of a job is behind its summary
                commands["report " + report] = [[o.heddle, "report", report, *WITH.get(report, []), "-o", folder + "/out.json", file]
                                                for file in (jobs if of_job[report] else stores)]
            for name, pair in commands.items():
                small = run(pair[0]) if name in ("convert", "job") else None
                large = run(pair[1])
                if small is None and large[0] <= TIME_SLACK and large[1] <= MEMORY_SLACK + MEMORY_LIMIT * least:  # whatever the other takes
                    count += 1
                    continue
                small = small or run(pair[0])
                too_long = large[0] > TIME_LIMIT * small[0] + TIME_SLACK
                too_large = large[1] > MEMORY_LIMIT * small[1] + MEMORY_SLACK
                count += 1
                failed += too_long or too_large
                if o.verbose or too_long or too_large:
                    print("%s %-12s %-20s %.2f -> %.2f s, %.0f -> %.0f MB" %
                          ("FAIL" if too_long or too_large else "ok  ", make.__name__, name, small[0], large[0],
                           small[1] / 1e6, large[1] / 1e6), flush=True)
    print("%d reports and conversions of odd shapes, %d grow faster than their input" % (count, failed))
    sys.exit(failed > 0 or not count)


if __name__ == "__main__":
    main()
