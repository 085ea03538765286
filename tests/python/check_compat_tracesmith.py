"""heddle.compat.tracesmith against TraceSmith itself: SBT files are equal byte by byte, timelines where every event has a duration.

TraceSmith absent (it has to be built, which needs the network): skipped, except for what is known without it.
"""
import importlib.util
import json
import os
import random
import sys
import tempfile
import threading
import unittest
from dataclasses import astuple

import heddle
import heddle.compat.tracesmith as ts

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from rounds import rounds, seed  # noqa: E402

HAS_ORIGINAL = importlib.util.find_spec("tracesmith") is not None
ROUNDS = rounds(60)
FIRST = seed(0)
T = ts.EventType

# docs/formats/sbt.md: metadata, a device; a launch with parameters, a copy with a stack, a marker that is earlier.
REFERENCE = bytes.fromhex(
    "53425400000001000300000048000000" "4800000000000000aa00000000000000" "5a000000000000006d00000000000000"
    "00000000000000000300000000000000" "0000000000000000" "010361707006617070202d7805060168ac02"
    "0301000347505502 4e56 000000000000000020" "04e807" "01020000 07ac0200 02010180020101 0000"
    "030dc80132000000018020804080800409018080800202030c" "1100 9cffffffffffffffff0100000000" "0204016b0163046d61696e03612e63 ff")


def event(type, name, at, duration=0, stream=0, device=0, correlation=0, **more):
    return ts.TraceEvent(type, at, duration, name, device, stream, correlation, **more)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)


class Files(Case):
    def events(self):
        stack = ts.CallStack(9, [ts.StackFrame(0x400000, "main", "a.c", 12)])
        return [event(T.KernelLaunch, "k", 1000, 0, 7, 0, 300, kernel_params=ts.KernelParams(2, 1, 1, 256, 1, 1)),
                event(T.MemcpyH2D, "c", 1200, 50, memory_params=ts.MemoryParams(0x1000, 0x2000, 0x10000), call_stack=stack),
                event(T.Marker, "k", 1100)]

    def test_write__the_reference_file(self):
        writer = ts.SBTWriter(self.path("a.sbt"))
        self.assertTrue(writer.write_metadata(ts.TraceMetadata("app", "app -x", 5, 6, "h", 300)))
        self.assertTrue(writer.write_device_info([ts.DeviceInfo(0, "GPU", "NV")]))
        self.assertTrue(writer.write_events(self.events()))
        self.assertFalse(os.path.exists(self.path("a.sbt")))
        self.assertTrue(writer.finalize())
        with open(self.path("a.sbt"), "rb") as file:
            self.assertEqual(file.read(), REFERENCE)

    def test_read__the_reference_file(self):
        with open(self.path("a.sbt"), "wb") as file:
            file.write(REFERENCE)
        reader = ts.SBTReader(self.path("a.sbt"))
        self.assertEqual((reader.is_open(), reader.is_valid(), reader.event_count()), (True, True, 3))
        self.assertEqual(reader.read_all(), self.events())
        self.assertEqual(reader.read_events(1), self.events()[1:])
        self.assertEqual(reader.read_events(1, 1), self.events()[1:2])
        self.assertEqual(reader.read_events(9, 1), [])
        result, metadata = reader.read_metadata()
        self.assertTrue(result.success)
        self.assertEqual(metadata, ts.TraceMetadata("app", "app -x", 5, 6, "h", 300, [ts.DeviceInfo(0, "GPU", "NV")]))

    def test_read__a_file_that_was_cut_off_gives_what_is_left(self):
        with open(self.path("a.sbt"), "wb") as file:
            file.write(REFERENCE[:0x9c])
        with self.assertWarns(heddle.LossWarning):
            reader = ts.SBTReader(self.path("a.sbt"))
        self.assertEqual([one.timestamp for one in reader.read_all()], [1000, 1200])

    def test_read__other_formats(self):
        with open(self.path("a.json"), "w", encoding="utf-8") as file:
            json.dump([{"ph": "X", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "name": "gemm", "cat": "kernel",
                        "args": {"stream": 7, "device": 0, "correlation": 5}}], file)
        self.assertEqual([(one.type, one.name, one.timestamp) for one in ts.SBTReader(self.path("a.json")).read_all()],
                         [(T.KernelLaunch, "gemm", 1000), (T.KernelComplete, "gemm", 3000)])

    def test_read__what_is_no_trace(self):
        reader = ts.SBTReader(self.path("absent.sbt"))
        self.assertEqual((reader.is_open(), reader.is_valid(), reader.event_count()), (False, False, 0))
        with self.assertRaises(heddle.NotFoundError):
            reader.read_all()
        result, _ = reader.read_metadata()
        self.assertFalse(result)
        self.assertIn("absent.sbt", result.error_message)
        with open(self.path("text.sbt"), "wb") as file:
            file.write(b"hello" * 30)
        self.assertFalse(ts.SBTReader(self.path("text.sbt")).is_valid())

    def test_write__errors_are_results(self):
        writer = ts.SBTWriter(self.path("no/such.sbt"))
        self.assertFalse(writer.is_open())
        self.assertIn("no/such.sbt", writer.finalize().error_message)
        writer = ts.SBTWriter(self.path("b.sbt"))
        for field, value in (("timestamp", -1), ("duration", 1 << 64), ("stream_id", 1 << 32), ("correlation_id", -5)):
            bad = event(T.Marker, "m", 5)
            setattr(bad, field, value)
            result = writer.write_events([event(T.Marker, "fine", 5), bad])
            self.assertFalse(result, field)
            self.assertIn(str(value), result.error_message)
        self.assertEqual(writer.event_count(), 4)
        self.assertTrue(writer.finalize())
        self.assertEqual([one.name for one in ts.SBTReader(self.path("b.sbt")).read_all()], ["fine"] * 4)
        self.assertIn("finalize() was called", writer.write_event(event(T.Marker, "m", 5)).error_message)
        self.assertEqual(os.listdir(self.folder), ["b.sbt"])

    def test_write__no_events_and_no_text(self):
        writer = ts.SBTWriter(self.path("a.sbt"))
        self.assertTrue(writer.finalize())
        self.assertEqual(ts.SBTReader(self.path("a.sbt")).event_count(), 0)
        writer = ts.SBTWriter(self.path("b.sbt"))
        writer.write_event(event(T.Marker, "\udcff", 1))  # a byte that is not UTF-8
        writer.finalize()
        self.assertEqual(ts.SBTReader(self.path("b.sbt")).read_all()[0].name, "\udcff")


class Timelines(Case):
    def test_pairs__are_one_span(self):
        timeline = ts.build_timeline([
            event(T.KernelLaunch, "k", 100, 0, 1, 0, 5), event(T.KernelComplete, "k", 250, 0, 1, 0, 5),
            event(T.RangeStart, "r", 50), event(T.RangeStart, "r", 60), event(T.RangeEnd, "r", 70), event(T.RangeEnd, "r", 90),
            event(T.Marker, "m", 900), event(T.KernelLaunch, "lonely", 800, 0, 1, 0, 6), event(T.KernelComplete, "early", 10, 0, 1, 0, 7),
            event(T.KernelLaunch, "early", 20, 0, 1, 0, 7)])
        self.assertEqual([(span.name, span.start_time, span.end_time) for span in timeline.spans],
                         [("r", 50, 90), ("r", 60, 70), ("k", 100, 250)])
        self.assertEqual(timeline.total_duration, 200)
        self.assertEqual(timeline.gpu_utilization, (40 / 200 + 150 / 200) / 2)

    def test_utilization__is_never_above_1(self):
        timeline = ts.build_timeline([event(T.KernelLaunch, "a", 0, 100, 1, 0, 1), event(T.KernelLaunch, "b", 50, 100, 1, 0, 2)])
        self.assertEqual((timeline.total_duration, timeline.gpu_utilization, timeline.max_concurrent_ops), (150, 1.0, 2))

    def test_nothing(self):
        for events in ([], [event(T.Marker, "m", 5)]):
            timeline = ts.build_timeline(events)
            self.assertEqual((timeline.spans, timeline.total_duration, timeline.gpu_utilization), ([], 0, 0.0))
        builder = ts.TimelineBuilder()
        builder.add_event(event(T.KernelLaunch, "a", 0, 100))
        builder.add_events([event(T.KernelLaunch, "b", 100, 100)])
        self.assertEqual(builder.build().max_concurrent_ops, 1)
        builder.clear()
        self.assertEqual(builder.build().spans, [])


class Export(Case):
    NOW = 1_700_000_000_123_456_789

    def exported(self, events, name="a.json", **options):
        self.assertTrue(ts.export_perfetto(events, self.path(name), **options))
        return heddle.open(self.path(name))

    def test_json__times_are_exact_and_crossing_slices_get_lanes(self):
        with self.exported([event(T.KernelLaunch, "a", self.NOW, 100, 7, 0, 1, metadata={"grid_dim": "2x1x1"}, thread_id=42),
                            event(T.MemcpyH2D, "b", self.NOW + 50, 101, 7, 0, 2, memory_params=ts.MemoryParams(1, 2, 4096)),
                            event(T.Marker, 'say "\n"', self.NOW + 1)]) as trace:
            rows = sorted((row.ts, row.dur, row.name, row.category) for row in trace.slices(["ts", "dur", "name", "category"]))
            self.assertEqual(rows, [(self.NOW, 100, "a", "kernel"), (self.NOW + 50, 101, "b", "gpu_memcpy")])
            self.assertEqual(len(trace.check(only="crossing")), 0)
            self.assertEqual(trace.report("kernels")[0].total, 100)
            self.assertEqual(trace.report("copies")[0].bytes, 4096)
        with open(self.path("a.json"), encoding="utf-8") as file:
            args = [one["args"] for one in json.load(file)["traceEvents"] if one["name"] == "a"][0]
        self.assertEqual((args["grid_dim"], args["thread"], args["correlation"]), ("2x1x1", 42, 1))

    def test_protobuf__and_flows(self):
        flow = {"flow_info": ts.FlowInfo(3, ts.FlowType.AsyncCpuGpu, True)}
        end = {"flow_info": ts.FlowInfo(3, ts.FlowType.AsyncCpuGpu, False)}
        events = [event(T.KernelLaunch, "a", 5, 100, 1, **flow), event(T.KernelLaunch, "b", 500, 100, 2, **end)]
        with self.exported(events, "a.perfetto-trace", use_protobuf=True) as trace:
            self.assertEqual(trace.info.format, "perfetto")
            self.assertEqual(len(trace.slices()), 2)
            self.assertEqual(len(trace.flows()), 2)

    def test_error__says_where(self):
        with self.assertRaises(OSError):
            ts.export_perfetto([], self.path("no/such.json"))
        self.assertEqual(os.listdir(self.folder), [])


class Sessions(Case):
    def test_readme(self):
        config = ts.TracingConfig()
        config.buffer_size_kb = 8192
        config.enable_counter_tracks = True
        session = ts.TracingSession()
        self.assertTrue(session.start(config))
        one = ts.TraceEvent()
        one.type = T.KernelLaunch
        one.name = "my_kernel"
        one.thread_id = 12345
        one.duration = 1000
        one.metadata["grid_dim"] = "256x256x1"
        self.assertTrue(session.emit(one))
        self.assertTrue(session.emit_counter("GPU Memory (MB)", 1024.5))
        self.assertTrue(session.emit_counter("SM Occupancy %", 85.2))
        session.stop()
        self.assertTrue(session.export_to_file(self.path("realtime.perfetto-trace")))
        statistics = session.get_statistics()
        self.assertGreater(statistics.duration_ms(), 0)
        self.assertEqual((statistics.events_emitted, statistics.events_dropped, statistics.counters_emitted), (1, 0, 2))
        with heddle.open(self.path("realtime.perfetto-trace")) as trace:
            self.assertEqual(sorted((row.name, row.value) for row in trace.counters(["name", "value"])),
                             [("GPU Memory (MB)", 1024.5), ("SM Occupancy %", 85.2)])
            self.assertEqual([row.name for row in trace.slices(["name"])], ["my_kernel"])

    def test_room__what_does_not_fit_is_counted(self):
        session = ts.TracingSession(event_buffer_size=3, counter_buffer_size=1)
        self.assertFalse(session.emit(event(T.Marker, "early", 1)))
        self.assertTrue(session.start())
        self.assertFalse(session.start())
        self.assertEqual([session.emit(event(T.Marker, "m", 1)) for _ in range(5)], [True] * 3 + [False] * 2)
        self.assertEqual([session.emit_counter("c", 1) for _ in range(2)], [True, False])
        self.assertEqual((session.events_dropped(), session.event_buffer_size(), session.event_buffer_capacity()), (3, 3, 3))
        session.stop()
        self.assertFalse(session.emit(event(T.Marker, "late", 1)))
        session.clear()
        self.assertEqual((session.get_events(), session.get_counters(), session.get_state()), ([], [], ts.TracingState.Stopped))

    def test_config__limits_and_switches(self):
        session = ts.TracingSession()
        session.start(ts.TracingConfig(buffer_size_kb=1, enable_counter_tracks=False, enable_flow_events=False))
        self.assertEqual(session.event_buffer_capacity(), 8)
        self.assertFalse(session.emit_counter("c", 1))
        self.assertTrue(session.emit(event(T.KernelLaunch, "a", 5, 9, flow_info=ts.FlowInfo(1, ts.FlowType.FwdBwd, True))))
        session.stop()
        session.export_to_file(self.path("a.json"), use_protobuf=False)
        with heddle.open(self.path("a.json")) as trace:
            self.assertEqual(len(trace.flows()), 0)
        session.start(ts.TracingConfig(duration_ms=1))
        while session.emit(event(T.Marker, "m", 0)):
            pass
        self.assertEqual(session.events_dropped(), 1)

    def test_threads(self):
        session = ts.TracingSession()
        session.start()
        threads = [threading.Thread(target=lambda: [session.emit(event(T.Marker, "m", 0)) for _ in range(1000)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(session.get_statistics().events_emitted, 8000)

    def test_what_is_not_there__says_what_is(self):
        with self.assertRaisesRegex(AttributeError, r"heddle.record\("):
            ts.create_profiler()
        with self.assertRaisesRegex(AttributeError, "has no replay_trace"):
            ts.replay_trace()
        self.assertEqual(ts.__version__, heddle.__version__)
        for name, ours in (("detect_platform", "heddle devices"), ("MemoryProfiler", "memory"), ("StackCapture", "stacks"),
                           ("ReplayEngine", "heddle replay"), ("NCCLTracker", "communication"), ("GPUTopology", "heddle topology"),
                           ("TimeSync", "heddle clocks"), ("XRayImporter", "heddle.open"), ("FrameCapture", "stacks"), ("xctrace", "heddle record --with xctrace")):
            with self.assertRaisesRegex(AttributeError, f"has no {name}: .*{ours}"):
                getattr(ts, name)
        with self.assertRaisesRegex(ImportError, "heddle record --with xctrace"):
            from heddle.compat.tracesmith.xctrace import XCTraceProfiler  # noqa: F401


def as_theirs(theirs, one):
    """The same event, made of TraceSmith's classes."""
    out = theirs.TraceEvent()
    out.type = getattr(theirs.EventType, one.type.name)
    for name in ("name", "timestamp", "duration", "device_id", "stream_id", "correlation_id", "thread_id"):
        setattr(out, name, getattr(one, name))
    if one.call_stack is not None:
        stack = theirs.CallStack()
        stack.thread_id = one.call_stack.thread_id
        frames = []
        for frame in one.call_stack.frames:
            made = theirs.StackFrame(frame.address)
            made.function_name, made.file_name, made.line_number = frame.function_name, frame.file_name, frame.line_number
            frames.append(made)
        stack.frames = frames
        out.call_stack = stack
    return out


@unittest.skipUnless(HAS_ORIGINAL, "TraceSmith is not installed")
class Original(Case):
    def drawn(self, draw):
        kinds = [kind for kind in T if hasattr(self.theirs.EventType, kind.name)]
        events = []
        for _ in range(draw.randrange(30)):
            stack = None
            if draw.random() < 0.2:
                stack = ts.CallStack(draw.randrange(99), [ts.StackFrame(draw.randrange(1 << 60), draw.choice("fgh"), "a.c", draw.randrange(999))
                                                          for _ in range(draw.randrange(1, 4))])
            events.append(event(draw.choice(kinds), draw.choice(["a", "kernel<int>", "", "ü"]), draw.randrange(1 << draw.randrange(1, 63)),
                                draw.choice([0, 1, 127, 128, 1 << 40]), draw.randrange(200), draw.randrange(3), draw.randrange(1 << 40),
                                call_stack=stack))
        return events

    def setUp(self):
        super().setUp()
        import tracesmith

        self.theirs = tracesmith

    def written(self, module, name, events):
        writer = module.SBTWriter(self.path(name))
        metadata = module.TraceMetadata()
        metadata.application_name, metadata.start_time, metadata.process_id = "app", 5, 1 << 31
        device = module.DeviceInfo()
        device.name, device.total_memory = "GPU", 80 << 30
        writer.write_metadata(metadata)
        writer.write_device_info([device])
        writer.write_events(events)
        self.assertTrue(writer.finalize().success)
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_files__are_equal_byte_by_byte_and_read_by_both(self):
        for round_ in range(FIRST, FIRST + ROUNDS):
            with self.subTest(round_):
                events = self.drawn(random.Random(round_))
                ours = self.written(ts, "ours.sbt", events)
                self.assertEqual(ours, self.written(self.theirs, "theirs.sbt", [as_theirs(self.theirs, one) for one in events]))
                self.assertEqual([astuple(one) for one in ts.SBTReader(self.path("theirs.sbt")).read_all()], [astuple(one) for one in events])
                self.assertEqual([one.name for one in self.theirs.SBTReader(self.path("ours.sbt")).read_all()], [one.name for one in events])

    def test_timelines__of_streams_that_run_one_thing_at_a_time(self):
        """Where events have no duration TraceSmith takes 1000 ns, and where a stream runs two things it sums them up."""
        for round_ in range(FIRST, FIRST + ROUNDS):
            draw = random.Random(round_)
            events, ends = [], {}
            for i in range(draw.randrange(1, 30)):
                stream = draw.randrange(4)
                start = ends.get(stream, 0) + draw.randrange(50)
                duration = draw.randrange(1, 90)
                ends[stream] = start + duration
                events.append(event(T.KernelLaunch, f"k{i}", start, duration, stream, 0, i + 1))
            draw.shuffle(events)
            with self.subTest(round_):
                ours, theirs = ts.build_timeline(events), self.theirs.build_timeline([as_theirs(self.theirs, one) for one in events])
                self.assertEqual(ours.total_duration, theirs.total_duration)
                self.assertAlmostEqual(ours.gpu_utilization, theirs.gpu_utilization, 12)
                self.assertEqual(ours.max_concurrent_ops, theirs.max_concurrent_ops)
                fields = ("name", "start_time", "end_time", "device_id", "stream_id", "correlation_id")
                spans = [sorted(tuple(getattr(span, field) for field in fields) for span in one.spans) for one in (ours, theirs)]
                self.assertEqual(spans[0], spans[1])


if __name__ == "__main__":
    unittest.main()
