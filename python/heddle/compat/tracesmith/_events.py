"""What a TraceSmith trace consists of. Times are nanoseconds."""
from __future__ import annotations

import enum
import time
from dataclasses import dataclass, field
from typing import NamedTuple


class _Number(enum.Enum):
    def __int__(self) -> int:
        return int(self.value)


class EventType(_Number):
    Unknown = 0
    KernelLaunch = 1
    KernelComplete = 2
    MemcpyH2D = 3
    MemcpyD2H = 4
    MemcpyD2D = 5
    MemsetDevice = 6
    StreamSync = 7
    DeviceSync = 8
    EventRecord = 9
    EventSync = 10
    StreamCreate = 11
    StreamDestroy = 12
    ContextCreate = 13
    ContextDestroy = 14
    MemAlloc = 15
    MemFree = 16
    Marker = 17
    RangeStart = 18
    RangeEnd = 19
    NCCLStart = 20
    NCCLComplete = 21
    Custom = 255


class FlowType(_Number):
    NoFlow = 0
    FwdBwd = 1
    AsyncCpuGpu = 2
    Custom = 255


class KernelParams(NamedTuple):
    grid_x: int = 0
    grid_y: int = 0
    grid_z: int = 0
    block_x: int = 0
    block_y: int = 0
    block_z: int = 0
    shared_mem_bytes: int = 0
    registers_per_thread: int = 0


class MemoryParams(NamedTuple):
    src_address: int = 0
    dst_address: int = 0
    size_bytes: int = 0


@dataclass
class FlowInfo:
    id: int = 0
    type: FlowType = FlowType.NoFlow
    is_start: bool = False


@dataclass
class StackFrame:
    address: int = 0
    function_name: str = ""
    file_name: str = ""
    line_number: int = 0


@dataclass
class CallStack:
    thread_id: int = 0
    frames: list[StackFrame] = field(default_factory=list)

    def depth(self) -> int:
        return len(self.frames)

    def empty(self) -> bool:
        return not self.frames


@dataclass(repr=False)
class TraceEvent:
    """One event. timestamp: when it began; duration 0: it has none, or its end is another event. metadata goes to Perfetto, SBT has
    no place for it, nor for thread_id and flow_info."""

    type: EventType = EventType.Unknown
    timestamp: int = 0
    duration: int = 0
    name: str = ""
    device_id: int = 0
    stream_id: int = 0
    correlation_id: int = 0
    thread_id: int = 0
    metadata: dict[str, str] = field(default_factory=dict)
    flow_info: FlowInfo = field(default_factory=FlowInfo)
    call_stack: CallStack | None = None
    kernel_params: KernelParams | None = None
    memory_params: MemoryParams | None = None

    def __repr__(self) -> str:
        return f"<TraceEvent {self.name} type={self.type.name} thread={self.thread_id}>"


@dataclass
class CounterEvent:
    counter_name: str = ""
    value: float = 0.0
    timestamp: int = 0
    device_id: int = 0
    track_id: int = 0
    unit: str = ""


@dataclass
class DeviceInfo:
    device_id: int = 0
    name: str = ""
    vendor: str = ""
    compute_major: int = 0
    compute_minor: int = 0
    total_memory: int = 0
    memory_clock_rate: int = 0
    memory_bus_width: int = 0
    multiprocessor_count: int = 0
    max_threads_per_mp: int = 0
    clock_rate: int = 0
    warp_size: int = 32


@dataclass
class TraceMetadata:
    application_name: str = ""
    command_line: str = ""
    start_time: int = 0
    end_time: int = 0
    hostname: str = ""
    process_id: int = 0
    devices: list[DeviceInfo] = field(default_factory=list)


def event_type_to_string(type: EventType) -> str:
    return type.name


def get_current_timestamp() -> int:
    """Nanoseconds since 1970."""
    return time.time_ns()
