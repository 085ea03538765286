"""Chrome trace event JSON, in the conventions of those who write it. Each function: a run in, a JSON value out."""
import gzip
import json

from model import KERNEL, MEMCPY, MEMSET

EPOCH_US = 1_623_212_760_127_679  # Kineto of 2021 and 2023 writes Unix time
BASE_NS = 1_735_632_360_000_000_000  # later ones relative to baseTimeNanoseconds
RELATIVE_US = 4_203_669_603_018


class Raw(float):
    """A number of JSON with exactly these digits."""

    def __new__(cls, text):
        self = float.__new__(cls, text)
        self.text = text
        return self

    def __repr__(self):
        return self.text


def us(ns, base=0):
    whole = ns + base * 1000
    return Raw(f"{'-' if whole < 0 else ''}{abs(whole) // 1000}.{abs(whole) % 1000:03}")


def dumps(value):
    # json writes a float by float.__repr__, whatever its class says; so numbers of our own are put in as texts first.
    texts = []

    def mark(v):
        if isinstance(v, Raw):
            texts.append(v.text)
            return f"\0{len(texts) - 1}\0"
        if isinstance(v, dict):
            return {k: mark(x) for k, x in v.items()}
        return [mark(x) for x in v] if isinstance(v, list) else v

    parts = json.dumps(mark(value)).split('"\\u0000')
    return parts[0] + "".join(texts[int(p[:p.index("\\")])] + p[p.index('"') + 1:] for p in parts[1:])


def write(path, value):
    text = value if isinstance(value, (str, bytes)) else dumps(value)
    data = text if isinstance(text, bytes) else text.encode()
    if path.endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    with open(path, "wb") as out:
        out.write(data)


PROPERTIES = {"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85028765696, "computeMajor": 8, "computeMinor": 0, "numSms": 108}
COPY_WORDS = {MEMCPY: "gpu_memcpy", MEMSET: "gpu_memset", KERNEL: "kernel"}


def pid_of(process):
    return 4100 + process


def activity_args(a, **more):
    args = {"device": a.device, "context": 1, "stream": a.stream, "correlation": a.id, "External id": a.id}
    if a.kind == KERNEL:
        args.update({"queued": 0, "grid": [64, 1, 1], "block": [256, 1, 1], "registers per thread": 32, "shared memory": 0})
    else:
        args["bytes"] = a.bytes
    return {**args, **a.args, **more}


def kineto(run, year=2026, runtime="cuda_runtime"):
    """Kineto of PyTorch 1.9 (2021), 2.0 (2023), 2.10 (2026)."""
    old = year == 2021
    base = RELATIVE_US if year == 2026 else EPOCH_US
    when = (lambda ns: ns // 1000 + base) if old else (lambda ns: us(ns, base))
    long = (lambda ns: ns // 1000) if old else us
    words = {"op": "Operator", "step": "Operator", "annotation": "Operator", "call": "Runtime", KERNEL: "Kernel", MEMCPY: "Memcpy", MEMSET: "Memset"} if old else \
        {"op": "cpu_op", "step": "user_annotation", "annotation": "user_annotation", "call": runtime, **COPY_WORDS}
    stream = (lambda s: f"stream {s}") if old else (lambda s: s)
    flow = {"cat": "async", "name": "launch"} if old else {"cat": "ac2g", "name": "ac2g"}
    events = []
    for i, r in enumerate(sorted(run.ranges, key=lambda r: (r.start, -r.dur))):
        pid = pid_of(r.process)
        events.append({"ph": "X", "cat": words[r.kind], "name": r.name, "pid": pid, "tid": str(pid) if old else pid + r.thread, "ts": when(r.start), "dur": long(r.dur),
                       "args": {"Device": pid, "External id": i + 1, "Trace name": "PyTorch Profiler"} if old else {"External id": i + 1, "Ev Idx": i}})
    for a in run.activities:
        events.append({"ph": "X", "cat": words[a.kind], "name": a.name, "pid": a.device, "tid": stream(a.stream), "ts": when(a.start), "dur": long(a.dur), "args": activity_args(a)})
        if a.call:
            events.append({"ph": "f", "id": a.id, "pid": a.device, "tid": stream(a.stream), "ts": when(a.start), **flow, "bp": "e"})
    started = {(a.call.process, a.call.id) for a in run.activities if a.call}
    for c in run.calls:
        pid = pid_of(c.process)
        events.append({"ph": "X", "cat": words["call"], "name": c.name, "pid": pid, "tid": str(pid) if old else pid + c.thread, "ts": when(c.start), "dur": long(c.dur),
                       "args": {"cbid": 211, "correlation": c.id, "External id": c.id}})
        if (c.process, c.id) in started:
            events.append({"ph": "s", "id": c.id, "pid": pid, "tid": pid + c.thread, "ts": when(c.start), **flow})
    for process in sorted({c.process for c in run.calls} | {r.process for r in run.ranges}):
        pid = pid_of(process)
        events += [{"name": "process_name", "ph": "M", "ts": when(0), "pid": pid, "tid": 0, "args": {"name": "python3"}},
                   {"name": "process_labels", "ph": "M", "ts": when(0), "pid": pid, "tid": 0, "args": {"labels": "CPU"}}]
    for device in sorted({a.device for a in run.activities}):
        events += [{"name": "process_name", "ph": "M", "ts": when(0), "pid": device, "tid": 0, "args": {"name": "python3"}},
                   {"name": "process_labels", "ph": "M", "ts": when(0), "pid": device, "tid": 0, "args": {"labels": f"GPU {device}"}}]
    whole = {"schemaVersion": 1, "deviceProperties": [dict(PROPERTIES, id=d) for d in sorted({a.device for a in run.activities})]}
    if not old and run.rank is not None:
        whole["distributedInfo"] = {"backend": "nccl", "rank": run.rank, "world_size": run.world, "pg_count": 1}
    if year == 2026:
        whole.update({"displayTimeUnit": "ms", "baseTimeNanoseconds": BASE_NS})
    return {**whole, "traceEvents": events}


def injection(run):
    """A CUPTI injection library of the flame graph world."""
    out = []
    for c in run.calls:
        out.append({"ph": "X", "cat": "CUDA_Runtime", "name": c.name, "pid": pid_of(c.process), "tid": pid_of(c.process), "ts": us(c.start, EPOCH_US), "dur": us(c.dur), "args": {"correlationId": c.id}})
    for a in run.activities:
        cat = {KERNEL: "GPU_Kernel", MEMCPY: "GPU_Memcpy", MEMSET: "GPU_Memset"}[a.kind]
        out.append({"ph": "X", "cat": cat, "name": a.name, "pid": f"Device {a.device}", "tid": f"Stream {a.stream}", "ts": us(a.start, EPOCH_US), "dur": us(a.dur),
                    "args": {"correlationId": a.id, "deviceId": a.device, "streamId": a.stream}})
    return {"traceEvents": out}


def cupti_lines(run):
    """JSON lines of an injected CUPTI library."""
    t0 = 1_700_000_000_000_000_000
    out = []
    for c in run.calls:
        out.append({"type": "RUNTIME", "start": t0 + c.start, "end": t0 + c.start + c.dur, "duration": c.dur, "name": c.name + "_v7000", "correlationId": c.id,
                    "processId": pid_of(c.process), "threadId": pid_of(c.process)})
    for a in run.activities:
        one = {"start": t0 + a.start, "end": t0 + a.end, "duration": a.dur, "correlationId": a.id, "deviceId": a.device, "streamId": a.stream}
        if a.kind == KERNEL:
            one = {"type": "CONCURRENT_KERNEL", "name": a.name, "grid": [64, 1, 1], "block": [128, 1, 1], "sharedMemory": {"static": 0, "dynamic": 0}, **one}
        elif a.kind == MEMCPY:
            one = {"type": "MEMCPY", "copyKind": "HtoD", "size": a.bytes, "srcKind": "PINNED", "dstKind": "DEVICE", **one}
        else:
            one = {"type": "MEMSET", "size": a.bytes, "value": 0, **one}
        out.append(one)
    return "".join(json.dumps(o) + "\n" for o in out)


def rows(names):
    return [{"ph": "M", "name": kind, "pid": pid, **({} if tid is None else {"tid": tid}), "args": {("labels" if kind == "process_labels" else "name"): name}}
            for kind, pid, tid, name in names]


def unitrace(run):
    """unitrace of Intel's PTI: flows of a category each, times as doubles of epoch µs (a quarter of a µs apart)."""
    host, device = 100, lambda d: 4294967295 - d
    out = []
    for c in run.calls:
        out.append({"ph": "X", "name": c.name, "pid": host, "tid": host, "ts": us(c.start, EPOCH_US), "dur": us(c.dur), "cat": "cpu_op", "id": 0})
    for n, a in enumerate(run.activities, 1):
        name = f"{a.name}[SIMD32 {{64; 1; 1}} {{256; 1; 1}}]" if a.kind == KERNEL else f"zeCommandListAppendMemory{'Copy(M2D)' if a.kind == MEMCPY else 'Fill'}[{a.bytes} bytes]"
        where = {"pid": device(a.device), "tid": 4294967294 - a.stream}
        out.append({"ph": "X", "name": name, **where, "ts": us(a.start, EPOCH_US), "dur": us(a.dur), "cat": "gpu_op", "args": {"id": str(n)}})
        if a.call:
            out += [{"ph": "s", "tid": host, "pid": host, "cat": f"Flow_H2D_{n}_0", "ts": us(a.call.start, EPOCH_US), "id": n},
                    {"ph": "t", **where, "cat": f"Flow_H2D_{n}_0", "ts": us(a.start, EPOCH_US), "id": n}]
    names = [("process_name", host, None, "RANK 0 HOST<loom>")]
    for d in sorted({a.device for a in run.activities}):
        names.append(("process_name", device(d), None, f"RANK 0 DEVICE<loom>0:3a:0:{d} #{d}"))
    for d, s in sorted({(a.device, a.stream) for a in run.activities}):
        names.append(("thread_name", device(d), 4294967294 - s, f"Thread 100 L0 Engine<0,{s}>"))
    return {"traceEvents": out + rows(names)}


def ascend(run):
    """Ascend's PyTorch profiler, trace_view.json: a bare array, times as texts."""
    base = 1_736_408_883_700_000
    text = lambda ns: us(ns, base).text  # noqa: E731
    hardware, cann, python = 31708, 31709, 3096
    out = rows([("process_name", python, None, "Python"), ("process_labels", python, None, "CPU"), ("process_name", hardware, None, "Ascend Hardware"),
                ("process_labels", hardware, None, "NPU"), ("process_name", cann, None, "CANN"), ("process_labels", cann, None, "CPU"),
                *(("thread_name", hardware, s, f"Stream {s}") for s in sorted({a.stream for a in run.activities}))])
    for r in run.ranges:
        out.append({"ph": "X", "name": r.name, "pid": python, "tid": python, "ts": text(r.start), "dur": us(r.dur), "cat": "cpu_op"})
    for c in run.calls:
        out.append({"ph": "X", "name": f"AscendCL@{c.name}", "pid": cann, "tid": python, "ts": text(c.start), "dur": us(c.dur)})
    for a in run.activities:
        name = {MEMCPY: "MEMCPY_ASYNC", MEMSET: "MEMSET_ASYNC"}.get(a.kind, a.name)
        out.append({"ph": "X", "name": name, "pid": hardware, "tid": a.stream, "ts": text(a.start), "dur": us(a.dur)})
        if a.call:
            key = {"name": f"HostToDevice{a.id}", "id": str(a.id), "cat": "HostToDevice"}
            out += [{"ph": "s", **key, "pid": cann, "tid": python, "ts": text(a.call.start)}, {"ph": "f", **key, "pid": hardware, "tid": a.stream, "ts": text(a.start), "bp": "e"}]
    return out


def jax(run):
    """trace.json of JAX's profiler: derived lines next to the streams."""
    gpu, host, out = 1, 2, []
    names = [("process_name", gpu, None, "/device:GPU:0"), ("process_name", host, None, "/host:CPU"), ("thread_name", gpu, 91, "XLA Modules"),
             ("thread_name", gpu, 92, "XLA Ops"), ("thread_name", gpu, 93, "Steps")]
    for s in sorted({a.stream for a in run.activities}):
        names.append(("thread_name", gpu, s, f"Stream #{s}(Compute,MemcpyH2D)"))
    for a in run.activities:
        name = {MEMCPY: "MemcpyH2D", MEMSET: "Memset"}.get(a.kind, a.name)
        args = {"memcpy_details": f"kind_src:pinned kind_dst:device size:{a.bytes} dest:0 async:1"} if a.kind == MEMCPY else {"correlation_id": a.id}
        out.append({"ph": "X", "name": name, "pid": gpu, "tid": a.stream, "ts": us(a.start), "dur": us(a.dur), "args": args})
        if a.kind == KERNEL:
            out.append({"ph": "X", "name": "op." + name[:9], "pid": gpu, "tid": 92, "ts": us(a.start), "dur": us(a.dur)})
    for n, r in enumerate(r for r in run.ranges if r.kind == "step"):
        out += [{"ph": "X", "name": str(n), "pid": gpu, "tid": 93, "ts": us(r.start), "dur": us(r.dur)}, {"ph": "X", "name": "jit_step", "pid": gpu, "tid": 91, "ts": us(r.start), "dur": us(r.dur)}]
    for c in run.calls:
        out.append({"ph": "X", "name": c.name, "pid": host, "tid": 9, "ts": us(c.start), "dur": us(c.dur)})
    return {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": rows(names) + out}


def paddle(run):
    """Paddle's profiler: the duration in each name, flows to the middle of slices."""
    out = []
    for c in run.calls:
        out += [{"ph": "X", "name": f"{c.name}[{c.dur / 1e6:.3f} ms]", "pid": 77, "tid": "77(C++)", "ts": us(c.start, EPOCH_US), "dur": us(c.dur), "cat": "CudaRuntime", "cname": "thread_state_running",
                 "args": {"correlation id": c.id}}, {"name": "launch", "id": c.id, "pid": 77, "tid": "77(C++)", "ts": us(c.start + c.dur // 2, EPOCH_US), "ph": "s", "cat": "async"}]
    for a in run.activities:
        name, cat = {MEMCPY: ("MEMCPY_HtoD", "Memcpy"), MEMSET: ("MEMSET", "Memset")}.get(a.kind, (a.name, "Kernel"))
        args = {"device": a.device, "context": 1, "stream": a.stream, "correlation id": a.id, "grid": [4, 1, 1], "block": [128, 1, 1]} if a.kind == KERNEL else \
            {"stream": a.stream, "correlation id": a.id, "bytes": a.bytes, "memory bandwidth (GB/s)": 2.048}
        out += [{"ph": "X", "name": f"{name}[{a.dur / 1e6:.3f} ms]", "pid": a.device, "tid": a.stream, "ts": us(a.start, EPOCH_US), "dur": us(a.dur), "cat": cat, "cname": "rail_animation", "args": args},
                {"name": "launch", "id": a.id, "pid": a.device, "tid": a.stream, "ts": us(a.start + a.dur // 2, EPOCH_US), "ph": "f", "cat": "async", "bp": "e"}]
    names = [("process_name", 77, None, "Process 77 (CPU)")] + [("process_name", d, None, f"Deivce {d} (GPU)") for d in sorted({a.device for a in run.activities})] + \
        [("thread_name", d, s, f"stream {s}") for d, s in sorted({(a.device, a.stream) for a in run.activities})]
    return {"schemaVersion": "1.0.1", "displayTimeUnit": "ms", "span_indx": "0", "traceEvents": out + rows(names) + [{}], "ExtraInfo": {"Summary": "1"}}


def mctracer(run):
    """MetaX' mcTracer: times in ns, though the format says µs."""
    t0, out = 1_789_465_586_316_830_000, rows([("process_name", 1, None, "Host"), ("process_name", 2, None, "Device")])
    for c in run.calls:
        out.append({"ph": "X", "name": c.name.replace("cuda", "mc"), "pid": 1, "tid": 900, "ts": t0 + c.start, "dur": c.dur, "cat": "1", "args": {"co_id": c.id}})
    for a in run.activities:
        key = {"id": a.id, "cat": "flow", "name": "launch"}
        name = {MEMCPY: "MemcpyHtoD", MEMSET: "Memset"}.get(a.kind, a.name)
        out += [{"ph": "s", **key, "pid": 1, "tid": 900, "ts": t0 + a.call.start}, {"ph": "f", "bp": "e", **key, "pid": 2, "tid": 1024 + a.stream, "ts": t0 + a.start},
                {"ph": "X", "name": name, "pid": 2, "tid": 1024 + a.stream, "ts": t0 + a.start, "dur": a.dur, "cat": "0", "args": {"device_id": a.device, "queue_id": a.stream, "co_id": a.id, "hw_queue_id": [538976288], **({"mtreg_occupancy(%)": 1, "grid": {"x": 64, "y": 1, "z": 1}, "block": {"x": 256, "y": 1, "z": 1}} if a.kind == KERNEL else {})}}]
    return {"traceEvents": out}


def rocprof(run):
    """rocprof of ROCm 5: whole µs as texts, exact ns in arguments, flows s and t of numbers. The GPU is in the name of the process;
    dev-id counts the devices that a process sees. Of a copy it is not written."""
    t0, out = 1_700_000_000_000_000, [{}]

    def slice_(name, pid, tid, start, dur, **args):
        return {"ph": "X", "name": name, "pid": str(pid), "tid": str(tid), "ts": str(t0 + start // 1000), "dur": str((start + dur) // 1000 - start // 1000),
                "args": {"BeginNs": str(t0 * 1000 + start), "EndNs": str(t0 * 1000 + start + dur), **args, "Name": name, "pid": "100", "tid": "100", "DurationNs": str(dur)}}

    for c in run.calls:
        out.append(slice_(c.name, 2, 100, c.start, c.dur))
    for n, a in enumerate(run.activities):
        pid = 6 + a.device if a.kind == KERNEL else 1
        name = {MEMCPY: "CopyHostToDevice", MEMSET: "FillBuffer"}.get(a.kind, a.name)
        out += [slice_(name, pid, a.stream, a.start, a.dur, **{"dev-id": "0", "queue-id": "0", "stream-id": str(a.stream)}),
                {"ts": t0 + a.call.start // 1000, "ph": "s", "cat": "DataFlow", "id": n, "pid": 2, "tid": 100, "name": "dep"},
                {"ts": t0 + a.start // 1000, "ph": "t", "cat": "DataFlow", "id": n, "pid": pid, "tid": a.stream, "name": "dep"}]
    names = [("process_name", 2, None, "CPU HIP API"), ("process_name", 1, None, "COPY")] + [("process_name", 6 + d, None, f"GPU{d}") for d in sorted({a.device for a in run.activities})]
    return {"traceEvents": out[:1] + rows(names) + out[1:]}
