#!/usr/bin/env python3
"""Holds the oracle's reports against tables that others made of real traces: TraceLens, HTA, published figures.

Where a peer computes in floating point or rounds to microseconds, the same is done here to the exact numbers, and then
its figures have to come out to the last digit. Skips without HEDDLE_SHARED or ../shared.

  check_known.py [--again]

No code of Heddle's runs here, only the oracle and the traces: while both are those of known.sha256, with which every figure
held, they are not compared again (40 s), unless --again asks for it. What holds anew is written there.
"""
import collections
import csv
import hashlib
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import flops  # noqa: E402
import lists  # noqa: E402
import nsys_trace  # noqa: E402
import reports  # noqa: E402
import scope  # noqa: E402
import spans  # noqa: E402
import trace  # noqa: E402

SKIP = 77
ROOT = os.environ.get("HEDDLE_SHARED") or os.path.join(os.environ.get("HEDDLE_SOURCE_ROOT", "."), "..", "shared")
DATA = os.path.join(ROOT, "data")
QWEN = os.path.join(DATA, "analysis", "h100_qwen")
problems, counted = [], collections.Counter()


def same(what, got, wanted):
    counted[what.split(":")[0]] += 1
    if got != wanted:
        problems.append("%s: %r, known is %r" % (what, got, wanted))


def near(what, got, wanted, part):
    """Within a part of what is known, or in its last digit."""
    counted[what.split(":")[0]] += 1
    if got is None or abs(float(got) - float(wanted)) > part * abs(float(wanted)):
        problems.append("%s: %r, known is %r" % (what, got if got is None else float(got), wanted))


def table(name):
    with open(os.path.join(QWEN, "expected", name + ".csv"), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ---- TraceLens: h100_qwen ----

def float_union(spans_):
    """As TraceLens does it: in microseconds as doubles, which lack digits for times since an epoch."""
    merged = []
    for start, end in sorted(spans_):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return sum(end - start for start, end in merged)


def check_timeline(qwen):
    known = {row["type"]: float(row["time ms"]) for row in table("gpu_timeline")}
    linked = reports.report("breakdown", qwen, linked=True)["breakdown"][0]
    for column, name in (("compute", "computation_time"), ("exposed_communication", "exposed_comm_time"),
                         ("exposed_copy", "exposed_memcpy_time"), ("busy", "busy_time"), ("idle", "idle_time"),
                         ("span", "total_time"), ("communication", "total_comm_time"), ("copy", "total_memcpy_time")):
        same("TraceLens timeline: %s to 20 ns" % name, abs(linked[column] - known[name] * 1e6) < 20, True)
    compute = []
    with_launch = {w.index for w in qwen.works if w.launch is not None and w.role != "copy"}
    for w, (ts, dur) in qwen.microseconds.items():
        if w in with_launch:
            compute.append((float(ts), float(ts) + float(dur)))
    same("TraceLens timeline: computation_time in doubles", float_union(compute) / 1e3, known["computation_time"])
    whole = reports.report("breakdown", qwen)["breakdown"][0]
    for column, ns in (("compute", 45644943), ("idle", 4005521), ("span", 49652832)):
        same("facts: all GPU work, %s to 20 ns" % column, abs(whole[column] - ns) < 20, True)
    same("facts: works without a launch", (whole["unlinked"], whole["works"], whole["before"]), (509, 1707, 509))
    same("facts: their time", whole["unlinked_time"] // 100000, 137)
    step = reports.report("breakdown", qwen, by=("step",))["breakdown"]
    same("steps: the step has what is linked", step[-1]["span"], linked["span"])
    same("steps: their sum", sum(row["span"] for row in step), whole["span"])


def check_kernel_summary(qwen):
    known = {(row["Parent cpu_op"] or None, row["Kernel name"], int(row["Kernel stream"])): row
             for row in table("kernel_summary")}
    got = {(row["op"], row["name"], row["stream"]): row
           for row in reports.report("kernels", qwen, by=("op", "stream"))["kernels"]}
    same("TraceLens kernels: rows", set(got), set(known))
    for key in set(got) & set(known):
        row, theirs = got[key], known[key]
        for column, name in (("total", "sum"), ("min", "min"), ("max", "max")):
            same("TraceLens kernels: %s" % column, row[column],
                 round(float(theirs["Kernel duration (µs)_" + name]) * 1000))
        same("TraceLens kernels: count", row["count"], int(theirs["Kernel duration (µs)_count"]))
        same("TraceLens kernels: mean", abs(row["mean"] - float(theirs["Kernel duration (µs)_mean"]) * 1000) <= 0.501,
             True)
        near("TraceLens kernels: share", row["share"], theirs["Percent of kernels time (%)"], 1e-12)


def check_operators(qwen):
    got = {row["name"]: row for row in reports.report("operators", qwen)["operators"]}
    known = table("ops_summary")
    same("TraceLens operators: those with work of their own", {n for n, row in got.items() if row["gpu_self"]} -
         {"(no launch)"}, {row["name"] for row in known})
    for row in known:
        for column, theirs in (("gpu_self", "total_direct_kernel_time_sum"),
                               ("gpu_total", "total_subtree_kernel_time_sum")):
            # durations there are differences of doubles, 0.25 ns apart
            near("TraceLens operators: " + row["name"], got[row["name"]][column], float(row[theirs]) * 1000, 1e-4)


def known_flops(qwen):
    """(op, shapes, types, concrete inputs): figures and times of each call."""
    found, s = collections.defaultdict(list), scope.Scope(qwen)
    ops = {op.index: (op, said) for op, said in flops.known_ops(qwen)}
    linked = [w for w in s.works if w.launch is not None]
    around = trace.Around([op for op, _ in ops.values()], lists.launch_places(linked))
    below = collections.defaultdict(list)
    for w in linked:
        for op in around.at(w.launch.row, w.launch.start):
            below[op.index].append(w)
    for index, works in below.items():
        op, said = ops[index]
        found[op.name, *(json.dumps(op.args.get(k)) for k in ("Input Dims", "Input type", "Input Strides"))].append(
            (said, spans.length(spans.of(works))))
    return found


def text_of(cell):
    """Their cells are Python's lists; ours JSON's."""
    return json.dumps(eval(cell, {"__builtins__": {}}))  # a known file  # pylint: disable=eval-used


def check_flops(qwen):
    found = known_flops(qwen)
    for name in ("GEMM", "SDPA_fwd", "BinaryElementwise", "UnaryElementwise"):
        for row in table(name):
            key = (row["name"], *(text_of(row[c + "_first"]) for c in ("Input Dims", "Input type", "Input Strides")))
            calls = found.get(key)
            same("TraceLens %s: calls of %s" % (name, key[:2]), len(calls or []), int(row["name_count"]))
            if not calls:
                continue
            (_, _, flop, moved), times = calls[0][0], [t for _, t in calls]
            what = "TraceLens %s: %s %s" % (name, key[0], key[1])
            if key[0] != "aten::copy_":  # theirs counts a copied element as an operation
                same(what + " FLOP", flop, round(float(row["GFLOPS_first"]) * 1e9))
                near(what + " mean rate", sum(flop / t for t in times) / len(times) / 1000, row["TFLOPS/s_mean"], 1e-4)
            same(what + " bytes", moved, round(float(row["Data Moved (MB)_first"]) * 2**20))
            near(what + " time", sum(times), float(row["Kernel Time (µs)_sum"]) * 1000, 1e-3)


def check_peaks(qwen):
    """The rate of TraceLens's largest product, of the 989.4 TFLOP/s of the data sheet; its trace does not tell the GPU."""
    rows = {(r["op"], r["shapes"]): r for r in
            reports.report("flops", qwen, gpu="NVIDIA H100 80GB HBM3")["flops"]}
    row = rows["aten::mm", "[[8944, 1024], [1024, 2816]]"]
    near("TraceLens peaks: share of mm", row["peak_share"], 100 * 610.666 / 989.4, 1e-3)
    same("TraceLens peaks: side of mm", row["bound"], "compute")


def check_qwen():
    path = os.path.join(QWEN, "Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz")
    document = trace.load(path)
    qwen = trace.read_document(document)
    qwen.microseconds = {i: (e["ts"], e["dur"]) for i, e in
                         enumerate(e for e in document["traceEvents"] if e.get("ph") == "X")}
    check_timeline(qwen)
    check_kernel_summary(qwen)
    check_operators(qwen)
    check_flops(qwen)
    check_peaks(qwen)


# ---- HTA ----

def as_hta_rounds(t):
    """HTA moves the start of a slice up and its end down to whole microseconds."""
    for s in t.slices:
        s.start, s.end = -(-s.start // 1000) * 1000, s.end // 1000 * 1000
    return t


def check_mtia():
    path = os.path.join(DATA, "kineto", "mtia_rank_0.json.gz")
    mtia = trace.read(path)
    queue = reports.report("queue", mtia)
    lengths = [row["length"] for row in queue["queue_length"] if row["stream"] == 102]
    same("HTA queue: stream 102", lengths, [1, 0, 1, 0, 1, 0])  # count 6, mean .5, std .547723, max 1
    row = next(row for row in queue["queue"] if row["stream"] == 102)
    same("HTA queue: time at 1 to a microsecond", row["time_most"] // 1000 in (1059, 1060), True)
    mtia.works = [w for w in mtia.works if w.stream is not None]  # HTA takes a row without a stream for a thread
    row = reports.report("breakdown", mtia)["breakdown"][0]
    for column, us in (("span", 133280717), ("idle", 56272744), ("compute", 73090631), ("exposed_copy", 3917342)):
        same("facts: MTIA %s" % column, (row[column] + 50) // 100, us)
    for column, us, part in (("span", 13328347, 0.005), ("idle", 5648827, 0.005), ("compute", 7305596, 0.005),
                             ("exposed_copy", 373924, 0.05)):
        near("HTA breakdown: %s" % column, row[column], us * 1000, part)
    exact = {(r["stream"], r["class"]): r for r in reports.report("hta", mtia)["hta"]}
    near("HTA idle: exact host_wait", exact[1, "host_wait"]["total"], 417937000, 0.04)
    same("HTA idle: ratio", round(float(exact[1, "host_wait"]["ratio"]), 2), 0.07)
    rounded = as_hta_rounds(mtia)
    row = reports.report("breakdown", rounded)["breakdown"][0]
    for column, us in (("span", 13328071), ("idle", 5649476), ("compute", 7305597)):
        near("HTA breakdown: rounded as it does, %s" % column, row[column], us * 1000, 1e-6)
    got = {(r["stream"], r["class"]): r["total"] for r in reports.report("hta", rounded)["hta"]}
    same("HTA idle: host_wait, rounded as it does", got[1, "host_wait"], 417937000)
    same("HTA idle: other, rounded as it does", got[102, "host_wait"], 445000)


def check_negative():
    path = os.path.join(DATA, "kineto", "negative_queue_rank0.json.gz")
    queue = reports.report("queue", trace.read(path))
    same("HTA queue: streams", len(queue["queue"]), 6)
    same("HTA queue: no negatives", min(row["length"] for row in queue["queue_length"]) >= 0, True)
    same("HTA queue: changes", len(queue["queue_length"]) >= 12000, True)
    most = {row["stream"]: row["most"] for row in queue["queue"]}
    # HTA knows three names of calls only; on these streams all work is launched by them
    same("HTA queue: longest", {s: most[s] for s in (25, 27, 84, 285, 363)}, {25: 4, 27: 17, 84: 3, 285: 4, 363: 4})


def check_hta_steps(nccl):
    """HTA leaves out the last step, and sets are not computation to it: figures of its release 0.5.0."""
    last = max(step.start for step in scope.Scope(nccl).steps)
    rounded = as_hta_rounds(nccl)
    rounded.works = [w for w in nccl.works if w.launch.start < last and w.start < last]
    got = {(r["stream"], r["class"]): r["total"] for r in reports.report("hta", rounded)["hta"]}
    for stream, us in ((7, 357247), (40, 381499)):
        same("HTA idle: host_wait of NCCL's streams", got[stream, "host_wait"], us * 1000)
    same("HTA breakdown: span without the last step", reports.report("breakdown", rounded)["breakdown"][0]["span"],
         435586000)
    rounded.works = [w for w in rounded.works if w.role == "kernel"]
    row = reports.report("breakdown", rounded)["breakdown"][0]
    near("HTA overlap: of NCCL", row["communication_overlap"], 14.31, 5e-4)


# What HTA 0.5.0 says of traces whose times are whole microseconds: span, idle, computation (kernels alone), communication
# (all of it), host_wait and the rest of a stream.
EXACT = {
    "ranks/dlrm/rank0": (13009, 6419, 1034, 5537 + 261, 7, 11448, 123),
    "ranks/dlrm/rank3": (18853, 8145, 1240, 9440 + 324 + 10, 84, 4746, 3),
    "ranks/megatron-tp8/rank0": (595241, 222514, 131390, 241191, 7, 249335, 925 + 213445),
    "ranks/megatron-tp8/rank5": (630631, 7978, 131544, 490928, 24, 8236, 128963),
    "kineto/df_index_resolver": (1396669, 643612, 496485, 238274, 14, 933139, 5568 + 4444),
}


def check_hta_exact():
    for name, (span, idle, compute, communication, stream, host, rest) in EXACT.items():
        t = trace.read(os.path.join(DATA, name + ".json.gz"))
        steps = [step.start for step in scope.Scope(t).steps]
        if len(steps) > 1:
            t.works = [w for w in t.works if w.launch.start < max(steps) and w.start < max(steps)]
        row = reports.report("breakdown", t)["breakdown"][0]
        same("HTA breakdown: " + name, [row[c] for c in ("span", "idle", "communication")],
             [us * 1000 for us in (span, idle, communication)])
        totals = collections.Counter()
        for r in reports.report("hta", t)["hta"]:
            totals[r["stream"], r["class"] == "host_wait"] += r["total"]
        same("HTA idle: " + name, [totals[stream, True], totals[stream, False]], [host * 1000, rest * 1000])
        t.works = [w for w in t.works if w.role == "kernel"]
        same("HTA breakdown: " + name, reports.report("breakdown", t)["breakdown"][0]["compute"], compute * 1000)


# ---- nsys: what SQL says of its exports ----

KERNELS_SQL = """
with k as (select s.value as name, k.end - k.start as ns, gridX || 'x' || gridY || 'x' || gridZ as grid,
                  deviceId as device
           from CUPTI_ACTIVITY_KIND_KERNEL k join StringIds s on s.id = demangledName),
     o as (select *, row_number() over (partition by device, name, grid order by ns) as i,
                  count(*) over (partition by device, name, grid) as n from k)
select device, name, grid, sum(ns), count(*), min(ns), max(ns),
       avg(case when 2 * i between n and n + 2 then ns end),
       sum(ns * ns), avg(ns) from o group by device, name, grid"""
LAUNCHES_SQL = """
select k.deviceId, s.value, count(*), sum(r.end - r.start), sum(k.start - r.end), sum(k.start < r.end),
       sum(k.end - r.start),
       sum(k.end - k.start < r.end - r.start)
from CUPTI_ACTIVITY_KIND_KERNEL k join CUPTI_ACTIVITY_KIND_RUNTIME r on r.correlationId = k.correlationId
     and r.globalTid / 0x1000000 = k.globalPid / 0x1000000 join StringIds s on s.id = k.demangledName group by 1, 2"""
RANGES_SQL = """
with w as (select start, end, correlationId, globalPid from CUPTI_ACTIVITY_KIND_KERNEL union all
           select start, end, correlationId, globalPid from CUPTI_ACTIVITY_KIND_MEMCPY union all
           select start, end, correlationId, globalPid from CUPTI_ACTIVITY_KIND_MEMSET),
     l as (select w.start, w.end, r.start as at, r.globalTid from w join CUPTI_ACTIVITY_KIND_RUNTIME r
           on r.correlationId = w.correlationId and r.globalTid / 0x1000000 = w.globalPid / 0x1000000),
     p as (select n.rowid as id, n.text, count(*) as works, sum(l.end - l.start) as time,
                  max(l.end) - min(l.start) as span
           from NVTX_EVENTS n join l on l.globalTid = n.globalTid and n.start <= l.at and l.at < n.end group by n.rowid)
select text, count(*), sum(works), sum(time), sum(span) from p group by text"""


def check_nsys_kernels(name, db, t):
    rows = reports.report("kernels", t, by=("grid",))["kernels"]
    got = {(r["device"], r["name"], r["grid"]): r for r in join_blocks(rows)}
    for device, kernel, grid, total, count, least, most, middle, squares, mean in db.execute(KERNELS_SQL):
        row = got.get((device, kernel, grid))
        if row is None:
            continue  # more than one shape of blocks with this grid
        same("nsys %s: kernels" % name, [row[c] for c in ("total", "count", "min", "max")], [total, count, least, most])
        same("nsys %s: median" % name, abs(row["median"] - middle) <= 0.5, True)
        same("nsys %s: mean" % name, abs(row["mean"] - mean) <= 0.501, True)
        if count > 1:
            deviation = ((count * squares - total * total) / (count * (count - 1))) ** 0.5
            same("nsys %s: stddev" % name, abs(row["stddev"] - deviation) <= 1, True)
    same("nsys %s: sum of kernels" % name, sum(r["total"] for r in reports.report("kernels", t)["kernels"]),
         db.execute("select sum(end - start) from CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0])


def join_blocks(rows):
    """Rows whose name and grid stand once."""
    counts = collections.Counter((r["device"], r["name"], r["grid"]) for r in rows)
    return [r for r in rows if counts[r["device"], r["name"], r["grid"]] == 1]


def check_nsys(name):
    path = os.path.join(DATA, "nsys", name)
    db, t = nsys_trace.connect(path), trace.read_document(json.loads(nsys_trace.dumps(nsys_trace.document(path)),
                                                                    parse_float=trace.decimal.Decimal))
    check_nsys_kernels(name, db, t)
    columns = ("launches", "call_total", "delay_total", "negative", "whole_total", "short")
    sums = collections.defaultdict(collections.Counter)
    for r in reports.report("launches", t)["launches"]:
        if r["kind"] == "kernel":
            sums[r["device"], r["name"]].update({c: r[c] for c in columns})
    for device, kernel, *known in db.execute(LAUNCHES_SQL):
        same("nsys %s: launches" % name, [sums[device, kernel][c] for c in columns], known)
    copies = collections.defaultdict(collections.Counter)
    for r in reports.report("copies", t)["copies"]:
        copies[r["kind"]].update({c: r[c] for c in ("count", "total", "bytes")})
    for kind, *known in db.execute("select copyKind, count(*), sum(end - start), sum(bytes)"
                                   " from CUPTI_ACTIVITY_KIND_MEMCPY group by copyKind"):
        same("nsys %s: copies" % name, [copies[nsys_trace.COPIES[kind]][c] for c in ("count", "total", "bytes")], known)
    if nsys_trace.has(db, "NVTX_EVENTS"):
        ranges = collections.defaultdict(collections.Counter)  # both ranks together
        for r in reports.report("ranges", t)["ranges"]:
            ranges[r["name"]].update({c: n for c, n in r.items() if isinstance(n, int) and c != "rank"})
        for text, *known in db.execute(RANGES_SQL):
            same("nsys %s: ranges" % name,
                 [ranges[text][c] for c in ("gpu_calls", "works", "gpu_time", "gpu_span")], known)
        for text, *known in db.execute("select text, count(*), sum(end - start) from NVTX_EVENTS group by text"):
            same("nsys %s: ranges" % name, [ranges[text][c] for c in ("calls", "cpu_total")], known)


# ---- communication ----

def check_collectives():
    nccl = trace.read(os.path.join(DATA, "kineto", "nccl_data.json.gz"))
    found = reports.report("communication", nccl)
    same("facts: NCCL kernels", len(found["collectives"]), 21)
    sizes = [row for row in found["collectives"] if row["in"] == 6637568]
    same("facts: the all-reduce", {(r["collective"], r["dtype"], r["size"], r["bytes"]) for r in sizes},
         {("AllReduce", "Float", 2, 4 * 6637568)})
    args = {"Collective name": "_allgather_base", "In msg nelems": 106956800, "Out msg nelems": 8 * 106956800,
            "dtype": "BFloat16", "Group size": 8}
    work = trace.Slice(0, "ncclDevKernel_AllGather_RING_LL", "kernel", ("0", "7"), 0, 6041880, args)
    work.role = "kernel"
    row = lists.collective_row(scope.Scope(nccl), work, args, [])
    near("published all-gather: MiB", row["bytes"] / 2**20, 1632.03, 1e-5)
    near("published all-gather: algorithm bandwidth", row["algorithm_bandwidth"], 264.01 * 1.073741824, 1e-3)
    near("published all-gather: bus bandwidth", row["bus_bandwidth"], 231.01 * 1.073741824, 1e-3)
    check_hta_steps(nccl)


def digest():
    """Of the oracle's code, and of which traces there are and how large they are."""
    code, known = hashlib.sha256(), pathlib.Path(DATA)
    for path in sorted(HERE.glob("*.py")):
        code.update(path.read_bytes())
    for path in sorted(known.rglob("*")):
        if path.is_file() and not path.name.endswith(("-wal", "-shm")):  # SQLite's, of somebody who reads
            code.update(("%s %d\n" % (path.relative_to(known), path.stat().st_size)).encode())
    return code.hexdigest()


def main():
    if not os.path.isdir(QWEN):
        print("skipped: no traces in " + DATA)
        return SKIP
    held, now = HERE / "known.sha256", digest()
    if "--again" not in sys.argv[1:] and held.read_text().strip() == now:
        print("skipped: the oracle and the traces are those with which all figures held (--again compares them)")
        return SKIP
    check_qwen()
    check_mtia()
    check_negative()
    check_collectives()
    check_hta_exact()
    for name in ("perlmutter-cloverleaf-cuda.sqlite", "h100_2gpu_1s.sqlite"):
        check_nsys(name)
    for what, count in sorted(counted.items()):
        print("%5d  %s" % (count, what))
    print("\n".join(problems[:60]))
    if not problems and os.access(held, os.W_OK):
        held.write_text(now + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
