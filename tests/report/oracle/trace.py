"""A trace in Chrome's JSON format as plain lists, read by the conventions that profilers keep. Shares no code with
Heddle; docs/reports/definitions.md says what the words mean.

  trace = trace.read("file.json.gz")
  trace.works, trace.calls, trace.ops, trace.frames, trace.annotations, trace.waits    each a list of Slice
"""
import bisect
import collections
import decimal
import gzip
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from pairs import pairs_of  # noqa: E402

EXACT = decimal.Context(prec=100)

KERNELS = {"kernel", "gpu_kernel", "concurrent_kernel", "kernel_dispatch", "graph_trace"}
COPIES = {"memcpy", "gpu_memcpy", "memcpy2", "memcopy", "gpu_memcopy", "memory_copy"}
SETS = {"memset", "gpu_memset"}
OPS = {"cpu_op", "operator"}
ANNOTATIONS = {"user_annotation", "nvtx", "marker_api"}
UNSAID = {"", "cuda", "hip", "opencl", "op", "gpu_op"}
WAITS = {"event_wait", "event_record", "event_reset", "notify_wait", "notify_record", "write_value", "wait_value",
         "free", "profiling_enable", "profiling_disable"}
NAMED = [
    (r"Kernel: ", "kernel"), (r"Mem[Cc]o?py: |Memcpy [HDPA]to[HDPA]|Memcpy[HDPA]2[HDPA]$", "copy"),
    (r"CopyHostToDevice|CopyDeviceToHost|CopyDeviceToDevice", "copy"), (r"Mem[Ss]et: |Memset \(|FillBuffer", "set"),
    (r"Runtime: |__hip|__cuda|cuda[A-Z]|hip[A-Z]|ur[A-Z]|mc[A-Z]|clEnqueue[A-Z]", "call"), (r"Driver: |hsa_|cu[A-Z]|ze[A-Z]", "call"),
]
LAUNCHES = re.compile(
    r"(Runtime: |Driver: )?_*((cuda|cu|hip|mc)(ExtModule|HccModule|Module|Ext|Drv)?"
    r"(GraphLaunch|Launch(?!HostFunc)(Kernel|CooperativeKernel|MultiKernel|ByPtr|Device|Grid|\b|_)|Memcpy|Memset)"
    r"|aclrtLaunchKernel|aclrtMemcpy|aclrtMemset|runFunction - job_prep_and_submit)")


class Slice:
    __slots__ = ("index", "id", "name", "category", "row", "start", "end", "args", "role", "rank", "device", "stream",
                 "launch", "before", "wrapped")

    def __init__(self, index, name, category, row, start, end, args):
        self.index, self.name, self.category, self.row, self.id = index, name, category, row, None  # id: add_slice
        self.start, self.end, self.args = start, end, args
        self.role = self.rank = self.device = self.stream = self.launch = self.before = None

    @property
    def duration(self):
        return self.end - self.start

    def __repr__(self):
        return "%d %s [%d, %d)" % (self.index, self.name, self.start, self.end)


def decimal_of(value):
    """A number of the file, exactly; None: it is none."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = decimal.Decimal(value)
    except (decimal.InvalidOperation, TypeError, ValueError):
        return None
    return number if number.is_finite() else None


def floor(number):
    return int(number.to_integral_value(decimal.ROUND_FLOOR, EXACT))


def whole(value):
    """An argument that is a whole number, written as one or as text; else None."""
    number = decimal_of(value)
    return int(number) if number is not None and number == int(number) else None


def ends_of(ts, dur):
    """Both ends in whole nanoseconds of microseconds: the end is the floor of the exact sum."""
    start = EXACT.multiply(ts, 1000)
    return floor(start), floor(EXACT.add(start, EXACT.multiply(max(dur, decimal.Decimal(0)), 1000)))


def load(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", errors="surrogateescape") as file:
        return json.load(file, parse_float=decimal.Decimal)


# ---- what a slice is ----

def role_by_name(name):
    for pattern, role in NAMED:
        if re.match(pattern, name):
            return role
    return None


def role_of(category, name, row_sort):
    """row_sort: "queue" for rows where a device works, "told" for those that tell of it, "thread" for a
    host's, "host" for all else."""
    lower = category.lower()
    if lower not in UNSAID:
        if category.startswith("mtia_ccp_"):
            return "copy" if name.startswith("dma_request") else "kernel"
        for words, role in ((KERNELS, "kernel"), (COPIES, "copy"), (SETS, "set"), (OPS, "op"),
                            (ANNOTATIONS, "annotation"), ({"python_function"}, "frame"), ({"cuda_sync", "gpu_sync"}, "wait"),
                            ({"overhead"}, "overhead"), ({"hip_api", "hsa_api"}, "call")):
            if lower in words:
                return role
        return "call" if re.search("runtime|hip_api|driver", lower) else None
    if row_sort == "host":
        return role_by_name(name)
    if row_sort == "told":
        return None
    if row_sort == "thread":
        role = role_by_name(name)
        return None if role in ("kernel", "copy", "set") else role
    plain = name.lower().replace(" ", "_")
    if plain in WAITS or re.search(r"-done(\.\d+)?$", name):
        return "wait"
    return role_by_name(name) or ("copy" if plain.startswith("memcpy") else
                                  "set" if plain.startswith("memset") else "kernel")


def row_sorts(processes, labels, threads, rows):
    """What stands on each row, as its process is called."""
    sorts = {}
    for pid, tid in rows:
        process, name = processes.get(pid, ""), threads.get((pid, tid), "")
        sort = "host"
        if re.fullmatch(r"GPU\d+|Ascend Hardware|COPY", process):
            sort = "queue"
        elif process.startswith("/host:"):
            sort = "thread"
        elif process in ("Overlap Analysis", "HCCL") or labels.get(pid) == "NPU":
            sort = "told"
        elif process.startswith("/") and re.search(r"/device:(?!CPU:|cpu:)[^0-9]|/gpu:", process):
            if "/stream:" in process:
                sort = "told" if "/stream:all" in process else "queue"
            else:
                streams = any(p == pid and other.startswith("Stream #") for (p, _), other in threads.items())
                sort = "queue" if (name.startswith("Stream #") if streams else name == "XLA Ops") else "told"
        sorts[pid, tid] = sort
    return sorts


class Trace:
    """works, calls, ops, frames, annotations, waits: lists of Slice, as in the file. flows: (phase, key, time, row,
    binds to the slice around)."""

    def __init__(self):
        self.slices, self.flows = [], []
        self.rank, self.document = None, {}
        self.processes, self.labels, self.threads = {}, {}, {}
        self.has_launches = False

    def of(self, *roles):
        return [s for s in self.slices if s.role in roles]


def args_of(event):
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def add_meta(trace, event, pid, tid):
    args = args_of(event)
    if event.get("name") == "process_name":
        trace.processes[pid] = str(args.get("name"))
    elif event.get("name") == "process_labels":
        trace.labels[pid] = str(args.get("labels"))
    elif event.get("name") == "thread_name":
        trace.threads[pid, tid] = str(args.get("name"))


def add_slice(trace, event, row, ts, dur, args, number):
    """number: of the slices in the file, those without a time or an end, too: `id` of heddle query."""
    start, end = ends_of(ts, dur)
    trace.slices.append(Slice(len(trace.slices), str(event.get("name", "")), str(event.get("cat", "")), row, start, end,
                              args))
    trace.slices[-1].id = number


def add_events(trace, events):
    opened = collections.defaultdict(list)  # B events by row
    count = 0
    for event in events:
        if not isinstance(event, dict):
            continue
        phase, pid, tid = event.get("ph"), str(event.get("pid", "")), str(event.get("tid", ""))
        row, ts = (pid, tid), decimal_of(event.get("ts"))
        count += phase in ("X", "B")
        if phase == "M":
            add_meta(trace, event, pid, tid)
        elif ts is None:
            continue
        elif phase == "X":
            add_slice(trace, event, row, ts, decimal_of(event.get("dur")) or decimal.Decimal(0), args_of(event),
                      count - 1)
        elif phase in ("B", "E"):
            opened[row].append((ts, phase == "E", event.get("name"), (event, ts, count - 1)))
        elif phase in ("s", "t", "f"):
            key = (str(event.get("cat", "")), str(event.get("id")), str(event.get("name", "")))
            trace.flows.append((phase, key, ts, row, phase != "f" or event.get("bp") == "e"))
    for row, markers in opened.items():
        for (begin, since, number), end in pairs_of(markers)[0]:
            if end:
                add_slice(trace, begin, row, since, EXACT.subtract(end[1], since), {**args_of(begin), **args_of(end[0])}, number)
    trace.slices.sort(key=lambda s: s.id)
    for index, s in enumerate(trace.slices):
        s.index = index


def find_devices(trace):
    """Of each row that has work, or what tells of a device: (device, stream), None where it does not say."""
    said = {}
    for s in trace.slices:
        if s.role in ("kernel", "copy", "set", "wait") or s.category.lower() == "gpu_user_annotation":
            known = "stream" in s.args and whole(s.args["stream"]) is not None
            if s.row not in said or (known and not said[s.row][2]):
                said[s.row] = (whole(s.args.get("device")), whole(s.args.get("stream")), known)
    for s in trace.slices:
        if s.row in said:
            s.device, s.stream = said[s.row][:2]


def read_document(document):
    trace = Trace()
    events = document["traceEvents"] if isinstance(document, dict) else document
    trace.document = document if isinstance(document, dict) else {}
    info = trace.document.get("distributedInfo")
    trace.rank = whole(info.get("rank")) if isinstance(info, dict) else None
    add_events(trace, events)
    sorts = row_sorts(trace.processes, trace.labels, trace.threads, {s.row for s in trace.slices})
    for s in trace.slices:
        s.role = role_of(s.category, s.name, sorts[s.row])
        merged = re.match(r"rank (\d{1,9})(:|$)", trace.processes.get(s.row[0], ""))
        s.rank = int(merged.group(1)) if merged else trace.rank
    find_devices(trace)
    trace.works = trace.of("kernel", "copy", "set")
    trace.calls, trace.ops, trace.frames = trace.of("call"), trace.of("op"), trace.of("frame")
    trace.annotations, trace.waits = trace.of("annotation"), trace.of("wait")
    trace.marks = [s for s in trace.of("annotation", "op", None, "other") if s.category.lower() != "gpu_user_annotation"]
    join(trace)
    return trace


def read(path):
    return read_document(load(path))


# ---- what stands around what ----

def outer_first(s):
    return s.start, -s.end, s.index


def slices_around(slices, times):
    """slices: of one row. For each of `times` the slices with start <= t < end, outermost first."""
    ordered, found, active, taken = sorted(slices, key=outer_first), {}, [], 0
    for t in sorted(set(times)):
        while taken < len(ordered) and ordered[taken].start <= t:
            active.append(ordered[taken])
            taken += 1
        active = [s for s in active if s.end > t]
        found[t] = tuple(active)
    return found


def by_row(slices):
    rows = collections.defaultdict(list)
    for s in slices:
        rows[s.row].append(s)
    return rows


class Around:
    """Of a list of slices those around (row, time); asked for all at once, since rows are swept."""

    def __init__(self, slices, places):
        rows, times = by_row(slices), collections.defaultdict(list)
        for row, t in places:
            times[row].append(t)
        self.found = {row: slices_around(rows.get(row, []), times[row]) for row in times}

    def at(self, row, t):
        return self.found[row][t]

    def innermost(self, row, t):
        around = self.found[row][t]
        return around[-1] if around else None


# ---- work and its launch ----

def correlation(s):
    for key in ("correlation", "correlationId", "correlation_id"):
        if key in s.args:
            number = whole(s.args[key])
            return number if number else None
    return None


def is_inside(call, others):
    return any(o is not call and o.row == call.row and o.start <= call.start < max(o.end, o.start + 1) and
               outer_first(o) < outer_first(call) for o in others)


def join_ids(trace):
    calls, by_name = collections.defaultdict(list), set()
    for call in trace.calls:
        if correlation(call):
            calls[call.rank, correlation(call)].append(call)
    trace.outer = {}  # of calls within another of the same id
    for key, list_ in calls.items():
        outer = [c for c in list_ if not is_inside(c, list_)]
        calls[key] = sorted(outer, key=outer_first)
        for c in list_:
            if c not in outer:
                trace.outer[c.index] = next(o for o in outer if is_inside(c, [o]))
        by_name |= {c.index for c in outer if any(LAUNCHES.match(o.name) and (o is c or is_inside(o, [c]))
                                                  for o in list_)}
    trace.launching = [c for c in trace.calls if c.index in by_name or
                       (LAUNCHES.match(c.name) and c.index not in trace.outer)]
    for work in trace.works:
        candidates = calls.get((work.rank, correlation(work))) or []
        earlier = [c for c in candidates if c.start <= work.start]
        if candidates:
            work.launch = earlier[-1] if earlier else candidates[0]


def flow_starts(trace):
    """[(end or step, the point that starts its flow)]. Points belong to the last start before them; those before the
    first start to the starts that nothing follows, one to each and the rest to the last: such a flow runs backward."""
    flows, out = collections.defaultdict(list), []
    for number, point in enumerate(trace.flows):
        flows[point[1]].append((point[2], point[0] != "s", number, point))
    for points in flows.values():
        early, start, alone = [], None, []
        for _, _, _, point in sorted(points, key=lambda p: p[:3]):
            if point[0] == "s":
                start = point
                alone.append(start)
            elif start is None:
                early.append(point)
            else:
                out.append((point, start))
                alone = [s for s in alone if s is not start]
        for i, point in enumerate(early if alone else []):
            out.append((point, alone[min(i, len(alone) - 1)]))
    return out


class Binder:
    """The slices of one row, to which flow points are bound as Chrome does."""

    def __init__(self, slices):
        self.ordered = sorted(slices, key=outer_first)
        self.starts = [s.start for s in self.ordered]
        self.greatest, greatest = [], None  # end of those so far
        for s in self.ordered:
            greatest = s.end if greatest is None else max(greatest, s.end)
            self.greatest.append(greatest)

    def last_ending_from(self, count, end):
        while count and self.greatest[count - 1] >= end:
            count -= 1
            if self.ordered[count].end >= end:
                return self.ordered[count]
        return None

    def bind(self, point):
        at = floor(EXACT.multiply(point[2], 1000))
        if not point[4]:
            first = bisect.bisect_left(self.starts, at)
            return self.ordered[first] if first < len(self.ordered) else None
        behind = bisect.bisect_right(self.starts, at)
        if behind and self.starts[behind - 1] == at:
            return self.ordered[behind - 1]
        return self.last_ending_from(behind, at + 1) or self.last_ending_from(behind, at)


def join_flows(trace):
    """Work without a launch: by the flow that ends at it, from a call rather than another slice, the latest first."""
    open_rows = {w.row for w in trace.works if w.launch is None}
    if not open_rows:
        return
    hidden = ("kernel", "copy", "set", "wait")
    works, others = by_row(trace.works), by_row(trace.slices)
    ends = {row: Binder(works[row]) for row in open_rows}
    starts, best = {}, {}
    for end, start in flow_starts(trace):
        work = ends[end[3]].bind(end) if end[3] in open_rows else None
        if work is None or (work.launch is not None and work.index not in best):
            continue
        if start[3] not in starts:
            starts[start[3]] = Binder(others.get(start[3], []))
        call = starts[start[3]].bind(start)
        call = trace.outer.get(call.index, call) if call is not None else None
        if call is None or call.role in hidden or call.category.lower() == "gpu_user_annotation":
            continue
        if work.index not in best or (call.role == "call", call.start) > best[work.index]:
            best[work.index] = (call.role == "call", call.start)
            work.launch = call


def join(trace):
    join_ids(trace)
    join_flows(trace)
    trace.has_launches = any(w.launch is not None for w in trace.works)
    first_linked, first_call = {}, {}
    for w in trace.works:
        if w.launch is not None:
            first_linked[w.row] = min(w.start, first_linked.get(w.row, w.start))
    for call in trace.calls:
        if LAUNCHES.match(call.name):
            first_call[call.rank] = min(call.start, first_call.get(call.rank, call.start))
    for w in trace.works:
        limit = first_linked.get(w.row, first_call.get(w.rank))
        w.before = trace.has_launches and w.launch is None and limit is not None and w.start < limit
