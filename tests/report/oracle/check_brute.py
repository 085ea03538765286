#!/usr/bin/env python3
"""Holds the oracle's reports against counting nanosecond by nanosecond and event by event, on small random traces.

Nothing is sorted or swept here: each definition of docs/reports/definitions.md is asked of each time and each event.
"""
import collections
import fractions
import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import random_trace  # noqa: E402
import reports  # noqa: E402
import rounds  # noqa: E402
import scope  # noqa: E402
import trace  # noqa: E402

problems, compared = [], collections.Counter()


def same(seed, what, got, wanted):
    compared[what] += 1
    if got != wanted:
        problems.append("seed %d, %s: %r, by counting %r" % (seed, what, got, wanted))


def runs(s, t):
    return s.start <= t < s.end


def order(s):
    return s.start, -s.end, s.index


def around(slices, row, t):
    return sorted((s for s in slices if s.row == row and runs(s, t)), key=order)


def device_of(w):
    return w.rank, w.device if w.device is not None else "process " + w.row[0]


def cells(row):
    return row["rank"], row["device"]


# ---- joins ----

def check_join(seed, t):
    def number(s):
        return s.args.get("correlation") or None

    for w in t.works:
        mine = [c for c in t.calls if number(c) is not None and number(c) == number(w) and c.rank == w.rank]
        outer = [c for c in mine if not any(o is not c and o.row == c.row and order(o) < order(c) and
                                            (runs(o, c.start) or o.start == c.start) for o in mine)]
        earlier = [c for c in outer if c.start <= w.start]
        wanted = max(earlier, key=order) if earlier else min(outer, key=order, default=None)
        if wanted is not None:
            same(seed, "launch", w.launch, wanted)
        elif w.launch is not None:
            same(seed, "launch by a flow", any(f[3] == w.launch.row for f in t.flows if f[0] == "s"), True)


STARTERS = set(random_trace.LAUNCHES + random_trace.COPY_CALLS + ["cudaGraphLaunch", "cudaMemset", "cudaMemsetAsync", "cuLaunchKernel"])


def check_before(seed, t):
    for w in t.works:
        linked = [o.start for o in t.works if o.row == w.row and o.launch]
        calls = [c.start for c in t.calls if c.rank == w.rank and c.name in STARTERS]
        limit = min(linked or calls, default=None)
        wanted = any(o.launch for o in t.works) and not w.launch and limit is not None and w.start < limit
        same(seed, "before" if wanted else "not before", bool(w.before), wanted)
    totals = reports.report("launches", t)["launch_totals"]
    alone = [c for c in t.calls if c.name in STARTERS and not any(w.launch is c for w in t.works) and not any(
        o is not c and o.row == c.row and o.args.get("correlation") == c.args.get("correlation") and
        order(o) < order(c) and (runs(o, c.start) or o.start == c.start) for o in t.calls)]
    if any(o.launch for o in t.works):
        same(seed, "launches without work", sum(r["without_work"] for r in totals), len(alone))


# ---- accounts ----

def capture_windows(t):
    return [s for s in t.slices if s.category == "capture" and s.row[1] == "1999999999"]


def recorder(t, mine):
    """Whether a device, whose works are `mine`, was recorded at a time: in captures with windows, between works of one."""
    windows = [s for s in capture_windows(t) if s.rank == mine[0].rank]
    opens = [s.start for s in windows if not any(o.start < s.start <= o.end for o in windows)]
    ends = collections.defaultdict(list)
    for w in mine:
        launched = w.launch.start if w.launch else w.start
        ends[max((at for at in opens if at <= launched), default=min(opens, default=0))] += [w.start, w.end]
    return lambda at: not opens or any(min(times) <= at < max(times) for times in ends.values())


def check_breakdown(seed, t, works, options, window=(None, None)):
    found = reports.report("breakdown", t, **options)
    idle_found = reports.report("idle", t, rows=10**9, **options)
    for device in {device_of(w) for w in works}:
        mine = [w for w in works if device_of(w) == device]
        first, last = min(w.start for w in mine), max(w.end for w in mine)
        since, until = (default if t_ is None else t_ for t_, default in zip(window, (first, last)))
        times, levels, pairs = collections.Counter(), collections.Counter(), collections.Counter()
        is_recorded = recorder(t, mine)
        compared["devices recorded in windows"] += not is_recorded(-10 ** 6)
        for at in filter(is_recorded, range(since, until)):
            times["all"] += 1
            running = [scope.class_of(w) for w in mine if runs(w, at)]
            levels[len(running)] += 1
            kind = "compute" if "compute" in running else "communication" if "communication" in running else \
                "copy" if running else "idle"
            times[kind] += 1
            times["outside"] += not first <= at < last
            for a in set(running):
                pairs[a, "alone"] += len(set(running)) == 1
                for b in set(running):
                    pairs[a, b] += 1
        known = (device[0], device[1] if isinstance(device[1], int) else None)
        inside = [w for w in mine if (window[0] is None or w.start >= since) and (window[1] is None or w.start < until)]
        row = next((r for r in found["breakdown"] if cells(r) == known), None)
        same(seed, "breakdown", [row[c] for c in ("span", "compute", "exposed_communication", "exposed_copy", "idle",
                                                  "works", "time")],
             [times["all"]] + [times[c] for c in ("compute", "communication", "copy", "idle")] +
             [len(inside), sum(w.duration for w in inside)])
        for r in found["overlap"]:
            if cells(r) == known:
                same(seed, "overlap", [r[c] for c in ("alone", "compute", "communication", "copy")],
                     [pairs[r["class"], c] for c in ("alone", "compute", "communication", "copy")])
        same(seed, "concurrency", {r["running"]: r["time"] for r in found["concurrency"] if cells(r) == known},
             dict(levels))
        same(seed, "outside", sum(r["total"] for r in idle_found["idle"] if cells(r) == known and
                                  r["cause"] == "outside"), times["outside"])
        if window == (None, None):
            check_idle(seed, t, works, mine, [r for r in idle_found["gaps"] if cells(r) == known], times["idle"])
        else:
            same(seed, "idle in a window", sum(r["total"] for r in idle_found["idle"] if cells(r) == known),
                 times["idle"])


def awaits_kernel(t, c):
    """Kernels of their own run in calls of this name for half of the time or more, and this call has one."""
    own = [(w.launch, w) for w in t.works if w.launch is not None and w.launch.name == c.name]
    inside = [(o, w) for o, w in own if w.role == "kernel" and o.start <= w.start and w.end <= o.end]
    total = sum({id(o): o.end - o.start for o, _ in own}.values())
    kernels = sum(w.end - w.start for _, w in inside)
    return 0 < kernels and total <= 2 * kernels and any(o is c for o, _ in inside)


def sync_calls(t):
    found = []
    for c in t.calls:
        name = c.name
        copy = any(w.launch is c and w.role == "copy" and "Pageable" in w.name for w in t.works)
        memset = name == "cudaMemset" and any(w.launch is c and w.role == "set" and c.start <= w.start and w.end <= c.end for w in t.works)
        if name.endswith("Synchronize") or name in ("cudaMemcpy", "hipMemcpyWithStream") or copy or memset or awaits_kernel(t, c):
            found.append(c)
    return [c for c in found if not any(order(o) < order(c) and o.row == c.row and runs(o, c.start) for o in found)]


def cause_of(t, works, mine, start, work):
    launch = work.launch
    if launch is None:
        return "unknown", None
    rows = {w.launch.row for w in t.works if w.launch is not None and w.rank == work.rank}
    for s in sync_calls(t):
        if s.row in rows and s.rank == work.rank and runs(s, start) and s.end <= launch.start:
            return "sync", None
    if any(runs(w, start) and scope.class_of(w) != "compute" and w.rank == work.rank for w in works if w not in mine):
        return "transfer", None
    if launch.start > start:
        return "host", (launch.row, start, launch.start)
    if launch.end > start:
        return "launch", (launch.row, launch.start, launch.start + 1)
    earlier = [w.launch.start for w in works if w.row == work.row and w.launch is not None and
               w.launch.start < launch.start]
    for wait in t.waits:
        if wait.row == work.row and wait.name == "Stream Wait Event" and wait.start <= launch.start and \
                not any(at > wait.start for at in earlier):
            return "dependency", (launch.row, launch.start, launch.start + 1)
    return "device", (launch.row, launch.start, launch.start + 1)


def covering(slices, row, start, end):
    """The innermost that runs in more than half of the nanoseconds of a stretch."""
    found = [s for s in slices if s.row == row and 2 * sum(runs(s, at) for at in range(start, end)) > end - start]
    return max(found, key=order).name if found else None


def check_idle(seed, t, works, mine, gaps, idle):
    same(seed, "idle", sum(r["duration"] for r in gaps), idle)
    for r in gaps:
        start, end = r["start"], r["start"] + r["duration"]
        same(seed, "gap is empty", any(runs(w, at) for w in mine for at in range(start, end)), False)
        # It may go on where nothing was recorded, until something that takes time begins.
        end = min((w.start for w in mine if w.start >= end and w.duration), default=end)
        enders = [w for w in mine if w.start == end]
        enders = [w for w in enders if w.duration] or enders
        work = min(enders, key=lambda w: w.index)
        cause, place = cause_of(t, works, mine, start, work)
        same(seed, "cause " + cause, r["cause"], cause)
        if place:
            same(seed, "op of a gap", r["op"], covering(t.ops, *place))


def check_rows(seed, t, works):
    """Queue and states."""
    queues, states = reports.report("queue", t)["queue"], reports.report("states", t)
    for row in {w.row for w in works}:
        mine = [w for w in works if w.row == row]
        device = [w for w in works if device_of(w) == device_of(mine[0])]
        first, last = min(w.start for w in device), max(w.end for w in device)
        linked = [w for w in mine if w.launch is not None]

        def length(at):
            return sum(w.launch.start <= at < w.start for w in linked)

        def state(at):
            if any(runs(w, at) for w in mine):
                return "running"
            if any(runs(w, at) for w in t.waits if w.row == row):
                return "waiting"
            return "queued" if length(at) else "idle"

        is_recorded = recorder(t, device)
        path = [state(at) if is_recorded(at) else None for at in range(first, last)]
        said = next(r for r in states["states"] if r["row"] == " ".join(row))
        times = collections.Counter(path)
        same(seed, "states", [said[c] for c in ("span", "running", "waiting", "queued", "idle")],
             [len(path) - times[None]] + [times[c] for c in ("running", "waiting", "queued", "idle")])
        same(seed, "transitions", {(r["from"], r["to"]): r["count"] for r in states["transitions"]
                                   if r["row"] == " ".join(row)},
             dict(collections.Counter((a, b) for a, b in zip(path, path[1:]) if a != b and a and b)))
        if linked:
            since = min([first] + [w.launch.start for w in linked])
            begun = {}  # a graph is one launch: when its first work of the row starts
            for w in linked:
                begun[w.launch.index] = (w.launch.start, min(w.start, begun.get(w.launch.index, (0, w.start))[1]))
            lengths = [sum(asked <= at < start for asked, start in begun.values()) for at in
                       (filter(is_recorded, range(first, last)) if capture_windows(t) else range(since, last))]
            said = next(r for r in queues if r["row"] == " ".join(row))
            most = max(lengths, default=0)
            same(seed, "queue", [said[c] for c in ("most", "mean", "time_queued", "time_most")],
                 [most, fractions.Fraction(sum(lengths), len(lengths)) if lengths else None,
                  sum(n > 0 for n in lengths), sum(n == most for n in lengths) if most else None])


# ---- lists ----

def check_operators(seed, t, works):
    sums = collections.defaultdict(collections.Counter)
    for op in t.ops:
        sums[op.rank, op.name]["calls"] += 1
        alike = [o for o in t.ops if o.row == op.row and o.name == op.name and order(o) < order(op)]
        sums[op.rank, op.name]["cpu_total"] += sum(not any(runs(o, at) for o in alike) for at in range(op.start, op.end))
        children = [o for o in t.ops if o.row == op.row and max(
            (p for p in t.ops if p.row == o.row and p is not o and runs(p, o.start) and order(p) < order(o)),
            key=order, default=None) is op]
        sums[op.rank, op.name]["cpu_self"] += sum(not any(runs(c, at) for c in children) for at in range(op.start, op.end))
    for w in works:
        found = around(t.ops, w.launch.row, w.launch.start) if w.launch else []
        name = found[-1].name if found else "(no operator)" if w.launch else "(no launch)"
        sums[w.rank, name]["gpu_self"] += w.duration
        for name in {o.name for o in found} or {name}:
            sums[w.rank, name]["gpu_total"] += w.duration
    rows = {(r["rank"], r["name"]): r for r in reports.report("operators", t)["operators"]}
    linked = any(w.launch for w in works)
    for name, sum_ in sums.items():
        if name in rows or linked:
            for c in ("calls", "cpu_total", "cpu_self") + (("gpu_self", "gpu_total") if linked else ()):
                same(seed, "operators", rows[name][c] or 0, sum_[c])


def check_ranges(seed, t, works):
    sums = collections.defaultdict(collections.Counter)
    seen = []
    for a in sorted(t.annotations, key=lambda a: (a.start, -a.duration, a.index)):
        before = [b for b in seen if (b.row, b.name) == (a.row, a.name)]
        seen.append(a)
        below = [w for w in works if w.launch and w.launch.row == a.row and runs(a, w.launch.start)]
        sum_ = sums[a.rank, a.name]
        sum_["calls"] += 1
        sum_["cpu_total"] += sum(not any(runs(b, at) for b in before) for at in range(a.start, a.start + a.duration))
        sum_["gpu_calls"] += bool(below)
        below = [w for w in below if not any(runs(b, w.launch.start) for b in before)]
        sum_["gpu_time"] += sum(w.duration for w in below)
        if below:
            first, last = min(w.start for w in below), max(w.end for w in below)
            sum_["gpu_span"] += last - first
            sum_["gpu_busy"] += sum(any(runs(w, at) for w in below) for at in range(first, last))
    for r in reports.report("ranges", t)["ranges"]:
        for c in ("calls", "cpu_total", "gpu_time", "gpu_calls", "gpu_span", "gpu_busy"):
            same(seed, "ranges", r[c] or 0, sums[r["rank"], r["name"]][c])


def check_kernels(seed, t, works):
    for r in reports.report("kernels", t)["kernels"]:
        times = [w.duration for w in works if w.role == "kernel" and w.name == r["name"] and device_of(w) == cells(r)]
        same(seed, "kernels", [r[c] for c in ("total", "count", "min", "max")],
             [sum(times), len(times), min(times), max(times)])
        for c, wanted in (("mean", statistics.mean(times)), ("median", statistics.median(times)),
                          ("stddev", statistics.stdev(times) if len(times) > 1 else None)):
            same(seed, "kernels", r[c] is None if wanted is None else abs(r[c] - wanted) <= 0.5 + 1e-9, True)


def check_copies(seed, t, works):
    for r in reports.report("copies", t)["copies"]:
        mine = [w for w in works if (w.role != "kernel" or scope.class_of(w) == "copy") and device_of(w) == cells(r) and
                (r["kind"] == "set") == (w.role == "set") and
                (w.role == "set" or w.name == "Memcpy %s (%s)" % (r["kind"], r["memory"]) or
                 (r["kind"] is None and (w.role == "kernel" or w.name == "Memcpy weird")))]
        known = [w for w in mine if "bytes" in w.args]
        same(seed, "copies", [r[c] for c in ("count", "total", "bytes", "unknown")],
             [len(mine), sum(w.duration for w in mine), sum(w.args["bytes"] for w in known) if known else None,
              len(mine) - len(known)])
        time = sum(w.duration for w in known)
        same(seed, "bandwidth", r["bandwidth"], fractions.Fraction(
            sum(w.args["bytes"] for w in known if w.duration), time) if time else None)


def check_syncs(seed, t, works):
    found = reports.report("syncs", t)["syncs"]
    calls = sync_calls(t)
    busy = sum(any(w.rank == c.rank and runs(w, at) for w in works) for c in calls for at in range(c.start, c.end))
    same(seed, "syncs", [sum(r["calls"] for r in found), sum(r["total"] for r in found),
                         sum(r["gpu_busy"] for r in found) if works else None],
         [len(calls), sum(c.duration for c in calls), busy if works else None])
    implicit = [c for c in calls if not c.name.endswith("Synchronize") or around(t.ops, c.row, c.start)]
    same(seed, "syncs", sum(r["calls"] for r in found if r["implicit"]), len(implicit))


def check_collectives(seed, t, works):
    found = reports.report("communication", t)
    mine = [w for w in works if scope.class_of(w) == "communication"]
    same(seed, "collectives", sorted((r["start"], r["duration"], r["exposed"]) for r in found["collectives"]),
         sorted((w.start, w.duration, sum(not any(runs(o, at) and scope.class_of(o) == "compute" for o in works
                                                  if device_of(o) == device_of(w)) for at in range(w.start, w.end)))
                for w in mine))
    same(seed, "collectives", sum(r["exposed"] for r in found["communication"]),
         sum(r["exposed"] for r in found["collectives"]))


def steps_of(t, rank, auto):
    """Annotations, or what repeats."""
    if not auto:
        return [a for a in t.annotations if a.name.startswith("ProfilerStep#") and a.rank == rank]
    works = [((w.launch or w).start, w.index, w) for w in t.works if w.rank == rank]
    works.sort()
    names = [w.name for _, _, w in works]
    tries = 0
    for c in range(3, len(works) + 1):
        firsts = [n for n in names if names.count(n) == c]
        if not firsts or sum(names.count(n) % c == 0 for n in names) * 2 < len(names) or tries == 16:
            continue
        tries += 1
        step, found, inside = 0, [], [[] for _ in range(c)]
        for at, index, w in works:
            if w.name == firsts[0]:
                found.append(scope.Step(w.name, rank, index, at, max(o.end for _, _, o in works)))
                if step:
                    found[-2].end = at
                step += 1
            elif step == c and len(inside[-1]) == len(inside[-2]):
                found[-1].end = at
                break
            if step:
                inside[step - 1].append(w.name)
        alike = max(sum(sorted(a) == sorted(b) for b in inside) for a in inside)
        if len({s.start for s in found}) == c and alike >= 3 and alike / c >= 0.75:
            return found
    return []


def step_at(steps, at):
    return max((s for s in steps if runs(s, at)), key=lambda s: (s.start, s.index), default=None)


def check_steps(seed, t, works):
    """Which step each nanosecond of a device is of, asked of that nanosecond."""
    auto = not any(a.name.startswith("ProfilerStep#") for a in t.annotations)
    rows = reports.report("breakdown", t, by=("step",), step="auto" if auto else None)["breakdown"]
    for device in {device_of(w) for w in works}:
        mine = [w for w in works if device_of(w) == device]
        first, last = min(w.start for w in mine), max(w.end for w in mine)
        steps = steps_of(t, device[0], auto)
        compared["steps that repeat"] += any(isinstance(s, scope.Step) for s in steps)
        work = {s.index: [w for w in mine if w.launch and step_at(steps, w.launch.start) is s] for s in steps}
        with_work = sorted((max(w.end for w in work[s.index]), s.start, s.index) for s in steps if work[s.index])
        since = min(w.start for w in work[with_work[0][2]]) if with_work else None

        def step_of(at):
            if with_work:
                later = [index for end, _, index in with_work if end > at]
                return later[0] if later and at >= since else None
            begun = [s for s in steps if s.start <= at]
            latest = max(begun, key=lambda s: (s.start, s.index), default=None)
            return latest.index if latest is not None and at < latest.end else None

        times = collections.Counter(step_of(at) for at in filter(recorder(t, mine), range(first, last)))
        names = {s.index: (s.name, s.start) for s in steps}
        got = collections.Counter({(r["step"], r["step_start"]): r["span"] for r in rows
                                   if (r["rank"], r["device"]) == device and r["span"]})
        same(seed, "windows of steps", got, collections.Counter({names.get(i, (None, None)): n for i, n in times.items()}))


def check_sums(seed, t, works):
    """Steps and other keys split what there is, and lose none of it."""
    total = collections.Counter()
    for w in works:
        total[w.role] += w.duration
    for options in ({}, {"by": ("step",)}, {"by": ("op", "grid")}, {"by": ("short", "stream", "step")}):
        same(seed, "sum of kernels", sum(r["total"] for r in reports.report("kernels", t, **options)["kernels"]),
             total["kernel"])
    same(seed, "sum of copies", sum(r["total"] for r in reports.report("copies", t, by=("step",))["copies"]),
         total["copy"] + total["set"] + sum(w.duration for w in works if w.role == "kernel" and scope.class_of(w) == "copy"))
    for name, table, columns in (("breakdown", "breakdown", ("span", "idle", "busy", "compute", "works", "time")),
                                 ("idle", "idle", ("total",)), ("states", "states", ("running", "queued", "idle"))):
        whole, parts = (reports.report(name, t, by=by)[table] for by in ((), ("step",)))
        for c in columns:
            same(seed, "sum over steps of " + name, sum(r[c] for r in parts), sum(r[c] for r in whole))
    launches = reports.report("launches", t)["launches"]
    calls = [c for c in t.slices if any(w.launch is c for w in works)]
    delays = [min(w.start for w in works if w.launch is c) - c.end for c in calls]
    same(seed, "delays", [sum(r[c] for r in launches) for c in ("launches", "delay_total", "negative", "queue_total")],
         [len(delays), sum(delays), sum(d < 0 for d in delays), sum(max(0, d) for d in delays)])


def check(seed):
    t, r = trace.read_document(random_trace.make(seed, 6, plain=True)), random.Random(seed)
    compared["traces of two ranks"] += len({w.rank for w in t.works}) > 1
    check_join(seed, t)
    check_before(seed, t)
    check_breakdown(seed, t, t.works, {})
    check_breakdown(seed, t, [w for w in t.works if w.launch], {"linked": True})
    since, until = r.randint(-60, 200), r.randint(150, 320)
    for window in ((since, until), (None, until), (since, None)):
        check_breakdown(seed, t, t.works, {"since": window[0], "until": window[1]}, window)
    check_rows(seed, t, t.works)
    check_operators(seed, t, t.works)
    check_ranges(seed, t, t.works)
    for part in (check_kernels, check_copies, check_syncs, check_collectives, check_steps, check_sums):
        part(seed, t, t.works)


def main():
    for seed in range(rounds.rounds(60)):
        check(seed)
        if len(problems) > 20:
            break
    for what, count in sorted(compared.items()):
        print("%6d  %s" % (count, what))
    for cause in ("unknown", "sync", "transfer", "host", "launch", "dependency", "device"):
        if not compared["cause " + cause] and not problems:
            problems.append("no gap has the cause " + cause)
    print("\n".join(problems[:20]))
    return 1 if problems or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
