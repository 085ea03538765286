"""What a viewer makes of the events of a Chrome JSON trace: tracks, slices, flow points and what they are bound to.

Written against formats/chrome-json.md only, so that it checks `heddle fix` instead of repeating it. Times are exact:
whole numbers of 1/PER_PS picoseconds, from the decimal text. Slices that cannot cross (no or negative duration) count with their start alone.
"""
import heapq
from bisect import bisect_left
from collections import defaultdict
from decimal import ROUND_FLOOR, Context, Decimal

DIGITS = 40  # behind the point of the microsecond
PER_PS = 10 ** (DIGITS - 6)
EXACT = Context(prec=400)


def exact_time(value):
    if value is None or isinstance(value, (bool, list, dict)):
        return None
    try:
        time = Decimal(str(value))
        return int(time.scaleb(DIGITS, EXACT).to_integral_value(ROUND_FLOOR, EXACT)) if time.is_finite() else None
    except ArithmeticError:
        return None


class Slice:
    __slots__ = ("first", "last", "start", "end", "track")

    def __init__(self, first, last, start, end, track):
        self.first, self.last = first, last  # indices of events, the same for X
        self.start, self.end, self.track = start, end, track

    def key(self):
        return self.start, -self.end, self.first


def track_of(event):
    return str(event.get("pid")), str(event.get("tid"))


def slices_of(events):
    """All slices by the index of their first event. B and E are paired in the order of time, as viewers do."""
    slices, marks = {}, defaultdict(list)
    for i, event in enumerate(events):
        if not isinstance(event, dict) or event.get("ph") not in ("X", "B", "E"):
            continue
        start = exact_time(event.get("ts"))
        if start is None:
            continue
        if event["ph"] == "X":
            duration = exact_time(event.get("dur"))
            slices[i] = Slice(i, i, start, start + max(duration or 0, 0), track_of(event))
        else:
            marks[track_of(event)].append((start, i, event["ph"]))
    for track, list_ in marks.items():
        open_ = []
        for time, i, phase in sorted(list_):
            if phase == "B":
                open_.append((time, i))
            elif open_:
                start, first = open_.pop()
                slices[first] = Slice(first, i, start, time, track)
        for start, first in open_:
            slices[first] = Slice(first, None, start, start, track)
    return slices


def by_track(slices):
    tracks = defaultdict(list)
    for slice_ in slices.values():
        tracks[slice_.track].append(slice_)
    for list_ in tracks.values():
        list_.sort(key=Slice.key)
    return tracks


def crossings(tracks):
    """Pairs (outer, inner) that cross; at most one is given for each inner one."""
    for list_ in tracks.values():
        open_ = []
        for s in list_:
            if s.end <= s.start:
                continue
            while open_ and open_[-1].end <= s.start:
                open_.pop()
            if open_ and open_[-1].end < s.end:
                yield open_[-1], s
            else:
                open_.append(s)


def bind_enclosing(list_, times):
    """For ascending times: the slice that began last of those around it; at the end of slices and around none, of those."""
    found, at, heap, ended = {}, 0, [], {}
    for time in times:
        while at < len(list_) and list_[at].start <= time:
            heapq.heappush(heap, (-at, list_[at]))
            if list_[at].end > list_[at].start:
                ended[list_[at].end] = max(ended.get(list_[at].end, -1), at)
            at += 1
        if at and list_[at - 1].start == time:
            found[time] = list_[at - 1]
            continue
        while heap and heap[0][1].end <= time:
            heapq.heappop(heap)
        if heap:
            found[time] = heap[0][1]
        elif time in ended:
            found[time] = list_[ended[time]]
    return found


def flow_bindings(events, tracks):
    """index of the flow event -> index of the first event of the slice it is bound to, or None."""
    points = defaultdict(list)
    for i, event in enumerate(events):
        if isinstance(event, dict) and event.get("ph") in ("s", "t", "f"):
            time = exact_time(event.get("ts"))
            if time is not None:
                points[track_of(event)].append((time, i, event["ph"] != "f" or event.get("bp") == "e"))
    bound = {}
    for track, list_ in points.items():
        slices = tracks.get(track, [])
        starts = [s.start for s in slices]
        enclosing = bind_enclosing(slices, sorted({time for time, _, inside in list_ if inside}))
        for time, i, inside in list_:
            if inside:
                slice_ = enclosing.get(time)
            else:
                next_ = bisect_left(starts, time)
                slice_ = slices[next_] if next_ < len(slices) else None
            bound[i] = slice_.first if slice_ else None
    return bound
