"""Timelines of events, and their way to Perfetto."""
from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import heddle

from ._events import CounterEvent, EventType, FlowType, TraceEvent
from ._file import write_whole

_BEGINS = {EventType.KernelComplete: EventType.KernelLaunch, EventType.NCCLComplete: EventType.NCCLStart,
           EventType.RangeEnd: EventType.RangeStart}
_STARTS = frozenset(_BEGINS.values())
_T = EventType
# As Kineto has them, so that every report of Heddle knows what is work of a GPU.
_CATEGORIES = {
    _T.KernelLaunch: "kernel", _T.KernelComplete: "kernel", _T.NCCLStart: "kernel", _T.NCCLComplete: "kernel",
    _T.MemcpyH2D: "gpu_memcpy", _T.MemcpyD2H: "gpu_memcpy", _T.MemcpyD2D: "gpu_memcpy", _T.MemsetDevice: "gpu_memset",
    _T.StreamSync: "cuda_sync", _T.DeviceSync: "cuda_sync", _T.EventRecord: "cuda_sync", _T.EventSync: "cuda_sync",
    _T.MemAlloc: "memory", _T.MemFree: "memory", _T.Marker: "user_annotation", _T.RangeStart: "user_annotation",
    _T.RangeEnd: "user_annotation"}


@dataclass
class TimelineSpan:
    name: str = ""
    type: EventType = EventType.Unknown
    start_time: int = 0
    end_time: int = 0
    device_id: int = 0
    stream_id: int = 0
    correlation_id: int = 0


@dataclass
class Timeline:
    """spans by start. total_duration: from the first start to the last end, ns. gpu_utilization: 0 to 1, the share of it in which a
    stream has a span, mean over the streams. max_concurrent_ops: of all streams."""

    spans: list[TimelineSpan] = field(default_factory=list)
    total_duration: int = 0
    gpu_utilization: float = 0.0
    max_concurrent_ops: int = 0


def _paired(events: Sequence[TraceEvent]) -> list[tuple[TraceEvent, int]]:
    """Each event with its end. An end that is an event of its own (KernelComplete, RangeEnd …) goes to its beginning: the last before
    it with its correlation id, of ranges without one with its name, on its device. Events without time end where they begin."""
    order = sorted(range(len(events)), key=lambda i: events[i].timestamp)
    open_: dict[tuple[object, ...], list[int]] = defaultdict(list)
    ends: dict[int, int] = {}
    gone: set[int] = set()
    for i in order:
        event = events[i]
        begin = _BEGINS.get(event.type, event.type)
        key = (begin, event.device_id, event.correlation_id or (event.stream_id, event.name))
        if event.duration or not (event.correlation_id or begin is EventType.RangeStart):
            continue
        if event.type in _STARTS:
            open_[key].append(i)
        elif event.type in _BEGINS and open_[key]:
            ends[open_[key].pop()] = event.timestamp
            gone.add(i)
    return [(events[i], ends.get(i, events[i].timestamp + events[i].duration)) for i in order if i not in gone]


def _sweep(spans: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Time in which there is a span, and how many there are at once at most."""
    covered = most = depth = since = 0
    for time, change in sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans]):
        if depth == 0:
            since = time
        depth += change
        most = max(most, depth)
        if depth == 0:
            covered += time - since
    return covered, most


def build_timeline(events: Iterable[TraceEvent]) -> Timeline:
    """The spans of events that take time, and what they say of the GPU."""
    spans = [TimelineSpan(event.name, event.type, event.timestamp, end, event.device_id, event.stream_id, event.correlation_id)
             for event, end in _paired(list(events)) if end > event.timestamp]
    if not spans:
        return Timeline()
    streams: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for span in spans:
        streams[span.device_id, span.stream_id].append((span.start_time, span.end_time))
    total = max(span.end_time for span in spans) - spans[0].start_time
    share = sum(_sweep(stream)[0] for stream in streams.values()) / len(streams) / total
    return Timeline(spans, total, share, _sweep([(span.start_time, span.end_time) for span in spans])[1])


class TimelineBuilder:
    """Collects events for `build_timeline`."""

    def __init__(self) -> None:
        self._events: list[TraceEvent] = []

    def add_event(self, event: TraceEvent) -> None:
        self._events.append(event)

    def add_events(self, events: Iterable[TraceEvent]) -> None:
        self._events.extend(events)

    def build(self) -> Timeline:
        return build_timeline(self._events)

    def clear(self) -> None:
        self._events.clear()


# ---- export ----


def _us(ns: int) -> str:
    """Exact: a double has no nanoseconds of today's time."""
    return f"{ns // 1000}.{ns % 1000:03}"


def _args(event: TraceEvent) -> dict[str, object]:
    args: dict[str, object] = {"type": event.type.name, "device": event.device_id, "stream": event.stream_id}
    if event.correlation_id:
        args["correlation"] = event.correlation_id
    if event.thread_id:
        args["thread"] = event.thread_id
    if event.kernel_params is not None:
        p = event.kernel_params
        args |= {"grid": [*p[0:3]], "block": [*p[3:6]], "shared memory": p.shared_mem_bytes, "registers per thread": p.registers_per_thread}
    if event.memory_params is not None:
        m = event.memory_params
        args |= {"source address": m.src_address, "destination address": m.dst_address, "bytes": m.size_bytes}
    if event.call_stack is not None:
        args["stack"] = [[f.address, f.function_name, f.file_name, f.line_number] for f in event.call_stack.frames]
    return args | {key: value for key, value in event.metadata.items() if key not in args}


def chrome_json(events: Sequence[TraceEvent], counters: Iterable[CounterEvent] = (), flows: bool = True) -> bytes:
    """Trace event JSON: a process for each device, a thread for each stream."""
    streams = sorted({(event.device_id, event.stream_id) for event in events})
    named = sorted({device for device, _ in streams} | {counter.device_id for counter in counters})
    rows = [json.dumps({"ph": "M", "name": "process_name", "pid": device, "args": {"name": f"GPU Device {device}"}}) for device in named]
    rows += [json.dumps({"ph": "M", "name": "thread_name", "pid": device, "tid": stream, "args": {"name": f"Stream {stream}"}})
             for device, stream in streams]
    for event, end in _paired(events):
        place = f'"pid":{event.device_id:d},"tid":{event.stream_id:d},"ts":{_us(event.timestamp)}'
        what = f'"name":{json.dumps(event.name)},"cat":{json.dumps(_CATEGORIES.get(event.type, "other"))}'
        times = f'"ph":"X","dur":{_us(end - event.timestamp)}' if end > event.timestamp else '"ph":"i","s":"t"'
        rows.append(f'{{{times},{place},{what},"args":{json.dumps(_args(event))}}}')
        if flows and event.flow_info.type is not FlowType.NoFlow:
            kind = '"ph":"s"' if event.flow_info.is_start else '"ph":"f","bp":"e"'
            rows.append(f'{{{kind},{place},"id":{event.flow_info.id:d},"name":"{event.flow_info.type.name}","cat":"flow"}}')
    for counter in counters:
        value = json.dumps({counter.unit or "value": counter.value})
        rows.append(f'{{"ph":"C","pid":{counter.device_id:d},"ts":{_us(counter.timestamp)},'
                    f'"name":{json.dumps(counter.counter_name)},"args":{value}}}')
    return ('{"displayTimeUnit":"ns","traceEvents":[\n' + ",\n".join(rows) + "\n]}\n").encode()


def export(data: bytes, filename: str | os.PathLike[str], use_protobuf: bool) -> bool:
    """As JSON, or as Perfetto's protobuf; spans that cross get lanes of their own, so that every one is shown, with its times as they are."""
    with heddle.open(data) as trace:
        write_whole(os.fspath(filename), trace.apply("lanes", snap_threshold_us=0).to_bytes("pftrace" if use_protobuf else "json"))
    return True


def export_perfetto(events: Iterable[TraceEvent], filename: str | os.PathLike[str], use_protobuf: bool = False) -> bool:
    """Write events for ui.perfetto.dev. Raises `heddle.Error` and `OSError` where that is not possible."""
    return export(chrome_json(list(events)), filename, use_protobuf)
