"""One trace for each thing that goes wrong in real ones. The truth says what is in the file, or in the run where that is more."""
import copy
import gzip
import json

import chrome
import databases
import profiles
from model import COMMUNICATION, KERNEL, MEMSET, Activity, Range, Run, training, truth

NOTHING = dict.fromkeys(("gpu_busy", "launches", "steps", "classes", "exposed_communication", "findings", "diff", "gpu_time_ns"))


def plain(events, about, slices=None, slice_ns=None, loss=None, name=None, text=None, **counts):
    """A trace without a GPU: (about, writer, facts)."""
    if slices is not None:
        counts["slices"] = slices
    facts = {"counts": counts, **NOTHING, "loss": loss}
    if slice_ns is not None:
        facts["slice_ns"] = slice_ns
    return about, text if text is not None else {"traceEvents": events}, facts


def x(name, ts, dur, pid=1, tid=1, cat="c", **more):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, **more}


def m(ph, name, ts, pid=1, tid=1, **more):
    return {"ph": ph, "cat": "c", "name": name, "pid": pid, "tid": tid, "ts": ts, **more}


def structure():
    """Faults of the structure: pairs, ids, flows, numbers. In each the slices and the sum of their durations are known."""
    yield "crossing", plain([x("a", 0, 20), x("b", 10, 20), x("c", 25, 30)], "three slices of one thread cross", 3, 70000)
    yield "crossing-many", plain([x(f"s{i}", 10 * i, 25) for i in range(40)], "each slice of a thread crosses its two neighbours", 40, 40 * 25000)
    yield "named-ends", plain([m("B", "A", 0), m("B", "B", 10), m("E", "A", 20), m("E", "B", 50)], "the names of the ends say which begin each one ends", 2, 60000, slice_named={"A": 20000, "B": 40000})
    yield "nameless-ends", plain([m("B", "A", 0), m("B", "B", 10), {"ph": "E", "pid": 1, "tid": 1, "ts": 20}, {"ph": "E", "pid": 1, "tid": 1, "ts": 50}], "ends without names end the innermost", 2, 60000, slice_named={"A": 50000, "B": 10000})
    yield "end-before-begin-in-file", plain([m("E", "A", 20), m("B", "A", 0)], "the end is written before its begin", 1, 20000)
    yield "begin-without-end", plain([x("a", 0, 5), m("B", "open", 3), x("b", 20, 5)], "a slice that never ends", 3, None)
    yield "end-without-begin", plain([x("a", 0, 5), m("E", "lost", 7), x("b", 20, 5)], "an end without a begin", 2, 10000, loss="an end without begin")
    yield "async-processes", plain([m("b", "A", 0, id=1), m("b", "A", 10, 2, 2, id=1), m("e", "A", 20, id=1), m("e", "A", 50, 2, 2, id=1)], "two processes use one id", 2, 60000)
    yield "async-local", plain([m("b", "A", 0, id2={"local": "1"}), m("b", "A", 10, 2, 2, id2={"local": "1"}), m("e", "A", 20, id2={"local": "1"}), m("e", "A", 50, 2, 2, id2={"local": "1"})], "local ids", 2, 60000)
    yield "async-global", plain([m("b", "A", 0, id2={"global": "1"}), m("e", "A", 50, 2, 2, id2={"global": "1"})], "begun in one process, ended in another, by a global id", 1, 50000)
    yield "async-named", plain([m("b", "A", 0, id=1), m("b", "B", 10, id=1), m("e", "A", 20, id=1), m("e", "B", 50, id=1)], "two async slices of one id cross; names say which ends", 2, 60000)
    yield "async-old", plain([m("S", "load", 0, id="x"), m("T", "load", 9, id="x", args={"step": "half"}), m("F", "load", 30, id="x")], "S, T and F of the old format", 1, 30000)
    yield "bind-id", plain([x("a", 0, 5, bind_id="0x1", flow_out=True), x("b", 10, 5, 1, 2, bind_id="0x1", flow_in=True), x("c", 20, 5, 1, 3, bind_id="0x2", flow_out=True), x("d", 30, 5, 1, 4, bind_id="0x2", flow_in=True)],
                           "flows by bind_id, flow_out and flow_in", 4, 20000, flows=2)
    yield "flow-steps", plain([x("a", 0, 9), x("b", 20, 9, 1, 2), x("c", 40, 9, 1, 3), m("s", "f", 1, id=7), m("t", "f", 21, 1, 2, id=7), m("f", "f", 41, 1, 3, id=7, bp="e")], "a flow with a step", 3, 27000, flows=2)
    yield "flow-ids-of-names", plain([x("a", 0, 9), x("b", 20, 9, 1, 2), m("s", "f", 1, id=7), m("s", "g", 2, id=7), m("f", "f", 21, 1, 2, id=7, bp="e"), m("f", "g", 22, 1, 2, id=7, bp="e")], "two flows of one id, distinguished by name", 2, 18000, flows=2)
    yield "exponents", plain([], "numbers with exponents", 3, 2500 + 1000 + 20000,
                             text='{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1.7e15,"dur":2.5e0},{"ph":"X","name":"b","pid":1,"tid":1,"ts":1.70000000000001e15,"dur":1e0},{"ph":"X","name":"c","pid":1,"tid":1,"ts":17.0000000000003e14,"dur":2E1}]}')
    yield "texts-for-numbers", plain([{**x("a", "1700000000000000.125", "2.5"), "pid": "7", "tid": "9"}, x("b", "1700000000000010", "1")], "times as texts", 2, 3500)
    yield "nanoseconds-of-today", plain([], "Unix time with nanoseconds: a double has a quarter of a µs", 2, 1001 + 1002,
                                        text='{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1795906800000000.001,"dur":1.001},{"ph":"X","name":"b","pid":1,"tid":1,"ts":1795906800000002.999,"dur":1.002}]}')
    yield "ids-above-53-bits", plain([x("a", 0, 9), x("b", 0, 9, 1, 2), m("s", "f", 1, id=9007199254740992), m("f", "f", 5, 1, 2, id=9007199254740992, bp="e"), m("s", "f", 2, id=9007199254740993), m("f", "f", 6, 1, 2, id=9007199254740993, bp="e")], "flow ids that are equal as doubles", 2, 18000, flows=2)
    yield "texts-for-threads", plain([x("a", 0, 5, "Spans", "main"), x("b", 7, 5, "Spans", "stream 7"), x("c", 9, 5, "", "")], "texts as pid and tid", 3, 15000)
    yield "no-thread", plain([{k: v for k, v in x("a", 0, 5).items() if k != "tid"}, {k: v for k, v in x("b", 8, 5).items() if k not in ("pid", "tid")}], "events without tid, or pid", 2, 10000)
    yield "no-category", plain([{k: v for k, v in x("a", 0, 5).items() if k != "cat"}, {k: v for k, v in x("b", 8, 5).items() if k not in ("cat", "name")}], "events without category, or name", 2, 10000)
    yield "zero-durations", plain([x("a", 5, 0), x("b", 5, 0), x("c", 5, 7)], "slices of length 0", 3, 7000)
    yield "same-time", plain([x("outer", 0, 10), x("inner", 0, 10), x("after", 10, 4)], "slices that begin and end together, and one behind", 3, 24000)
    yield "instants", plain([x("a", 0, 9), m("i", "t", 1, s="t"), m("I", "p", 2, s="p"), m("R", "mark", 3)], "instants of all kinds", 1, 9000, instants=3)
    yield "counters", plain([x("a", 0, 9), *({"ph": "C", "name": "mem", "pid": 1, "ts": i, "args": {"bytes": i * 1.5, "blocks": i}} for i in range(5))], "counters of two series", 1, 9000, counters=10)
    yield "counters-of-ids", plain([x("a", 0, 9), *({"ph": "C", "name": "mem", "id": i % 2, "pid": 1, "ts": i, "args": {"v": i}} for i in range(6))], "counters distinguished by id", 1, 9000, counters=6)
    yield "array-alone", plain([], "a bare array", 2, 10000, text=json.dumps([x("a", 0, 5), x("b", 9, 5)]))
    yield "events-last", plain([], "traceEvents behind all other keys, and extra ones", 2, 10000, text=json.dumps({"otherData": {"a": [1, {}]}, "stackFrames": {}, "traceEvents": [x("a", 0, 5), x("b", 9, 5)], "after": None}))
    yield "no-metadata-order", plain([x("a", 0, 5), {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "late"}}, {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}}], "names come behind the events", 1, 5000)
    yield "deep", plain([x(f"d{i}", i, 400 - 2 * i) for i in range(190)], "slices nested 190 deep", 190, sum(400 - 2 * i for i in range(190)) * 1000)
    yield "negative-duration", plain([x("a", 0, 5), x("b", 20, -3)], "a negative duration", 2, None)


def damage():
    """Damaged text. What is whole in it counts."""
    events = [x(f"s{i}", 10 * i, 5, args={"n": i}) for i in range(30)]
    text = json.dumps({"traceEvents": events}, indent=0)
    at = text.index('"s20"') + 3
    whole = lambda n: (n, n * 5000)  # noqa: E731
    yield "cut", plain([], "the process was killed: the text ends within the 21st event", *whole(20), loss="cut", text=text[:at])
    yield "cut-between", plain([], "the text ends behind a comma; nothing is lost", *whole(20), text=text[:text.index('"s20"')].rpartition("{")[0])
    yield "cut-gzip", plain([], "a gzip file without its end: what was written is 2000 slices", 2000, 2000 * 5000, loss="cut", text=gzip.compress(json.dumps({"traceEvents": [x(f"s{i * 7919 % 10007}", 10 * i, 5) for i in range(2000)]}).encode(), mtime=0)[:-2000])
    yield "gzip-members", plain([], "two gzip members, one behind the other", *whole(30), text=gzip.compress(text[:500].encode(), mtime=0) + gzip.compress(text[500:].encode(), mtime=0))
    yield "trailing-comma", plain([], "a comma before the last bracket", *whole(30), text=text.replace("}\n]", "},\n]"))
    yield "missing-comma", plain([], "no comma between two events", *whole(30), text=text.replace("},\n{", "}\n{", 1))
    yield "nan", plain([], "NaN, Infinity and -nan as values", *whole(30), text=text.replace('"n": 3\n', '"n": NaN\n').replace('"n": 4\n', '"n": Infinity\n').replace('"n": 5\n', '"n": -nan\n'))
    yield "quote", plain([], 'an unescaped " within a name', *whole(30), text=text.replace('"s7"', '"operator""s7"'))
    yield "backslash", plain([], "a path with single backslashes", *whole(30), text=text.replace('"s7"', '"C:\\user\\s7"'))
    yield "control", plain([], "a line feed and a tab within a name", *whole(30), text=text.replace('"s7"', '"s\n7\t"'))
    yield "not-utf8", plain([], "a name that is not UTF-8", *whole(30), text=text.encode().replace(b'"s7"', b'"s\xff\xfe7"'))
    yield "byte-order-mark", plain([], "a byte order mark", *whole(30), text=b"\xef\xbb\xbf" + text.encode())
    yield "empty-events", plain([], "{} and null among the events", *whole(30), text=text.replace('{\n"ph"', '{}, null, {\n"ph"', 1))
    yield "two-texts", plain([], "two whole texts, one behind the other", *whole(60), text=text + "\n" + text.replace('"s', '"t'))
    yield "hole", plain([], "a block of zeros, as after a crash of the machine", 29, 29 * 5000, loss="zeros", text=text.encode().replace(json.dumps(events[11], indent=0).encode(), bytes(len(json.dumps(events[11], indent=0)))))


# ---- runs ----

def shifted(run, ns):
    for a in run.activities:
        a.start += ns
    return run


def two_processes(same_ids=True):
    """Two programs on two GPUs, whose correlation ids are the same."""
    run = Run(5, 1)
    for i in range(6):
        for p in (0, 1):
            run.process = p
            call = run.call("cudaLaunchKernel", 3000, 501 + i)
            run.run(call, KERNEL, f"gemm_of_process_{p}", 4000 + 1000 * p, device=p, after=call.start + 5000 + 900 * p)
    return run


def two_programs_one_rank_file():
    run = two_processes()
    for p in (0, 1):
        mine = [c for c in run.calls if c.process == p]
        for n in range(2):
            run.ranges.append(Range(f"ProfilerStep#{n}", mine[3 * n].start - 100, mine[3 * n + 2].start + 3200 - mine[3 * n].start, "step", p))
    return run


def graph():
    run = Run(6, 1)
    for i in range(3):
        call = run.call("cudaGraphLaunch")
        for node in range(5):
            run.run(call, KERNEL, f"node_{node}", 5000 + 100 * node)
        run.pause(60000)
    return run


def dependent_launch():
    """Programmatic dependent launch: a kernel begins before the one before it on its stream ends."""
    run = Run(7, 1)
    for i in range(6):
        a = run.kernel(i, dur=20000)
        run.free[0, 7] = a.end - 1200
    return run


def parts(run, keep_call=lambda i: True, keep_activity=lambda i: True):
    calls = {id(a.call): i for i, a in enumerate(run.activities)}
    gone = {id(a.call) for i, a in enumerate(run.activities) if not keep_call(i)}
    run.calls = [c for c in run.calls if id(c) not in gone]
    for i, a in enumerate(run.activities):
        if not keep_call(i):
            a.call = None
    run.activities = [a for i, a in enumerate(run.activities) if keep_activity(i)]
    assert calls
    return run


def names_of_collectives():
    run = Run(8, 1)
    for name in ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
                 "void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)", "void one_shot_all_reduce_kernel<float>()", "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)",
                 "nvshmemi_transfer_rma_nbi", "userbuffers_fp16_sum_inplace_gpu_rr", "allreduce_fusion_kernel_oneshot_lamport<2>"):
        run.run(run.call("cudaLaunchKernel"), KERNEL, name, 10000, COMMUNICATION)
    for name in ("void reduce_kernel<512, 1>(at::native::ReduceOp<float>)", "triton_red_fused_all_mean_0", "void takes_a_comm<float>(int)"):
        run.run(run.call("cudaLaunchKernel"), KERNEL, name, 10000)
    return run


def kineto_with(run, *more, edit=None, **keys):
    whole = chrome.kineto(run, 2026)
    whole["traceEvents"] += more
    if edit:
        edit(whole["traceEvents"])
    return {**whole, **keys}


def relative(us):
    return chrome.us(us * 1000, chrome.RELATIVE_US)


def runs():
    """(name, about, run whose truth it is, what is written, facts that differ)"""
    yield "two-clocks", "the clock of the GPU is 3 ms behind: each kernel begins before its launch", (run := shifted(training(50, 1), -3_000_000)), kineto_with(run), {}
    yield "gpu-clock-ahead", "the clock of the GPU is 40 ms ahead", (run := shifted(training(51, 1), 40_000_000)), kineto_with(run), {}
    yield "colliding-correlations", "two processes in one file use the same correlation ids", (run := two_processes()), kineto_with(run, edit=lambda ev: ev.__setitem__(slice(None), [e for e in ev if e["ph"] not in "sf"])), {}
    yield "colliding-flows", "the same, with flows whose ids are the same as well", (run := two_processes()), kineto_with(run), {}
    yield "steps-of-two-processes", "two processes have steps of the same names", (run := two_programs_one_rank_file()), kineto_with(run), {}
    yield "cuda-graph", "a graph's launch has five kernels", (run := graph()), kineto_with(run), {}
    yield "dependent-launch", "programmatic dependent launch: kernels of one stream overlap", (run := dependent_launch()), kineto_with(run, deviceProperties=[dict(chrome.PROPERTIES, name="NVIDIA H100", computeMajor=9)]), {}
    yield "missing-activities", "a third of the launches has no kernel in the file", (run := parts(training(52, 1), keep_activity=lambda i: i % 3)), kineto_with(run), {}
    yield "missing-launches", "a third of the kernels has no launch in the file", (run := parts(training(53, 1), keep_call=lambda i: i % 3)), kineto_with(run), {}
    yield "no-launches", "GPU activities alone", (run := parts(training(54, 1), keep_call=lambda i: False)), kineto_with(run), {}
    yield "collectives-by-name", "eight libraries' collectives, and three kernels that are none", (run := names_of_collectives()), kineto_with(run), {}
    run = training(55, 1)
    cover = [x("## forward ##", relative(0), 3000, 0, 7, "gpu_user_annotation")]
    yield "gpu-annotation", "an annotation covers the stream: it is not an activity", run, kineto_with(run, *cover), {}
    waits = [x("Stream Wait Event", relative(30 + 90 * i), 60, 0, 7, "cuda_sync", args={"stream": 7, "device": 0, "correlation": 9000 + i}) for i in range(3)]
    yield "gpu-waits", "waits for events on a stream are not activity", (run := training(56, 1)), kineto_with(run, *waits), {}
    run = training(57, 1)
    run.activities.append(Activity(KERNEL, "lost_times", "compute", -chrome.RELATIVE_US * 1000, 0, call=run.call("cudaLaunchKernel", 3000), id=run.next_id))
    truth_of = truth(run)
    yield "kernel-at-time-zero", "CUPTI gave no times for one kernel: start and end are 0", run, kineto_with(run), {"launches": {"matched": truth_of["launches"]["matched"], "delay_ns": None}}
    run = training(58, 1)
    yield "kernel-never-ended", "a kernel of which only the begin was written", run, kineto_with(run, {"ph": "B", "cat": "kernel", "name": "open", "pid": 0, "tid": 9, "ts": relative(50), "args": {"device": 0, "stream": 9, "correlation": 99999}}), \
        {"gpu_busy": None, "counts": {"kernels": truth(run)["counts"]["kernels"] + 1}, "launches": None, "classes": None, "exposed_communication": None, "gpu_time_ns": None}
    run = training(59, 1, devices=2, steps=2)
    yield "devices-on-one-row", "the kernels of two GPUs are on one row, distinguished by an argument", run, kineto_with(run, edit=lambda ev: [e.update(pid="GPU", tid="all") for e in ev if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") or e["ph"] == "f"]), {}
    run = training(60, 1, devices=2, steps=2)
    yield "no-device-arguments", "the number of the GPU is in no argument, only in the row", run, kineto_with(run, edit=lambda ev: [e["args"].pop("device") for e in ev if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]), {}
    run = training(61, 1)
    yield "no-flows", "launches by correlation alone", run, kineto_with(run, edit=lambda ev: ev.__setitem__(slice(None), [e for e in ev if e["ph"] not in "sf"])), {}
    run = training(62, 1)
    yield "flows-alone", "launches by flows alone", run, kineto_with(run, edit=lambda ev: [e["args"].pop("correlation", 0) for e in ev if e["ph"] == "X"]), {}
    run = training(63, 1)
    yield "nested-annotations", "an annotation within one of its name", run, kineto_with(run, x("block", relative(0), 900, 4100, 4100, "user_annotation"), x("block", relative(1), 800, 4100, 4100, "user_annotation")), {}
    run = training(64, 1)
    yield "memory-instants", "PyTorch's memory events among the slices", run, kineto_with(run, *({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 4100, "tid": 4100, "ts": relative(i * 20), "args": {"Total Allocated": 1024 * i, "Bytes": 1024, "Addr": 1 << 40, "Device Id": 0, "Device Type": 1, "Ev Idx": i, "Total Reserved": 1 << 20}} for i in range(8))), {}
    run = training(65, 1)
    yield "cut-run", "the file of a killed run: the text ends behind the last kernel", run, chrome.dumps(kineto_with(run, x("tail", relative(1), 5, 4100, 4100, "cpu_op")))[:-40], {"loss": "cut", "counts": {k: v for k, v in truth(run)["counts"].items()}}


def in_databases():
    """(name, format, extension, about, run, writer, facts that differ)"""
    yield "nsys-colliding-correlations", "nsys", ".sqlite", "two processes of one report use the same correlation ids", (run := two_processes()), lambda path, run=run: databases.nsys(path, run), {}
    run = Run(70, 1)
    graphs = []
    for i in range(4):
        call = run.call("cudaGraphLaunch")
        one = run.run(call, KERNEL, "graph", 50000)
        graphs.append((one.start, one.end, 0, 7, call.id))
        run.kernel(i)
    only = [a for a in run.activities if a.name != "graph"]
    yield "nsys-graphs-whole", "nsys", ".sqlite", "CUDA graphs are traced whole: no kernels within", run, lambda path, run=run, only=only, graphs=graphs: databases.nsys(path, with_activities(run, only), graphs=graphs), \
        {"counts": None}
    run = parts(training(71, 1), keep_call=lambda i: i % 2)
    yield "nsys-window", "nsys", ".sqlite", "a cut window: half of the kernels have no row of their launch", run, lambda path, run=run: databases.nsys(path, run), {}
    run = training(72, 1)
    yield "nsys-no-strings", "nsys", ".sqlite", "the table of names is missing", run, lambda path, run=run: databases.nsys(path, run, strings=False), {"steps": None, "classes": None, "exposed_communication": None}
    run = training(73, 1)
    yield "nsys-no-calls", "nsys", ".sqlite", "no table of API calls", run, lambda path, run=run: databases.nsys(path, run, calls=False), {"launches": {"matched": 0}, "counts": {k: v for k, v in truth(run)["counts"].items() if k != "calls"}}
    first, second = training(74, 1, "hip", steps=2), training(75, 1, "hip", steps=2)
    for r in (first, second):
        r.activities = [a for a in r.activities if a.kind != MEMSET]
    both = Run(0, 1, "hip")
    both.activities, both.calls, both.ranges = first.activities + second.activities, first.calls + second.calls, first.ranges + second.ranges
    yield "rocpd-two-processes", "rocpd", ".db", "two processes in one database, whose ids are the same", both, lambda path: databases.rocpd(path, first, 3, second), {"steps": None}

    def cut(path):
        databases.nsys(path, cut_run)
        with open(path, "r+b") as file:
            file.truncate(file.seek(0, 2) - 3000)
    cut_run = training(76, 1)
    yield "nsys-cut", "nsys", ".sqlite", "the copy of a database broke off", cut_run, cut, {**NOTHING, "counts": truth(cut_run)["counts"], "loss": "cut"}
    run = training(77, 1, "xla")
    run.ranges = []
    yield "xplane-cut", "xplane", ".xplane.pb", "the file ends within a plane", run, lambda path, run=run: profiles.save(path, profiles.xplane(run)[:1500]), {**NOTHING, "counts": truth(run)["counts"], "loss": "cut"}
    run = training(78, 1)
    yield "pftrace-cut", "pftrace", ".pftrace", "the file ends within a packet", run, lambda path, run=run: profiles.save(path, profiles.pftrace(run)[:-30]), {**NOTHING, "counts": {"slices": len(run.calls) + len(run.activities) + len(run.ranges)}, "slice_ns": sum(x.dur for x in [*run.calls, *run.activities, *run.ranges]), "loss": "cut"}


def with_activities(run, activities):
    other = copy.copy(run)
    other.activities = activities
    return other


def add_to(zoo):
    for name, (about, text, facts) in [*structure(), *damage()]:
        file = f"{name}.json" + (".gz" if "gzip" in name else "")
        if isinstance(text, bytes) and file.endswith(".gz"):
            write = lambda folder, file=file, text=text: profiles.save(f"{folder}/{file}", text)  # noqa: E731
        else:
            write = lambda folder, file=file, text=text: chrome.write(f"{folder}/{file}", text)  # noqa: E731
        if "slice_named" in facts["counts"]:
            facts["slice_named"] = facts["counts"].pop("slice_named")
        zoo.add(name, "fault", "chrome", about, [file], facts, write)
    for name, about, run, text, more in runs():
        zoo.add(name, "fault", "kineto", about, [f"{name}.json"], truth(run, **more), lambda folder, name=name, text=text: chrome.write(f"{folder}/{name}.json", text))
    for name, form, extension, about, run, write, more in in_databases():
        zoo.add(name, "fault", form, about, [name + extension], truth(run, **more), lambda folder, write=write, file=name + extension: write(f"{folder}/{file}"))
