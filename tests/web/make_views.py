#!/usr/bin/python3
"""Writes the traces that the tests of the page open.

usage: tests/web/make_views.py DIR [--heddle PROGRAM] [NAME...]

small       three training steps with everything that the page shows, by hand; with --heddle in every format
questions   twelve steps, of which the seventh is slow: an all-reduce takes longer; the user's code, a library and torch on the stacks
busy37      one stream of 20,000 short kernels that is busy to 37 % (of each 100 µs to a share of its own)
ranks       eight ranks of small, with clocks that differ
job         four steps of eight ranks, of which 3 has a slow GPU and 5 waits for its batches; only with --heddle. roles.hds: with
            process groups
the rest    each one awkward thing (see ADVERSARIAL below)
All numbers come from fixed seeds.
"""
import argparse
import gzip
import json
import random
import subprocess
from pathlib import Path

HOST, GPU = 100, 0


def write(path, events, **top):
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"schemaVersion": 1, **top, "traceEvents": events}, out, ensure_ascii=False, separators=(",", ":"))


def meta(pid, tid, **names):
    return [{"ph": "M", "name": name, "pid": pid, "tid": tid, "ts": 0,
             "args": {"sort_index" if name.endswith("sort_index") else "name": value}} for name, value in names.items()]


class Maker:
    """Events of one rank: work(…) is a launch on the CPU and a kernel, with their correlation and arrow."""

    def __init__(self, offset):
        self.events, self.offset, self.correlation = [], offset, 0

    def slice(self, pid, tid, name, cat, ts, dur, **more):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts + self.offset,
                            "dur": dur, **more})

    def work(self, launch, tid, at, stream, name, cat, ts, dur, **args):
        self.correlation += 1
        number = self.correlation
        self.slice(HOST, tid, launch, "cuda_runtime", at, 10, args={"cbid": 211, "correlation": number})
        self.slice(GPU, stream, name, cat, ts, dur,
                   args={"device": 0, "stream": stream, "correlation": number, **args})
        for ph, pid, track, time in (("s", HOST, tid, at), ("f", GPU, stream, ts)):
            self.events.append({"ph": ph, "id": number, "pid": pid, "tid": track, "ts": time + self.offset,
                                "cat": "ac2g", "name": "ac2g", **({"bp": "e"} if ph == "f" else {})})

    def flow(self, number, cat, begin, end):
        for ph, (pid, tid, ts) in (("s", begin), ("f", end)):
            self.events.append({"ph": ph, "id": number, "pid": pid, "tid": tid, "ts": ts + self.offset, "cat": cat,
                                "name": cat, **({"bp": "e"} if ph == "f" else {})})


def small(path, rank=0, offset=0, ranks=1):
    m = Maker(offset)
    e = m.events
    e += meta(HOST, 0, process_name="train.py", process_sort_index=1)
    e += meta(GPU, 0, process_name="python", process_labels="GPU 0", process_sort_index=2)
    for tid, name, index in ((100, "main", 1), (101, "autograd", 2), (102, "crossing", 3)):
        e += meta(HOST, tid, thread_name=name, thread_sort_index=index)
    for tid in (7, 20):
        e += meta(GPU, tid, thread_name=f"stream {tid}", thread_sort_index=tid)
    for step in (1, 2, 3):
        b = 1000 * step
        m.slice(HOST, 100, f"ProfilerStep#{step}", "user_annotation", b, 1000)
        m.slice(HOST, 100, "aten::linear", "cpu_op", b + 100, 200, sf="3",
                args={"Sequence number": step, "Input Dims": [[32, 64], [64, 10]], "Input type": ["float", "float"],
                      "nested": {"deep": {"deeper": [1, 2.50, "three"]}}})
        m.slice(HOST, 100, "aten::relu", "cpu_op", b + 320, 60, args={"Sequence number": step + 10})
        m.slice(HOST, 101, "autograd::engine::evaluate_function: AddmmBackward0", "cpu_op", b + 400, 300)
        m.slice(HOST, 101, "AddmmBackward0", "cpu_op", b + 410, 250, args={"Fwd thread id": 100})
        m.work("cudaMemcpyAsync", 100, b + 30, 20, "Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", b + 50, 100,
               bytes=4096, **{"memory bandwidth (GB/s)": 40.96})
        m.work("cudaLaunchKernel", 100, b + 120, 7, "void gemm::sgemm<128, 64>(float const*, float*)", "kernel", b + 200,
               150, grid=[16, 1, 1], block=[256, 1, 1], **{"registers per thread": 64, "shared memory": 4096,
                                                          "est. achieved occupancy %": 31})
        # In the third step the kernel starts before its launch does.
        m.work("cudaLaunchKernel", 100, b + (330 if step < 3 else 400), 7,
               "void at::native::vectorized_elementwise_kernel<4, Relu>(int)", "kernel", b + (400 if step < 3 else 395), 40)
        m.work("cudaLaunchKernel", 101, b + 430, 7, "void gemm::sgemm<128, 64>(float const*, float*)", "kernel", b + 450,
               200)
        m.work("cudaLaunchKernel", 101, b + 480, 20, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)", "kernel",
               b + 500, 300, **{"Collective name": "allreduce", "In msg nelems": 1024, "dtype": "Float"})
        m.flow(1000 + step, "fwdbwd", (HOST, 100, b + 100), (HOST, 101, b + 410))
        for at, allocated in ((100, 1024), (300, 4096), (600, 2048)):
            e.append({"ph": "C", "pid": HOST, "tid": 0, "ts": b + at + offset, "name": "memory",
                      "args": {"allocated": allocated * step, "reserved": 16384}})
            e.append({"ph": "i", "s": "t", "pid": HOST, "tid": 100, "ts": b + at + 5 + offset, "name": "[memory]",
                      "cat": "cpu_instant_event",
                      "args": {"Total Allocated": allocated * step, "Total Reserved": 16384, "Bytes": 512, "Addr": 4660,
                               "Device Id": 0, "Device Type": 1}})
    # An arrow that runs backward in time, by 2,300 µs.
    m.slice(HOST, 100, "sender", "cpu_op", 3500, 50)
    m.slice(HOST, 101, "receiver", "cpu_op", 1200, 50)
    m.flow(2000, "dataflow", (HOST, 100, 3500), (HOST, 101, 1200))
    # Two slices that cross, and one within the second.
    m.slice(HOST, 102, "first of two that cross", "cpu_op", 1000, 1000)
    m.slice(HOST, 102, "second of two that cross", "cpu_op", 1500, 1000)
    m.slice(HOST, 102, "within", "cpu_op", 2100, 100)
    e.append({"ph": "i", "s": "p", "pid": HOST, "tid": 102, "ts": 2600 + offset, "name": "marker", "cat": "note"})
    e.append({"ph": "B", "pid": HOST, "tid": 102, "ts": 3000 + offset, "name": "never ends", "cat": "cpu_op"})
    for ph, ts in (("b", 1100), ("e", 1900)):
        e.append({"ph": ph, "id": 77, "pid": HOST, "tid": 100, "ts": ts + offset, "name": "request", "cat": "async"})
    frames = {"1": {"name": "train.py(10): main"}, "2": {"name": "model.py(20): forward", "parent": "1"},
              "3": {"name": "nn/linear.py(114): forward", "parent": "2"}}
    write(path, e, baseTimeNanoseconds=1700000000000000000 - offset * 1000, stackFrames=frames,
          distributedInfo={"backend": "nccl", "rank": rank, "world_size": ranks})


def questions(path):
    m, b = Maker(0), 0
    m.events += meta(HOST, 0, process_name="train.py") + meta(HOST, 100, thread_name="main") + meta(GPU, 0, process_name="python", process_labels="GPU 0")
    for step in range(1, 13):
        reduce = 3300 if step == 7 else 300 + step
        m.slice(HOST, 100, f"ProfilerStep#{step}", "user_annotation", b, 4000 + reduce)
        m.slice(HOST, 100, "train.py(40): train_step", "python_function", b, 4000 + reduce)
        m.slice(HOST, 100, "torch/nn/modules/linear.py(114): forward", "python_function", b + 100, 800)
        m.slice(HOST, 100, "site-packages/fastops/mm.py(7): fused", "python_function", b + 150, 700)
        m.slice(HOST, 100, "aten::mm", "cpu_op", b + 200, 200)
        m.work("cudaLaunchKernel", 100, b + 250, 7, "gemm", "kernel", b + 300, 1000)
        m.slice(HOST, 100, "data.py(22): load_batch", "python_function", b + 1000, 1450)
        m.slice(HOST, 100, "aten::stack", "cpu_op", b + 1010, 1400)
        m.work("cudaLaunchKernel", 100, b + 2420, 7, "add", "kernel", b + 2500, 200)
        m.slice(HOST, 100, "record_param_comms", "cpu_op", b + 2460, 40)
        m.work("cudaLaunchKernel", 100, b + 2470, 20, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)", "kernel",
               b + 2700, reduce)
        b += 4000 + reduce
    write(path, m.events, distributedInfo={"backend": "nccl", "rank": 0, "world_size": 1})


def busy37(path):
    """Kernels of 1 to 3 µs in cells of 100 µs, each cell busy to a whole share of its own; 37 % over all, exactly."""
    rng = random.Random(37)
    shares = [min(90, max(4, round(rng.gauss(37, 20)))) for _ in range(1000)]
    over = sum(shares) - 37 * len(shares)
    for i in range(len(shares)):
        step = max(4, min(90, shares[i] - max(-20, min(20, over)))) - shares[i]
        shares[i] += step
        over += step
    assert sum(shares) == 37000
    events = meta(GPU, 7, process_name="GPU 0", thread_name="stream 7")
    for cell, share in enumerate(shares):
        count = min(20, share)
        cuts = sorted(rng.sample(range(1, share), count - 1)) if share > 1 else []
        durations = [b - a for a, b in zip([0] + cuts, cuts + [share])]
        idle, ts = 100 - share, 100 * cell
        for i, duration in enumerate(durations):
            pause = idle // count + (i < idle % count)
            events.append({"ph": "X", "cat": "kernel", "name": f"kernel_{i % 5}", "pid": GPU, "tid": 7, "ts": ts,
                           "dur": duration, "args": {"device": 0, "stream": 7, "correlation": len(events)}})
            ts += duration + pause
    # The span is that of all cells.
    events.append({"ph": "X", "cat": "cpu_op", "name": "whole", "pid": HOST, "tid": 1, "ts": 0, "dur": 100000})
    write(path, events)


def op(ts, dur, name="op", pid=1, tid=1, **more):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, **more}


def one_time(path):
    # More rows than 16 bits count.
    write(path, [op(5, 1, f"op {i % 7}") for i in range(70000)])


def zero_durations(path):
    write(path, [op(i * 3, 0, f"op {i % 3}") for i in range(2000)] + [op(100, 0, "twin") for _ in range(500)])


def long_times(path):
    # 2^53 ns and more, beside one of 1 ns.
    write(path, [op(0, 9007199254740.993, "longer than a double counts"), op(1, 0.001, "one ns"),
                 op(9007199254740.992, 9007199254740.992, "second")])


def negative_times(path):
    write(path, [op(-5000.5, 1000, "before"), op(-10, 20, "across zero"), op(100, 50, "behind"),
                 op(300, -20, "negative duration")])


def many_tracks(path):
    write(path, [op(i, 50, f"op {i % 11}", pid=i // 100, tid=i) for i in range(10000)])


def long_names(path):
    write(path, [op(i * 10, 9, chr(97 + i) * 4096) for i in range(26)]
          + meta(1, 1, process_name="p" * 4096, thread_name="t" * 4096)
          + [op(300, 5, "void " + "a::b<" * 800 + "int" + ">" * 800 + "::c()")])


def right_to_left(path):
    write(path, [op(0, 10, "مرحبا بالعالم kernel<float>"), op(10, 10, "שלום"), op(20, 10, "\u202eoverride\u202c"),
                 op(30, 10, "日本語のカーネル"), op(40, 10, "e\u0301\u0327" * 20), op(50, 10, "👩‍👩‍👧‍👦 🧵")]
          + meta(1, 1, thread_name="خيط"))


def hostile_names(path):
    names = ['</script><script>window.broken = 1</script>', '<img src=x onerror="window.broken = 1">', "quote ' and \"",
             "back\\slash", "nul \u0000 inside", "bell \u0007 escape \u001b[31m", "new\nline\ttab", "&amp; &lt;", "${1+1}",
             "__proto__", "constructor", "toString", "", " ", "\u2028\u2029", "\ufeffmark", "%00%ff", "javascript:alert(1)"]
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"traceEvents": [op(i * 10, 9, name, args={name: name, "__proto__": {"polluted": True}})
                                   for i, name in enumerate(names)]
                   + meta(1, 1, process_name=names[0], thread_name=names[1])
                   + [{"ph": "C", "pid": 1, "ts": 5, "name": names[1], "args": {names[0]: 1}}]}, out)


def only_counters(path):
    write(path, [{"ph": "C", "pid": 1, "ts": i, "name": "load", "args": {"a": i % 17, "b": -i}} for i in range(3000)])


def only_instants(path):
    write(path, [{"ph": "i", "s": "t", "pid": 1, "tid": 1, "ts": i * i, "name": f"tick {i % 4}"} for i in range(500)])


def deep(path):
    write(path, [op(i, 2000 - 2 * i, f"depth {i}") for i in range(1000)])


def crossings(path):
    # Each one crosses the next: a stair.
    write(path, [op(i * 10, 25, f"stair {i}") for i in range(500)])


def names(path):
    """More names than a table has room for; the longest has the last name."""
    write(path, [op(i * 10000, 1 + i, f"name {i:04d}") for i in range(3000)])


def doubts(path):
    """One of everything that the fidelity line counts."""
    def launch(number, at, **kernel):
        return [op(at, 10, "cudaLaunchKernel", cat="cuda_runtime", args={"correlation": number}),
                op(name="early", pid=0, tid=7, cat="kernel", args={"correlation": number, "device": 0, "stream": 7}, **kernel)]
    write(path, launch(5, 100, ts=97, dur=4) + [
        op(10, 10, "outer", tid=2), op(15, 10, "crossing", tid=2), op(50, -8, "negative", tid=3), op(300, 5, "last", tid=3),
        {"ph": "B", "pid": 1, "tid": 4, "ts": 60, "name": "open"},
        {"ph": "s", "pid": 1, "tid": 5, "ts": 70, "id": 1, "cat": "f", "name": "flow"},
        {"ph": "f", "pid": 1, "tid": 2, "ts": 12, "id": 1, "cat": "f", "name": "flow", "bp": "e"},
        {"ph": "s", "pid": 1, "tid": 2, "ts": 13, "id": 2, "cat": "f", "name": "begun"},
        {"ph": "f", "pid": 1, "tid": 2, "ts": 14, "id": 3, "cat": "f", "name": "ended", "bp": "e"}])


def text(content):
    return lambda path: Path(path).write_bytes(content)


ADVERSARIAL = {
    "one_time": one_time, "zero_durations": zero_durations, "long_times": long_times, "negative_times": negative_times,
    "many_tracks": many_tracks, "long_names": long_names, "right_to_left": right_to_left,
    "hostile_names": hostile_names, "only_counters": only_counters, "only_instants": only_instants, "deep": deep,
    "crossings": crossings,
    "no_events": text(b'{"traceEvents":[]}'),
    "one_event": text(b'{"traceEvents":[{"ph":"X","name":"alone","pid":1,"tid":1,"ts":7,"dur":3}]}'),
    "empty": text(b""),
    "damaged": text(b'[{"ph":"X","name":"kept","pid":1,"tid":1,"ts":1,"dur":5},{"ph":"X","name":"cut","pid":1,"tid":1,"ts":9,"du'),
    "no_trace": text(b"\x7fELF" + bytes(range(256)) * 20),
}


def formats(folder, heddle):
    """small.json in every format that keeps its times."""
    source = folder / "small.json"
    with open(source, "rb") as file, gzip.open(folder / "small.json.gz", "wb", 1) as out:
        out.write(file.read())
    # Stacks with a time and a thread each.
    (folder / "small.folded").write_text("".join(
        f"{1000000 + i * 10000} main 100 100 0 train.py:main;model.py:{'forward' if i % 3 else 'backward'}\n"
        for i in range(30)))
    for target in ("small.heddle", "small.pftrace", "small.sbt", "small.otf2"):
        done = subprocess.run([heddle, "convert", "--quiet", source, folder / target], capture_output=True,
                              text=True)
        if done.returncode and "otf2" not in done.stderr.lower():
            raise SystemExit(done.stderr)


def with_roles(source, out, rank):
    """The same trace in a job of two pipeline stages and four times two tensor-parallel ranks."""
    trace = json.loads(source.read_text())
    for description, ranks in (("pp", [rank % 4, rank % 4 + 4]), ("tp", [rank // 2 * 2, rank // 2 * 2 + 1])):
        trace["distributedInfo"]["pg_config"].append({"pg_name": f"{description}{ranks[0]}", "pg_desc": description, "pg_size": 2, "ranks": ranks})
    out.write_text(json.dumps(trace))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--heddle", type=Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    folder, wanted = args.folder, lambda name: not args.names or name in args.names
    folder.mkdir(parents=True, exist_ok=True)
    if wanted("small"):
        small(folder / "small.json")
        if args.heddle:
            formats(folder, args.heddle)
    if wanted("questions"):
        questions(folder / "questions.json")
    if wanted("busy37"):
        busy37(folder / "busy37.json")
    if wanted("names"):
        names(folder / "names.json")
    if wanted("doubts"):
        doubts(folder / "doubts.json")
    if wanted("ranks"):
        for rank in range(8):
            small(folder / f"rank{rank}.json", rank, offset=rank * 5000, ranks=8)
    if wanted("job") and args.heddle:
        subprocess.run([args.heddle, "synth", "--quiet", "--ranks", "8", "--steps", "4", "--no-python", "--host-ranks", "4", "--slow-gpu", "3=40",
                        "--late-loader", "5=20ms", "--clock-shift", "1=5ms", "-o", folder / "job.json"], check=True)
        subprocess.run([args.heddle, "summarize", "-q", *sorted(folder.glob("job_rank*.json")), "-o", folder / "job.hds"], check=True)
        (folder / "roles").mkdir(exist_ok=True)
        for rank in range(8):
            with_roles(folder / f"job_rank{rank}.json", folder / "roles" / f"job_rank{rank}.json", rank)
        subprocess.run([args.heddle, "summarize", "-q", *sorted((folder / "roles").glob("*.json")), "-o", folder / "roles.hds"], check=True)
        (folder / "broken.hds").write_bytes((folder / "job.hds").read_bytes()[:300])
    for name, make in ADVERSARIAL.items():
        if wanted(name):
            make(folder / f"{name}.json")


if __name__ == "__main__":
    main()
