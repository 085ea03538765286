"""Holistic Trace Analysis' entry points: `TraceAnalysis`, with the columns of HTA 0.5.0, in its units (microseconds).

Needs pandas; critical_path_analysis needs networkx. Charts (`visualize=True`) need plotly, and are left out where it is absent.
Where HTA's figures are wrong these are right: see "Where figures differ" in docs/reference/python-compat.md.
"""
from __future__ import annotations

import importlib
import importlib.util
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import heddle

from . import _hta_write

if TYPE_CHECKING:
    import pandas

    from ._hta_path import CPGraph

_KINDS = ("COMPUTATION", "COMMUNICATION", "MEMORY")
_EXTENSIONS = (".json", ".json.gz", ".json.zst", ".heddle")
_STEPS = "ProfilerStep#*"
_QUEUE_LENGTH = 1024  # of launches that CUDA takes before a call waits
_BANDWIDTH = """select id, coalesce(extract_arg(arg_set_id, 'memory bandwidth (GB/s)'), 1.0 * extract_arg(arg_set_id, 'bytes') / nullif(dur, 0))
    as bandwidth from gpu_slice where role in ('copy', 'set')"""
# Calls of a thread, each with the operators around it, the innermost last.
_OPERATORS = """select c.event_id as call_id, o.id as op_id, o.ts as op_ts, o.name as op
    from containing('select id, ts, dur, track_id from slice where role = ''op'' and name glob ''{}''',
                    'select id, ts, dur, track_id from slice where role = ''runtime''', 'track_id') c
    join slice o on o.id = c.range_id order by o.ts, o.depth"""
# GPU activities, each with the GPU annotations of its stream that overlap it, the shortest last.
_ANNOTATIONS = """select i.b_id as id, a.name as name
    from interval_intersect('select id, ts, dur, track_id from slice where category = ''gpu_user_annotation''',
                            'select id, ts, dur, track_id from gpu_slice', 'track_id') i
    join slice a on a.id = i.a_id order by a.dur desc"""
# What is within operators and annotations of a thread whose name contains :name.
_INSIDE = """select c.range_id as root, c.event_id as id
    from containing('select id, ts, dur, track_id from slice where role in (''op'', ''annotation'')',
                    'select id, ts, dur, track_id from slice', 'track_id') c
    join slice s on s.id = c.range_id where instr(s.name, :name)"""
_ROOTS = """select id, ts, dur, name, depth from slice
    where role in ('op', 'annotation') and category <> 'gpu_user_annotation' and dur is not null and instr(name, :name)"""
_RANGES = """select id as "index", ts, dur, name, category as cat, arg_set_id from slice where category = 'cuda_profiler_range' order by ts, id"""
_LAUNCHES = "select id from slice where role = 'runtime' and name glob 'cudaLaunchKernel*' order by ts, id"


class TimeSeriesTypes(Flag):
    """What generate_trace_with_counters adds."""

    QUEUE_LENGTH = auto()
    MEMCPY_BANDWIDTH = auto()


@dataclass(frozen=True)
class _Rank:
    """The part of a trace that is kept: a row for each GPU activity, by start; times are int64 ns.

    path      of the file                          work, by row:
    index     id in `slices`                       name, kind   kind: one of _KINDS
    stream, pid, tid                               start, end
    call      id of its launch; null: none         call_start, call_end, correlation
    bandwidth of a copy or memset, in GB/s         steps: the numbers N of ProfilerStep#N
    """

    path: str
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


def _until(trace: heddle.Trace, include_last_profiler_step: bool) -> int | None:
    """Where events cease to count (ns): at the last step or its end. None: of one step alone everything counts."""
    steps = trace.slices(["ts", "dur", "category"], names=_STEPS).to_pandas()
    steps = steps[steps["category"].astype(str) != "gpu_user_annotation"].sort_values("ts")
    if len(steps) < 2:
        return None
    last = steps.iloc[-1]
    return int(last["ts"] + last["dur"] if include_last_profiler_step else last["ts"])


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
    until = _until(trace, include_last_profiler_step)
    if until is not None:
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


def _choose_renderer(name: str | None) -> None:
    if name and importlib.util.find_spec("plotly") is not None:
        importlib.import_module("plotly.io").renderers.default = name


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
                self._add(rank, self._path(path, trace_dir))
            return
        if trace_files is None and trace_dir is None:
            raise ValueError("neither trace_files nor trace_dir is given: name the files of the ranks, or their folder")
        paths = list(trace_files) if trace_files is not None else sorted(
            name for name in os.listdir(trace_dir) if name.endswith(_EXTENSIONS))
        if not paths:
            raise ValueError(f"{trace_dir}: no trace in it ({', '.join(_EXTENSIONS)})")
        for place, path in enumerate(paths):
            self._add(None, self._path(path, trace_dir), place)

    @staticmethod
    def _path(path: str, folder: str | None) -> str:
        return path if folder is None or os.path.exists(path) else os.path.join(folder, path)

    def _add(self, rank: int | None, path: str, place: int = 0) -> None:
        with heddle.open(path) as trace:
            if rank is None:
                rank = place if trace.info.rank is None else trace.info.rank
            if rank in self._ranks:
                raise ValueError(f"two traces are of rank {rank}: give trace_files={{rank: path}}")
            self._ranks[rank] = _Rank(path, _work_of(trace, self._last), trace.info.start_ns or 0, trace.info.duration_ns or 0,
                                      _steps_of(trace, self._last))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"heddle.compat.hta has no {name}: see heddle.reports() for the reports of Trace.report()")

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
        rows = [_top_names((part["end"] - part["start"]) / 1000, part["name"], num_kernels, duration_ratio).assign(kernel_type=kind, rank=rank)
                for rank, work in works.items() for kind, part in work.groupby("kind")]
        columns = ["name", "sum (us)", "max (us)", "min (us)", "stddev", "mean (us)", "kernel_type", "rank"]
        kernels = (pandas.concat(rows) if rows else pandas.DataFrame(columns=columns))[columns]
        kernels = kernels.sort_values(["kernel_type", "name", "rank"], ignore_index=True)
        if visualize:
            _choose_renderer(image_renderer)
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
        return {rank: _queue(read)[["ts", "pid", "tid", "stream", "queue_length"]] for rank, read in self._chosen(ranks)}

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
        series = {rank: _bandwidths(read)[["ts", "pid", "name", "memory_bw_gbps"]] for rank, read in self._chosen(ranks)}
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

    # ---- annotations ----

    def get_gpu_kernels_with_user_annotations(self, rank: int, expand_names: bool = True, shortern_names: bool = True,
                                              ) -> pandas.DataFrame | None:
        """Each GPU activity with the shortest of the GPU annotations of its stream that overlap it. None: the trace has none.

        expand_names   with the columns s_name, s_user_annotation; shortern_names: without template arguments and parameters
        """
        ((_, read),) = self._chosen([rank])
        with heddle.open(read.path) as trace:
            if not len(trace.query("select 1 from slice where category = 'gpu_user_annotation' limit 1")):
                return None
            around = trace.query(_ANNOTATIONS).to_pandas()
            short = _short_names(trace) if shortern_names else {}
        frame = read.work[["index", "name", "pid", "tid", "stream", "correlation", "start", "end", "call"]].copy()
        frame["user_annotation"] = frame["index"].map(dict(zip(around["id"], around["name"].astype(str))))
        if expand_names:
            for name in ("name", "user_annotation"):
                frame["s_" + name] = [short.get(text, text) for text in frame[name].fillna("")]
        for name in ("start", "end"):
            frame[name] = (frame[name] - read.start_ns) / 1000
        frame.insert(7, "dur", frame["end"] - frame["start"])
        return frame.rename(columns={"start": "ts", "call": "index_correlation"})

    def get_gpu_user_annotation_breakdown(self, use_gpu_annotation: bool = True, visualize: bool = True, duration_ratio: float = 0.8,
                                          num_kernels: int = 1000, allowlist_patterns: Sequence[str] | None = None,
                                          image_renderer: str | None = None) -> pandas.DataFrame | None:
        """By rank and name: time (us) in annotations, on the GPU or on the CPU. None: no trace has any.

        Of more than num_kernels names those stay that would in get_gpu_kernel_breakdown, and those that match one of
        allowlist_patterns, regular expressions; the rest is "others". image_renderer: of plotly, for the chart.
        """
        import pandas

        category = "gpu_user_annotation" if use_gpu_annotation else "user_annotation"
        allowed = [re.compile(pattern) for pattern in allowlist_patterns or ()]
        rows = []
        for rank, read in self._ranks.items():
            with heddle.open(read.path) as trace:
                frame = trace.query("select name, ts, dur / 1000.0 as dur from slice where category = :category and dur is not null",
                                    category=category).to_pandas()
                until = _until(trace, self._last)
            if until is not None:
                frame = frame[frame["ts"] < until]
            if len(frame):
                rows.append(_top_names(frame["dur"], frame["name"].astype(str), num_kernels, duration_ratio,
                                       lambda name: any(pattern.search(name) for pattern in allowed)).assign(rank=rank))
        if not rows:
            return None
        out = pandas.concat(rows).sort_values(["rank", "name"], ignore_index=True)
        if visualize:
            _choose_renderer(image_renderer)
            _chart(out.astype({"rank": str}), "rank", "mean (us)", "name", "Time of annotations")
        return out

    # ---- operators ----

    def get_aten_op_kernels_and_delay(self, ranks: Sequence[int] | None = None, sort_by: Sequence[str] | None = None) -> dict[int, pandas.DataFrame]:
        """By rank: the innermost operators aten::… around launches and the kernels that they launched: how often, and the mean time (us) from
        the operator's start to its first launch, and from that call's start to the kernel's. Most frequent first, or by sort_by, descending."""
        out = {}
        for rank, read in self._chosen(ranks):
            with heddle.open(read.path) as trace:
                operators = trace.query(_OPERATORS.format("aten::*")).to_pandas().drop_duplicates("call_id", keep="last")
            work = read.work[read.work["kind"] != "MEMORY"].sort_values(["call_start", "start"], kind="stable")
            both = work.dropna(subset=["call"]).astype({"call": "int64"}).merge(operators, left_on="call", right_on="call_id")
            each = both.groupby("op_id").agg(
                aten_op_name=("op", "first"), kernel_sequence=("name", " -> ".join), op_ts=("op_ts", "first"),
                call_start=("call_start", "first"), start=("start", "first")).astype({"aten_op_name": str})
            each["launch"] = ((each["call_start"] - each["op_ts"]) / 1000).astype("float64")
            each["runtime"] = ((each["start"] - each["call_start"]) / 1000).astype("float64")
            sums = each.groupby(["aten_op_name", "kernel_sequence"]).agg(
                occurrence_count=("runtime", "count"), avg_aten_op_launch_delay=("launch", "mean"), avg_runtime_delay=("runtime", "mean"))
            out[rank] = sums.round(3).reset_index().sort_values(list(sort_by or ["occurrence_count"]), ascending=False, kind="stable")
        return out

    def get_frequent_cuda_kernel_sequences(self, operator_name: str, output_dir: str, min_pattern_len: int = 3, rank: int = 0, top_k: int = 5,
                                           visualize: bool = False, compress_other_kernels: bool = True) -> pandas.DataFrame:
        """The sequences of at least min_pattern_len GPU activities that operators whose name contains operator_name launch: how often, and
        their time (us). Of operators within each other the outermost count. Writes the trace to output_dir as overlaid_NAME, where events of
        the top_k sequences have the argument Patterns, and with compress_other_kernels other slices have no arguments."""
        ((_, read),) = self._chosen([rank])
        with heddle.open(read.path) as trace:
            roots = trace.query(_ROOTS, name=operator_name).to_pandas().astype({"name": str})
            roots = roots[roots["depth"] == roots["depth"].min()].set_index("id")
            inside = trace.query(_INSIDE, name=operator_name).to_pandas()
            inside = inside[inside["root"].isin(roots.index)]
            work = read.work.dropna(subset=["call"]).astype({"call": "int64"})
            work = work.merge(inside, left_on="call", right_on="id").sort_values("start", kind="stable")
            each = work.assign(gpu=(work["end"] - work["start"]) / 1000).groupby("root").agg(names=("name", "|".join), size=("name", "size"), gpu=("gpu", "sum"))
            each = each[each["size"] >= min_pattern_len].join(roots)
            each = each.assign(pattern=each["name"] + "|" + each["names"], cpu=each["dur"] / 1000)
            out = each.groupby("pattern").agg(**{
                "count": ("gpu", "size"), "GPU kernel duration (us)": ("gpu", "sum"), "CPU op duration (us)": ("cpu", "sum")})
            out = out.reset_index().sort_values(["count", "pattern"], ascending=[False, True], ignore_index=True)
            patterns: dict[int, dict[str, int]] = {}
            for pattern, count in zip(out["pattern"][:top_k], out["count"][:top_k]):
                of = each.index[each["pattern"] == pattern]
                for event in (*of, *inside.loc[inside["root"].isin(of), "id"], *work.loc[work["root"].isin(of), "index"]):
                    patterns.setdefault(int(event), {})[pattern] = int(count)

            def mark(event: int, line: bytes) -> bytes:
                if event in patterns:
                    return _hta_write.add_args(line, {"Patterns": patterns[event]})
                return _hta_write.drop_args(line) if compress_other_kernels else line

            _hta_write.write_changed(trace, _hta_write.out_path(read.path, "overlaid_", folder=output_dir), mark)
        if visualize:
            _chart(out[:top_k].reset_index(), "index", "count", None, f"The most frequent sequences of rank {rank}")
        return out

    def get_cupti_counter_data_with_operators(self, ranks: Sequence[int] | None = None) -> list[pandas.DataFrame]:
        """For each rank that was profiled by CUPTI's ranges: a row for each kernel, with the operators around its launch, the outermost
        first, and a column for each counter. Only their order joins ranges and launches: a rank with another number of launches than of
        ranges is left out."""
        out = []
        for _, read in self._chosen(ranks):
            with heddle.open(read.path) as trace:
                ranges = trace.query(_RANGES).to_pandas()
                calls = trace.query(_LAUNCHES)["id"]
                if not len(ranges) or len(ranges) != len(calls):
                    continue
                operators = trace.query(_OPERATORS.format("*")).to_pandas()
                args = trace.args().to_pandas()
            stacks = operators["op"].astype(str).groupby(operators["call_id"]).agg(list)
            ranges["index_runtime"] = calls
            ranges["op_stack"] = [stacks.get(call, []) for call in calls]
            ranges["top_level_op"] = [stack[0] if stack else "" for stack in ranges["op_stack"]]
            ranges["bottom_level_op"] = [stack[-1] if stack else "" for stack in ranges["op_stack"]]
            ranges["ts"], ranges["dur"] = (ranges["ts"] - read.start_ns) / 1000, ranges["dur"] / 1000
            args = args[args["arg_set_id"].isin(ranges["arg_set_id"])]
            args = args.assign(key=args["key"].astype(str).str.removeprefix("args."), value=args["real_value"].fillna(args["int_value"]))
            counters = args.dropna(subset=["value"]).pivot(index="arg_set_id", columns="key", values="value").astype("float64")
            out.append(ranges.join(counters, on="arg_set_id").drop(columns="arg_set_id"))
        return out

    # ---- the job ----

    def get_potential_stragglers(self, profiler_steps: Sequence[int] | None = None, num_candidates: int = 2, visualize: bool = False) -> list[int]:
        """The ranks that came latest to their collectives, by the report stragglers, the worst first: in the steps of these numbers, or in
        all that count."""
        known = self.get_profiler_steps()
        steps = known if profiler_steps is None else [step for step in profiler_steps if step in known]
        if not steps:
            raise ValueError(f"no step to compare ranks in: profiler_steps={profiler_steps}, and the traces have {known}")
        with heddle.open([read.path for read in self._ranks.values()]) as trace:
            frame = trace.report("stragglers").tables["steps"].to_pandas()
        number = frame["step"].astype(str).str.partition("#")[2]
        late = frame[number.isin([str(step) for step in steps])].groupby("rank")["late"].sum().sort_values(ascending=False, kind="stable")
        if visualize:
            _chart((late / 1000).reset_index(), "rank", "late", None, "Time (us) by which ranks came late")
        return [int(cast(int, rank)) for rank in late.index[:max(num_candidates, 1)]]

    # ---- critical path, overlays ----

    def critical_path_analysis(self, rank: int, annotation: str, instance_id: int | tuple[int, int] | None) -> tuple[CPGraph, bool]:
        """The graph of what waits for what, with its longest path, and whether there is one: of the events that start in an annotation, or
        are launched from it. Of the annotations whose name contains this text, by start, the instance_id-th; None: the first;
        (a, b): from the a-th to the b-th. "": of the whole trace."""
        from ._hta_path import CPGraph

        first, last = instance_id if isinstance(instance_id, tuple) else (instance_id or 0,) * 2
        ((_, read),) = self._chosen([rank])
        with heddle.open(read.path) as trace:
            span: dict[str, Any] = {}
            if annotation:
                found = trace.query("select ts, ts + dur as until from slice where type = 'slice' and dur is not null and instr(name, :name) order by ts, id",
                                    name=annotation).to_pandas()[first:last + 1]
                if not len(found):
                    raise ValueError(f"{read.path}: no event {first} with {annotation!r} in its name")
                span = {"from_": int(found["ts"].min()) - read.start_ns, "until": int(found["until"].max()) - read.start_ns}
            edges = trace.report("critical-path", hta=True, **span).tables["hta_edges"].to_dicts()
            events = trace.query("select id, short_name(name) as s_name, category as cat, ts, coalesce(dur, 0) as dur, coalesce(parent_id, -1) as parent, "
                                 "track_id from slice where type = 'slice'").to_pandas().set_index("id")
            tracks = trace.table("tracks", ["id", "pid", "tid", "stream"]).to_pandas().set_index("id").reindex(events["track_id"])
        events = events.assign(pid=tracks["pid"].array, tid=tracks["tid"].array, stream=tracks["stream"].fillna(-1).astype("int64").array,
                               ts=(events["ts"] - read.start_ns) / 1000, dur=events["dur"] / 1000,
                               kind=read.work.set_index("index")["kind"].reindex(events.index).array)
        graph = CPGraph.of_report(rank, edges, events)
        return graph, bool(graph.critical_path_nodes)

    def overlay_critical_path_analysis(self, rank: int, critical_path_graph: CPGraph, output_dir: str, only_show_critical_events: bool = True,
                                       show_all_edges: bool = False) -> str:
        """Writes the trace to output_dir as overlaid_critical_path_NAME and returns that path: slices on the critical path have the argument
        critical, and its launches, waits and dependencies are flows.

        only_show_critical_events   without slices that are not on the path, except annotations and Python functions
        show_all_edges              flows for all edges of the graph, unless only_show_critical_events
        """
        from ._hta_path import CPEdgeType

        ((_, read),) = self._chosen([rank])
        graph = critical_path_graph
        starts, durs, pids, tids, categories = (graph.trace_df[name].to_dict() for name in ("ts", "dur", "pid", "tid", "cat"))
        drawn = (CPEdgeType.DEPENDENCY, CPEdgeType.KERNEL_LAUNCH_DELAY, CPEdgeType.SYNC_DEPENDENCY)
        edges = [edge for *_, edge in graph.edges(data="object")
                 if (edge.type is not CPEdgeType.KERNEL_LAUNCH_DELAY or edge.weight > 0 if show_all_edges and not only_show_critical_events
                     else edge in graph.critical_path_edges_set and edge.type in drawn)]

        def mark(event: int, line: bytes) -> bytes | None:
            if event in graph.critical_path_events_set:
                return _hta_write.add_args(line, {"critical": 1})
            return None if only_show_critical_events and categories.get(event) not in ("user_annotation", "python_function") else line

        def flow(number: int, place: int, phase: str, edge: Any) -> bytes:
            node = graph.node_list[place]
            event = node.ev_idx
            at = starts[event] if node.is_start else max(node.ts - 1, starts[event])  # within the slice, to which viewers then attach it
            return _hta_write.event(
                read.start_ns + round(at * 1000), ph=phase, id=number, pid=_json_id(pids[event]), tid=_json_id(tids[event]), cat=edge.type.value,
                name="critical_path", args={"weight": edge.weight, "critical": edge in graph.critical_path_edges_set}, bp="e")

        flows = [flow(number, place, phase, edge) for number, edge in enumerate(edges) for place, phase in ((edge.begin, "s"), (edge.end, "f"))]
        out = _hta_write.out_path(read.path, "overlaid_critical_path_", folder=output_dir)
        with heddle.open(read.path) as trace:
            _hta_write.write_changed(trace, out, mark, flows)
        return out

    def generate_trace_with_counters(self, time_series: TimeSeriesTypes | None = None, ranks: Sequence[int] | None = None,
                                     output_suffix: str = "_with_counters") -> None:
        """Writes the trace of each rank next to itself, with output_suffix in its name and with counters: queue lengths, bandwidths."""
        wanted = TimeSeriesTypes.QUEUE_LENGTH | TimeSeriesTypes.MEMCPY_BANDWIDTH if time_series is None else time_series
        for rank, read in self._chosen(ranks):
            lines: list[bytes] = []
            if TimeSeriesTypes.QUEUE_LENGTH in wanted:
                lines += [_hta_write.event(int(ns), ph="C", name="Queue Length", pid=_json_id(pid), id=int(stream), args={"Queue Length": int(length)})
                          for ns, pid, stream, length in _queue(read)[["ns", "pid", "stream", "queue_length"]].itertuples(index=False)]
            if TimeSeriesTypes.MEMCPY_BANDWIDTH in wanted:
                lines += [_hta_write.event(int(ns), ph="C", name=name, pid=_json_id(pid), args={"Memcpy BW": value})
                          for ns, pid, name, value in _bandwidths(read)[["ns", "pid", "name", "memory_bw_gbps"]].itertuples(index=False)]
            out = _hta_write.out_path(read.path, suffix=output_suffix or "_with_counters")
            with heddle.open(read.path) as trace:
                _hta_write.write_changed(trace, out, lambda event, line: line, lines)


def _json_id(value: Any) -> Any:
    """A pid or tid for JSON: a text or a number."""
    return value if isinstance(value, str) else int(value)


def _short_names(trace: heddle.Trace) -> dict[str, str]:
    return {name: short for name, short in trace.query("select distinct name, short_name(name) from slice where name is not null")}



def _top_names(dur: pandas.Series[float], names: pandas.Series[str], num_kernels: int, duration_ratio: float,
               keep: Callable[[str], bool] = lambda name: False) -> pandas.DataFrame:
    """Statistics of durations (us) by name: of the names with the most time and those to keep, and of all others together."""
    order = list(dur.groupby(names).sum().sort_values(ascending=False, kind="stable").index)
    if len(order) > num_kernels:
        top = min(num_kernels, int((len(order) - 1) * duration_ratio) + 1)
        order = [name for place, name in enumerate(order) if place < top or keep(name)]
    frame = dur.groupby(names.where(names.isin(order), "others")).agg(["sum", "max", "min", "std", "mean"]).reset_index()
    frame.columns = ["name", "sum (us)", "max (us)", "min (us)", "stddev", "mean (us)"]
    frame["stddev"] = frame["stddev"].fillna(0.0)
    return frame


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
    return frame.set_index("index")


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
    return frame


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
