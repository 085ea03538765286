"""Reports that list and sum events: kernels, copies, operators, ranges, steps, launches, syncs, communication.
Each function takes a Scope and returns {table: [row, ...]}."""
import bisect
import collections
import fractions
import json
import re

import names
import spans
from accounts import WAIT, name_of, sync_calls
from scope import add_shares, class_of, nearest, ordered, ratio, statistics, together
from trace import Around, outer_first, whole


def grouped(items, key):
    groups = collections.defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


def head(scope, work):
    return (*scope.device_key(work), scope.step_of(work))


def head_cells(scope, rank, device, step):
    return {**scope.device_cells((rank, device)), **scope.step_cells(step)}


def rank_cells(scope, rank, step):
    return {"rank": rank, **scope.step_cells(step)}


# ---- kernels ----

def json_text(value):
    """An argument as Kineto writes it."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=float)


def dimensions(value):
    return "x".join(str(n) for n in value) if isinstance(value, list) and len(value) == 3 else None


def launch_places(works):
    return [(w.launch.row, w.launch.start) for w in works if w.launch is not None]


def columns_of(scope, works):
    """By what --by can say: a function from work to cells."""
    by = scope.options.by
    ops = Around(scope.trace.ops, launch_places(works)) if {"op", "shape"} & set(by) else None
    frames = Around(scope.trace.frames, launch_places(works)) if "module" in by else None

    def op_of(w):
        return ops.innermost(w.launch.row, w.launch.start) if w.launch is not None else None

    def module_of(w):
        around = frames.at(w.launch.row, w.launch.start) if w.launch is not None else ()
        found = [f.name[len("nn.Module: "):] for f in around if f.name.startswith("nn.Module: ")]
        return "/".join(found) or None

    def shape_of(w):
        op = op_of(w)
        return json_text(op.args.get("Input Dims")) if op is not None else None

    makers = {"op": lambda w: {"op": name_of(op_of(w))}, "module": lambda w: {"module": module_of(w)},
              "shape": lambda w: {"shape": shape_of(w)}, "stream": lambda w: {"stream": w.stream},
              "class": lambda w: {"class": class_of(w)},
              "grid": lambda w: {"grid": dimensions(w.args.get("grid")), "block": dimensions(w.args.get("block"))}}
    return lambda w: {k: v for word in by if word in makers for k, v in makers[word](w).items()}


def most_said(works, argument):
    said = [whole(w.args.get(argument)) for w in works]
    return max((n for n in said if n is not None), default=None)


def mean_said(works, argument):
    said = [fractions.Fraction(str(w.args[argument])) for w in works if argument in w.args]
    return sum(said) / len(said) if said else None


def longest(works):
    return max(works, key=lambda w: (w.duration, -w.index))


def kernels(scope):
    works = scope.listed(w for w in scope.works if w.role == "kernel")
    cells_of = columns_of(scope, works)
    name = names.short if "short" in scope.options.by else str

    def key(w):
        return head(scope, w), name(w.name), tuple(cells_of(w).items())

    rows = []
    for (where, name_, cells), group in grouped(works, key).items():
        rows.append({**head_cells(scope, *where), "name": name_, **dict(cells),
                     **statistics([w.duration for w in group]),
                     "registers": most_said(group, "registers per thread"),
                     "shared": most_said(group, "shared memory"),
                     "occupancy": mean_said(group, "est. achieved occupancy %"),
                     "longest_id": longest(group).id})
    return {"kernels": ordered(add_shares(rows), "total")}


# ---- copies ----

SIZES = [(4 << 10, "< 4 KiB"), (64 << 10, "< 64 KiB"), (1 << 20, "< 1 MiB"), (16 << 20, "< 16 MiB"),
         (256 << 20, "< 256 MiB")]


def bytes_of(work):
    for key in ("bytes", "size"):
        if key in work.args:
            number = whole(work.args[key])
            return number if number is not None and number >= 0 else None
    return None


PLACES = "(Host|Device|Peer|Array)"
WAYS = [r"^Memcpy([HDPA])2([HDPA])$", r"(?<![A-Za-z])([HDPA])to([HDPA])(?![A-Za-z])", PLACES + "To" + PLACES,
        PLACES.upper() + "_TO_" + PLACES.upper(), PLACES + " -> " + PLACES]


def kind_of(work):
    if work.role == "set":
        return "set"
    for text in work.name, str(work.args.get("direction", "")):
        for pattern in WAYS:
            said = re.search(pattern, text)
            if said:
                return "%sto%s" % tuple(word[0] for word in said.groups())
    return None


def memory_of(work):
    said = re.search(r"\(([^()]*)\)", work.name)
    return said.group(1) if said and work.role == "copy" else None


def size_class(count):
    if count is None:
        return None
    return next((name for limit, name in SIZES if count < limit), ">= 256 MiB")


def volume(works):
    known = [(bytes_of(w), w.duration) for w in works if bytes_of(w) is not None]
    timed = [(n, ns) for n, ns in known if ns > 0]
    return {"bytes": sum(n for n, _ in known) if known else None,
            "bandwidth": ratio(sum(n for n, _ in timed), sum(ns for _, ns in timed)) if timed else None}


def is_copied(work):
    return work.role == "set" or class_of(work) == "copy"


def copies(scope):
    works = scope.listed(w for w in scope.works if is_copied(w))
    out = {"copies": [], "sizes": []}
    for (where, kind, memory), group in grouped(works, lambda w: (head(scope, w), kind_of(w), memory_of(w))).items():
        times = [w.duration for w in group]
        sizes = volume(group)
        out["copies"].append({**head_cells(scope, *where), "kind": kind, "memory": memory, "count": len(group),
                              "total": sum(times), "bytes": sizes["bytes"],
                              "unknown": sum(bytes_of(w) is None for w in group),
                              "mean": nearest(ratio(sum(times), len(times))), "min": min(times), "max": max(times),
                              "bandwidth": sizes["bandwidth"], "longest_id": longest(group).id})
    for (where, kind, size), group in grouped(works,
                                              lambda w: (head(scope, w), kind_of(w), size_class(bytes_of(w)))).items():
        out["sizes"].append({**head_cells(scope, *where), "kind": kind, "size": size, "count": len(group),
                             "total": sum(w.duration for w in group), **volume(group)})
    return {"copies": ordered(add_shares(out["copies"]), "total"), "sizes": ordered(out["sizes"], "total"),
            "bandwidth": ordered(list(bandwidth_over_time(scope)))}


def bandwidth_over_time(scope):
    told = [w for w in scope.works if is_copied(w) and bytes_of(w) is not None and w.end > w.start]
    for (device, kind), group in grouped(told, lambda w: (scope.device_key(w), kind_of(w))).items():
        for start, end in scope.pieces(device):
            moved = sum(fractions.Fraction(bytes_of(w) * max(0, min(w.end, end) - max(w.start, start)),
                                           w.end - w.start) for w in group)
            yield {**scope.device_cells(device), "kind": kind, "time": start, "bandwidth": moved / (end - start)}


# ---- operators ----

class OpTree:
    """Parents by sweeping each row: the ops that are around another's start and stand before it in order."""

    def __init__(self, ops):
        self.around = {}
        for row in grouped(ops, lambda o: o.row).values():
            active = []
            for op in sorted(row, key=outer_first):
                active = [o for o in active if o.end > op.start]
                self.around[op.index] = tuple(active)
                active.append(op)
        self.children = collections.defaultdict(list)
        for op in ops:
            if self.around[op.index]:
                self.children[self.around[op.index][-1].index].append(op)

    def self_time(self, op):
        inner = spans.union((max(c.start, op.start), min(c.end, op.end)) for c in self.children[op.index])
        return op.duration - spans.length(inner)


def operators(scope):
    by_shape = "shape" in scope.options.by
    rows = tree_rows(scope, scope.trace.ops, OpTree(scope.trace.ops), "(no operator)",
                     lambda op: (op.name, json_text(op.args.get("Input Dims")) if by_shape else None))
    if not by_shape:
        for row in rows:
            del row["shape"]
    return {"operators": ordered(rows, "gpu_total", "cpu_total")}


def modules(scope):
    found = [f for f in scope.trace.frames if f.name.startswith("nn.Module: ")]
    tree, paths = OpTree(found), {}
    for module in sorted(found, key=lambda m: (len(tree.around[m.index]), outer_first(m))):
        around = tree.around[module.index]
        above = paths[around[-1].index] + "/" if around else ""
        paths[module.index] = above + module.name[len("nn.Module: "):]
    rows = tree_rows(scope, found, tree, "(no module)", lambda m: (paths[m.index], None))
    return {"modules": ordered([{("module" if c == "name" else c): v for c, v in row.items() if c not in ("shape", "distinct_calls")}
                                for row in rows])}


def covers_from(slices, key):
    """By slice: from when on it covers what none of its key that began before it on its row does."""
    reach, out = {}, {}
    for s in sorted(slices, key=outer_first):
        end = reach.get((s.row, key(s)), s.start)
        out[s.index] = min(max(s.start, end), s.end)
        reach[s.row, key(s)] = max(end, s.end)
    return out


def tree_rows(scope, ops, tree, nowhere, key):
    works = scope.listed(scope.works)
    around = Around(ops, launch_places(works))
    since = covers_from(ops, key)
    linked = any(w.launch is not None for w in scope.works)
    sums = collections.defaultdict(collections.Counter)
    for op in scope.listed(ops):
        place = (op.rank, scope.step_of(op), *key(op))
        sums[place]["calls"] += 1
        sums[place]["cpu_self"] += tree.self_time(op)
        sums[place]["cpu_total"] += op.end - since[op.index]
        parent = tree.around[op.index][-1] if tree.around[op.index] else None
        sums[place]["distinct_calls"] += not (parent and parent.name == op.name and len(tree.children[parent.index]) == 1)
    for w in works:
        place = (w.rank, scope.step_of(w))
        found = around.at(w.launch.row, w.launch.start) if w.launch is not None else ()
        inner = key(found[-1]) if found else (nowhere if w.launch is not None else "(no launch)", None)
        sums[place + inner]["works"] += 1
        sums[place + inner]["gpu_self"] += w.duration
        for outer in {key(o) for o in found} or {inner}:
            sums[place + outer]["gpu_total"] += w.duration
    rows = []
    for place, sum_ in sums.items():
        rank, step, name, shape = place
        row = {**rank_cells(scope, rank, step), "name": name, "shape": shape}
        is_op = name not in (nowhere, "(no launch)")
        row.update({c: sum_[c] if is_op else None for c in ("calls", "distinct_calls", "cpu_total", "cpu_self")})
        row.update({c: sum_[c] if linked else None for c in ("works", "gpu_self", "gpu_total")})
        rows.append(row)
    assert not linked or sum(row["gpu_self"] for row in rows) == sum(w.duration for w in works)
    if not linked:
        rows = [row for row in rows if row["calls"] is not None]
    return rows


# ---- ranges and steps ----

def projection(works):
    if not works:
        return {"works": 0, "gpu_start": None, "gpu_end": None, "gpu_span": None, "gpu_busy": None, "gpu_time": None}
    first, last = min(w.start for w in works), max(w.end for w in works)
    return {"works": len(works), "gpu_start": first, "gpu_end": last, "gpu_span": last - first,
            "gpu_busy": spans.length(spans.of(works)), "gpu_time": sum(w.duration for w in works)}


class Launched:
    """Works by the row and the time of their launch."""

    def __init__(self, works):
        self.rows = collections.defaultdict(list)
        for w in works:
            if w.launch is not None:
                self.rows[w.launch.row].append((w.launch.start, w.index, w))
        for list_ in self.rows.values():
            list_.sort(key=lambda item: item[:2])

    def within(self, row, start, end):
        list_ = self.rows.get(row, [])
        return [w for _, _, w in list_[bisect.bisect_left(list_, (start, -1)):bisect.bisect_left(list_, (end, -1))]]


def ranges(scope):
    launched = Launched(scope.works)
    since = covers_from(scope.trace.annotations, lambda a: a.name)
    rows = []
    linked = any(w.launch is not None for w in scope.works)
    annotations = scope.listed(scope.trace.annotations)
    for (rank, step, name), group in grouped(annotations, lambda a: (a.rank, scope.step_of(a), a.name)).items():
        times = [a.duration for a in group]
        within = sum(bool(launched.within(a.row, a.start, a.end)) for a in group)
        below = [projection(launched.within(a.row, since[a.index], a.end)) for a in group]
        below = [p for p in below if p["works"]]
        row = {**rank_cells(scope, rank, step), "name": name, "calls": len(group),
               "cpu_total": sum(a.end - since[a.index] for a in group),
               "cpu_mean": nearest(ratio(sum(times), len(times))), "cpu_min": min(times), "cpu_max": max(times),
               "works": sum(p["works"] for p in below) if linked else None, "gpu_calls": within if linked else None}
        row.update({c: sum(p[c] for p in below) if within else None for c in ("gpu_time", "gpu_span", "gpu_busy")})
        rows.append(row)
    return {"ranges": ordered(rows, "cpu_total")}


def steps(scope):
    rows, works = [], collections.defaultdict(list)
    for w in scope.works:
        step = scope.step_at(w.launch.row, w.rank, w.launch.start) if w.launch is not None else None
        if step is not None:
            works[step.index].append(w)
    for step in scope.listed(scope.steps):
        below = projection(works[step.index])
        if not scope.trace.has_launches:
            below["works"] = None
        rows.append({"rank": step.rank, "step": step.name, "start": step.start, "duration": step.duration,
                     "id": step.id, **below})
    return {"steps": together(rows)}


# ---- launches ----

def call_name(name):
    name = re.sub(r"^(Runtime: |Driver: )", "", name)
    return re.sub(r"_v\d{4,}$", "", name)


class Launch:
    def __init__(self, call, works):
        self.call, self.works = call, sorted(works, key=lambda w: (w.start, w.index))
        self.first = self.works[0]
        self.delay = self.first.start - call.end
        self.work_time = sum(w.duration for w in works)
        self.whole = max(w.end for w in works) - call.start
        self.is_graph = "GraphLaunch" in call.name
        self.is_short = self.work_time < call.duration


def launches_of(scope):
    groups = grouped((w for w in scope.works if w.launch is not None), lambda w: w.launch.index)
    return [Launch(group[0].launch, group) for group in groups.values()]


def launches(scope):
    found = [l for l in launches_of(scope) if scope.options.has(l.call.start)]
    rows = []

    def key(l):
        return (head(scope, l.first), call_name(l.call.name), "graph" if l.is_graph else l.first.role,
                None if l.is_graph else l.first.name)

    for (where, call, kind, name), group in grouped(found, key).items():
        calls, delays = [l.call.duration for l in group], [l.delay for l in group]
        said = statistics(delays)
        rows.append({**head_cells(scope, *where), "call": call, "kind": kind, "name": name, "launches": len(group),
                     "works": sum(len(l.works) for l in group), "call_total": sum(calls),
                     "call_mean": nearest(ratio(sum(calls), len(calls))), "call_max": max(calls),
                     **{"delay_" + c: said[c] for c in ("total", "mean", "median", "min", "max")},
                     "negative": sum(d < 0 for d in delays), "queue_total": sum(max(d, 0) for d in delays),
                     "work_total": sum(l.work_time for l in group), "whole_total": sum(l.whole for l in group),
                     "short": sum(l.is_short for l in group)})
    return {"launches": ordered(rows, "whole_total"), "launch_totals": launch_totals(scope, found),
            "delays": ordered(list(delay_classes(scope, found)))}


DELAY_NAMES = ["< 0"] + ["< %d %s" % (digit * power, unit) for unit in ("us", "ms") for power in (1, 10, 100)
                         for digit in (1, 2, 5)] + ["< 1 s", "< 2 s", "< 5 s", "< 10 s", ">= 10 s"]
DELAYS = [0] + [digit * 10 ** power for power in range(3, 10) for digit in (1, 2, 5)] + [10 ** 10]


def delay_classes(scope, found):
    for where, group in grouped(found, lambda l: head(scope, l.first)).items():
        classes = [sum(end <= l.delay for end in DELAYS) for l in group]
        for i in range(min(classes), max(classes) + 1):
            yield {**head_cells(scope, *where), "from": DELAYS[i - 1] if i else None,
                   "until": DELAYS[i] if i < len(DELAYS) else None, "delay": DELAY_NAMES[i],
                   "launches": classes.count(i)}


def launch_totals(scope, found):
    trace, rows = scope.trace, []
    works = scope.listed(scope.works)
    with_work = {w.launch.index for w in trace.works if w.launch is not None}
    alone = [c for c in scope.listed(trace.launching) if c.index not in with_work]
    places = {(x.rank, scope.step_of(x)) for x in works + alone} | {(l.call.rank, scope.step_of(l.first))
                                                                    for l in found}
    for rank, step in places:
        mine = [l for l in found if (l.call.rank, scope.step_of(l.first)) == (rank, step)]
        without = [c for c in alone if (c.rank, scope.step_of(c)) == (rank, step)]
        here = [w for w in works if (w.rank, scope.step_of(w)) == (rank, step)]
        known = trace.has_launches or bool(trace.launching)
        row = {**rank_cells(scope, rank, step), "launches": len(mine) + len(without), "without_work": len(without),
               "works": len(here), "unlinked": sum(w.launch is None for w in here),
               "before": sum(bool(w.before) for w in here), "negative": sum(l.delay < 0 for l in mine),
               "short": sum(l.is_short for l in mine),
               "short_share": ratio(sum(l.is_short for l in mine), len(mine), 100)}
        if not known:
            row.update({c: None for c in row if c not in ("rank", "step", "step_start", "works")})
        rows.append(row)
    return ordered(rows)


# ---- syncs ----

def syncs(scope):
    found = [(call, kind) for call, kind in sync_calls(scope.trace) if scope.options.has(call.start)]
    places = [(call.row, call.start) for call, _ in found]
    ops, frames = Around(scope.trace.ops, places), Around(scope.trace.frames, places)
    busy = {}
    for call, _ in found:
        if call.rank not in busy:
            busy[call.rank] = spans.of(w for w in scope.works if w.rank == call.rank)

    def key(item):
        call, kind = item
        op, frame = ops.innermost(call.row, call.start), frames.innermost(call.row, call.start)
        return call.rank, scope.step_of(call), call_name(call.name), kind, name_of(op), name_of(frame)

    rows = []
    for (rank, step, name, kind, op, frame), group in grouped(found, key).items():
        times = [call.duration for call, _ in group]
        overlap = [spans.length(spans.common([(call.start, call.end)], busy[rank])) for call, _ in group]
        rows.append({**rank_cells(scope, rank, step), "call": name, "kind": kind, "op": op, "frame": frame,
                     "calls": len(group), "total": sum(times), "mean": nearest(ratio(sum(times), len(times))),
                     "longest": max(times), "gpu_busy": sum(overlap) if scope.works else None,
                     "implicit": kind in ("copy", "launch") or op is not None})
    return {"syncs": ordered(rows, "total")}


# ---- communication ----

COLLECTIVES = [("allreduce", "AllReduce"), ("allgather", "AllGather"), ("reducescatter", "ReduceScatter"),
               ("alltoall", "AllToAll"), ("broadcast", "Broadcast"), ("bcast", "Broadcast"), ("sendrecv", "SendRecv"), ("send", "SendRecv"),
               ("recv", "SendRecv"), ("barrier", "Barrier"), ("reduce", "Reduce"), ("gather", "Gather"), ("scatter", "Scatter")]
DTYPES = {"float": 4, "int": 4, "long": 8, "double": 8, "half": 2, "bfloat16": 2, "short": 2, "byte": 1, "bool": 1,
          "char": 1}


def named(word):
    return re.compile("(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))(?i:%s)" % "[_ -]*".join(word))


# What the letters alone would call otherwise.
SPECIAL = [(named("crossdevicereduce"), "AllReduce"), (named("quickreduce"), "AllReduce"),
           (named("allreducescatter"), "ReduceScatter"), (named("all2all"), "AllToAll"),
           (named("collectivepermute"), "SendRecv")]


def collective_of(text):
    special = next((name for pattern, name in SPECIAL if pattern.search(names.short(text))), None)
    if special:
        return special
    letters = re.sub("[^a-z]", "", text.lower())
    return next((name for word, name in COLLECTIVES if word in letters), None)


def dtype_bytes(dtype):
    plain = str(dtype).lower()
    return 1 if plain.startswith("float8") else DTYPES.get(plain)


NCCL_RANGES = {"ncclAllReduce", "ncclBroadcast", "ncclReduce", "ncclSend", "ncclRecv"}


def bus_factor(collective, n):
    if n is None or n < 1 or collective in (None, "Barrier"):
        return None
    if collective == "AllReduce":
        return fractions.Fraction(2 * (n - 1), n)
    if collective in ("AllGather", "ReduceScatter", "AllToAll", "Gather", "Scatter"):
        return fractions.Fraction(n - 1, n)
    return fractions.Fraction(1)


def elements_of(collective, into, out, size):
    """What nccl-tests counts: all ranks' parts, where one rank has them all."""
    if collective == "AllGather":
        return out
    if collective == "Gather":
        return into * size if into is not None and size is not None and size > 0 else None
    if collective == "Scatter":
        return out * size if out is not None and size is not None and size > 0 else None
    return into


def collective_row(scope, w, args, compute):
    said = args.get("Collective name")
    collective = collective_of(str(said)) if said is not None else None
    collective = collective or collective_of(w.name)
    size, width = whole(args.get("Group size")), dtype_bytes(args.get("dtype"))
    elements = elements_of(collective, whole(args.get("In msg nelems")), whole(args.get("Out msg nelems")), size)
    count = elements * width if collective and elements is not None and elements >= 0 and width else None
    message = whole(args.get("Message size [bytes]"))
    if count is None and message is not None and message >= 0:
        count = message
    algorithm = ratio(count, w.duration)
    factor = bus_factor(collective, size)
    exposed = spans.length(spans.without(spans.union([(w.start, w.end)]), compute))
    return {**head_cells(scope, *head(scope, w)), "start": w.start, "duration": w.duration, "name": w.name,
            "collective": collective, "group": json_text(args.get("Process Group Name", args.get("NCCL communicator ID"))),
            "ranks": json_text(args.get("Process Group Ranks")), "size": size,
            "dtype": json_text(args.get("dtype")), "in": whole(args.get("In msg nelems")),
            "out": whole(args.get("Out msg nelems")), "bytes": count, "algorithm_bandwidth": algorithm,
            "bus_bandwidth": algorithm * factor if algorithm is not None and factor is not None else None,
            "exposed": exposed, "upper_bound": True, "id": w.id}


def waits_of_collectives(scope, listed, compute):
    """[(work that it is of, the collective's row, how long, how long while nothing computes)]"""
    rows, found = collections.defaultdict(list), []
    for item in sorted(listed, key=lambda item: (item[0].start, item[0].index)):
        rows[item[0].row].append(item)
    for wait in scope.trace.waits:
        works = rows.get(wait.row, [])
        if not works or not WAIT.fullmatch(wait.name) or not scope.options.has(wait.start):
            continue
        last = [item for item in works if item[0].start < wait.start][-1:]
        near = [item for item in works if item[0].start >= wait.start][:1] + last
        work, row = next((item for item in near if item[0].name == wait.name), near[0])
        key = scope.device_key(work)
        span = spans.common([(wait.start, wait.end)], [scope.span(key)])
        found.append((work, row, spans.length(span), spans.length(spans.without(span, compute[key]))))
    return found


def communication(scope):
    works = scope.listed(w for w in scope.works if class_of(w) == "communication")
    told = [o for o in scope.trace.ops if o.name == "record_param_comms"]
    if not told:
        told = [a for a in scope.trace.annotations if a.name in NCCL_RANGES]
    around = Around(told, launch_places(works))
    compute = {key: spans.of(w for w in scope.devices[key] if class_of(w) == "compute")
               for key in scope.device_keys()}
    listed = []
    for w in works:
        args = w.args
        if "Collective name" not in args and w.launch is not None:
            op = around.innermost(w.launch.row, w.launch.start)
            args = op.args if op is not None else args
        listed.append((w, collective_row(scope, w, args, compute[scope.device_key(w)])))
    listed.sort(key=lambda item: (item[1]["start"], item[0].index))
    rows, waits = [], waits_of_collectives(scope, listed, compute)

    def key(item):
        w, row = item
        return head(scope, w), row["collective"], row["dtype"], row["size"], row["group"]

    for (where, collective, dtype, size, group), items in grouped(listed, key).items():
        found = [row for _, row in items]
        times, known = [row["duration"] for row in found], [row for row in found if row["bytes"] is not None]
        timed = [row for row in known if row["duration"] > 0]
        factor = bus_factor(collective, size)
        algorithm = ratio(sum(row["bytes"] for row in timed), sum(row["duration"] for row in timed))
        waited = [item[2:] for item in waits if key(item[:2]) == (where, collective, dtype, size, group)]
        rows.append({**head_cells(scope, *where), "collective": collective, "dtype": dtype, "size": size,
                     "group": group, "count": len(found), "total": sum(times),
                     "mean": nearest(ratio(sum(times), len(times))), "min": min(times), "max": max(times),
                     "exposed": sum(row["exposed"] for row in found),
                     "exposed_share": ratio(sum(row["exposed"] for row in found), sum(times), 100),
                     "waiting": sum(w for w, _ in waited) if waited else None,
                     "waiting_exposed": sum(e for _, e in waited) if waited else None,
                     "bytes": sum(row["bytes"] for row in known) if known else None, "algorithm_bandwidth": algorithm,
                     "bus_bandwidth": algorithm * factor if algorithm is not None and factor is not None else None})
    return {"collectives": together([row for _, row in listed]), "communication": ordered(rows, "total")}
