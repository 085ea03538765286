"""SQLite databases: Nsight Systems, rocpd, rpd, Ascend. Tables and their columns are those of tests/format/makers/*_fixtures.py."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/format/makers"))
import ascend_fixtures as ascend_tables  # noqa: E402
import rocpd_fixtures as rocpd_tables  # noqa: E402
import rpd_fixtures as rpd_tables  # noqa: E402
from model import KERNEL, MEMCPY, MEMSET  # noqa: E402
from nsys_fixtures import create  # noqa: E402

PID = 1 << 56 | 77 << 24  # globalPid of Nsight Systems


class Strings:
    """id -> text, as databases intern them; ids count from 1."""

    def __init__(self):
        self.ids = {}

    def __call__(self, text):
        return self.ids.setdefault(text, len(self.ids) + 1)

    def rows(self):
        return [(i, text) for text, i in self.ids.items()]


def nsys(path, run, schema="3.25", calls=True, strings=True, graphs=None):
    """Nsight Systems' export. graphs: [(start, end, device, stream, correlation)] in place of the graph's kernels."""
    s = Strings()
    pid = lambda process: PID + (process << 24)  # noqa: E731
    old = schema < "3.13"
    more = {"3.25": ", graphId INTEGER", "3.13": ", launchType INTEGER"}.get(schema, "")
    kernels = [(a.start, a.end, a.device, 1, a.stream, a.id, pid(a.process), s(a.name), s(a.name), 32, 64, 1, 1, 256, 1, 1, 0, 0, None) + ((None,) if more else ())
               for a in run.activities if a.kind == KERNEL]
    copies = [(a.start, a.end, a.device, 1, a.stream, a.id, pid(a.process), a.bytes, 1, 1, 2) for a in run.activities if a.kind == MEMCPY]
    sets = [(a.start, a.end, a.device, 1, a.stream, a.id, pid(a.process), 0, a.bytes, 2) for a in run.activities if a.kind == MEMSET]
    where = "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER"
    tables = {
        ("EXPORT_META_DATA" if old else "META_DATA_EXPORT"): ("name TEXT, value TEXT", [("EXPORT_SCHEMA_VERSION_MAJOR", schema.split(".")[0]), ("EXPORT_SCHEMA_VERSION_MINOR", schema.split(".")[1]), ("EXPORT_SCHEMA_VERSION", schema + ".0")]),
        "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs INTEGER, utcTime TEXT, localTime TEXT", [(1_700_000_000_000_000_000, "", "")]),
        "TARGET_INFO_GPU": ("id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, computeMajor INTEGER, computeMinor INTEGER, busLocation TEXT, isDiscrete INTEGER, "
                            "l2CacheSize INTEGER, clockRate INTEGER, memoryBandwidth INTEGER, chipName TEXT, cuDevice INTEGER, threadsPerWarp INTEGER, maxWarpsPerSm INTEGER, maxBlocksPerSm INTEGER",
                            [(d, "NVIDIA A100-SXM4-80GB", 85028765696, 108, 8, 0, f"0000:0{d}:00.0", 1, 41943040, 1410000000, 2039000000000, "GA100", d, 32, 64, 32) for d in sorted({a.device for a in run.activities})]),
        "CUPTI_ACTIVITY_KIND_KERNEL": (
            f"{where}, demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, "
            f"staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER{more}", kernels),
        "CUPTI_ACTIVITY_KIND_MEMCPY": (f"{where}, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER", copies),
        "CUPTI_ACTIVITY_KIND_MEMSET": (f"{where}, value INTEGER, bytes INTEGER, memKind INTEGER", sets),
        "NVTX_EVENTS": ("start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER",
                        [(r.start, r.start + r.dur, 59, None, None, None, r.name, pid(r.process) | 78, None, None, 0) for r in run.ranges]),
    }
    if calls:
        tables["CUPTI_ACTIVITY_KIND_RUNTIME"] = (
            "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER",
            [(c.start, c.start + c.dur, 0, pid(c.process) | 78, c.id, s(c.name + "_v7000"), 0, None) for c in run.calls])
    if graphs:
        tables["CUPTI_ACTIVITY_KIND_GRAPH_TRACE"] = ("start INTEGER, end INTEGER, deviceId INTEGER, graphId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER",
                                                     [(start, end, device, 3, 1, stream, id, PID) for start, end, device, stream, id in graphs])
    if strings:
        tables["StringIds"] = ("id INTEGER PRIMARY KEY, value TEXT", s.rows())
    create(path, tables)


def rocpd(path, run, version=3, second=None):
    """rocprofv3's database. second: another run, under another guid with the same ids."""
    tables = {}
    for guid, one, pid in zip(rocpd_tables.GUIDS, (run, second), (4100, 5100)):
        if one:
            tables.update(rocpd_tables.tables(rocpd_tables.V3 if version == 3 else rocpd_tables.V4, rocpd_rows(one, version, pid), guid))
    create(path, tables)


def rocpd_rows(run, version, pid):
    texts, out = [], {}

    def s(text):
        if text not in texts:
            texts.append(text)
        return texts.index(text) + 1

    devices = sorted({a.device for a in run.activities})
    streams = sorted({a.stream for a in run.activities})
    symbols = list(dict.fromkeys(a.name for a in run.activities if a.kind == KERNEL))
    category, events, times, tracks, names = s("HIP_RUNTIME_API_EXT"), [], [], [], s("MEMORY_COPY_HOST_TO_DEVICE")
    calls, stack = [], {}
    for n, c in enumerate(run.calls, 1):
        stack[id(c)] = n
        events.append((category, n, 0, 0))
        calls.append((c, len(events)))
    gpu = []
    for a in run.activities:
        events.append((s("KERNEL_DISPATCH" if a.kind == KERNEL else "MEMORY_COPY"), stack.get(id(a.call), 0), 0, 0))
        gpu.append((a, len(events)))
    ranges = []
    for r in run.ranges:
        events.append((s("MARKER_CORE_RANGE_API"), len(run.calls) + len(ranges) + 1, 0, 0))
        ranges.append((r, len(events)))

    def track(*key):
        if key not in tracks:
            tracks.append(key)
        return tracks.index(key) + 1

    def time(ns, where):
        times.append((T0 + ns, 1, where))
        return len(times)

    def place(thread, agent, stream):
        return track(1, 1, 1, thread, agent, 1 if agent else None, stream, None)

    def region(r, event):
        if version == 3:
            return (1, 1, 1, T0 + r.start, T0 + r.start + r.dur, s(r.name), event)
        where = place(1, None, None)
        return (where, s(r.name), time(r.start, where), time(r.start + r.dur, where), event)

    shape = (0, 0, 256, 1, 1, 16384, 1, 1)
    kernels, copies = [], []
    for n, (a, event) in enumerate(gpu, 1):
        agent, stream = devices.index(a.device) + 2, streams.index(a.stream) + 1
        where = place(None, agent, stream) if version == 4 else None
        if a.kind == KERNEL:
            symbol = symbols.index(a.name) + 1
            kernels.append((1, 1, 1, agent, symbol, n, 1, stream, T0 + a.start, T0 + a.end, *shape, None, event) if version == 3 else
                           (where, symbol, n, time(a.start, where), time(a.end, where), *shape, None, event))
        elif a.kind == MEMCPY:
            copies.append((1, 1, 1, T0 + a.start, T0 + a.end, names, agent, 0x7000, 1, 0x1000, a.bytes, 1, stream, None, event) if version == 3 else
                          (where, time(a.start, where), time(a.end, where), names, agent, 0x7000, 1, 0x1000, a.bytes, None, event))
    regions = [region(c, e) for c, e in calls] + [region(r, e) for r, e in ranges]
    out.update(metadata=[("schema_version", "3" if version == 3 else "4.0.0")], info_node=[(1, "m1", "Linux", "loom")], info_process=[(1, 1, pid, "./app", "{}")],
               info_thread=[(1, 1, 1, pid, "main")], info_queue=[(1, 1, "Queue 1")], info_stream=[(1, 1, f"Stream {n}") for n in streams],
               info_agent=[(1, 1, "CPU", 0, 0, 0, 1, "cpu", "EPYC")] + [(1, 1, "GPU", i + 1, i + 1, d, i + 2, "gfx942", "AMD Instinct MI300X") for i, d in enumerate(devices)],
               info_kernel_symbol=[(1, 1, 1, name, name, 32, 16) for name in symbols], event=events, region=regions, kernel_dispatch=kernels, memory_copy=copies)
    if version == 4:
        order = list(dict.fromkeys(e[0] for e in events))
        out.update(info_category=[(texts[c - 1],) for c in order], track=tracks, timestamp=times, event=[(order.index(e[0]) + 1, *e[1:]) for e in events])
    out["string"] = [(text,) for text in texts]
    return out


T0 = 1_700_000_000_000_000_000


def rpd(path, run):
    s = Strings()
    s("")
    base = 1 << 32
    kinds = {KERNEL: "KernelExecution", MEMCPY: "CopyHostToDevice", MEMSET: "FillBuffer"}
    number = {id(c): base + n for n, c in enumerate(run.calls, 1)}
    calls = [(number[id(c)], pid, pid, T0 + c.start, T0 + c.start + c.dur, s(c.name), s("")) for c in run.calls for pid in (4100 + c.process,)]
    marks = [(base * 2 + n, 4100, 4100, T0 + r.start, T0 + r.start + r.dur, s("UserMarker"), s(r.name)) for n, r in enumerate(run.ranges)]
    ops = [(n, a.device, a.stream, 0, "", T0 + a.start, T0 + a.end, s(a.name if a.kind == KERNEL else ""), s(kinds[a.kind])) for n, a in enumerate(run.activities, 1)]
    links = [(n, number[id(a.call)], n) for n, a in enumerate(run.activities, 1) if a.call]
    kernels = [(number[id(a.call)], hex(a.stream), 64, 1, 1, 256, 1, 1, 0, 0, s(a.name)) for a in run.activities if a.kind == KERNEL and a.call]
    sample = rpd_tables.small()
    create(path, {
        "rocpd_string": (rpd_tables.STRING[0], s.rows()), "rocpd_metadata": sample["rocpd_metadata"], "rocpd_api": (rpd_tables.API, calls + marks), "rocpd_op": (rpd_tables.OP, ops),
        "rocpd_api_ops": (sample["rocpd_api_ops"][0], links), "rocpd_kernelapi": (sample["rocpd_kernelapi"][0], kernels),
        "rocpd_copyapi": (sample["rocpd_copyapi"][0], [(number[id(a.call)], hex(a.stream), a.bytes, "", 1, "0x2", "0x1") for a in run.activities if a.kind == MEMCPY and a.call])})


def ascend(path, run):
    """Ascend's PyTorch profiler, ascend_pytorch_profiler_N.db."""
    s, sample = Strings(), ascend_tables.small()
    tid = 500 << 32 | 501
    kinds = {KERNEL: "KERNEL_AICORE", MEMCPY: "MEMCPY_ASYNC", MEMSET: "MEMSET_ASYNC"}
    tasks, names, copies, hccl, groups = [], [], [], [], []
    for n, a in enumerate(run.activities, 1):
        comm = a.cls == "communication"
        tasks.append((T0 + a.start, T0 + a.end, a.device, a.id if a.call else 0xffffffff, n, 500, s("SDMA" if comm else kinds[a.kind]), 0xffffffff, a.stream, n, 0xffffffff))
        if comm:
            hccl.append((s(a.name), n, s("Memcpy"), 0, s("group_a"), a.bytes, 4, 1, n))
            groups.append((s(a.name), T0 + a.start, T0 + a.end, a.id, s("group_a"), n, 4, s("MESH"), a.bytes // 4, s("hcom_allReduce_")))
        elif a.kind == KERNEL:
            names.append((s(a.name), n, 32, s("AI_CORE"), s("MatMul"), 0xffffffff))
        elif a.kind == MEMCPY:
            copies.append((n, a.bytes, 1))
    same = lambda name: sample[name]  # noqa: E731
    create(path, {
        "META_DATA": same("META_DATA"), "NPU_INFO": ("id INTEGER, name TEXT", [(d, "Ascend910B") for d in sorted({a.device for a in run.activities})]),
        "ENUM_API_TYPE": same("ENUM_API_TYPE"), "ENUM_HCCL_DATA_TYPE": same("ENUM_HCCL_DATA_TYPE"), "ENUM_HCCL_LINK_TYPE": same("ENUM_HCCL_LINK_TYPE"),
        "ENUM_MEMCPY_OPERATION": same("ENUM_MEMCPY_OPERATION"),
        "TASK": (ascend_tables.TASK, tasks), "COMPUTE_TASK_INFO": (same("COMPUTE_TASK_INFO")[0], names), "MEMCPY_INFO": (same("MEMCPY_INFO")[0], copies),
        "COMMUNICATION_TASK_INFO": (same("COMMUNICATION_TASK_INFO")[0], hccl), "COMMUNICATION_OP": (same("COMMUNICATION_OP")[0], groups),
        "CANN_API": (same("CANN_API")[0], [(T0 + c.start, T0 + c.start + c.dur, 10000, tid, c.id, s(c.name)) for c in run.calls]),
        "STEP_TIME": ("id INTEGER, startNs INTEGER, endNs INTEGER", [(n, T0 + r.start, T0 + r.start + r.dur) for n, r in enumerate((r for r in run.ranges if r.kind == "step"), 1)]),
        "STRING_IDS": ("id INTEGER PRIMARY KEY, value TEXT", s.rows())})
