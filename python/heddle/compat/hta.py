"""Holistic Trace Analysis' entry points: `TraceAnalysis`, with the columns of HTA 0.5.0, in its units (microseconds).

Needs pandas. Charts (`visualize=True`) need plotly, and are left out where it is absent. Where HTA's figures are wrong these
are right: see "Where figures differ" in docs/reference/python-compat.md.
"""
from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import heddle

if TYPE_CHECKING:
    import pandas

_KINDS = ("COMPUTATION", "COMMUNICATION", "MEMORY")
_EXTENSIONS = (".json", ".json.gz", ".json.zst", ".heddle")
_STEPS = "ProfilerStep#*"
_QUEUE_LENGTH = 1024  # of launches that CUDA takes before a call waits
_BANDWIDTH = """select id, coalesce(extract_arg(arg_set_id, 'memory bandwidth (GB/s)'), 1.0 * extract_arg(arg_set_id, 'bytes') / nullif(dur, 0))
    as bandwidth from gpu_slice where role in ('copy', 'set')"""
# Methods of HTA that are not here, and what of Heddle answers the same question.
_ELSEWHERE = {
    "critical_path_analysis": 'Trace.report("critical-path")',
    "overlay_critical_path_analysis": '`heddle graph -o OUT.json TRACE`, or `heddle view`, which draws it',
    "generate_trace_with_counters": 'Trace.report("queue") for the queues, Trace.report("copies") for bandwidth, and `heddle view`, which draws both',
    "get_gpu_kernels_with_user_annotations": 'Trace.report("ranges"), and `heddle flame --by step` for the kernels below each',
    "get_gpu_user_annotation_breakdown": 'Trace.report("ranges")',
    "get_frequent_cuda_kernel_sequences": "`heddle query` over gpu_slice, with the window function lead()",
    "get_aten_op_kernels_and_delay": 'Trace.report("operators"), or Trace.report("launches")',
    "get_cupti_counter_data_with_operators": 'Trace.counters(), with Trace.report("operators")',
    "get_potential_stragglers": "`heddle stragglers FILE...`",
}


@dataclass(frozen=True)
class _Rank:
    """The part of a trace that is kept: a row for each GPU activity, by start; times are int64 ns.

    index     id in `slices`                       name, kind   kind: one of _KINDS
    stream, pid, tid                               start, end
    call      id of its launch; null: none         call_start, call_end, correlation
    bandwidth of a copy or memset, in GB/s         steps: the numbers N of ProfilerStep#N
    """

    work: pandas.DataFrame
    start_ns: int
    duration_ns: int
    steps: list[int]


def _kind_of(trace: heddle.Trace, launches: pandas.DataFrame) -> pandas.Series[str]:
    """The kind of each activity: copies and memsets by their category, communication as in Heddle's reports."""
    classes = trace.report("kernels", by=["name", "class"])
    talk = {row.name for row in classes if row[classes.columns.index("class")] == "communication"}
    kind = launches["work_kind"].astype(str).map({"kernel": "COMPUTATION", "copy": "MEMORY", "set": "MEMORY"})
    return kind.mask((kind == "COMPUTATION") & launches["work_name"].astype(str).isin(talk), "COMMUNICATION")


def _steps_of(trace: heddle.Trace, include_last_profiler_step: bool) -> list[int]:
    numbers = {str(name).partition("#")[2] for name in trace.slices(["name"], names=_STEPS)["name"]}
    steps = sorted(int(number) for number in numbers if number.isdecimal())
    return steps if include_last_profiler_step or len(steps) < 2 else steps[:-1]


def _work_of(trace: heddle.Trace, include_last_profiler_step: bool) -> pandas.DataFrame:
    import pandas

    launches = trace.table("launches").to_pandas()
    launches = launches[launches["work_id"].notna() & launches["work_ts"].notna()]
    tracks = trace.table("tracks", ["id", "pid", "tid", "stream"]).to_pandas().set_index("id")
    tracks = tracks.reindex(launches["work_track_id"])
    dur = launches["work_dur"].fillna(0)
    frame = pandas.DataFrame({
        "index": launches["work_id"].to_numpy("int64"), "name": launches["work_name"].astype(str).to_numpy(),
        "kind": _kind_of(trace, launches).to_numpy(), "stream": tracks["stream"].array, "pid": tracks["pid"].array,
        "tid": tracks["tid"].array, "start": launches["work_ts"].to_numpy("int64"),
        "end": (launches["work_ts"] + dur).to_numpy("int64"), "call": launches["call_id"].array,
        "call_start": launches["call_ts"].array, "call_end": (launches["call_ts"] + launches["call_dur"].fillna(0)).array,
        "correlation": launches["correlation"].array})
    bandwidth = trace.query(_BANDWIDTH).to_pandas().set_index("id")["bandwidth"]
    frame["bandwidth"] = frame["index"].map(bandwidth).astype("float64")
    frame = frame[frame["stream"].notna()]
    steps = trace.slices(["ts", "dur", "category"], names=_STEPS).to_pandas()
    steps = steps[steps["category"].astype(str) != "gpu_user_annotation"].sort_values("ts")
    if len(steps) > 1:  # of one step alone everything counts
        last = steps.iloc[-1]
        until = last["ts"] + last["dur"] if include_last_profiler_step else last["ts"]
        frame = frame[(frame["call_start"] < until).fillna(False)]
    return frame.sort_values(["start", "index"], kind="stable", ignore_index=True)


def _cover(work: pandas.DataFrame) -> dict[tuple[str, ...], int]:
    """Time (ns) by the kinds that run at once, none of them included: a sweep over all starts and ends."""
    import numpy

    if work.empty:
        return {}
    times = numpy.concatenate([work["start"].to_numpy(), work["end"].to_numpy()])
    order = numpy.argsort(times, kind="stable")
    times = times[order]
    mask = numpy.zeros(len(times), dtype=numpy.int64)
    for bit, kind in enumerate(_KINDS):
        one = (work["kind"] == kind).to_numpy().astype(numpy.int64)
        mask |= (numpy.cumsum(numpy.concatenate([one, -one])[order]) > 0).astype(numpy.int64) << bit
    totals = numpy.zeros(1 << len(_KINDS), dtype=numpy.int64)
    numpy.add.at(totals, mask[:-1], numpy.diff(times))
    return {tuple(kind for bit, kind in enumerate(_KINDS) if value >> bit & 1): int(total) for value, total in enumerate(totals)}


def _percent(part: float, whole: float, digits: int = 2) -> float:
    return round(100 * part / whole, digits) if whole else float("nan")


def _chart(frame: pandas.DataFrame, x: str, y: str, color: str | None, title: str) -> None:
    """A bar chart, in a notebook or a browser. Without plotly there is none."""
    if importlib.util.find_spec("plotly") is not None:
        bar = importlib.import_module("plotly.express").bar
        bar(frame, x=x, y=y, color=color, title=title).show()


class TraceAnalysis:
    """Analyses of the ranks of one run, a file each.

    trace_files   rank: path, or a list of paths, whose ranks are those in the files, or else their positions in the list
    trace_dir     where the files lie; without trace_files: every trace in it is a rank
    include_last_profiler_step   whether the last ProfilerStep counts, where there are several: profilers cut it short

    Where a trace has several steps, only GPU activities that were launched before the last of them count.
    """

    def __init__(self, trace_files: Mapping[int, str] | Sequence[str] | None = None, trace_dir: str | None = None,
                 include_last_profiler_step: bool | None = False) -> None:
        self._last = bool(include_last_profiler_step)
        self._ranks: dict[int, _Rank] = {}
        if isinstance(trace_files, Mapping):
            for rank, path in sorted(trace_files.items()):
                with heddle.open(self._path(path, trace_dir)) as trace:
                    self._add(rank, trace)
            return
        if trace_files is None and trace_dir is None:
            raise ValueError("neither trace_files nor trace_dir is given: name the files of the ranks, or their folder")
        paths = list(trace_files) if trace_files is not None else sorted(
            name for name in os.listdir(trace_dir) if name.endswith(_EXTENSIONS))
        if not paths:
            raise ValueError(f"{trace_dir}: no trace in it ({', '.join(_EXTENSIONS)})")
        for place, path in enumerate(paths):
            with heddle.open(self._path(path, trace_dir)) as trace:
                told = trace.info.rank
                self._add(place if told is None else told, trace)

    @staticmethod
    def _path(path: str, folder: str | None) -> str:
        return path if folder is None or os.path.exists(path) else os.path.join(folder, path)

    def _add(self, rank: int, trace: heddle.Trace) -> None:
        if rank in self._ranks:
            raise ValueError(f"two traces are of rank {rank}: give trace_files={{rank: path}}")
        self._ranks[rank] = _Rank(_work_of(trace, self._last), trace.info.start_ns or 0, trace.info.duration_ns or 0, _steps_of(trace, self._last))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        ours = _ELSEWHERE.get(name, "see heddle.reports() for the reports of Trace.report()")
        raise AttributeError(f"heddle.compat.hta has no {name}: {ours}")

    def _chosen(self, ranks: Sequence[int] | None) -> list[tuple[int, _Rank]]:
        """None: rank 0, or the first there is."""
        if ranks is None:
            ranks = [0 if 0 in self._ranks else next(iter(self._ranks))]
        for rank in ranks:
            if rank not in self._ranks:
                raise ValueError(f"rank {rank} was not read: there are {', '.join(map(str, self._ranks))}")
        return [(rank, self._ranks[rank]) for rank in ranks]

    # ---- where the time goes ----

    def get_temporal_breakdown(self, visualize: bool = True) -> pandas.DataFrame:
        """By rank: idle, compute and other time of the GPU, from its first activity to its last, in us and percent."""
        import pandas

        rows = []
        for rank, read in self._ranks.items():
            cover = _cover(read.work)
            whole, idle = sum(cover.values()), cover.get((), 0)
            compute = sum(time for kinds, time in cover.items() if "COMPUTATION" in kinds)
            parts = (idle, compute, whole - idle - compute)
            rows.append((rank, *(part / 1000 for part in (*parts, whole)), *(_percent(part, whole) for part in parts)))
        frame = pandas.DataFrame(rows, columns=[
            "rank", "idle_time(us)", "compute_time(us)", "non_compute_time(us)", "kernel_time(us)", "idle_time_pctg",
            "compute_time_pctg", "non_compute_time_pctg"])
        if visualize:
            long = frame.melt("rank", ["idle_time_pctg", "compute_time_pctg", "non_compute_time_pctg"], "time", "percent")
            _chart(long, "rank", "percent", "time", "Temporal breakdown")
        return frame

    def get_comm_comp_overlap(self, visualize: bool = True) -> pandas.DataFrame:
        """By rank: percent of the time of communication in which computation runs. NaN: no communication."""
        import pandas

        rows = []
        for rank, read in self._ranks.items():
            cover = _cover(read.work)
            talk = sum(time for kinds, time in cover.items() if "COMMUNICATION" in kinds)
            both = sum(time for kinds, time in cover.items() if {"COMMUNICATION", "COMPUTATION"} <= set(kinds))
            rows.append((rank, _percent(both, talk)))
        frame = pandas.DataFrame(rows, columns=["rank", "comp_comm_overlap_pctg"])
        if visualize:
            _chart(frame, "rank", "comp_comm_overlap_pctg", None, "Computation-communication overlap")
        return frame

    def get_gpu_kernel_breakdown(self, visualize: bool = True, duration_ratio: float = 0.8, num_kernels: int = 10,
                                 include_memory_kernels: bool = True, image_renderer: str = "",
                                 ) -> tuple[pandas.DataFrame, pandas.DataFrame]:
        """Time by kind, alone and where kinds overlap, over all ranks; and the kernels with the most time of each kind and rank.

        Of more than num_kernels names the first num_kernels stay, at most duration_ratio of all names; the rest is "others".
        image_renderer: of plotly, for the chart. Times are us, of the single kernels.
        """
        import pandas

        works = {rank: read.work if include_memory_kernels else read.work[read.work["kind"] != "MEMORY"]
                 for rank, read in self._ranks.items()}
        covers = [_cover(work) for work in works.values()]
        sums = {" overlapping ".join(kinds): sum(cover.get(kinds, 0) for cover in covers)
                for size in (1, 2, 3) for kinds in combinations(_KINDS, size)}
        busy = sum(sums.values())
        types = pandas.DataFrame([(kinds, time / 1000, _percent(time, busy, 1)) for kinds, time in sums.items() if time],
                                 columns=["kernel_type", "sum", "percentage"])
        types = types.sort_values("sum", ascending=False, kind="stable", ignore_index=True)
        rows = [_top_kernels(part, str(kind), rank, num_kernels, duration_ratio)
                for rank, work in works.items() for kind, part in work.groupby("kind")]
        columns = ["name", "sum (us)", "max (us)", "min (us)", "stddev", "mean (us)", "kernel_type", "rank"]
        kernels = (pandas.concat(rows) if rows else pandas.DataFrame(columns=columns))[columns]
        kernels = kernels.sort_values(["kernel_type", "name", "rank"], ignore_index=True)
        if visualize:
            if image_renderer and importlib.util.find_spec("plotly") is not None:
                importlib.import_module("plotly.io").renderers.default = image_renderer
            _chart(types, "kernel_type", "percentage", None, "Time by kind of kernel")
            _chart(kernels, "sum (us)", "name", "kernel_type", "Kernels with the most time")
        return types, kernels

    # ---- idle, queue, launches ----

    def get_idle_time_breakdown(self, ranks: Sequence[int] | None = None, streams: Sequence[int] | None = None,
                                visualize: bool = True, visualize_pctg: bool = True, show_idle_interval_stats: bool = False,
                                consecutive_kernel_delay: int = 30) -> tuple[pandas.DataFrame, pandas.DataFrame | None]:
        """By rank and stream: time (us) between its activities, where it waits for the host, for the next kernel (less than
        consecutive_kernel_delay us), or for something else; and with show_idle_interval_stats the statistics of each."""
        import pandas

        rows: list[pandas.DataFrame] = []
        stats: list[pandas.DataFrame] = []
        for rank, read in self._chosen(ranks):
            for stream, work in _by_stream(read.work, streams):
                gaps = _gaps(work, consecutive_kernel_delay * 1000)
                sums = gaps.groupby("idle_category", observed=False)["gap"].sum()
                frame = pandas.DataFrame({"rank": rank, "stream": stream, "idle_category": sums.index.astype(str),
                                          "idle_time": sums.to_numpy() / 1000})
                frame["idle_time_ratio"] = (frame["idle_time"] / frame["idle_time"].sum()).round(2)
                rows.append(frame)
                described = (gaps["gap"] / 1000).groupby(gaps["idle_category"], observed=False).describe().round(2)
                described = described.reindex(gaps["idle_category"].cat.categories).rename_axis("idle_category")
                described["count"] = described["count"].fillna(0.0)
                stats.append(described.assign(rank=rank, stream=stream)[["rank", "stream", *described.columns]])
        columns = ["rank", "stream", "idle_category", "idle_time", "idle_time_ratio"]
        idle = pandas.concat(rows, ignore_index=True) if rows else pandas.DataFrame(columns=columns)
        if visualize:
            _chart(idle.astype({"stream": str}), "stream", "idle_time_ratio" if visualize_pctg else "idle_time",
                   "idle_category", "Idle time by stream")
        return idle, pandas.concat(stats) if show_idle_interval_stats and stats else None

    def get_queue_length_time_series(self, ranks: Sequence[int] | None = None) -> dict[int, pandas.DataFrame]:
        """By rank: each change of the number of activities of a stream that were launched and have not begun. ts: us since the first
        event; index: the row of `slices` that made the change, an API call or an activity."""
        return {rank: _queue(read) for rank, read in self._chosen(ranks)}

    def get_queue_length_summary(self, ranks: Sequence[int] | None = None) -> pandas.DataFrame | None:
        """Statistics of the lengths above, by rank and stream: of changes, not of time. None: there is no launch."""
        return self.get_queue_length_summary_from_time_series(self.get_queue_length_time_series(ranks))

    def get_queue_length_summary_from_time_series(self, queue_length_dict: Mapping[int, pandas.DataFrame]) -> pandas.DataFrame | None:
        """As get_queue_length_summary, of what get_queue_length_time_series gave."""
        import pandas

        series = {rank: frame for rank, frame in queue_length_dict.items() if len(frame)}
        if not series:
            return None
        return pandas.concat(series, names=["rank"]).groupby(["rank", "stream"])[["queue_length"]].describe()

    def get_time_spent_blocked_on_full_queue(self, queue_length_dict: Mapping[int, pandas.DataFrame],
                                             max_queue_length: int = _QUEUE_LENGTH) -> pandas.DataFrame:
        """By rank and stream: time (us) in which so many activities waited, and its share of the trace's span, of what
        get_queue_length_time_series gave. A queue that was never that long has no row."""
        import pandas

        rows = []
        for rank, series in queue_length_dict.items():
            for stream, part in series.groupby("stream", sort=False):
                full = (part["queue_length"] >= max_queue_length).to_numpy()
                if full.any():
                    time = (part["ts"].shift(-1) - part["ts"])[full].sum()
                    rows.append((rank, stream, time, 1000 * time / self._ranks[rank].duration_ns))
        return pandas.DataFrame(rows, columns=["rank", "stream", "duration_at_max_queue_length", "relative_duration_at_max_queue_length"])

    # ---- copies, steps ----

    def get_memory_bw_time_series(self, ranks: Sequence[int] | None = None) -> dict[int, pandas.DataFrame]:
        """By rank: each change of the bandwidth (GB/s) of copies and memsets, summed over those of one name that run at once.
        ts: us since the first event. A rank without copies is left out."""
        series = {rank: _bandwidths(read) for rank, read in self._chosen(ranks)}
        return {rank: frame for rank, frame in series.items() if len(frame)}

    def get_memory_bw_summary(self, ranks: Sequence[int] | None = None) -> pandas.DataFrame | None:
        """Statistics of the bandwidths above 0, by rank and name: of changes, not of time. None: there are no copies."""
        import pandas

        series = {rank: frame[frame["memory_bw_gbps"] > 0] for rank, frame in self.get_memory_bw_time_series(ranks).items()}
        if not series:
            return None
        return pandas.concat(series, names=["rank"]).groupby(["rank", "name"])[["memory_bw_gbps"]].describe()

    def get_profiler_steps(self) -> list[int]:
        """The numbers N of ProfilerStep#N that count, of all ranks."""
        return sorted({step for read in self._ranks.values() for step in read.steps})

    def get_cuda_kernel_launch_stats(self, ranks: Sequence[int] | None = None, runtime_cutoff: int = 50,
                                     launch_delay_cutoff: int = 100, include_memory_events: bool = True,
                                     visualize: bool = True) -> dict[int, pandas.DataFrame]:
        """By rank: each launch, by start: time (us) in the call, on the GPU (of all that it launched), and from the end of the call
        to the first start, which is below 0 where the GPU began before the call returned. The cutoffs (us) are the charts'."""
        out = {}
        for rank, read in self._chosen(ranks):
            out[rank] = frame = _launches(read.work, include_memory_events)
            if visualize:
                short = frame[frame["gpu_duration"] < frame["cpu_duration"]]
                slow = frame[frame["cpu_duration"] > runtime_cutoff]
                late = frame[frame["launch_delay"] > launch_delay_cutoff]
                for title, part, y in ((f"Rank {rank}: work shorter than its call", short, "gpu_duration"),
                                       (f"Rank {rank}: calls above {runtime_cutoff} us", slow, "cpu_duration"),
                                       (f"Rank {rank}: delays above {launch_delay_cutoff} us", late, "launch_delay")):
                    _chart(part, "correlation", y, None, title)
        return out


def _top_kernels(work: pandas.DataFrame, kind: str, rank: int, num_kernels: int, duration_ratio: float) -> pandas.DataFrame:
    """Statistics of the kernels of one kind: of the names with the most time, and of all others together."""
    dur = (work["end"] - work["start"]) / 1000
    order = dur.groupby(work["name"]).sum().sort_values(ascending=False, kind="stable").index
    if len(order) > num_kernels:
        order = order[:min(num_kernels, max(1, int(len(order) * duration_ratio)))]
    group = work["name"].where(work["name"].isin(order), "others")
    frame = dur.groupby(group).agg(["sum", "max", "min", "std", "mean"]).reset_index()
    frame.columns = ["name", "sum (us)", "max (us)", "min (us)", "stddev", "mean (us)"]
    frame["stddev"] = frame["stddev"].fillna(0.0)
    return frame.assign(kernel_type=kind, rank=rank)


def _by_stream(work: pandas.DataFrame, streams: Sequence[int] | None) -> list[tuple[int, pandas.DataFrame]]:
    """The activities of each stream; streams in the order of their first activity."""
    return [(int(cast(int, stream)), part) for stream, part in work.groupby("stream", sort=False) if streams is None or stream in streams]


def _gaps(work: pandas.DataFrame, delay_ns: int) -> pandas.DataFrame:
    """Between the activities of a stream: gap (ns), idle_category. A gap counts from the greatest end before it: overlaps are none."""
    import numpy
    import pandas

    before = work["end"].cummax().to_numpy()[:-1]
    gap = numpy.maximum(work["start"].to_numpy()[1:] - before, 0)
    host = (work["call_start"].iloc[1:] > before).fillna(False).to_numpy(dtype=bool)
    category = numpy.select([host, gap < delay_ns], ["host_wait", "kernel_wait"], "other")
    there = [name for name in ("host_wait", "kernel_wait") if name in category]
    return pandas.DataFrame({"gap": gap, "idle_category": pandas.Categorical(category, [*there, "other"])})


def _queue(read: _Rank) -> pandas.DataFrame:
    import numpy
    import pandas

    work = read.work[read.work["call_start"].notna()]
    work = work[(work["call_start"] <= work["start"]).astype(bool)]  # else it is never in the queue
    count = len(work)
    both = pandas.concat([work, work], ignore_index=True)
    frame = pandas.DataFrame({
        "index": numpy.concatenate([work["call"].to_numpy("int64"), work["index"].to_numpy()]),
        "ns": numpy.concatenate([work["call_start"].to_numpy("int64"), work["start"].to_numpy()]),
        "pid": both["pid"], "tid": both["tid"], "stream": both["stream"].astype("int64"),
        "change": numpy.repeat([1, -1], count)})
    # At one time what leaves goes before what comes, unless it came at that time.
    frame["order"] = numpy.concatenate([numpy.where(work["call_start"] == work["start"], -2, 1), numpy.full(count, -1)])
    frame = frame.sort_values(["stream", "ns", "order"], kind="stable")
    frame["queue_length"] = frame.groupby("stream")["change"].cumsum()
    frame.insert(1, "ts", (frame["ns"] - read.start_ns) / 1000)
    return frame.set_index("index")[["ts", "pid", "tid", "stream", "queue_length"]]


def _bandwidths(read: _Rank) -> pandas.DataFrame:
    import numpy
    import pandas

    work = read.work[(read.work["kind"] == "MEMORY") & read.work["bandwidth"].notna()]
    end = work["end"].where(work["end"] > work["start"], work["start"] + 1000)  # as there: a time of 0 is one microsecond
    name = work["name"].map(lambda text: "Memset" if text.startswith("Memset") else text[:11] if text.startswith("Memcpy") else "Memcpy Unknown")
    frame = pandas.DataFrame({
        "ns": numpy.concatenate([end, work["start"]]), "pid": pandas.concat([work["pid"]] * 2).array,
        "name": pandas.concat([name] * 2).array, "change": numpy.concatenate([-work["bandwidth"], work["bandwidth"]])})
    frame = frame.sort_values(["name", "ns"], kind="stable", ignore_index=True)  # at one time what ends goes first
    sums = frame.groupby("name")["change"].cumsum()
    frame["memory_bw_gbps"] = sums.where(sums.abs() > 1e-9, 0.0)  # what is left of a sum of decimals
    frame["ts"] = (frame["ns"] - read.start_ns) / 1000
    return frame[["ts", "pid", "name", "memory_bw_gbps"]]


def _launches(work: pandas.DataFrame, include_memory_events: bool) -> pandas.DataFrame:
    import pandas

    work = work[work["call"].notna()]
    if not include_memory_events:
        work = work[work["kind"] != "MEMORY"]
    calls = work.assign(dur=work["end"] - work["start"]).groupby("call").agg(
        correlation=("correlation", "first"), call_start=("call_start", "first"), call_end=("call_end", "first"),
        start=("start", "first"), dur=("dur", "sum")).sort_values("call_start", kind="stable")
    return pandas.DataFrame({
        "correlation": calls["correlation"].array, "cpu_duration": ((calls["call_end"] - calls["call_start"]) / 1000).to_numpy("float64"),
        "gpu_duration": (calls["dur"] / 1000).to_numpy("float64"),
        "launch_delay": ((calls["start"] - calls["call_end"]) / 1000).to_numpy("float64")})
