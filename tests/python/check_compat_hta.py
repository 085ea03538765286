"""heddle.compat.hta against Holistic Trace Analysis itself, on real traces and on one made here.

HTA moves the ends of slices inward to whole microseconds; so both read a trace that has whole microseconds already, and then
every figure is equal, except where HTA's is wrong: those are named by the tests below. HTA absent: skipped, except for the
trace made here, whose figures are known.
"""
import gzip
import importlib.util
import json
import logging
import math
import os
import re
import tempfile
import unittest
import warnings
from decimal import Decimal

import heddle

DATA = os.path.join(os.path.dirname(__file__), "../../../shared/data")
TRACES = ("kineto/nccl_data", "kineto/negative_queue_rank0", "ranks/megatron-tp8/rank1")
HAS_PANDAS = importlib.util.find_spec("pandas") is not None
HAS_HTA = HAS_PANDAS and importlib.util.find_spec("hta") is not None

if HAS_PANDAS:
    from heddle.compat.hta import TraceAnalysis


def whole_microseconds(path, out):
    """The trace with both ends of each event moved inward to whole microseconds."""
    with gzip.open(path) as file:
        trace = json.load(file, parse_float=Decimal)
    for event in trace["traceEvents"]:
        if not isinstance(event.get("ts"), (int, Decimal)):
            continue
        start = math.ceil(event["ts"])
        if "dur" in event:
            event["dur"] = max(math.floor(event["ts"] + event["dur"]) - start, 0)
        event["ts"] = start
    with open(out, "w", encoding="utf-8") as file:
        json.dump(trace, file, default=float)
    return out


def work(name, start, dur, stream, correlation, category="kernel", device=0):
    args = {"device": device, "correlation": correlation} | ({} if stream is None else {"stream": stream})
    return {"ph": "X", "cat": category, "name": name, "pid": device, "tid": stream or 0, "ts": start, "dur": dur, "args": args}


def call(name, start, dur, correlation):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 100, "tid": 100, "ts": start, "dur": dur,
            "args": {"correlation": correlation}}


def known_trace(rank=3):
    """Kernels, copies and a collective that overlap in every way; a graph; a kernel without a launch; one that began early."""
    rows = [  # name, call, its start and duration; start and duration of the work, stream
        ("gemm", "cudaLaunchKernel", 0, 5, 100, 100, 7), ("gemm", "cudaLaunchKernel", 6, 5, 200, 50, 7),
        ("relu", "cudaLaunchKernel", 300, 5, 310, 20, 7), ("relu", "cudaLaunchKernel", 312, 5, 340, 1, 7),
        ("ncclKernel_AllReduce", "cudaLaunchKernel", 10, 5, 150, 150, 20),
        ("Memcpy HtoD (Pageable -> Device)", "cudaMemcpyAsync", 20, 5, 180, 100, 21),
        ("Memset (Device)", "cudaMemsetAsync", 330, 5, 341, 100, 7), ("driver", "cuLaunchKernel", 500, 5, 520, 10, 7),
        ("node", "cudaGraphLaunch", 521, 5, 540, 10, 7), ("early", "cudaLaunchKernel", 730, 20, 740, 10, 7)]
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100, "tid": 100, "ts": 0, "dur": 2000, "args": {}}]
    for correlation, (name, caller, at, dur, start, length, stream) in enumerate(rows, 1):
        category = {"Memc": "gpu_memcpy", "Mems": "gpu_memset"}.get(name[:4], "kernel")
        events += [call(caller, at, dur, correlation), work(name, start, length, stream, correlation, category)]
    events += [work("node", 560, 10, 7, 9), work("alone", 700, 10, 7, 99)]
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 8}, "deviceProperties": [],
            "traceEvents": events}


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def write(self, trace, name="trace.json"):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file)
        return path


@unittest.skipUnless(HAS_PANDAS, "pandas is not installed")
class Known(Case):
    """Figures worked out by hand."""

    def setUp(self):
        self.analysis = TraceAnalysis(trace_files={3: self.write(known_trace())})

    def test_temporal_breakdown__kinds_and_idle_are_the_span(self):
        row = self.analysis.get_temporal_breakdown(visualize=False).iloc[0].to_dict()
        # compute 100…250, 310…330, 340…341, 520…530, 540…550, 560…570, 700…710, 740…750; busy besides 250…300, 341…441
        self.assertEqual(row, {"rank": 3, "idle_time(us)": 279.0, "compute_time(us)": 221.0, "non_compute_time(us)": 150.0,
                               "kernel_time(us)": 650.0, "idle_time_pctg": 42.92, "compute_time_pctg": 34.0,
                               "non_compute_time_pctg": 23.08})

    def test_comm_comp_overlap(self):
        frame = self.analysis.get_comm_comp_overlap(visualize=False)
        self.assertEqual(frame.values.tolist(), [[3, 66.67]])  # 100 of 150

    def test_kernel_types__each_moment_counts_once(self):
        types, _ = self.analysis.get_gpu_kernel_breakdown(visualize=False)
        self.assertEqual(dict(zip(types["kernel_type"], types["sum"])), {
            "COMPUTATION": 121.0, "MEMORY": 100.0, "COMPUTATION overlapping COMMUNICATION overlapping MEMORY": 70.0,
            "COMPUTATION overlapping COMMUNICATION": 30.0, "COMMUNICATION overlapping MEMORY": 30.0, "COMMUNICATION": 20.0})
        self.assertAlmostEqual(types["percentage"].sum(), 100.0, delta=0.3)  # rounded, six of them
        without, _ = self.analysis.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=False)
        self.assertEqual(dict(zip(without["kernel_type"], without["sum"])), {
            "COMPUTATION": 121.0, "COMPUTATION overlapping COMMUNICATION": 100.0, "COMMUNICATION": 50.0})

    def test_kernels__others_are_summed_up(self):
        _, kernels = self.analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=2, duration_ratio=1.0)
        rows = kernels[kernels["kernel_type"] == "COMPUTATION"].set_index("name")
        self.assertEqual(rows["sum (us)"].to_dict(), {"gemm": 150.0, "relu": 21.0, "others": 50.0})
        self.assertEqual(rows.loc["gemm", ["max (us)", "min (us)", "mean (us)"]].tolist(), [100.0, 50.0, 75.0])
        self.assertEqual(rows.loc["others", ["max (us)", "min (us)", "stddev"]].tolist(), [10.0, 10.0, 0.0])

    def test_idle__gaps_of_a_stream_by_what_they_wait_for(self):
        idle, stats = self.analysis.get_idle_time_breakdown(visualize=False, streams=[7, 21], show_idle_interval_stats=True)
        rows = {(row.stream, row.idle_category): row.idle_time for row in idle.itertuples()}
        # 250…310, 330…340 (launched before), 441…520, 530…540, 550…560, 570…700 (no launch), 710…740
        self.assertEqual(rows, {(7, "host_wait"): 169.0, (7, "kernel_wait"): 30.0, (7, "other"): 130.0, (21, "other"): 0.0})
        self.assertEqual(stats["count"].tolist(), [3.0, 5.0, 1.0, 0.0])  # two of length 0: 200, 341
        narrow, _ = self.analysis.get_idle_time_breakdown(visualize=False, streams=[7], consecutive_kernel_delay=10)
        self.assertEqual(narrow.set_index("idle_category")["idle_time"].to_dict(), {"host_wait": 169.0, "kernel_wait": 0.0, "other": 160.0})

    def test_queue__launches_by_driver_and_graph_count(self):
        series = self.analysis.get_queue_length_time_series()[3]
        self.assertEqual(list(series.columns), ["ts", "pid", "tid", "stream", "queue_length"])
        seven = series[series["stream"] == 7]
        self.assertEqual(seven["ts"].tolist()[:4], [0.0, 6.0, 100.0, 200.0])
        self.assertEqual(seven["queue_length"].tolist()[:4], [1, 2, 1, 0])
        summary = self.analysis.get_queue_length_summary()
        self.assertEqual(summary.loc[(3, 7), ("queue_length", "count")], 18.0)
        self.assertEqual(summary.loc[(3, 7), ("queue_length", "max")], 2.0)

    def test_launches__delays_below_0_stay(self):
        frame = self.analysis.get_cuda_kernel_launch_stats(visualize=False)[3].set_index("correlation")
        self.assertEqual(frame.loc[10].tolist(), [20.0, 10.0, -10.0])
        self.assertEqual(frame.loc[9].tolist(), [5.0, 20.0, 14.0])  # the graph: both of its nodes
        self.assertEqual(len(frame), 10)
        some = self.analysis.get_cuda_kernel_launch_stats(visualize=False, include_memory_events=False)[3]
        self.assertEqual(len(some), 8)

    def test_bandwidth__what_runs_at_once_is_summed(self):
        trace = known_trace()
        trace["traceEvents"] += [call("cudaMemcpyAsync", 800, 2, 50), work("Memcpy HtoD (Pinned -> Device)", 810, 10, 21, 50, "gpu_memcpy"),
                                 call("cudaMemcpyAsync", 803, 2, 51), work("Memcpy HtoD (Pinned -> Device)", 815, 10, 22, 51, "gpu_memcpy")]
        for event in trace["traceEvents"]:
            if event["args"].get("correlation") in (50, 51):
                event["args"]["bytes"] = 20000
        analysis = TraceAnalysis([self.write(trace, "bandwidth.json")])
        (frame,) = analysis.get_memory_bw_time_series().values()
        self.assertEqual(frame[["ts", "name", "memory_bw_gbps"]].values.tolist(), [
            [at, "Memcpy HtoD", value] for at, value in ((810.0, 2.0), (815.0, 4.0), (820.0, 2.0), (825.0, 0.0))])
        summary = analysis.get_memory_bw_summary()["memory_bw_gbps"]
        self.assertEqual(summary[["count", "min", "max"]].values.tolist(), [[3.0, 2.0, 4.0]])
        self.assertIsNone(self.analysis.get_memory_bw_summary())

    def test_full_queue__each_stream_has_a_row(self):
        series = self.analysis.get_queue_length_time_series()
        frame = self.analysis.get_time_spent_blocked_on_full_queue(series, 1)
        waits = series[3].assign(dur=lambda f: f.groupby("stream")["ts"].shift(-1) - f["ts"])
        wanted = waits[waits["queue_length"] >= 1].groupby("stream")["dur"].sum()
        self.assertEqual(dict(zip(frame["stream"], frame["duration_at_max_queue_length"])), dict(wanted))
        self.assertEqual(wanted[20], 140.0)  # launched at 10, begun at 150
        self.assertEqual(frame["relative_duration_at_max_queue_length"].tolist(), (frame["duration_at_max_queue_length"] / 2000).tolist())
        self.assertEqual(len(self.analysis.get_time_spent_blocked_on_full_queue(series)), 0)

    def test_errors__a_rank_that_is_not_there_and_a_method_that_is_not(self):
        with self.assertRaisesRegex(ValueError, "rank 5 was not read: there are 3"):
            self.analysis.get_queue_length_summary(ranks=[5])
        with self.assertRaisesRegex(AttributeError, "no get_everything: see heddle.reports"):
            self.analysis.get_everything()
        with self.assertRaisesRegex(AttributeError, r"has no critical_path_analysis: Trace.report\(.critical-path.\)"):
            self.analysis.critical_path_analysis(3, "step", 0)
        for name, ours in (("overlay_critical_path_analysis", "heddle graph"), ("generate_trace_with_counters", "heddle view"),
                           ("get_gpu_kernels_with_user_annotations", "ranges"), ("get_gpu_user_annotation_breakdown", "ranges"),
                           ("get_frequent_cuda_kernel_sequences", "heddle query"), ("get_aten_op_kernels_and_delay", "operators"),
                           ("get_cupti_counter_data_with_operators", "counters"), ("get_potential_stragglers", "heddle stragglers")):
            with self.assertRaisesRegex(AttributeError, f"has no {name}: .*{ours}"):
                getattr(self.analysis, name)
        with self.assertRaises(heddle.NotFoundError):
            TraceAnalysis(trace_files=["absent.json"], trace_dir=self.folder.name)


@unittest.skipUnless(HAS_PANDAS, "pandas is not installed")
class Edges(Case):
    def test_no_gpu_work(self):
        analysis = TraceAnalysis(trace_files=[self.write({"traceEvents": [call("cudaLaunchKernel", 1, 2, 3)]}, "cpu.json")])
        row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
        self.assertEqual(row["kernel_time(us)"], 0.0)
        self.assertTrue(math.isnan(row["idle_time_pctg"]))
        types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
        self.assertEqual((len(types), len(kernels)), (0, 0))
        idle, _ = analysis.get_idle_time_breakdown(visualize=False)
        self.assertEqual(list(idle.columns), ["rank", "stream", "idle_category", "idle_time", "idle_time_ratio"])
        self.assertIsNone(analysis.get_queue_length_summary())
        self.assertEqual(len(analysis.get_cuda_kernel_launch_stats(visualize=False)[0]), 0)

    def test_folder__ranks_are_what_the_traces_say(self):
        with tempfile.TemporaryDirectory() as folder:
            for rank in (5, 2):
                with open(os.path.join(folder, f"t{7 - rank}.json"), "w", encoding="utf-8") as file:
                    json.dump(known_trace(rank), file)
            with open(os.path.join(folder, "notes.txt"), "w", encoding="utf-8") as file:
                file.write("no trace")
            frame = TraceAnalysis(trace_dir=folder).get_comm_comp_overlap(visualize=False)
            self.assertEqual(sorted(frame["rank"]), [2, 5])
            with self.assertRaisesRegex(ValueError, "two traces are of rank 2"):
                TraceAnalysis(trace_files=["t5.json", "t5.json"], trace_dir=folder)
        with self.assertRaisesRegex(ValueError, "neither trace_files nor trace_dir"):
            TraceAnalysis()

    def test_steps__the_last_is_left_out_unless_told(self):
        trace = known_trace()
        steps = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 100, "tid": 100, "ts": at, "dur": dur}
                 for i, at, dur in ((1, 0, 299), (2, 299, 200), (3, 499, 240))]
        trace["traceEvents"] += steps
        path = self.write(trace, "steps.json")
        times = [TraceAnalysis([path], include_last_profiler_step=last).get_temporal_breakdown(visualize=False)["kernel_time(us)"][0]
                 for last in (False, True)]
        self.assertEqual(times, [341.0, 650.0])
        self.assertEqual(TraceAnalysis([path]).get_profiler_steps(), [1, 2])


@unittest.skipUnless(HAS_HTA, "HolisticTraceAnalysis is not installed (tests/peers.txt)")
@unittest.skipUnless(os.path.isdir(DATA), "no real traces beside the repository")
class Original(Case):
    """Every figure equal to HTA's, on real traces of whole microseconds."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        logging.disable(logging.CRITICAL)
        cls.addClassCleanup(logging.disable, logging.NOTSET)
        warnings.simplefilter("ignore")
        from hta.trace_analysis import TraceAnalysis as Theirs

        cls.pairs = {}
        for name in TRACES:
            path = whole_microseconds(os.path.join(DATA, name + ".json.gz"), os.path.join(cls.folder.name, name.replace("/", "-") + ".json"))
            cls.pairs[name] = Theirs(trace_files={0: path}), TraceAnalysis(trace_files={0: path})

    def test_every_method_is_there_or_says_what_is(self):
        from heddle.compat import hta

        theirs, ours = next(iter(self.pairs.values()))
        for name in (name for name in dir(theirs) if not name.startswith("_") and callable(getattr(theirs, name))):
            if not hasattr(TraceAnalysis, name):
                with self.assertRaisesRegex(AttributeError, re.escape(f"has no {name}: {hta._ELSEWHERE[name]}")):
                    getattr(ours, name)

    def each(self, check):
        for name, (theirs, ours) in self.pairs.items():
            with self.subTest(name):
                check(theirs, ours)

    def test_temporal_breakdown(self):
        def check(theirs, ours):
            a, b = (x.get_temporal_breakdown(visualize=False) for x in (theirs, ours))
            self.assertEqual(list(a.columns), list(b.columns))
            self.assertEqual(a.values.tolist(), b.values.tolist())

        self.each(check)

    def test_comm_comp_overlap(self):
        def check(theirs, ours):
            a, b = (x.get_comm_comp_overlap(visualize=False) for x in (theirs, ours))
            self.assertEqual(list(a.columns), list(b.columns))
            self.assertEqual(a.values.tolist(), b.values.tolist())

        self.each(check)

    def test_kernel_breakdown(self):
        """HTA has the sum of a name as its max, min and mean, and deviation 0, where it has an "others"; we have the kernels'."""
        def check(theirs, ours):
            for options in ({}, {"num_kernels": 3, "include_memory_kernels": False}, {"num_kernels": 40, "duration_ratio": 0.5}):
                (types, a), (own_types, b) = (x.get_gpu_kernel_breakdown(visualize=False, **options) for x in (theirs, ours))
                self.assertEqual(list(types.columns), list(own_types.columns))
                self.assertEqual(list(a.columns), list(b.columns))
                types = types[types["sum"] > 0]
                self.assertEqual(dict(zip(types["kernel_type"], zip(types["sum"], types["percentage"]))),
                                 dict(zip(own_types["kernel_type"], zip(own_types["sum"], own_types["percentage"]))))
                a, b = (x.sort_values(["kernel_type", "name"], ignore_index=True) for x in (a, b))
                names = ["name", "kernel_type", "rank", "sum (us)"]
                self.assertEqual(a[names].values.tolist(), b[names].values.tolist())
                cut = set(a[a["name"] == "others"]["kernel_type"])
                whole = ~a["kernel_type"].isin(cut)
                for column in ("max (us)", "min (us)", "mean (us)", "stddev"):
                    self.assertLess((a[column] - b[column])[whole].abs().max(), 1e-6, column)
                named = a["kernel_type"].isin(cut) & (a["name"] != "others")
                self.assertTrue((a["mean (us)"] == a["sum (us)"])[named].all())  # what is wrong there

        self.each(check)

    def test_idle_breakdown(self):
        """Where work of a stream overlaps, HTA counts a gap below 0; here there is none."""
        def check(theirs, ours):
            keys = ["rank", "stream", "idle_category"]
            (a, stats), (b, own_stats) = (x.get_idle_time_breakdown(visualize=False, show_idle_interval_stats=True) for x in (theirs, ours))
            self.assertEqual(list(a.columns), list(b.columns))
            self.assertEqual(list(stats.columns), list(own_stats.columns))
            both = a.merge(b, on=keys, how="outer", suffixes=("", "_ours"))
            self.assertFalse(both.isna()["idle_time"].any() or both.isna()["idle_time_ours"].any())
            below = stats.reset_index().set_index(keys)["min"] < 0
            for row in both.itertuples():
                if below[(row.rank, row.stream, row.idle_category)]:
                    self.assertGreater(row.idle_time_ours, row.idle_time)
                else:
                    self.assertEqual((row.idle_time, row.idle_time_ratio), (row.idle_time_ours, row.idle_time_ratio_ours))

        self.each(check)

    def test_profiler_steps(self):
        self.each(lambda theirs, ours: self.assertEqual(theirs.get_profiler_steps(), ours.get_profiler_steps()))

    def test_bandwidth(self):
        """What happens within one microsecond has no order: each moment's last value counts."""
        def last(frame):
            frame = frame.assign(ts=frame["ts"] - frame["ts"].min())
            return frame.groupby(["name", "ts"])["memory_bw_gbps"].last().sort_index()

        def check(theirs, ours):
            a, b = (x.get_memory_bw_time_series() for x in (theirs, ours))
            self.assertEqual(a.keys(), b.keys())
            for rank in a:
                self.assertEqual(list(a[rank].columns), list(b[rank].columns))
                self.assertEqual(last(a[rank]).index.tolist(), last(b[rank]).index.tolist())
                self.assertLess((last(a[rank]) - last(b[rank])).abs().max(), 1e-6)

        self.each(check)

    def test_full_queue(self):
        """HTA has a row of one stream of each rank: the last."""
        def check(theirs, ours):
            a, b = (x.get_time_spent_blocked_on_full_queue(x.get_queue_length_time_series(), 3) for x in (theirs, ours))
            self.assertEqual(list(a.columns), list(b.columns))
            self.assertLessEqual(set(zip(a["rank"], a["stream"])), set(zip(b["rank"], b["stream"])))

        self.each(check)

    def test_queue(self):
        """HTA leaves out launches by the driver's calls (cuLaunchKernel) and graphs; elsewhere all lengths are equal. What happens
        within one microsecond has no order, so means differ by as much."""
        def check(theirs, ours):
            a, b = (x.get_queue_length_summary()["queue_length"] for x in (theirs, ours))
            self.assertEqual(a.columns.tolist(), b.columns.tolist())
            self.assertEqual(a.index.tolist(), b.index.tolist())
            for key in a.index:
                if a["count"][key] == b["count"][key]:
                    self.assertEqual(a.loc[key, ["min", "25%", "50%", "75%", "max"]].tolist(), b.loc[key, ["min", "25%", "50%", "75%", "max"]].tolist())
                    self.assertLess(abs(a["mean"][key] - b["mean"][key]), 0.01)
                else:
                    self.assertLess(a["count"][key], b["count"][key])
            self.assertGreaterEqual(b["min"].min(), 0)

        self.each(check)

    def test_launches(self):
        """HTA leaves out the same calls, and has 0 for delays below 0."""
        def check(theirs, ours):
            for options in ({}, {"include_memory_events": False}):
                a, b = (x.get_cuda_kernel_launch_stats(visualize=False, **options)[0] for x in (theirs, ours))
                self.assertEqual(list(a.columns), list(b.columns))
                both = a.merge(b, on="correlation", suffixes=("", "_ours"))
                self.assertEqual(len(both), len(a))
                for column in ("cpu_duration", "gpu_duration"):
                    self.assertEqual(both[column].tolist(), both[column + "_ours"].tolist())
                self.assertEqual(both["launch_delay"].tolist(), both["launch_delay_ours"].clip(lower=0).tolist())

        self.each(check)


if __name__ == "__main__":
    unittest.main()
