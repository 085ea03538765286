"""Reading and writing SBT, TraceSmith's binary trace: docs/formats/sbt.md.

A file is read by Heddle, which repairs damage, and is parsed from the SBT that Heddle makes of it. So a reader takes every
trace that `heddle convert` can make SBT of, and what is parsed here is always whole.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import cast

import heddle

from ._events import CallStack, DeviceInfo, EventType, KernelParams, MemoryParams, StackFrame, TraceEvent, TraceMetadata
from ._file import write_whole

_MAGIC = b"SBT\0"
_HEADER_BYTES = 72
_METADATA, _STRINGS, _DEVICES, _EVENTS, _END = 1, 2, 3, 4, 255
_HAS_DURATION, _HAS_KERNEL, _HAS_MEMORY, _HAS_STACK = 1, 2, 4, 8
_LITTLE_ENDIAN, _HAS_STRINGS = 1, 2
_U32, _U64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
_TYPES = {kind.value: kind for kind in EventType}


@dataclass
class SBTResult:
    success: bool = True
    error_message: str = ""

    def __bool__(self) -> bool:
        return self.success


# ---- bytes ----


def _varint(value: int, limit: int, what: str) -> bytes:
    if not 0 <= value <= limit:
        raise ValueError(f"{what} is a number from 0 to {limit}, not {value}")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    return _varint(len(data), _U64, "a length") + data


class _Cursor:
    """Parses bytes from front to back."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while (byte := self.byte()) > 0x7F:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def varints(self, count: int) -> list[int]:
        return [self.varint() for _ in range(count)]

    def text(self) -> str:
        size = self.varint()
        self.at += size
        return self.data[self.at - size:self.at].decode("utf-8", "surrogateescape")


# ---- reading ----


@dataclass
class _File:
    events: list[TraceEvent]
    metadata: TraceMetadata


def _parse_event(cursor: _Cursor, before: int, strings: Sequence[str]) -> TraceEvent:
    def string(index: int) -> str:
        return strings[index] if index < len(strings) else ""

    event = TraceEvent(_TYPES.get(cursor.byte(), EventType.Custom))
    flags = cursor.byte()
    event.timestamp = before + cursor.varint() & _U64
    if flags & _HAS_DURATION:
        event.duration = cursor.varint()
    event.device_id, event.stream_id, event.correlation_id, name = cursor.varints(4)
    event.name = string(name)
    if flags & _HAS_KERNEL:
        event.kernel_params = KernelParams(*cursor.varints(len(KernelParams._fields)))
    if flags & _HAS_MEMORY:
        event.memory_params = MemoryParams(*cursor.varints(len(MemoryParams._fields)))
    if flags & _HAS_STACK:
        event.call_stack = CallStack(cursor.varint())
        for _ in range(cursor.varint()):
            address, function, file, line = cursor.varints(4)
            event.call_stack.frames.append(StackFrame(address, string(function), string(file), line))
    return event


def _parse(data: bytes) -> _File:
    metadata_at, strings_at, devices_at, events_at = (int.from_bytes(data[at:at + 8], "little") for at in (16, 24, 32, 40))
    count = int.from_bytes(data[56:64], "little")
    strings: list[str] = []
    if strings_at:
        cursor = _Cursor(data, strings_at + 1)
        strings = [cursor.text() for _ in range(cursor.varint())]
    metadata = TraceMetadata()
    if metadata_at:
        cursor = _Cursor(data, metadata_at + 1)
        metadata = TraceMetadata(cursor.text(), cursor.text(), cursor.varint(), cursor.varint(), cursor.text(), cursor.varint())
    if devices_at:
        cursor = _Cursor(data, devices_at + 1)
        for _ in range(cursor.varint()):
            metadata.devices.append(DeviceInfo(cursor.varint(), cursor.text(), cursor.text(), *cursor.varints(9)))
    events: list[TraceEvent] = []
    if events_at and count:
        cursor = _Cursor(data, events_at + 1)
        time = cursor.varint()
        for _ in range(count):
            events.append(_parse_event(cursor, time, strings))
            time = events[-1].timestamp
    return _File(events, metadata)


class SBTReader:
    """The events of a file. A file that cannot be read shows in `is_open` and `is_valid`; other methods then raise the error."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file: _File | None = None
        self._error: heddle.Error | None = None
        try:
            with heddle.open(path) as trace:
                self._file = _parse(trace.to_bytes("sbt"))
        except heddle.Error as error:
            self._error = error

    def _read(self) -> _File:
        if self._file is None:
            raise cast(heddle.Error, self._error)
        return self._file

    def is_open(self) -> bool:
        """Whether there is such a file."""
        return not isinstance(self._error, heddle.NotFoundError)

    def is_valid(self) -> bool:
        """Whether it was read."""
        return self._file is not None

    def event_count(self) -> int:
        return 0 if self._file is None else len(self._file.events)

    def read_all(self) -> list[TraceEvent]:
        return list(self._read().events)

    def read_events(self, offset: int = 0, count: int = 0) -> list[TraceEvent]:
        """count events from offset on; 0: all that follow."""
        events = self._read().events
        return events[offset:offset + count] if count else events[offset:]

    def read_metadata(self) -> tuple[SBTResult, TraceMetadata]:
        if self._file is None:
            return SBTResult(False, str(self._error)), TraceMetadata()
        return SBTResult(), self._file.metadata


# ---- writing ----


class SBTWriter:
    """Writes a file, which appears whole when `finalize` is called, or not at all."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._metadata = TraceMetadata()
        self._devices: list[DeviceInfo] | None = None
        self._has_metadata = self._done = False
        self._strings: dict[str, int] = {}
        self._records = bytearray()
        self._count = self._last = 0

    def is_open(self) -> bool:
        """Whether there is more to write, and a folder for it."""
        return not self._done and os.access(os.path.dirname(self._path) or ".", os.W_OK)

    def event_count(self) -> int:
        return self._count

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def _attempt(self, change: Callable[[], None]) -> SBTResult:
        if self._done:
            return SBTResult(False, f"{self._path}: finalize() was called")
        try:
            change()
        except (OSError, ValueError) as error:
            return SBTResult(False, f"{self._path}: {error}")
        return SBTResult()

    def write_metadata(self, metadata: TraceMetadata) -> SBTResult:
        def change() -> None:
            self._metadata, self._has_metadata = metadata, True
            if metadata.devices and self._devices is None:
                self._devices = list(metadata.devices)

        return self._attempt(change)

    def write_device_info(self, devices: Iterable[DeviceInfo]) -> SBTResult:
        def change() -> None:
            self._devices = list(devices)

        return self._attempt(change)

    def write_event(self, event: TraceEvent) -> SBTResult:
        return self.write_events([event])

    def write_events(self, events: Iterable[TraceEvent]) -> SBTResult:
        """Writes up to the first with a number that SBT cannot hold: the result says which."""
        def change() -> None:
            for event in events:
                self._add(event)

        return self._attempt(change)

    def _add(self, event: TraceEvent) -> None:
        flags = (_HAS_DURATION * bool(event.duration) | _HAS_KERNEL * (event.kernel_params is not None)
                 | _HAS_MEMORY * (event.memory_params is not None) | _HAS_STACK * (event.call_stack is not None))
        time = _varint(event.timestamp, _U64, f"event {self._count}: timestamp")
        before = self._last if self._count else event.timestamp
        record = bytes([event.type.value, flags]) + _varint(event.timestamp - before & _U64, _U64, "a difference of times")
        numbers = [(event.duration, _U64)] if event.duration else []
        numbers += [(event.device_id, _U32), (event.stream_id, _U32), (event.correlation_id, _U64), (self._string(event.name), _U64)]
        numbers += [(value, _U32) for value in event.kernel_params or ()]
        numbers += [(value, _U64) for value in event.memory_params or ()]
        if event.call_stack is not None:
            numbers += [(event.call_stack.thread_id, _U64), (event.call_stack.depth(), _U32)]
            for frame in event.call_stack.frames:
                numbers += [(frame.address, _U64), (self._string(frame.function_name), _U64), (self._string(frame.file_name), _U64),
                            (frame.line_number, _U32)]
        record += b"".join(_varint(value, limit, f"event {self._count} ({event.name}): each field") for value, limit in numbers)
        self._records += record if self._count else time + record
        self._last = event.timestamp
        self._count += 1

    def finalize(self) -> SBTResult:
        def change() -> None:
            write_whole(self._path, self._whole())
            self._done = True

        return self._attempt(change)

    def _whole(self) -> bytes:
        body = bytearray(_HEADER_BYTES)
        at = dict.fromkeys((_METADATA, _STRINGS, _DEVICES, _EVENTS), 0)

        def section(kind: int, content: bytes | bytearray) -> None:
            at[kind] = len(body)
            body.extend(bytes([kind]) + content)

        if self._has_metadata:
            m = self._metadata
            section(_METADATA, _text(m.application_name) + _text(m.command_line) + _varint(m.start_time, _U64, "start_time")
                    + _varint(m.end_time, _U64, "end_time") + _text(m.hostname) + _varint(m.process_id, _U32, "process_id"))
        if self._devices:
            rows = [_varint(d.device_id, _U32, "device_id") + _text(d.name) + _text(d.vendor)
                    + b"".join(_varint(value, _U64, "a fact of a device") for value in astuple(d)[3:]) for d in self._devices]
            section(_DEVICES, _varint(len(rows), _U32, "devices") + b"".join(rows))
        if self._count:
            section(_EVENTS, self._records)
        section(_STRINGS, _varint(len(self._strings), _U64, "strings") + b"".join(map(_text, self._strings)))
        body.append(_END)
        flags = _LITTLE_ENDIAN | (_HAS_STRINGS if self._strings else 0)
        header = _MAGIC + bytes([0, 0, 1, 0]) + flags.to_bytes(4, "little") + _HEADER_BYTES.to_bytes(4, "little")
        for value in (at[_METADATA], at[_STRINGS], at[_DEVICES], at[_EVENTS], 0, self._count, 0):
            header += value.to_bytes(8, "little")
        body[:_HEADER_BYTES] = header
        return bytes(body)
