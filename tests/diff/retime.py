"""Plays a Kineto trace again after changes, as a host and its GPUs would: what waited for something longer begins later.

Trace(FILE) reads Chrome/Kineto JSON. Edits collects changes; retime(trace, edits) returns the events of the changed run.
The rules, which keep every gap of the original where nothing changed:

  launch   an activity begins after its API call, by as much as before if nothing else held it up
  stream   an activity begins after the one before it in its stream, with the gap that was there
  other    where it began right behind an activity of another stream, it still does (an event or a shared GPU)
  sync     a synchronising call ends behind the activities that it waited for; all threads of the host continue then

Without edits the result is the original, to the nanosecond (check_mutations.py tests it). Shares no code with Heddle.
"""
import bisect
import gzip
import json
import re
from decimal import Decimal

ACTIVITY = {"kernel": "kernel", "gpu_memcpy": "copy", "memcpy": "copy", "gpu_memset": "memset", "memset": "memset"}
CALL = {"cuda_runtime", "cuda_driver", "runtime", "driver"}
NEAR = 3_000      # ns: an activity that begins this soon behind another's end waited for it
LATENCY = 5_000   # ns: from the start of a call to the activity, where nothing else holds it up
WAITED = 60_000   # ns: a synchronising call that ends this soon behind an activity waited for it


def ns(value):
    return int((Decimal(value) * 1000).to_integral_value())


def us(value):
    sign, value = ("-", -value) if value < 0 else ("", value)
    return f"{sign}{value // 1000}.{value % 1000:03d}"


class Event:
    """One event of the file; `start` and `end` in ns, `raw` what else the file says of it."""
    __slots__ = ("start", "end", "raw", "kind", "name", "launch", "device", "stream", "thread", "order", "parent")

    def __init__(self, raw, order):
        self.raw, self.order = raw, order
        self.name = raw.get("name", "")
        self.start = ns(raw["ts"])
        self.end = self.start + ns(raw.get("dur", 0))
        category = str(raw.get("cat", "")).lower()
        self.kind = ACTIVITY.get(category) or ("call" if category in CALL else "host")
        self.launch = self.parent = None
        args = raw.get("args") or {}
        self.device, self.stream = args.get("device"), args.get("stream")
        self.thread = (raw.get("pid"), raw.get("tid"))

    @property
    def length(self):
        return self.end - self.start

    @property
    def gpu(self):
        return self.kind in ("kernel", "copy", "memset")


def read_json(path):
    data = open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(data, parse_float=Decimal)


class Trace:
    def __init__(self, path):
        whole = read_json(path)
        self.rest = {} if isinstance(whole, list) else {key: value for key, value in whole.items() if key != "traceEvents"}
        self.meta, self.events = [], []
        for raw in whole if isinstance(whole, list) else whole["traceEvents"]:
            if raw.get("ph") == "M":
                self.meta.append(raw)
            elif "ts" in raw and raw.get("ph") in ("X", "B", "E", "b", "e") and raw.get("cat") not in ("gpu_user_annotation", "Trace"):
                self.events.append(Event(raw, len(self.events)))
        self.events.sort(key=lambda event: (event.start, -event.end))
        calls = {event.raw["args"].get("correlation"): event for event in self.events
                 if event.kind == "call" and event.raw.get("args")}
        self.activities = [event for event in self.events if event.gpu]
        for event in self.activities:
            event.launch = calls.get(event.raw["args"].get("correlation"))
        self.steps = [event for event in self.events if event.kind == "host" and event.raw["ph"] == "X"
                      and re.match(r"ProfilerStep#?\d+$", event.name)]
        self.nest()

    def nest(self):
        """The slice that encloses each slice of the host, by thread."""
        open_slices = {}
        for event in self.events:
            if event.gpu or event.raw["ph"] != "X":
                continue
            stack = open_slices.setdefault(event.thread, [])
            while stack and stack[-1].end <= event.start:
                stack.pop()
            event.parent = stack[-1] if stack else None
            stack.append(event)

    def operators(self, activity):
        """Names of the operators around the launch of an activity, innermost first; no annotations."""
        names, at = [], activity.launch and activity.launch.parent
        while at and at.raw.get("cat", "").lower() in ("cpu_op", "operator"):
            names.append(at.name)
            at = at.parent
        return names

    def step_of(self, activity):
        at = activity.launch.start if activity.launch else activity.start
        found = bisect.bisect_right([step.start for step in self.steps], at) - 1
        return found if found >= 0 and at < self.steps[found].end else None


class Edits:
    def __init__(self):
        self.length = {}        # activity -> ns
        self.longer = {}        # call -> ns that are added to it
        self.name = {}          # event -> name
        self.stream = {}        # activity -> stream
        self.gone = set()       # events that are no more
        self.shift = []         # (t, ns): the host is later by so much from t on
        self.launches = []      # (t, name, ns, like, stream, operator or None, kind): one more launch, at t of the host
        self.syncs = []         # (t, like): one more cudaDeviceSynchronize at t of the host


class Clock:
    """Time of the original on the host -> time of the new run."""

    def __init__(self):
        self.times, self.sums = [], [0]

    def add(self, t, delta):
        self.times.append(t)
        self.sums.append(self.sums[-1] + delta)

    def at(self, t, inside=False):
        """`inside`: what changes at t itself has not happened yet."""
        k = (bisect.bisect_left if inside else bisect.bisect_right)(self.times, t)
        new = t + self.sums[k]
        return min(new, self.times[k] + self.sums[k + 1]) if k < len(self.times) else new


def is_sync(call, ends_at):
    if "ynchronize" in call.name:
        return True
    return "emcpy" in call.name and ends_at is not None and call.start < ends_at <= call.end


def track(tid, stream):
    """The track of another stream: a number, or a text that ends with it."""
    return stream if isinstance(tid, int) else re.sub(r"\d+$", str(stream), str(tid))


def retime(trace, edits):
    """Raw events of the new run, with ts and dur as text of microseconds."""
    own = {}
    for activity in trace.activities:
        if activity.launch:
            own.setdefault(activity.launch, []).append(activity)
    items = []
    for event in trace.events:
        if event.kind == "call":
            work = own.get(event)
            if work:
                items.append((event.start, 0, "launch", event, work))
            if event not in edits.gone and is_sync(event, max((a.end for a in work), default=None) if work else None):
                items.append((event.end, 1, "sync", event, None))
            elif event in edits.longer:
                items.append((event.end, 2, "longer", event, edits.longer[event]))
        elif event.gpu and not event.launch:
            items.append((event.start, 0, "launch", None, [event]))
    items += [(t, 3, "shift", None, delta) for t, delta in edits.shift]
    items += [(more[0], 4, "more", None, more) for more in edits.launches]
    items += [(more[0], 5, "wait", None, more) for more in edits.syncs]
    items.sort(key=lambda item: (item[0], item[1], item[3].order if item[3] else 0))

    clock, new, added = Clock(), {}, []
    last = {}            # stream -> (end of its last activity in the original, and now)
    ended = []           # ends in the original, sorted, with what they are now
    now_at = {}
    pending = []         # activities since the last sync: (original end, new end, start of the launch)
    correlation = max((e.raw["args"].get("correlation") or 0 for e in trace.events if e.kind == "call" and e.raw.get("args")), default=0)

    def place(activity, launched):
        stream = edits.stream.get(activity, activity.stream)
        key, moved = (activity.device, stream), activity in edits.stream
        old_key = (activity.device, activity.stream)
        old_end, new_end = last.get(old_key, (None, None))
        if activity in edits.gone:
            if old_end is None or activity.end > old_end:
                last[old_key] = (activity.end, new_end)
            return
        length = edits.length.get(activity, activity.length)
        latency = max(0, activity.start - activity.launch.start) if activity.launch else 0
        gap = None if old_end is None else activity.start - old_end
        k = bisect.bisect_right(ended, activity.start) - 1
        other = ended[k] if k >= 0 and not moved else None
        start = launched + min(latency, LATENCY)
        if moved:
            behind = last.get(key, (None, None))[1]
            start = max(start, behind + 900) if behind is not None else start
        elif gap is not None and gap <= NEAR and new_end is not None:
            start = max(start, new_end + gap)
        elif other is not None and activity.start - other <= NEAR:
            start = max(start, now_at[other] + activity.start - other)
            start = max(start, new_end + min(gap, NEAR)) if new_end is not None else start
        else:
            start = launched + latency
            start = max(start, new_end + min(gap, NEAR)) if new_end is not None else start
        end = start + length
        new[activity] = (start, end)
        if moved:
            last[key] = (last.get(key, (activity.end, 0))[0], max(end, last.get(key, (0, 0))[1] or 0))
        else:
            last[key] = (activity.end, end)
        bisect.insort(ended, activity.end)
        now_at[activity.end] = max(now_at.get(activity.end, 0), end)
        pending.append((activity.end, end, activity.launch.start if activity.launch else activity.start))

    for t, _, what, event, more in items:
        if what == "launch":
            if event is None:
                place(more[0], clock.at(t))
                continue
            for activity in sorted(more, key=lambda a: a.start):
                place(activity, clock.at(t))
        elif what == "sync":
            waited = [entry for entry in pending if entry[0] <= event.end and entry[2] <= event.start]
            if "emcpy" in event.name:
                waited = [(a.end, new[a][1], 0) for a in own[event] if a in new]
            pending = [entry for entry in pending if entry[0] > event.end or entry[2] > event.start] if waited else pending
            before = max((entry[0] for entry in waited), default=None)
            if before is not None and before > event.start and event.end - before <= WAITED:
                start = clock.at(event.start)
                end = max(start + 1000, max(entry[1] for entry in waited) + event.end - before)
                clock.add(t, end - clock.at(t))
        elif what in ("longer", "shift"):
            clock.add(t, more)
        elif what == "more":
            _, name, length, like, stream, operator, kind = more
            begin, correlation = clock.at(t), correlation + 1
            call = {**like.launch.raw, "args": {**like.launch.raw.get("args", {}), "correlation": correlation}}
            if kind == "copy":
                call["name"] = "cudaMemcpyAsync"
            inner = 700 if operator else 300
            clock.add(t, 5_000 + 2 * inner)
            if operator:
                added.append(({**like.launch.parent.raw, "name": operator}, begin + 100, begin + 5_000 + 2 * inner - 100))
            added.append((call, begin + inner, begin + inner + 5_000))
            end = last.get((like.device, stream), (None, None))[1]
            start = max(begin + inner + LATENCY, (end or 0) + 900)
            raw = {**like.raw, "name": name, "tid": track(like.raw["tid"], stream),
                   "args": {**like.raw["args"], "correlation": correlation, "stream": stream}}
            if kind == "copy":
                raw = {key: raw[key] for key in ("ph", "pid", "tid")} | {"cat": "gpu_memcpy", "name": name, "args": {
                    "device": like.device, "stream": stream, "correlation": correlation, "bytes": length * 20}}
            added.append((raw, start, start + length))
            last[(like.device, stream)] = (last.get((like.device, stream), (0, 0))[0], start + length)
            if like in new:     # what waited for `like` waits for this as well
                now_at[like.end] = max(now_at.get(like.end, 0), start + length)
            pending.append((like.end, start + length, t))
        elif what == "wait":
            begin, like = clock.at(t), more[1]
            end = max([begin + 1_500] + [entry[1] + 5_000 for entry in pending if entry[2] <= t])
            added.append(({**like.raw, "name": "cudaDeviceSynchronize",
                           "args": {"correlation": (correlation := correlation + 1)}}, begin + 200, end))
            clock.add(t, end - begin + 400)

    out = []
    for event in trace.events:
        if event in edits.gone or event.gpu and event not in new:
            continue
        start, end = new[event] if event.gpu else (clock.at(event.start), max(clock.at(event.start), clock.at(event.end)))
        raw = event.raw
        if event in edits.name:
            raw = {**raw, "name": edits.name[event]}
        if event in edits.stream:
            to = edits.stream[event]
            raw = {**raw, "tid": track(raw["tid"], to), "args": {**raw["args"], "stream": to}}
        out.append((raw, start, end))
    return out + added


def write(trace, events, path):
    texts = [json.dumps(raw, default=float) for raw in trace.meta]
    for raw, start, end in sorted(events, key=lambda event: (event[1], -event[2])):
        raw = {key: value for key, value in raw.items() if key not in ("ts", "dur")}
        times = f', "ts": {us(start)}' + (f', "dur": {us(end - start)}' if raw["ph"] == "X" else "")
        texts.append(json.dumps(raw, default=float)[:-1] + times + "}")
    head = json.dumps(trace.rest, default=float)[:-1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + (", " if trace.rest else "") + '"traceEvents": [\n' + ",\n".join(texts) + "\n]}\n")
