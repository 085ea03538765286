"""Everything that is neither Chrome JSON nor a database: XPlane, pftrace, rocprofv3, stacks, Chakra, ftrace, xctrace.

samples: [(thread, [frames, outermost first], weight)]; the unit of a weight is ns unless a format counts otherwise.
"""
import csv
import importlib.util
import io
import json
import os
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/format")
sys.path.append(os.path.dirname(TESTS))  # the last: it has a pairs.py too
from model import KERNEL, MEMCPY, MEMSET  # noqa: E402
from wire import put, put_varint  # noqa: E402


def load(path, name):
    """A make.py among several of that name."""
    sys.path.insert(0, os.path.dirname(os.path.join(TESTS, path)))
    spec = importlib.util.spec_from_file_location(name, os.path.join(TESTS, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save(path, data):
    with open(path, "wb") as out:
        out.write(data.encode() if isinstance(data, str) else data)


# ---- XPlane ----

def xplane(run, kind="GPU"):
    x = load("xplane/make.py", "xplane_make")
    t0, planes = 1_700_000_000_000_000_000, b""
    names = {}
    number = lambda name: names.setdefault(name, len(names) + 1)  # noqa: E731
    stats = ("correlation_id", "memcpy_details", "kind_src:pinned kind_dst:device size:65536 dest:0 async:1", "kernel_details",
             "regs:32 static_shared:0 dynamic_shared:0 grid:64,1,1 block:256,1,1 occ_pct:50", "device_vendor", "Nvidia", "core_count", "clock_rate", "memory_size", "compute_cap_major", "compute_cap_minor")
    about = (x.stat(6, 7, 7), x.stat(8, 3, 108), x.stat(9, 3, 1410000), x.stat(10, 3, 85028765696), x.stat(11, 3, 8), x.stat(12, 3, 0)) if kind == "GPU" else ()
    for device in sorted({a.device for a in run.activities}):
        lines = []
        for stream in sorted({a.stream for a in run.activities if a.device == device}):
            events = []
            for a in run.activities:
                if a.device == device and a.stream == stream:
                    name = {MEMCPY: "MemcpyH2D", MEMSET: "Memset"}.get(a.kind, a.name)
                    more = {MEMCPY: (x.stat(2, 7, 3),), KERNEL: (x.stat(4, 7, 5),), MEMSET: ()}[a.kind] if kind == "GPU" else ()
                    events.append(x.event(number(name), a.start * 1000, a.dur * 1000, *((x.stat(1, 3, a.id),) if kind == "GPU" else ()), *more))
            lines.append(x.line(stream, f"Stream #{stream}(Compute,MemcpyH2D)" if kind == "GPU" else "XLA Ops", t0, *events))
        steps = [r for r in run.ranges if r.kind == "step"]
        lines.append(x.line(900, "Steps", t0, *(x.event(number(str(n)), r.start * 1000, r.dur * 1000) for n, r in enumerate(steps))))
        if kind == "TPU":
            lines.append(x.line(901, "XLA Modules", t0, *(x.event(number("jit_step(1)"), r.start * 1000, r.dur * 1000) for r in steps)))
        planes += put(1, put(1, device + 2) + x.plane(f"/device:{kind}:{device}", *lines, events=[x.named(n, name) for name, n in names.items()], names=stats, stats=about))
    calls = x.line(9, "main", t0, *(x.event(n + 1, c.start * 1000, c.dur * 1000, x.stat(1, 3, c.id)) for n, c in enumerate(run.calls)))
    planes += put(1, x.plane("/host:CPU", calls, events=[x.named(n + 1, c.name) for n, c in enumerate(run.calls)], names=("correlation_id",)))
    planes += put(1, x.plane("Task Environment", names=("profile_start_time",), stats=(x.stat(1, 3, t0),)))
    return planes + put(4, "loom")


# ---- Perfetto ----

def pftrace(run, instants=(), counters=()):
    """Track events with names in full; each stream, thread and counter is a track. counters: [(name, [(ns, value)])]"""
    t0, packets, uuid = 1_000_000_000, [], iter(range(1, 1000))

    def packet(ns, body):
        packets.append((ns, len(packets), put(1, put(8, t0 + ns) + put(10, 1) + body)))

    def event(kind, track, name=None, category=None, more=b""):
        return put(11, put(9, kind) + put(11, track) + put(22, category) + put(23, name) + more)

    host, tracks = next(uuid), {}
    head = put(1, put(10, 1) + put(60, put(1, host) + put(3, put(1, 4100) + put(6, "python3"))))
    for where, name in [("host", "main")] + [((a.device, a.stream), f"GPU {a.device} stream {a.stream}") for a in run.activities]:
        if where not in tracks:
            tracks[where] = next(uuid)
            thread = put(4, put(1, 4100) + put(2, 4100) + put(5, name)) if where == "host" else put(2, name)
            head += put(1, put(10, 1) + put(60, put(1, tracks[where]) + put(5, host) + thread))
    slices = [("host", r.start, r.dur, r.name, "annotation") for r in run.ranges] + [("host", c.start, c.dur, c.name, "cuda_runtime") for c in run.calls] + \
        [((a.device, a.stream), a.start, a.dur, a.name, {KERNEL: "kernel", MEMCPY: "gpu_memcpy", MEMSET: "gpu_memset"}[a.kind]) for a in run.activities]
    # Outer slices begin first and end last; of two at one time the end comes first.
    order = sorted(slices, key=lambda s: (s[1], -s[2]))
    marks = [(start, 1, n, where, name, cat) for n, (where, start, dur, name, cat) in enumerate(order)] + \
        [(start + dur, 0, -n, where, None, None) for n, (where, start, dur, name, cat) in enumerate(order)]
    for ns, begins, _, where, name, cat in sorted(marks, key=lambda m: m[:3]):
        packet(ns, event(1 if begins else 2, tracks[where], name, cat))
    for ns, name in instants:
        packet(ns, event(3, tracks["host"], name, "mark"))
    for name, samples in counters:
        track = next(uuid)
        head += put(1, put(10, 1) + put(60, put(1, track) + put(5, host) + put(2, name) + put(8, b"")))
        for ns, value in samples:
            packet(ns, put(11, put(9, 4) + put(11, track) + put(30, value)))
    return head + b"".join(p for _, _, p in sorted(packets, key=lambda p: p[:2]))


# ---- rocprofv3 ----

def rocprofv3_json(run):
    symbols = list(dict.fromkeys(a.name for a in run.activities if a.kind == KERNEL))
    records = {"hip_api": [], "kernel_dispatch": [], "memory_copy": [], "marker_api": []}
    kinds = [{"kind": "HIP_RUNTIME_API", "operations": list(dict.fromkeys(c.name for c in run.calls))}, {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE"]},
             {"kind": "KERNEL_DISPATCH", "operations": ["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE", "KERNEL_DISPATCH_COMPLETE"]}]
    size = len(records)
    for c in run.calls:
        records["hip_api"].append({"size": size, "kind": 0, "operation": kinds[0]["operations"].index(c.name), "correlation_id": {"internal": c.id, "external": 0},
                                   "start_timestamp": T0 + c.start, "end_timestamp": T0 + c.start + c.dur, "thread_id": 4100})
    for n, a in enumerate(run.activities, 1):
        times = {"correlation_id": {"internal": a.id, "external": 0}, "start_timestamp": T0 + a.start, "end_timestamp": T0 + a.end, "thread_id": 4100}
        agent, stream = {"handle": a.device + 10}, {"handle": a.stream}
        if a.kind == KERNEL:
            records["kernel_dispatch"].append({"size": size, "kind": 2, "operation": 2, **times, "stream_id": stream, "dispatch_info": {
                "size": 0, "agent_id": agent, "queue_id": {"handle": a.stream}, "kernel_id": symbols.index(a.name) + 1, "dispatch_id": n, "private_segment_size": 0, "group_segment_size": 0,
                "workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size": {"x": 16384, "y": 1, "z": 1}}})
        elif a.kind == MEMCPY:
            records["memory_copy"].append({"size": size, "kind": 1, "operation": 2, **times, "dst_agent_id": agent, "src_agent_id": {"handle": 1}, "bytes": a.bytes, "stream_id": stream})
    agents = [{"size": 0, "id": {"handle": 1}, "type": 1, "node_id": 0, "logical_node_id": 0, "logical_node_type_id": 0, "name": "cpu", "product_name": "EPYC"}] + \
        [{"size": 0, "id": {"handle": d + 10}, "type": 2, "node_id": d + 1, "logical_node_id": d + 1, "logical_node_type_id": d, "name": "gfx942", "product_name": "AMD Instinct MI300X"}
         for d in sorted({a.device for a in run.activities})]
    return json.dumps({"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 4100, "init_time": T0, "fini_time": T0 + 10**9, "command": ["./app"]}, "agents": agents, "counters": [], "strings": {"buffer_records": kinds, "callback_records": [], "marker_api": []},
        "code_objects": [], "kernel_symbols": [{"size": 0, "kernel_id": n, "code_object_id": 1, "kernel_name": name, "formatted_kernel_name": name, "demangled_kernel_name": name, "truncated_kernel_name": name, "arch_vgpr_count": 24, "sgpr_count": 32}
                                               for n, name in enumerate(symbols, 1)],
        "buffer_records": records, "callback_records": {}}]})


T0 = 4_458_676_000_000_000


def rocprofv3_csv(folder, run):
    """PID_kernel_trace.csv and its neighbours, in a folder."""
    os.makedirs(folder, exist_ok=True)
    symbols = list(dict.fromkeys(a.name for a in run.activities if a.kind == KERNEL))

    def table(name, header, lines):
        text = io.StringIO()
        out = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
        out.writerow(header.split(","))
        out.writerows(lines)
        save(os.path.join(folder, f"4100_{name}.csv"), text.getvalue())

    table("agent_info", "Node_Id,Logical_Node_Id,Agent_Type,Cpu_Cores_Count,Cu_Count,Name,Vendor_Name,Product_Name,Model_Name",
          [(0, 0, "CPU", 64, 64, "EPYC", "CPU", "AMD EPYC", "")] + [(d + 1, d + 1, "GPU", 0, 304, "gfx942", "AMD", "AMD Instinct MI300X", "") for d in sorted({a.device for a in run.activities})])
    table("hip_api_trace", "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp",
          [("HIP_RUNTIME_API_EXT", c.name, 4100, 4100, c.id, T0 + c.start, T0 + c.start + c.dur) for c in run.calls])
    table("kernel_trace", "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,"
          "SGPR_Count,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,Grid_Size_Z",
          [("KERNEL_DISPATCH", f"Agent {a.device + 1}", 1, a.stream, 4100, n, symbols.index(a.name) + 1, a.name, a.id, T0 + a.start, T0 + a.end, 0, 0, 24, 0, 32, 256, 1, 1, 16384, 1, 1)
           for n, a in enumerate(run.activities, 1) if a.kind == KERNEL])
    table("memory_copy_trace", "Kind,Direction,Stream_Id,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,Start_Timestamp,End_Timestamp",
          [("MEMORY_COPY", "MEMORY_COPY_HOST_TO_DEVICE", a.stream, "Agent 0", f"Agent {a.device + 1}", a.id, T0 + a.start, T0 + a.end) for a in run.activities if a.kind == MEMCPY])


# ---- stacks ----

def folded(samples):
    sums = {}
    for thread, frames, weight in samples:
        key = ";".join([thread, *frames])
        sums[key] = sums.get(key, 0) + weight
    return "".join(f"{k} {v}\n" for k, v in sums.items())


def perf_script(samples, event="cpu-clock:u"):
    out = ""
    for n, (thread, frames, weight) in enumerate(samples):
        out += f"{thread} 11901/11901 {23012 + n // 1000}.{n % 1000:03}000:    {weight} {event}: \n"
        out += "".join(f"\t{0x401000 + sum(map(ord, f)):16x} {f}+0x2d (/opt/app/t)\n" for f in reversed(frames)) + "\n"
    return out


def frame_table(samples):
    names = list(dict.fromkeys(f for _, frames, _ in samples for f in frames))
    return names, {name: i for i, name in enumerate(names)}


def speedscope(samples, evented=False):
    names, index = frame_table(samples)
    total = sum(w for *_, w in samples)
    if evented:
        events, at, opened = [], 0, []
        for _, frames, weight in samples:
            same = 0
            while same < min(len(opened), len(frames)) and opened[same] == frames[same]:
                same += 1
            events += [{"type": "C", "frame": index[f], "at": at} for f in reversed(opened[same:])] + [{"type": "O", "frame": index[f], "at": at} for f in frames[same:]]
            opened, at = list(frames), at + weight
        events += [{"type": "C", "frame": index[f], "at": at} for f in reversed(opened)]
        profile = {"type": "evented", "name": "main", "unit": "nanoseconds", "startValue": 0, "endValue": total, "events": events}
    else:
        profile = {"type": "sampled", "name": "main", "unit": "nanoseconds", "startValue": 0, "endValue": total, "samples": [[index[f] for f in frames] for _, frames, _ in samples], "weights": [w for *_, w in samples]}
    return json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "name": "zoo", "exporter": "zoo", "activeProfileIndex": 0, "shared": {"frames": [{"name": n} for n in names]}, "profiles": [profile]})


def tree(samples):
    """[(parent, frame name)] of all paths, and the node of each sample."""
    nodes, ends = {}, []
    for _, frames, _ in samples:
        at = ()
        for f in frames:
            at += (f,)
            nodes.setdefault(at, len(nodes))
        ends.append(nodes[at])
    return [(nodes.get(path[:-1]) if len(path) > 1 else None, path[-1]) for path in nodes], ends


def gecko(samples):
    """Firefox Profiler, processed format 47 as a saved profile has it."""
    names, index = frame_table(samples)
    stacks, ends = tree(samples)
    n, at, times = len(names), 0.0, []
    for *_, weight in samples:
        times.append(at)
        at += weight / 1e6
    thread = {"processType": "default", "processStartupTime": 0, "processShutdownTime": None, "registerTime": 0, "unregisterTime": None, "pausedRanges": [], "name": "GeckoMain", "processName": "app", "pid": "7", "tid": 7, "isMainThread": True,
              "samples": {"stack": ends, "time": times, "weight": [w / 1e6 for *_, w in samples], "weightType": "tracing-ms", "length": len(samples)},
              "stringArray": names, "stackTable": {"frame": [index[f] for _, f in stacks], "prefix": [p for p, _ in stacks], "category": [0] * len(stacks), "subcategory": [0] * len(stacks), "length": len(stacks)},
              "frameTable": {"func": list(range(n)), "line": [None] * n, "column": [None] * n, "address": [-1] * n, "inlineDepth": [0] * n, "category": [0] * n, "subcategory": [0] * n, "nativeSymbol": [None] * n, "innerWindowID": [0] * n, "implementation": [None] * n, "length": n},
              "funcTable": {"name": list(range(n)), "fileName": [None] * n, "lineNumber": [None] * n, "columnNumber": [None] * n, "resource": [-1] * n, "isJS": [False] * n, "relevantForJS": [False] * n, "length": n},
              "resourceTable": {"length": 0, "lib": [], "name": [], "host": [], "type": []}, "nativeSymbols": {"libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0},
              "markers": {"name": [], "startTime": [], "endTime": [], "phase": [], "category": [], "data": [], "length": 0}}
    return json.dumps({"meta": {"version": 27, "preprocessedProfileVersion": 47, "interval": 1, "startTime": 1700000000000, "processType": 0, "stackwalk": 1, "debug": 0, "gcpoison": 0, "asyncstack": 0, "product": "app", "categories": [{"name": "Other", "color": "grey", "subcategories": ["Other"]}],
                                "markerSchema": []}, "libs": [], "pages": [], "threads": [thread], "counters": []})


def cpuprofile(samples):
    """V8: the delta of a sample is the time since the one before, in µs; the last ends with the profile."""
    stacks, ends = tree(samples)
    children = {}
    for i, (parent, _) in enumerate(stacks):
        children.setdefault(parent, []).append(i + 2)
    call = lambda name: {"functionName": name, "scriptId": "1", "url": "file:///a.js", "lineNumber": 1, "columnNumber": 2}  # noqa: E731
    nodes = [{"id": 1, "callFrame": call("(root)"), "hitCount": 0, "children": children.get(None, [])}] + \
        [{"id": i + 2, "callFrame": call(name), "hitCount": ends.count(i), "children": children.get(i, [])} for i, (_, name) in enumerate(stacks)]
    weights = [w // 1000 for *_, w in samples]
    return json.dumps({"nodes": nodes, "startTime": 1000, "endTime": 1000 + sum(weights), "samples": [e + 2 for e in ends], "timeDeltas": [0] + weights[:-1]})


def pprof(samples):
    strings = ["", "samples", "count", "cpu", "nanoseconds"]

    def s(text):
        if text not in strings:
            strings.append(text)
        return strings.index(text)

    names, index = frame_table(samples)
    out = put(1, put(1, 1) + put(2, 2)) + put(1, put(1, 3) + put(2, 4))
    for _, frames, weight in samples:
        out += put(2, put(1, b"".join(put_varint(index[f] + 1) for f in reversed(frames))) + put(2, put_varint(1) + put_varint(weight)))
    for i, name in enumerate(names, 1):
        out += put(4, put(1, i) + put(4, put(1, i) + put(2, 1))) + put(5, put(1, i) + put(2, s(name)) + put(3, s(name)))
    return out + b"".join(put(6, t) for t in strings) + put(9, T0) + put(10, sum(w for *_, w in samples)) + put(11, put(1, 3) + put(2, 4)) + put(12, 1_000_000)


def perf_data(samples):
    """perf record -g: one event, a mapping of the program; each sample has its period."""
    make = load("perfdata/make.py", "perfdata_make")
    w = make.Writer()
    data = w.comm("app") + w.mmap(0x400000, 0x100000, 0, "/opt/app/t")
    for n, (_, frames, weight) in enumerate(samples):
        data += w.sample(1_000_000 + n * 1000, make.USER, *(0x401000 + 16 * sum(map(ord, f)) for f in reversed(frames)), period=weight)
    event = (make.attr(make.Writer.TYPE), (77,))
    return make.file([event], data, {12: make.event_desc((event[0], "cpu-clock", (77,)))})


# ---- others ----

def chakra(run):
    """A node for each activity; durations in µs, as PyTorch's converter writes them."""
    make = load("chakra/make.py", "chakra_make")
    out, last = [make.METADATA], {}
    for n, a in enumerate(run.activities, 1):
        attributes = [("is_cpu_op", "bool", False), ("stream", "int64", a.stream)]
        if a.cls == "communication":
            attributes += [("comm_type", "int64", 0), ("comm_size", "int64", a.bytes)]
        kind = make.COLLECTIVE if a.cls == "communication" else make.COMPUTE if a.kind == KERNEL else make.LOAD
        out.append(make.node(n, a.name, kind, waits=[last[a.stream]] if a.stream in last else [], start=a.start // 1000, duration=a.dur // 1000, attributes=attributes))
        last[a.stream] = n
    return make.stream(out)


def ftrace(run):
    """Text of the kernel's gpu_scheduler (since Linux 6.16): queued, run, done."""
    lines = []
    for n, a in enumerate(run.activities, 1):
        key = f"fence=12:{n}"
        for ns, what in ((a.call.start, f"drm_sched_job_queue: dev=0000:03:00.0, {key}, ring=gfx, job count:0, hw job count:0, client_id:7"),
                         (a.start, f"drm_sched_job_run: dev=0000:03:00.0, {key}, ring=gfx, job count:0, hw job count:0, client_id:7"), (a.end, f"drm_sched_job_done: {key} signaled")):
            lines.append((ns, f"            app-4100  [000] ..... {1000 + ns // 10**9}.{ns % 10**9 // 1000:06d}: {what}"))
    return "# tracer: nop\n#\n" + "\n".join(text for _, text in sorted(lines, key=lambda x: x[0])) + "\n"


def xctrace(run):
    """`xctrace export` of Metal System Trace's GPU intervals and of what was submitted."""
    make = load("xctrace/make.py", "xctrace_make")
    d = make.Document()
    rows = [make.gpu_row(d, a.start + 907_000_000, a.dur, "Compute" if a.stream == 7 else "Blit", 0, f"Command Buffer {n}:{a.name.split('<')[0].split('(')[0]}", "app", 99, 500 + n, 600 + n) for n, a in enumerate(run.activities)]
    submits = [d.value("start-time", a.call.start + 907_000_000, "") + d.process("app", 99) + d.thread("Main Thread", 0x11ab, "app", 99) + d.value("narrative", None, "Committed") + d.value("metal-command-buffer-id", 500 + n, hex(500 + n))
               for n, a in enumerate(run.activities)]
    return make.document(make.node(1, make.schema("metal-gpu-intervals", make.GPU), rows), make.node(2, make.schema("metal-application-command-buffer-submissions", make.SUBMIT), submits))
