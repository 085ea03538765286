"""Traces in Chrome's JSON whose truth is known: {noun: what each door must answer}."""
import json
import os


def slice_(cat, name, pid, tid, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def call(correlation, ts, pid=100, name="cudaLaunchKernel", cat="cuda_runtime"):
    return slice_(cat, name, pid, pid, ts, 2, correlation=correlation)


def work(correlation, ts, dur, device=0, name="gemm", cat="kernel", stream=7, **args):
    return slice_(cat, name, device, stream, ts, dur, device=device, stream=stream, correlation=correlation, **args)


def marker(phase, name, ts, pid=1, **key):
    return {"ph": phase, "cat": "c", "name": name, "pid": pid, "tid": pid, "ts": ts, **key}


def launched(*rows):
    """One launch before each activity of one device: (category, name, µs)."""
    events, ts = [], 0
    for i, (cat, name, dur) in enumerate(rows, 1):
        events += [call(i, ts), work(i, ts + 5, dur, name=name, cat=cat, **({} if cat == "kernel" else {"bytes": 64}))]
        ts += dur + 10
    return events


def steps(cats, pid=100, device=0, at=0, first=1):
    events, truth = [], []
    for i in range(3):
        ts = at + i * 100
        events += [slice_(cats[0], f"ProfilerStep#{i}", pid, pid, ts, 90), call(first + i, ts + 5, pid, cat=cats[1]),
                   work(first + i, ts + 12, 6, device, cat=cats[2])]
        truth.append([f"ProfilerStep#{i}", ts * 1000, 90000])
    return events, truth


def two_processes():
    """GPUs 0 and 1, each of a process of its own, whose correlation ids are the same."""
    return [e for i in range(4) for p in (0, 1)
            for e in (slice_("cuda_runtime", f"cudaLaunchKernel{p}", 100 + p, 1, i * 20 + p, 2, correlation=i + 1),
                      work(i + 1, i * 20 + 6 + p, 3 + p, p, f"gpu{p}"))]


LIBRARIES = ["ncclDevKernel_AllGather_RING_LL", "rcclGenericKernel", "userbuffers_fp16_sum_inplace_gpu_rr",
             "void one_shot_all_reduce_kernel<float>()", "void vllm::cross_device_reduce_1stage<half, 8>()",
             "void deep_ep::intranode::dispatch<8>()", "nvshmem_quiet_kernel", "allreduce_fusion_kernel_oneshot_lamport"]


def generated(folder):
    """[(name, path, truth)]"""
    inputs = []

    def add(name, events, truth, **more):
        path = os.path.join(folder, name + ".json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"traceEvents": events, **more}, out)
        inputs.append((name, path, truth))

    add("same_correlations", two_processes(),
        {"gpu_time": 28000, "device": ["0", "1"], "launch": [[f"gpu{p}", (i * 20 + 6 + p) * 1000, f"cudaLaunchKernel{p}", (i * 20 + p) * 1000]
                                                             for i in range(4) for p in (0, 1)]})
    add("async_crossing", [marker("b", "A", 0, id=1), marker("b", "B", 10, id=1), marker("e", "A", 20, id=1), marker("e", "B", 50, id=1)],
        {"async": [["A", 0, 20000], ["B", 10000, 40000]]})
    add("async_processes", [marker("b", "A", 0, id=1), marker("b", "A", 10, 2, id=1), marker("e", "A", 20, id=1), marker("e", "A", 50, 2, id=1)],
        {"async": [["A", 0, 20000], ["A", 10000, 40000]]})
    add("async_local", [marker("b", "A", 0, id2={"local": "1"}), marker("b", "A", 10, 2, id2={"local": "1"}),
                        marker("e", "A", 20, id2={"local": "1"}), marker("e", "A", 50, 2, id2={"local": "1"})],
        {"async": [["A", 0, 20000], ["A", 10000, 40000]]})
    add("async_old", [marker("S", "load", 0, id="x"), marker("F", "load", 30, id="x")], {"async": [["load", 0, 30000]]})
    add("async_unfinished", [marker("b", "A", 0, id=1), marker("b", "B", 5, id=2), marker("e", "B", 9, id=2)],
        {"async": [["A", 0, None], ["B", 5000, 4000]]})
    add("begin_end_crossing", [marker("B", "A", 0), marker("B", "B", 10), marker("E", "A", 20), marker("E", "B", 50)],
        {"slices": [["A", 0, 20000], ["B", 10000, 40000]], "process": {"1": 2}})
    add("memset", launched(("gpu_memset", "Memset (Device)", 100), ("kernel", "relu", 30)), {"class": {"0": [130000, 0, 0]}, "gpu_time": 130000})
    add("libraries", launched(*[("kernel", n, 100) for n in LIBRARIES]), {"class": {"0": [0, 100000 * len(LIBRARIES), 0]}})
    add("copies", launched(("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 10), ("kernel", "gemm", 5)), {"class": {"0": [5000, 0, 10000]}})
    add("devices_without_numbers", [e for i in range(4) for e in (call(i, i * 20, 1), slice_("kernel", "k", 10 + i % 2, 1, i * 20 + 5, 10, correlation=i))],
        {"gpu_time": 40000, "device": ["None", "None"]})
    add("stream_of_two_devices", [e for i in range(1, 5) for e in (call(i, i * 20), work(i, i * 20 + 5, 9, i % 2))],
        {"device": ["0", "1"], "gpu_time": 36000, "class": {"0": [18000, 0, 0], "1": [18000, 0, 0]}})
    add("row_of_two_devices", [e for i in range(1, 7) for e in (call(i, i * 20), slice_("kernel", "k", "GPU", 7, i * 20 + 5, 9, device=i % 3, stream=7, correlation=i))],
        {"device": ["0", "1", "2"], "gpu_time": 54000, "class": {str(d): [18000, 0, 0] for d in range(3)},
         "launch": [["k", i * 20000 + 5000, "cudaLaunchKernel", i * 20000] for i in range(6)]})
    add("waits_of_collectives", [call(1, 0), work(1, 10, 5, name="hcom_allReduce__1"), slice_("cuda_sync", "Notify Wait", 0, 7, 20, 20, device=0, stream=7),
                                 slice_("cuda_sync", "Notify Wait", 0, 7, 80, 9, device=0, stream=7), call(2, 25), work(2, 35, 15)],
        {"class": {"0": [15000, 25000, 0]}, "gpu_time": 20000})
    add("nested_ranges", [slice_("user_annotation", "r", 100, 100, 0, 90), slice_("user_annotation", "r", 100, 100, 10, 50)] + launched(("kernel", "gemm", 7)), {"gpu_time": 7000})
    add("graph", [call(1, 0, name="cudaGraphLaunch")] + [work(1, 10 + i * 10, 5, name=f"node{i}") for i in range(3)],
        {"launch": [[f"node{i}", (10 + i * 10) * 1000, "cudaGraphLaunch", 0] for i in range(3)], "gpu_time": 15000})
    early = lambda ts: [slice_("cuda_runtime", "cudaLaunchKernel", 1, 1, ts, 4), slice_("kernel", "k", 0, 7, ts - 2, 30, device=0, stream=7),
                        *({"ph": ph, "bp": "e", "id": ts, "cat": "ac2g", "name": "ac2g", "pid": p, "tid": t, "ts": at} for ph, p, t, at in (("s", 1, 1, ts), ("f", 0, 7, ts - 2)))]
    add("works_before_launches", [e for ts in (2, 102) for e in early(ts)],
        {"launch": [["k", (ts - 2) * 1000, "cudaLaunchKernel", ts * 1000] for ts in (2, 102)]})
    add("without_times", launched(("kernel", "gemm", 7)) + [call(9, 40), work(9, 0, 0, name="lost")], {"gpu_time": 7000})
    add("never_ended", launched(("kernel", "gemm", 7)) + [call(2, 30), {"ph": "B", "cat": "kernel", "name": "open", "pid": 0, "tid": 9, "ts": 40,
        "args": {"device": 0, "stream": 9, "correlation": 2}}, slice_("cuda_runtime", "cudaDeviceSynchronize", 100, 100, 50, 60)], {})
    new, truth = steps(("user_annotation", "cuda_runtime", "kernel"))
    add("steps", new, {"steps": truth, "rank": {"None": 3}})
    old, truth = steps(("Operator", "Runtime", "Kernel"))
    add("old_kineto", old, {"steps": truth, "gpu_time": 18000})
    other, more = steps(("user_annotation", "cuda_runtime", "kernel"), 200, 1, 50)
    add("steps_of_two_processes", new + other, {"steps": sorted(truth + more, key=lambda row: row[1])})
    add("rank4", new, {"rank": {"4": 3}})
    add("rank", new, {"rank": {"3": 3}}, distributedInfo={"rank": 3, "world_size": 4})
    add("pid_reused", [{"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "ts": t, "args": {"name": n}} for t, n in ((0, "first"), (500, "second"))] +
        [e for t in (0, 500) for e in (call(1, t), work(1, t + 5, 10))], {"launch": [["gemm", t * 1000 + 5000, "cudaLaunchKernel", t * 1000] for t in (0, 500)]})
    path = os.path.join(folder, "xplane.xplane.pb")
    with open(path, "wb") as out:
        out.write(xplane())
    inputs.append(("xplane", path, {"device": ["0", "1"], "gpu_time": 6400, "class": {"0": [2500, 0, 700], "1": [2500, 0, 700]}}))
    return inputs


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def field(number, value):
    """Of a protobuf: a whole number, bytes or a text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def xplane():
    """Two GPUs of JAX: their numbers are in the names of planes, and no argument of a kernel tells them."""
    names, planes = ["gemm", "MemcpyH2D"], b""
    lines = (("Stream #7(Compute)", ((1, 0, 1000), (1, 2000, 1500))), ("Stream #9(MemcpyH2D)", ((2, 500, 700),)))
    for device in (0, 1):
        plane = field(1, 1) + field(2, f"/device:GPU:{device}")
        for number, (line, events) in enumerate(lines, 1):
            plane += field(3, field(1, number) + field(2, line) + field(3, 1000000) +
                           b"".join(field(4, field(1, n) + field(2, t * 1000) + field(3, d * 1000)) for n, t, d in events))
        planes += field(1, plane + b"".join(field(4, field(1, i) + field(2, field(1, i) + field(2, n))) for i, n in enumerate(names, 1)))
    return planes


SMALL = ("aiu/allreduce_tp4.json", "ascend/level1_rank1.db", "cupti/cupti_trace.json", "kineto/event_sync_multi_stream.json.gz", "kineto/mi250_minitoy.json.gz",
         "kineto/particle_transformer_a100.json.gz", "otf2/mi300/traces.otf2", "rocm/matmul_result.json", "rocm/rocprofiler_v1_memcpy.json.gz")

XPLANE = "xplane/jax_conv_minimal_08.xplane.pb"


def data_folder():
    return os.path.join(os.environ.get("HEDDLE_SHARED") or os.path.join(os.path.dirname(__file__), "../../../shared"), "data")


def real():
    """The same of small real traces. What is right is what SQL says, but of the XPlane file what its bytes say."""
    top = data_folder()
    return [(name, os.path.join(top, name), truth(os.path.join(top, name))) for name, truth in {**dict.fromkeys(SMALL, lambda _: {}), XPLANE: xplane_truth}.items()
            if os.path.exists(os.path.join(top, name))]


def fields(data):
    """Of a protobuf: (number, value)."""
    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    at = 0
    while at < len(data):
        key = number()
        size = {1: 8, 5: 4}.get(key & 7)
        if key & 7 == 0:
            yield key >> 3, number()
            continue
        size = number() if size is None else size
        yield key >> 3, data[at:at + size]
        at += size


def xplane_truth(path):
    """Each GPU's activities are the events of its streams; ROCm copies by kernels of its own. Both ends are rounded down to ns."""
    classes, total = {}, 0
    with open(path, "rb") as file:
        planes = [list(fields(plane)) for tag, plane in fields(file.read()) if tag == 1]
    for plane in planes:
        name = next(value for tag, value in plane if tag == 2).decode()
        if not name.startswith("/device:GPU:"):
            continue
        names = {dict(fields(about)).get(1): dict(fields(about)).get(2) for tag, entry in plane if tag == 4 for number, about in fields(entry) if number == 2}
        spans = {"compute": [], "communication": [], "copy": []}
        for line in (list(fields(value)) for tag, value in plane if tag == 3):
            begin = dict(line).get(3, 0) * 1000
            for event in (dict(fields(value)) for tag, value in line if tag == 4):
                start = begin + event.get(2, 0)
                is_copy = names[event[1]].startswith((b"__amd_rocclr_copy", b"Memcpy"))
                spans["copy" if is_copy else "compute"].append((start // 1000, (start + event.get(3, 0)) // 1000))
        classes[name.rsplit(":", 1)[1]] = [covered(each) for each in spans.values()]
        total += sum(end - start for each in spans.values() for start, end in each)
    return {"class": classes, "device": sorted(classes), "gpu_time": total}


def covered(spans):
    total, until = 0, None
    for start, end in sorted(spans):
        total += max(0, end - start if until is None else end - max(start, until))
        until = end if until is None else max(until, end)
    return total


def ranks(folder):
    """Two ranks, for `convert` to merge: their paths, and the truth of what it writes."""
    paths = []
    for rank in (2, 5):
        events, _ = steps(("user_annotation", "cuda_runtime", "kernel"), 100, rank)
        paths.append(os.path.join(folder, f"of{rank}.json"))
        with open(paths[-1], "w", encoding="utf-8") as out:
            json.dump({"traceEvents": events, "distributedInfo": {"rank": rank, "world_size": 8}, "baseTimeNanoseconds": 1700000000000000000}, out)
    return paths, {"rank": {"2": 3, "5": 3}}
