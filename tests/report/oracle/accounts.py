"""Reports that account for every nanosecond of a device's window: breakdown, idle, queue, states.
Each function takes a Scope and returns {table: [row, ...]}."""
import collections
import re

import spans
from scope import class_of, nearest, ordered, ratio, together
from trace import Around, by_row, outer_first, slices_around

CLASSES = ("compute", "communication", "copy")
WAIT = re.compile("notify[ _]wait|hcom_.*", re.I | re.S)
CAUSES = ("host", "sync", "launch", "dependency", "device", "transfer", "unknown", "outside")


def waits_of(scope, key):
    """On rows with collectives, what these wait for other ranks (Ascend): communication, and no work."""
    rows = {w.row for w in scope.devices[key] if class_of(w) == "communication"}
    waits = [w for w in scope.trace.waits if w.row in rows and WAIT.fullmatch(w.name)]
    return spans.common(spans.of(waits), [scope.span(key)])


def classes_of(scope, key):
    works = scope.devices[key]
    found = {c: spans.of(w for w in works if class_of(w) == c) for c in CLASSES}
    return {**found, "communication": spans.union([*found["communication"], *waits_of(scope, key)])}


# ---- breakdown ----

def breakdown_row(scope, key, step, window, works):
    u = {c: spans.common(part, window) for c, part in classes_of(scope, key).items()}
    busy = spans.common(spans.union([*spans.of(scope.devices[key]), *waits_of(scope, key)]), window)
    exposed = spans.without(u["communication"], u["compute"])
    copies = spans.without(spans.without(u["copy"], u["compute"]), u["communication"])
    known = scope.trace.has_launches
    unlinked = [w for w in works if w.launch is None]
    before = [w for w in works if w.before]
    row = {**scope.device_cells(key), **scope.step_cells(step),
           "span": spans.length(window), "compute": spans.length(u["compute"]),
           "exposed_communication": spans.length(exposed), "exposed_copy": spans.length(copies),
           "idle": spans.length(window) - spans.length(busy), "busy": spans.length(busy),
           "communication": spans.length(u["communication"]), "copy": spans.length(u["copy"]),
           "communication_overlap": ratio(spans.length(spans.common(u["communication"], u["compute"])),
                                          spans.length(u["communication"]), 100),
           "works": len(works), "time": sum(w.duration for w in works),
           "before": len(before) if known else None, "before_time": sum(w.duration for w in before) if known else None,
           "unlinked": len(unlinked) if known else None,
           "unlinked_time": sum(w.duration for w in unlinked) if known else None}
    assert row["compute"] + row["exposed_communication"] + row["exposed_copy"] + row["idle"] == row["span"]
    return row


def overlap_rows(scope, key, step, window):
    u = {c: spans.common(part, window) for c, part in classes_of(scope, key).items()}
    for name in CLASSES:
        if not any(class_of(w) == name for w in scope.devices[key]):
            continue
        others = spans.union(s for c in CLASSES if c != name for s in u[c])
        yield {**scope.device_cells(key), **scope.step_cells(step), "class": name, "time": spans.length(u[name]),
               "alone": spans.length(spans.without(u[name], others)),
               **{c: spans.length(spans.common(u[name], u[c])) for c in CLASSES}}


def concurrency_rows(scope, key, step, window):
    times = collections.Counter()
    for piece in window:
        for start, end, level in spans.levels([(w.start, w.end) for w in scope.devices[key]], piece):
            times[level] += end - start
    assert sum(times.values()) == spans.length(window)
    for level in sorted(times):
        yield {**scope.device_cells(key), **scope.step_cells(step), "running": level, "time": times[level],
               "share": ratio(times[level], spans.length(window), 100)}


def breakdown(scope):
    out = {"breakdown": [], "overlap": [], "concurrency": []}
    for key in scope.device_keys():
        for step, window, works in scope.windows(key):
            out["breakdown"].append(breakdown_row(scope, key, step, window, works))
            out["overlap"] += overlap_rows(scope, key, step, window)
            out["concurrency"] += concurrency_rows(scope, key, step, window)
    return {table: ordered(rows) for table, rows in out.items()}


# ---- calls that wait ----

SYNC = re.compile(r"(?:Runtime: |Driver: )?(?:cuda|cu|hip)(Device|Stream|Event|Ctx|Thread)Synchronize"
                  r"(?:_v\d+|_pt[sd][sz])*$")
ACL_SYNC = re.compile(r"(?:Runtime: |Driver: )?aclrtSynchronize(Device|Stream|Event|Ctx|Thread)(?:WithTimeout)?$")
SYNC_KINDS = {"Device": "device", "Stream": "stream", "Event": "event", "Ctx": "device", "Thread": "device"}
COPY = re.compile(r"(?:Runtime: |Driver: )?(?:cuda|cu|hip|aclrt)Memcpy(?!.*Async)")


def is_within(call, work):
    return call.start <= work.start and work.end <= call.end


def is_awaited_memset(call, work):
    return "Memset" in call.name and "Async" not in call.name and is_within(call, work)


def blocking_names(trace):
    """Of calls in which kernels of their own run for half of the time or more, and end in them."""
    calls = {w.launch.index: w.launch for w in trace.works if w.launch is not None}
    inside, total = collections.Counter(), collections.Counter()
    for call in calls.values():
        total[call.name] += call.end - call.start
    for w in trace.works:
        if w.launch is not None and w.role == "kernel" and is_within(w.launch, w):
            inside[w.launch.name] += w.end - w.start
    return {name for name, ns in inside.items() if ns and 2 * ns >= total[name]}


def sync_calls(trace):
    """[(call, kind)] of the outermost."""
    awaited = {w.launch.index for w in trace.works if w.launch is not None and
               (w.role == "copy" and "Pageable" in w.name or w.role == "set" and is_awaited_memset(w.launch, w))}
    blocking = blocking_names(trace)
    launching = {w.launch.index for w in trace.works if w.launch is not None and w.launch.name in blocking and
                 w.role == "kernel" and is_within(w.launch, w)}
    found = {}
    for call in trace.calls:
        said = SYNC.match(call.name) or ACL_SYNC.match(call.name)
        if said:
            found[call.index] = (call, SYNC_KINDS[said.group(1)])
        elif COPY.match(call.name) or call.index in awaited | launching:
            found[call.index] = (call, "launch" if call.name in blocking and not COPY.match(call.name) else "copy")
    around = Around([call for call, _ in found.values()], [(call.row, call.start) for call, _ in found.values()])
    return [(call, kind) for call, kind in found.values()
            if not any(outer_first(o) < outer_first(call) for o in around.at(call.row, call.start))]


# ---- idle ----

class Gap:
    def __init__(self, start, end, work):
        self.start, self.end, self.work = start, end, work
        self.cause, self.sync, self.place, self.host = None, None, None, None


def gaps_of(works, waits, recorded):
    busy = spans.of(works)
    first, last = min(w.start for w in works), max(w.end for w in works)
    starting = collections.defaultdict(list)
    for w in works:
        starting[w.start].append(w)
    gaps = []
    for start, end in spans.without([(first, last)] if first < last else [], busy):
        candidates = starting[end]
        longer = [w for w in candidates if w.duration > 0] or candidates
        work = min(longer, key=lambda w: w.index)
        gaps += [Gap(*part, work) for part in spans.common(spans.without([(start, end)], waits), recorded)]
    return gaps


def is_dependency(scope, work, waits, launch_starts):
    """launch_starts: of the works of its row, sorted."""
    since = [t for t in launch_starts if t < work.launch.start]
    return any(w.start <= work.launch.start and (not since or w.start >= since[-1]) for w in waits)


def explain(scope, key, gaps):
    trace, rank = scope.trace, key[0]
    launching = {w.launch.row for w in trace.works if w.launch is not None and w.rank == rank}
    syncs = [call for call, _ in sync_calls(trace) if call.rank == rank and call.row in launching]
    others = [w for other in scope.devices if other[0] == rank and other != key for w in scope.devices[other]
              if class_of(w) != "compute"]
    at = [gap.start for gap in gaps]
    syncs_at, others_at = slices_around(syncs, at), slices_around(others, at)
    waits, starts = collections.defaultdict(list), collections.defaultdict(set)
    for wait in trace.waits:
        if wait.name.startswith("Stream Wait Event"):
            waits[wait.row].append(wait)
    for w in scope.works:
        if w.launch is not None and waits.get(w.row):
            starts[w.row].add(w.launch.start)
    for gap in gaps:
        launch, row = gap.work.launch, gap.work.row
        if launch is None:
            gap.cause = "unknown"
            continue
        ended = [s for s in syncs_at[gap.start] if s.end <= launch.start]
        if ended:
            gap.cause, gap.sync = "sync", max(ended, key=lambda s: (s.end, s.index))
            gap.place = gap.sync.row, gap.start, gap.sync.end
            gap.host = launch.row, gap.start, launch.start
        elif others_at[gap.start]:
            gap.cause = "transfer"
        elif launch.start > gap.start:
            gap.cause, gap.place = "host", (launch.row, gap.start, launch.start)
            gap.host = gap.place
        elif launch.end > gap.start:
            gap.cause, gap.place = "launch", (launch.row, launch.start, launch.start + 1)
            gap.host = launch.row, gap.start, gap.end
        else:
            found = waits.get(row) and is_dependency(scope, gap.work, waits[row], sorted(starts[row]))
            gap.cause, gap.place = "dependency" if found else "device", (launch.row, launch.start, launch.start + 1)


def name_of(s):
    return s.name if s is not None else None


def covering(slices, stretches):
    """{stretch: name} of the innermost slice that covers more than half of (row, start, end); of none it is left out."""
    wanted, rows, out = collections.defaultdict(set), by_row(slices), {}
    for row, start, end in stretches:
        wanted[row].add((start, end))
    for row, parts in wanted.items():
        around = slices_around(rows.get(row, []), [start + (end - start) // 2 for start, end in parts])
        for start, end in parts:
            for s in around[start + (end - start) // 2]:
                is_step = re.match(r"ProfilerStep#\d", s.name)
                if 2 * (min(s.end, end) - max(s.start, start)) > end - start and not is_step:
                    out[row, start, end] = s.name
    return out


def hosts_of(trace, rank, gaps):
    """By stretch what the host did: overhead on a row of its own comes first."""
    stretches = [gap.host for gap in gaps if gap.host]
    overheads = trace.of("overhead")
    found = covering([*trace.ops, *trace.annotations, *trace.calls, *overheads], stretches)
    launching = {w.launch.row for w in trace.works if w.launch is not None}
    apart = sorted((s for s in overheads if s.row not in launching), key=lambda s: (s.start, s.index))
    for row, start, end in stretches:
        begun = [s for s in apart if s.start <= start + (end - start) // 2]
        if begun and 2 * (min(begun[-1].end, end) - max(begun[-1].start, start)) > end - start and begun[-1].rank in (rank, None):
            found[row, start, end] = begun[-1].name
    return found


def idle_rows(cells, parts, outside):
    idle = sum(end - start for _, start, end in parts) + sum(outside)
    for cause in CAUSES:
        mine = [(gap, start, end) for gap, start, end in parts if gap.cause == cause]
        lengths = [end - start for _, start, end in mine] + (outside if cause == "outside" else [])
        if lengths:
            after = sum(max(0, end - max(start, gap.sync.end)) for gap, start, end in mine) if cause == "sync" else None
            yield {**cells, "cause": cause, "gaps": len(lengths), "total": sum(lengths),
                   "share": ratio(sum(lengths), idle, 100), "mean": nearest(ratio(sum(lengths), len(lengths))),
                   "longest": max(lengths), "after_sync": after}


def gap_row(cells, gap, start, end, host, op, frame):
    call = gap.sync if gap.sync is not None else gap.work.launch
    return {**cells, "start": start, "duration": end - start, "cause": gap.cause, "work": gap.work.name,
            "call": name_of(call), "host": host, "op": op, "frame": frame, "work_id": gap.work.id,
            "call_id": call.id if call is not None else None}


def idle(scope):
    out = {"idle": [], "gaps": [], "behind": []}
    for key in scope.device_keys():
        gaps = gaps_of(scope.devices[key], waits_of(scope, key), scope.recorded(key))
        explain(scope, key, gaps)
        places = [gap.place for gap in gaps if gap.place]
        ops, frames = covering(scope.trace.ops, places), covering(scope.trace.frames, places)
        hosts = hosts_of(scope.trace, key[0], gaps)
        span = spans.union([scope.span(key)])
        for step, window, _ in scope.windows(key):
            cells = {**scope.device_cells(key), **scope.step_cells(step)}
            parts = [(gap, s, e) for gap in gaps for s, e in spans.common([(gap.start, gap.end)], window)]
            outside = [e - s for s, e in spans.without(window, span)]
            rows, listed, behind = list(idle_rows(cells, parts, outside)), [], collections.defaultdict(list)
            for gap, start, end in parts:
                host, op, frame = hosts.get(gap.host), ops.get(gap.place), frames.get(gap.place)
                listed.append(gap_row(cells, gap, start, end, host, op, frame))
                behind[gap.cause, host, op].append(end - start)
            busy = spans.length(spans.common(spans.union([*spans.of(scope.devices[key]), *waits_of(scope, key)]), window))
            assert sum(row["total"] for row in rows) == spans.length(window) - busy
            listed.sort(key=lambda row: (-row["duration"], row["start"]))
            out["idle"] += rows
            out["gaps"] += listed[:scope.options.rows]
            out["behind"] += [{**cells, "cause": cause, "host": host, "op": op, "gaps": len(list_),
                               "total": sum(list_)} for (cause, host, op), list_ in behind.items()]
    return {"idle": ordered(out["idle"], "total"), "gaps": together(out["gaps"]), "behind": ordered(out["behind"], "total")}


def row_cells(scope, row, works):
    return {**scope.device_cells(scope.device_key(works[0])), "stream": works[0].stream, "row": " ".join(row)}


def rows_of_device(works):
    rows = collections.defaultdict(list)
    for w in works:
        rows[w.row].append(w)
    return sorted(rows.items())


def hta(scope):
    """HTA's classes, per row: --hta."""
    rows = []
    for key in scope.device_keys():
        for row, works in rows_of_device(scope.devices[key]):
            totals, until = collections.Counter(), None
            for w in sorted(works, key=lambda w: (w.start, w.index)):
                if until is not None:
                    gap = max(0, w.start - until)
                    is_host = w.launch is not None and w.launch.start > until
                    totals["host_wait" if is_host else "kernel_wait" if gap < 30000 else "other"] += gap
                until = w.end if until is None else max(until, w.end)
            for name in ("host_wait", "kernel_wait", "other"):
                if name in totals:
                    rows.append({**row_cells(scope, row, works), "class": name, "total": totals[name],
                                 "ratio": ratio(totals[name], sum(totals.values()))})
    return {"hta": ordered(rows)}


# ---- queue ----

def waiting_spans(works):
    """Of each linked work the time from its launch's start to its own."""
    return [(w.launch.start, w.start) for w in works if w.launch is not None and w.launch.start < w.start]


def first_of_launches(works):
    """A graph is one launch: of its works on a row that which starts first."""
    found = {}
    for w in works:
        known = found.setdefault(w.launch.index, w)
        if (w.start, w.index) < (known.start, known.index):
            found[w.launch.index] = w
    return found.values()


def common(span, piece):
    return max(0, min(span[1], piece[1]) - max(span[0], piece[0]))


def queue(scope):
    rows, series, over_time = [], [], []
    for key in scope.device_keys():
        for row, works in rows_of_device(scope.devices[key]):
            linked = [w for w in works if w.launch is not None]
            if not linked:
                continue
            waiting = waiting_spans(first_of_launches(linked))
            for step, window, inside in scope.windows(key):
                inside = [w for w in inside if w.row == row and w.launch is not None]
                if not (scope.options.by_step or any(scope.capture_windows.values())) and scope.options.since is None:
                    first, last = scope.window(key)
                    window = spans.union([(min([first] + [w.launch.start for w in linked]), last)])
                times = collections.Counter()
                for piece in window:
                    for start, end, level in spans.levels(waiting, piece):
                        times[level] += end - start
                most = max(times, default=0)
                rows.append({**row_cells(scope, row, works), **scope.step_cells(step), "works": len(inside),
                             "queued": sum(w.launch.start < w.start for w in inside), "most": most,
                             "mean": ratio(sum(level * t for level, t in times.items()), spans.length(window)),
                             "time_queued": sum(t for level, t in times.items() if level > 0),
                             "time_most": times[most] if most else None,
                             "time_full": sum(t for level, t in times.items() if level >= 1024)})
            series += [{**row_cells(scope, row, works), "time": t, "length": level}
                       for t, level in changes_of(waiting)]
            over_time += [{**row_cells(scope, row, works), "time": piece[0],
                           "length": ratio(sum(common(w, piece) for w in waiting), piece[1] - piece[0])}
                          for piece in scope.pieces(key)]
    return {"queue": ordered(rows), "queue_length": ordered(series), "queue_over_time": ordered(over_time)}


def changes_of(waiting):
    if not waiting:
        return []
    window = min(s for s, _ in waiting), max(e for _, e in waiting) + 1
    out, before = [], 0
    for start, _, level in spans.levels(waiting, window):
        if level != before:
            out.append((start, level))
        before = level
    return out


# ---- states ----

def states_of(works, waits, window):
    """[(start, end, state)] over the window, neighbours differ."""
    running, waiting, queued = spans.of(works), spans.of(waits), spans.union(waiting_spans(works))
    out = []
    for piece in window:
        left, parts = [piece], []
        for state, where in (("running", running), ("waiting", waiting), ("queued", queued)):
            parts += [(s, e, state) for s, e in spans.common(left, where)]
            left = spans.without(left, where)
        parts += [(s, e, "idle") for s, e in left]
        merged = []
        for s, e, state in sorted(parts):
            if merged and merged[-1][2] == state:
                merged[-1] = (merged[-1][0], e, state)
            else:
                merged.append((s, e, state))
        out.append(merged)
    return out


def states(scope):
    rows, moves = [], []
    for key in scope.device_keys():
        for row, works in rows_of_device(scope.devices[key]):
            waits = [w for w in scope.trace.waits if w.row == row]
            for step, window, _ in scope.windows(key):
                times, counts = collections.Counter(), collections.Counter()
                for piece in states_of(works, waits, window):
                    for s, e, state in piece:
                        times[state] += e - s
                    counts.update((a[2], b[2]) for a, b in zip(piece, piece[1:]))
                cells = {**row_cells(scope, row, works), **scope.step_cells(step)}
                span = spans.length(window)
                assert sum(times.values()) == span
                rows.append({**cells, "span": span, **{s: times[s] for s in ("running", "waiting", "queued", "idle")},
                             "utilisation": ratio(times["running"], span, 100), "transitions": sum(counts.values())})
                moves += [{**cells, "from": a, "to": b, "count": n} for (a, b), n in sorted(counts.items())]
    return {"states": ordered(rows), "transitions": ordered(moves)}
