"""TraceSmith's Python interface, as its README shows it: events, SBT files, timelines, export to Perfetto, sessions.

    import heddle.compat.tracesmith as ts

    reader = ts.SBTReader("trace.sbt")          # or any trace that Heddle reads
    timeline = ts.build_timeline(reader.read_all())
    ts.export_perfetto(reader.read_all(), "trace.json")

Profiling itself is `heddle record`, or `heddle.record([...])`; so there is no `create_profiler`. docs/python-compat.md tells where
results differ on purpose.
"""
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


def __getattr__(name: str) -> object:
    if name in ("create_profiler", "ProfilerConfig", "PlatformType", "detect_platform"):
        raise AttributeError(f"{name}: heddle.compat.tracesmith records nothing; run the program by heddle.record([...]), "
                             "or by `heddle record`, and open what it wrote")
    raise AttributeError(f"heddle.compat.tracesmith has no {name}")
