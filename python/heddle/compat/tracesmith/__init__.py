"""TraceSmith's Python interface, as its README shows it: events, SBT files, timelines, export to Perfetto, sessions.

    import heddle.compat.tracesmith as ts

    reader = ts.SBTReader("trace.sbt")          # or any trace that Heddle reads
    timeline = ts.build_timeline(reader.read_all())
    ts.export_perfetto(reader.read_all(), "trace.json")

Profiling itself is `heddle record`, or `heddle.record([...])`; so there is no `create_profiler`. docs/reference/python-compat.md says where
results differ on purpose.
"""
import heddle

from ._events import CallStack as CallStack
from ._events import CounterEvent as CounterEvent
from ._events import DeviceInfo as DeviceInfo
from ._events import EventType as EventType
from ._events import FlowInfo as FlowInfo
from ._events import FlowType as FlowType
from ._events import KernelParams as KernelParams
from ._events import MemoryParams as MemoryParams
from ._events import StackFrame as StackFrame
from ._events import TraceEvent as TraceEvent
from ._events import TraceMetadata as TraceMetadata
from ._events import event_type_to_string as event_type_to_string
from ._events import get_current_timestamp as get_current_timestamp
from ._sbt import SBTReader as SBTReader
from ._sbt import SBTResult as SBTResult
from ._sbt import SBTWriter as SBTWriter
from ._session import TracingConfig as TracingConfig
from ._session import TracingMode as TracingMode
from ._session import TracingSession as TracingSession
from ._session import TracingState as TracingState
from ._session import TracingStatistics as TracingStatistics
from ._timeline import Timeline as Timeline
from ._timeline import TimelineBuilder as TimelineBuilder
from ._timeline import TimelineSpan as TimelineSpan
from ._timeline import build_timeline as build_timeline
from ._timeline import export_perfetto as export_perfetto


# What of Heddle does what other names of TraceSmith do.
_RECORD = "heddle.record([...]), or `heddle record COMMAND`, records a program: open what it wrote"
_ELSEWHERE = {
    **dict.fromkeys(("create_profiler", "ProfilerConfig", "PlatformType", "CUPTIProfiler", "XCTraceProfiler", "profile_with_xctrace"), _RECORD),
    **dict.fromkeys(("detect_platform", "is_cuda_available", "get_cuda_device_count", "is_metal_available", "is_maca_available",
                     "get_maca_device_count", "get_cuda_driver_version"), "`heddle devices` lists this machine's GPUs"),
    **dict.fromkeys(("MemoryProfiler", "MemoryProfilerConfig", "MemoryReport", "MemorySnapshot"),
                    'heddle.memory() notes allocations, and Trace.report("memory") analyses them'),
    **dict.fromkeys(("StackCapture", "StackCaptureConfig", "FrameCapture", "FrameCaptureConfig"),
                    "`heddle record --python` or --stacks keeps stacks, and Trace.flame() draws them"),
    **dict.fromkeys(("ReplayEngine", "ReplayConfig", "ReplayResult", "ReplayMode"), "`heddle replay TRACE` replays a trace, with changes"),
    **dict.fromkeys(("NCCLTracker", "NCCLOperation"), 'Trace.report("communication"), and `heddle stragglers FILE...` for a job'),
    **dict.fromkeys(("GPUTopology", "GPULinkType"), "`heddle devices` lists links of GPUs, `heddle topology FILE...` a job's"),
    **dict.fromkeys(("TimeSync", "ClockCorrelator"), "`heddle clocks FILE...` estimates the clock offsets of a job's hosts"),
    **dict.fromkeys(("XRayImporter", "XRayConfig"), "heddle.open() reads XRay logs; binary= names the program"),
    "xctrace": "`heddle record --with xctrace COMMAND` records, and heddle.open() reads what `xctrace export` wrote",
    **dict.fromkeys(("BPFTracer", "BPFEventType", "BPFEventRecord"), "`heddle record --uprobe FUNCTION` traces calls by the kernel"),
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return heddle.__version__
    raise AttributeError(f"heddle.compat.tracesmith has no {name}: {_ELSEWHERE.get(name, '`heddle help` lists what there is')}")
