"""Sessions: a program's own events and counters."""
from __future__ import annotations

import enum
import os
import threading
from dataclasses import dataclass, replace

from ._events import CounterEvent, TraceEvent, get_current_timestamp
from ._timeline import chrome_json, export

_EVENT_BYTES = 128


class TracingState(enum.Enum):
    Stopped = 0
    Starting = 1
    Running = 2
    Stopping = 3


class TracingMode(enum.Enum):
    InProcess = 0
    File = 1


@dataclass
class TracingConfig:
    """buffer_size_kb: room for events, of which 128 bytes are counted for each; None: as the session was made. duration_ms: what
    comes later is dropped; 0: no limit."""

    buffer_size_kb: int | None = None
    duration_ms: int = 0
    enable_counter_tracks: bool = True
    enable_flow_events: bool = True


@dataclass
class TracingStatistics:
    start_time: int = 0
    stop_time: int = 0
    events_emitted: int = 0
    events_dropped: int = 0
    counters_emitted: int = 0

    def duration_ms(self) -> float:
        return (self.stop_time - self.start_time) / 1e6


class TracingSession:
    """Keeps events and counters in memory, from any number of threads; what has no room is dropped, and counted.

    `heddle.session` writes a file instead, which survives the program.
    """

    def __init__(self, event_buffer_size: int = 65536, counter_buffer_size: int = 4096) -> None:
        self._lock = threading.Lock()
        self._room, self._counter_room = event_buffer_size, counter_buffer_size
        self._config = TracingConfig()
        self._active = False
        self._forget()

    def _forget(self) -> None:
        self._events: list[TraceEvent] = []
        self._counters: list[CounterEvent] = []
        self._statistics = TracingStatistics()

    def start(self, config: TracingConfig | None = None) -> bool:
        """False: it runs already. What an earlier run left is forgotten."""
        with self._lock:
            if self._active:
                return False
            self._forget()
            self._config = config or TracingConfig()
            if self._config.buffer_size_kb is not None:
                self._room = self._config.buffer_size_kb * 1024 // _EVENT_BYTES
            self._statistics.start_time = get_current_timestamp()
            self._active = True
            return True

    def stop(self) -> None:
        with self._lock:
            if self._active:
                self._statistics.stop_time = get_current_timestamp()
                self._active = False

    def _is_late(self, now: int) -> bool:
        limit = self._config.duration_ms
        return bool(limit) and now - self._statistics.start_time > limit * 1_000_000

    def emit(self, event: TraceEvent) -> bool:
        """Keep a copy of an event; without a timestamp it is of now. False: dropped, or the session does not run."""
        now = get_current_timestamp()
        with self._lock:
            if not self._active:
                return False
            if len(self._events) >= self._room or self._is_late(now):
                self._statistics.events_dropped += 1
                return False
            self._events.append(replace(event, timestamp=event.timestamp or now, metadata=dict(event.metadata)))
            self._statistics.events_emitted += 1
            return True

    def emit_counter(self, name: str, value: float, timestamp: int = 0) -> bool:
        """timestamp 0: now. False: dropped, or counters are off, or the session does not run."""
        now = get_current_timestamp()
        with self._lock:
            if not self._active or not self._config.enable_counter_tracks:
                return False
            if len(self._counters) >= self._counter_room or self._is_late(now):
                self._statistics.events_dropped += 1
                return False
            self._counters.append(CounterEvent(name, float(value), timestamp or now))
            self._statistics.counters_emitted += 1
            return True

    def export_to_file(self, filename: str | os.PathLike[str], use_protobuf: bool = True) -> bool:
        """For ui.perfetto.dev. Raises `heddle.Error` and `OSError` where that is not possible."""
        with self._lock:
            data = chrome_json(self._events, self._counters, self._config.enable_flow_events)
        return export(data, filename, use_protobuf)

    def get_events(self) -> list[TraceEvent]:
        with self._lock:
            return list(self._events)

    def get_counters(self) -> list[CounterEvent]:
        with self._lock:
            return list(self._counters)

    def get_statistics(self) -> TracingStatistics:
        """Of a session that runs: up to now."""
        with self._lock:
            return replace(self._statistics, stop_time=get_current_timestamp() if self._active else self._statistics.stop_time)

    def get_state(self) -> TracingState:
        return TracingState.Running if self._active else TracingState.Stopped

    def get_mode(self) -> TracingMode:
        return TracingMode.InProcess

    def is_active(self) -> bool:
        return self._active

    def event_buffer_size(self) -> int:
        with self._lock:
            return len(self._events)

    def event_buffer_capacity(self) -> int:
        return self._room

    def events_dropped(self) -> int:
        with self._lock:
            return self._statistics.events_dropped

    def clear(self) -> None:
        """Forget what was kept."""
        with self._lock:
            self._events.clear()
            self._counters.clear()
