"""Recording from inside of a program: sessions, the module's own, a decorator, torch.profiler's callback."""
from __future__ import annotations

import atexit
import functools
import inspect
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, ContextManager, Protocol, TypeVar, overload

from . import _heddle
from ._trace import PathLike
from ._work import convert

F = TypeVar("F", bound=Callable[..., Any])


class Session(_heddle.Session):
    """Events of this program's threads into a file (.hdcap), which every command of heddle and `heddle.open` read.

        with heddle.session("run.hdcap") as s:
            with s.slice("step", number=3):
                s.counter("loss", 0.2)

    Each thread writes into a ring of its own, without locks; a native thread writes the file while the program runs, so
    that what was recorded survives the program's death. Names are kept once. Times are CLOCK_MONOTONIC ns, `Session.now()`.

    policy       of a full ring: drop the "newest" or "oldest" event, or "block"; what is dropped is counted
    fork         what a child of fork does: "off", nothing; "file", writes NAME.PID.hdcap
    ring_events  of each thread, a power of two; 0: 16384
    flush_ms     events reach the file at most so much later; 0: 20
    """

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self.stop()

    def wrap(self, function: F | None = None, *, name: str | None = None, category: str | None = None) -> Any:
        """A decorator: each call of the function is a slice."""
        return _wrapped(function, name, category, lambda: self)


_active: Session | None = None
_lock = threading.Lock()


class _Nothing:
    """What `slice` gives where nothing is recorded."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *args: object) -> None:
        return None


_NOTHING = _Nothing()


def session(path: PathLike, *, policy: str = "newest", fork: str = "off", ring_events: int = 0, flush_ms: int = 0) -> Session:
    """Start a session of its own; see `Session`."""
    return Session(path, policy, fork, ring_events, flush_ms)


def start(path: PathLike | None = None, *, policy: str = "newest", fork: str = "off", ring_events: int = 0,
          flush_ms: int = 0) -> Session | None:
    """Start the module's session, to which `heddle.slice`, `counter`, `instant`, `memory` and `@heddle.trace` go; it is stopped
    at exit, or by `heddle.stop()`. Without a path it goes to the recording that `heddle record` makes of this program; where
    there is none, nothing is started, and None is returned: a program may call it always.
    """
    global _active
    if path is None:
        folder = os.environ.get("HEDDLE_CAPTURE_DIR")
        if not folder:
            return None
        path = os.path.join(folder, f"python-{os.getpid()}.hdcap")
    with _lock:
        if _active is not None:
            raise RuntimeError(f"a session is active: {_active.path}; heddle.stop() ends it")
        _active = session(path, policy=policy, fork=fork, ring_events=ring_events, flush_ms=flush_ms)
        return _active


def stop() -> dict[str, int] | None:
    """Stop the module's session. Returns its statistics: emitted, written, dropped_newest …; None: there was none."""
    global _active
    with _lock:
        ended, _active = _active, None
    return ended.stop() if ended is not None else None


def active() -> Session | None:
    """The module's session, if one was started."""
    return _active


atexit.register(stop)


def slice(name: str, category: str | None = None, /, **args: Any) -> ContextManager[Any]:
    """`with heddle.slice("step", number=3): …`: a slice in the module's session; next to nothing where none is active."""
    to = _active
    return _NOTHING if to is None else to.slice(name, category, **args)


def instant(name: str, category: str | None = None, /, **args: Any) -> None:
    """Something at this moment, in the module's session."""
    if (to := _active) is not None:
        to.instant(name, category, **args)


def counter(name: str, value: float, /) -> None:
    """A counter's value from now on, in the module's session."""
    if (to := _active) is not None:
        to.counter(name, value)


def memory(address: int, size: int, device: int | None = None, category: str | None = None) -> None:
    """An allocation of `size` bytes, or below 0 its release, in the module's session. device: a GPU's number, None: the host."""
    if (to := _active) is not None:
        to.memory(address, size, device, category)


def _wrapped(function: Any, name: str | None, category: str | None, session_of: Callable[[], Session | None]) -> Any:
    if function is None:
        return lambda given: _wrapped(given, name, category, session_of)
    shown = name or getattr(function, "__qualname__", None) or repr(function)

    if inspect.iscoroutinefunction(function):
        # Others run on the thread meanwhile: a slice of known ends, which may cross theirs.
        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            to = session_of()
            if to is None:
                return await function(*args, **kwargs)
            begin = to.now()
            try:
                return await function(*args, **kwargs)
            finally:
                to.complete(shown, begin, to.now(), category)

        return awaited

    # A generator runs between its `next`s, and what asks it in between: one slice from its first step to its end, which
    # may cross others, as of a coroutine.
    if inspect.isasyncgenfunction(function):
        @functools.wraps(function)
        async def stepped(*args: Any, **kwargs: Any) -> Any:
            made = function(*args, **kwargs)
            to = session_of()
            begin = to.now() if to is not None else 0
            step = made.asend(None)
            try:
                while True:
                    try:
                        value = await step
                    except StopAsyncIteration:
                        return
                    try:
                        sent = yield value
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        step = made.athrow(error)
                    else:
                        step = made.asend(sent)
            finally:
                await made.aclose()
                if to is not None:
                    to.complete(shown, begin, to.now(), category)

        return stepped

    if inspect.isgeneratorfunction(function):
        @functools.wraps(function)
        def yielded(*args: Any, **kwargs: Any) -> Any:
            to = session_of()
            begin = to.now() if to is not None else 0
            try:
                return (yield from function(*args, **kwargs))
            finally:
                if to is not None:
                    to.complete(shown, begin, to.now(), category)

        return yielded

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        to = session_of()
        if to is None:
            return function(*args, **kwargs)
        with to.slice(shown, category):
            return function(*args, **kwargs)

    return called


@overload
def trace(function: F) -> F: ...
@overload
def trace(function: None = None, *, name: str | None = None, category: str | None = None) -> Callable[[F], F]: ...


def trace(function: Any = None, *, name: str | None = None, category: str | None = None) -> Any:
    """`@heddle.trace`, `@heddle.trace(name="step")`: each call is a slice in the module's session, if one is active. Of an
    `async` function or a generator it lasts from its first step to its end."""
    return _wrapped(function, name, category, active)


class _Profiler(Protocol):
    def export_chrome_trace(self, path: str, /) -> Any: ...


def trace_handler(folder: PathLike, worker_name: str | None = None, *, format: str = "heddle", fix: bool = True) -> Callable[[_Profiler], str]:
    """For torch.profiler: ``profile(on_trace_ready=heddle.trace_handler("traces"))`` writes each trace into the folder as
    WORKER.TIME.pt.trace.FORMAT, with lanes repaired. worker_name: HOST_PID unless given. format: an extension: "heddle",
    "json.gz", "pftrace" … The handler returns the path.
    """
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def handle(profiler: _Profiler) -> str:
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        target = place / f"{worker}.{time.time_ns()}.pt.trace.{format}"
        with tempfile.TemporaryDirectory(prefix="heddle-", dir=place) as scratch:
            exported = os.path.join(scratch, "trace.json")
            profiler.export_chrome_trace(exported)
            convert(exported, target, fix=fix)
        return str(target)

    return handle
