"""What all reports share: which work counts, devices, classes, steps, windows, rounding, order.
See "Words" and "Windows and steps" in docs/reports/definitions.md."""
import collections
import fractions
import functools
import math
import re

import names
import spans

# Words of names; _, - and spaces may part their letters, and a capital behind a small letter begins one as well.
COMMUNICATION = ("nccl rccl mscclpp msccl oneccl hccl hcom cncl mccl xccl gloo nvshmem rocshmem userbuffers deepep "
                 "crossdevicereduce quickreduce allreduce allgather alltoall all2all reducescatter collectivepermute "
                 "collectivebroadcast asynccollective sendrecv").split()
WORDS = re.compile("(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))(?i:%s)" % "|".join("[_ -]*".join(w) for w in COMMUNICATION))
OPERATIONS = re.compile(r"(sdma|reduce_inline|send|recv)(\.|$)", re.I)
INJECTED = re.compile(r"Kernel: |\[GPU_Kernel\] ?")
NOTHING = (None, None)


class Options:
    def __init__(self, linked=False, by=(), step=None, since=None, until=None, rows=20, gpu=None, gpus=(), tf32=False,
                 pieces=0):
        self.linked, self.by, self.by_step, self.step = linked, tuple(by), "step" in by, step
        self.since, self.until, self.rows, self.pieces = since, until, rows, pieces
        self.gpu, self.gpus, self.tf32 = gpu, gpus, tf32  # gpus: texts of tables

    def has(self, t):
        return (self.since is None or t >= self.since) and (self.until is None or t < self.until)


@functools.lru_cache(None)
def class_of_kernel(name):
    name = names.short(INJECTED.sub("", name, count=1) if INJECTED.match(name) else name)
    lower = name.lower()
    if lower.startswith("__amd_rocclr_copy") or re.match(r"copy-start(\.|$)", lower):
        return "copy"
    if lower.startswith("hip") or re.match("triton_(poi|red|per|tem)_fused", lower):
        return "compute"
    return "communication" if WORDS.search(name) or OPERATIONS.match(name) else "compute"


def class_of(work):
    if work.role == "set":
        return "compute"
    if work.role == "copy":
        return "copy"
    told = "Collective name" in work.args and not work.name.lower().startswith("hip")
    found = class_of_kernel(work.name)
    return "communication" if told and found == "compute" else found


# ---- numbers ----

def nearest(value):
    """Of a fraction the nearest whole number, halves away from 0."""
    value = fractions.Fraction(value)
    size = (2 * abs(value.numerator) + value.denominator) // (2 * value.denominator)
    return size if value >= 0 else -size


def ratio(a, b, times=1):
    return None if not b or a is None else fractions.Fraction(times * a, b)


def median(values):
    ordered, middle = sorted(values), len(values) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return nearest(fractions.Fraction(ordered[middle - 1] + ordered[middle], 2))


def deviation(values):
    """The sample standard deviation, to the nearest whole number; None of less than two."""
    n = len(values)
    if n < 2:
        return None
    square = fractions.Fraction(n * sum(v * v for v in values) - sum(values) ** 2, n * (n - 1))
    root = math.isqrt(square.numerator // square.denominator)
    return root + (square >= fractions.Fraction(2 * root + 1, 2) ** 2)


def statistics(values):
    return {"total": sum(values), "count": len(values), "mean": nearest(fractions.Fraction(sum(values), len(values))),
            "median": median(values), "min": min(values), "max": max(values), "stddev": deviation(values)}


def cell_key(value):
    """Null first, then numbers, then texts by bytes."""
    if value is None:
        return (0,)
    if isinstance(value, str):
        return (2, value.encode("utf-8", "surrogateescape"))
    return (1, value)


def ordered(rows, *largest):
    """Of a rank, device and step together; then by these columns, largest first, then by all from the left."""
    lead = [c for c in ("rank", "device", "process", "step_start") if rows and c in rows[0]]

    def key(row):
        return ([cell_key(row[c]) for c in lead], [-(row[c] if row[c] is not None else -1) for c in largest],
                [cell_key(v) for v in row.values()])
    return sorted(rows, key=key)


def together(rows):
    """Of a rank, device and step together, else as they are."""
    lead = [c for c in ("rank", "device", "process", "step_start") if rows and c in rows[0]]
    return sorted(rows, key=lambda row: [cell_key(row[c]) for c in lead])


def add_shares(rows, column="total", within=("rank", "device", "process", "step", "step_start")):
    sums = collections.Counter()
    for row in rows:
        sums[tuple(row.get(c) for c in within)] += row[column]
    for row in rows:
        row["share"] = ratio(row[column], sums[tuple(row.get(c) for c in within)], 100)
    return rows


# ---- devices, steps, windows ----

class Step:
    """One that is guessed from what repeats (--step auto)."""
    role, row = "step", (None, None)

    def __init__(self, name, rank, index, start, end, number=None):
        self.name, self.rank, self.index, self.start, self.end, self.id = f"{name[:200]} (guessed)", rank, index, start, end, number
        self.duration = end - start


class Scope:
    def __init__(self, trace, options=None):
        self.trace, self.options = trace, options or Options()
        self.works = [w for w in trace.works if w.launch is not None or not self.options.linked]
        self.devices = collections.defaultdict(list)  # key: works
        for w in self.works:
            self.devices[self.device_key(w)].append(w)
        self.steps, self.by_process = self.find_steps(), {}
        self.capture_windows = collections.defaultdict(list)  # by rank
        for s in trace.slices:
            if s.row[1] == "1999999999" and s.category == "capture":
                self.capture_windows[s.rank].append((s.start, s.end))

    @staticmethod
    def device_key(work):
        return (work.rank, work.device if work.device is not None else "process " + work.row[0])

    def device_keys(self):
        return sorted(self.devices, key=lambda k: (cell_key(k[0]), cell_key(k[1])))

    def device_cells(self, key):
        if not isinstance(key[1], str):
            return {"rank": key[0], "device": key[1], "process": None}
        pid = key[1][len("process "):]
        name = self.trace.processes.get(pid)
        return {"rank": key[0], "device": None, "process": f"{name} ({pid})" if name else pid}

    def find_steps(self):
        if self.options.step == "auto":
            steps = [s for rank in {w.rank for w in self.trace.works} for s in self.repetition(rank)]
        elif self.options.step:
            steps = [a for a in self.trace.annotations if re.match(self.options.step, a.name)]
        else:
            steps = [a for a in self.trace.marks if re.match(r"ProfilerStep#\d+$", a.name)]
        return sorted(steps, key=lambda a: (a.start, a.index))

    def repetition(self, rank):
        """Steps of a rank, guessed."""
        def begin(w):
            return w.launch.start if w.launch is not None else w.start
        works = sorted((w for w in self.trace.works if w.rank == rank), key=lambda w: (begin(w), w.index))
        counts = collections.Counter(w.name for w in works)
        right = [c for c in sorted(set(counts.values())) if c >= 3
                 and 2 * sum(counts[w.name] % c == 0 for w in works) >= len(works)]
        for c in right[:16]:
            name = next(w.name for w in works if counts[w.name] == c)
            first = [i for i, w in enumerate(works) if w.name == name]
            starts = [begin(works[i]) for i in first]
            parts = collections.Counter(tuple(sorted(w.name for w in works[i:j]))
                                        for i, j in zip(first, first[1:] + [2 * first[-1] - first[-2]]))
            most = max(parts.values())
            if len(set(starts)) == c and most >= 3 and 4 * most >= 3 * c:
                length = first[-1] - first[-2]  # the last has as many works as the one before it
                behind = works[first[-1] + length:first[-1] + length + 1]
                ends = starts[1:] + [begin(behind[0]) if behind else max(w.end for w in works)]
                return [Step(name, rank, works[i].index, start, end, works[i].id) for i, start, end in zip(first, starts, ends)]
        return []

    def steps_for(self, row, rank):
        """Those of a row's process; where it has none, those of the only process of its rank that has some."""
        own = [s for s in self.steps if s.row[0] is not None and s.row[0] == row[0]]
        others = [s for s in self.steps if s.rank == rank]
        return own or (others if len({s.row[0] for s in others}) == 1 else [])

    def step_at(self, row, rank, t):
        if (row[0], rank) not in self.by_process:
            self.by_process[row[0], rank] = self.steps_for(row, rank)
        found = None
        for step in self.by_process[row[0], rank]:
            if step.start <= t < step.end:
                found = step
        return found

    def step_of(self, event):
        """Of a work by its launch, of anything else by its start; None without --by step."""
        if not self.options.by_step:
            return None
        if event.role in ("kernel", "copy", "set"):
            return self.step_at(event.launch.row, event.rank, event.launch.start) if event.launch is not None else None
        return self.step_at(event.row, event.rank, event.start)

    @staticmethod
    def step_cells(step):
        return {"step": step.name if step else None, "step_start": step.start if step else None}

    def span(self, key):
        works = self.devices[key]
        return min(w.start for w in works), max(w.end for w in works)

    def window(self, key):
        first, last = self.span(key)
        return (first if self.options.since is None else self.options.since,
                last if self.options.until is None else self.options.until)

    def pieces(self, key):
        """The device's window in pieces, as --pieces asks for: [(start, end)]."""
        first, last = self.window(key)
        count = max(0, min(self.options.pieces, last - first))
        ends = [first + (last - first) * i // count for i in range(count + 1)] if count else []
        return list(zip(ends, ends[1:]))

    def step_windows(self, key):
        """[(step, start, end)] that do not overlap."""
        first, last = self.span(key)
        works = collections.defaultdict(list)
        for w in self.devices[key]:
            step = self.step_of(w)
            if step is not None:
                works[step.index].append(w)
        mine = [s for s in self.steps if s.rank == key[0]]
        if not works and len({s.row[0] for s in mine}) != 1:
            return []
        if not works:
            starts = [s.start for s in mine] + [last]
            return [(s, max(s.start, first), min(s.end, starts[i + 1], last)) for i, s in enumerate(mine)
                    if max(s.start, first) < min(s.end, starts[i + 1], last)]
        ends = sorted(((max(w.end for w in works[s.index]), s.start, s.index, s) for s in mine if s.index in works),
                      key=lambda e: e[:3])
        out, since = [], min(w.start for w in works[ends[0][2]])
        for end, _, _, step in ends:
            out.append((step, since, end))
            since = end
        return out

    def recorded(self, key):
        """Of each capture window of the device's rank: from the first start to the last end of what was launched in it."""
        opens, until, spans_of = [], None, collections.defaultdict(list)
        for start, end in sorted(self.capture_windows[key[0]]):  # those of several processes that overlap are one
            if until is None or start > until:
                opens.append(start)
            until = end if until is None else max(until, end)
        if not opens:
            return [(-10 ** 30, 10 ** 30)]
        for w in self.devices[key]:
            launched = w.launch.start if w.launch is not None else w.start
            spans_of[max(0, sum(start <= launched for start in opens) - 1)].append(w)
        return spans.union((min(w.start for w in works), max(w.end for w in works)) for works in spans_of.values())

    def windows(self, key):
        """[(step, spans, works whose start lies in them)] whose spans together are the device's window."""
        whole = spans.common(spans.union([self.window(key)]), self.recorded(key))
        works = [w for w in self.devices[key] if self.options.has(w.start)]
        if not self.options.by_step:
            return [(None, whole, works)]
        out, rest, left = [], whole, works
        for step, start, end in self.step_windows(key):
            piece = spans.common(whole, spans.union([(start, end)]))
            inside = [w for w in left if start <= w.start < end]
            left = [w for w in left if not start <= w.start < end]
            rest = spans.without(rest, piece)
            if piece or inside:
                out.append((step, piece, inside))
        if rest or left:
            out.append((None, rest, left))
        return out

    def listed(self, events):
        """Those a list takes: whose start lies in the window."""
        return [e for e in events if self.options.has(e.start)]
