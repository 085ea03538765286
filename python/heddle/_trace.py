"""Opening traces, and reading their tables and reports."""
from __future__ import annotations

import array
import difflib
import json
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Union, cast

from . import _heddle
from ._errors import ArgumentError, LossWarning
from ._look import Flame, Timeline, View, timeline, view
from ._table import Report, Table


class Readable(Protocol):
    """A file object: `read(n)` gives bytes, b"" at the end."""

    def read(self, size: int, /) -> bytes: ...


PathLike = Union[str, "os.PathLike[str]"]
Source = Union[PathLike, bytes, bytearray, memoryview, Readable]
Patterns = Union[str, Iterable[str], None]


@dataclass(frozen=True)
class Info(Mapping[str, Any]):
    """Facts about a trace, as attributes or as keys of a dict. Unknown ones are None.

    format, compression   "chrome", "gzip"                         origin        of a store: the format that it was made from
    stored_bytes          size of the file; input_bytes: unpacked    has_args    whether arguments were read
    start_ns, end_ns      span of the events, on the trace's clock   base_ns     Unix time of that clock's zero
    rank, world_size      of a distributed job                       events      how many there are; `counts` by kind
    """

    format: str
    compression: str
    stored_bytes: int
    input_bytes: int
    start_ns: int | None
    end_ns: int | None
    base_ns: int | None
    rank: int | None
    world_size: int | None
    has_args: bool
    origin: str | None
    events: int
    counts: dict[str, int]
    track_count: int

    @property
    def span(self) -> tuple[int, int] | None:
        """start_ns and end_ns; None: no event has a time."""
        return None if self.start_ns is None or self.end_ns is None else (self.start_ns, self.end_ns)

    @property
    def duration_ns(self) -> int | None:
        return None if self.start_ns is None or self.end_ns is None else self.end_ns - self.start_ns

    def __getitem__(self, key: str) -> Any:
        if key not in self.__dataclass_fields__ and key not in ("span", "duration_ns"):
            raise KeyError(f"{key}: there are {', '.join(self)}, span, duration_ns")
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return (field.name for field in fields(self))

    def __len__(self) -> int:
        return len(fields(self))


@dataclass(frozen=True)
class _Part:
    """One input: its handle and its source."""

    handle: _heddle.Trace
    path: str | None  # None: memory, or a file object


def _patterns(given: Patterns) -> str | None:
    if given is None or isinstance(given, str):
        return given
    return ",".join(given)


def option_texts(options: Mapping[str, Any]) -> list[str]:
    """Options of reports and passes from keyword arguments: rows=5, by="stream", series=True, from_="10%", names=["a", "b"]."""
    texts = []
    for key, value in options.items():
        name = key.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            texts.append(name)
        elif isinstance(value, (list, tuple, set, frozenset)):
            texts.extend(f"{name}={os.fspath(item)}" for item in value)
        else:
            texts.append(f"{name}={_option_text(name, value)}")
    return texts


def _option_text(name: str, value: Any) -> str:
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, int) and name in ("from", "until", "clock-offset"):
        return f"{value}ns"
    return str(value)


def _time_text(value: str | int | None) -> str | None:
    return f"{value}ns" if isinstance(value, int) else value


def pass_text(name: str, options: Mapping[str, Any]) -> str:
    """As `heddle passes` writes it: NAME:KEY=VALUE,…, with a backslash before a comma in a value."""
    texts = [text.replace("\\", "\\\\").replace(",", "\\,") for text in option_texts(options)]
    return name + (":" + ",".join(texts) if texts else "")


# Tables that have a row for each event of a kind.
_KINDS = {"slices": "slice", "ends": "end", "instants": "instant", "flows": "flow", "async": "async", "samples": "sample",
          "objects": "object", "meta_events": "meta", "other": "other"}


# Names that users of other libraries try.
_FOREIGN = {**dict.fromkeys(("df", "to_pandas", "to_polars", "to_arrow", "events"), "it has several tables: trace.slices().to_pandas(), for one"),
            **dict.fromkeys(("sql", "execute"), 'trace.query("select …")'), "reports": "heddle.reports() lists them",
            "tables": "heddle.tables() lists them", **dict.fromkeys(("save", "export", "to_json"), "trace.write(path)")}


class Trace:
    """A trace, which never changes. Made by `heddle.open`; a context manager.

    Any number of threads may use one trace at the same time. Its tables stay valid after it is closed, and keep its data in
    memory. A trace of files can be pickled; unpickling reads the files again.
    """

    def __init__(self, parts: list[_Part], options: dict[str, Any]) -> None:
        self._parts: list[_Part] | None = parts
        self._options = options
        self._lock = threading.Lock()
        self._whole: _heddle.Trace | None = parts[0].handle if len(parts) == 1 else None

    # ---- life ----

    if not TYPE_CHECKING:  # which would take every name for one that exists

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"'Trace' object has no attribute {name!r}")
            report = name.replace("_", "-")
            near = difflib.get_close_matches(name, [own for own in dir(Trace) if not own.startswith("_")], 1)
            ours = (f'trace.report("{report}")' if report in reports() else _FOREIGN.get(name) or
                    (f'trace.table("{name}")' if name in tables() else f"did you mean {near[0]}?" if near else "help(heddle.Trace) lists what it has"))
            raise AttributeError(f"a trace has no {name}: {ours}")

    def close(self) -> None:
        """Release the trace: later use is an error. Its tables keep the data that they need."""
        with self._lock:
            self._parts = None
            self._whole = None

    @property
    def closed(self) -> bool:
        return self._parts is None

    def __enter__(self) -> Trace:
        self._open_parts()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def _open_parts(self) -> list[_Part]:
        parts = self._parts
        if parts is None:
            raise ValueError("the trace is closed: open it again")
        return parts

    def _handle(self) -> _heddle.Trace:
        """The trace; of several inputs, merged as ranks when it is first needed."""
        with self._lock:
            parts = self._open_parts()
            if self._whole is None:
                self._whole = _heddle.run_pass([part.handle for part in parts], [part.path or "" for part in parts], "merge", None)
            return self._whole

    def _tell_unread(self) -> None:
        """Warns about parts of a store that could not be read since the last warning."""
        for handle, path in [(part.handle, part.path) for part in self._parts or []] + [(self._whole, None)]:
            if handle is not None and (count := handle.unread()):
                warnings.warn(f"{path or '<memory>'}: {count:,} block{'s' if count > 1 else ''} of events cannot be read: "
                              "results do not contain them", LossWarning, stacklevel=_callers_level())

    def __reduce__(self) -> tuple[Any, ...]:
        paths = self.paths
        if len(paths) != len(self._open_parts()):
            raise TypeError("a trace that was read from memory or a file object cannot be pickled: it has no path")
        return _reopen, (paths, self._options)

    @property
    def paths(self) -> list[str]:
        """The files that the trace was read from; none for bytes and file objects."""
        return [part.path for part in self._open_parts() if part.path is not None]

    def __repr__(self) -> str:
        if self._parts is None:
            return "<heddle.Trace, closed>"
        names = ", ".join(part.path or "<memory>" for part in self._parts)
        events = sum(part.handle.facts()["events"] for part in self._parts)
        return f"<heddle.Trace {names}: {events:,} events>"

    # ---- what it says of itself ----

    @property
    def info(self) -> Info:
        """Format, size, span, rank, counts. For several inputs: of all of them, merged."""
        return Info(**self._handle().facts())

    @property
    def metadata(self) -> dict[str, Any]:
        """The top-level keys of the input, parsed as JSON where possible, else as text."""
        out: dict[str, Any] = {}
        for key, text in self._handle().metadata():
            try:
                out[key] = json.loads(text)
            except ValueError:
                out[key] = text
        return out

    @property
    def ledger(self) -> Table:
        """Repairs and losses while reading: stage, code, level ("note", "repair", "loss"), count, first byte offset in the
        decompressed input, detail."""
        return self.table("ledger")

    # ---- tables ----

    def table(self, name: str, columns: Iterable[str] | None = None, start: int | None = None, end: int | None = None,
              tracks: Patterns | Iterable[int] = None, names: Patterns = None) -> Table:
        """A table of the trace by its name: "slices", "counters", "flows", "args", "tracks" and the others that `heddle.tables()` lists.

        columns     only these, in this order
        start, end  int ns on the trace's clock: only events that overlap [start, end)
        tracks      only events on these tracks: their ids, or patterns
        names       only events of these names: patterns

        Patterns are globs, ``/regex/``, or ``!pattern`` to exclude: a list, or a text with commas between them.
        Raises `ArgumentError` for an unknown table or column.
        """
        handle = self._handle()
        ids: array.array[int] | None = None
        if tracks is not None and not isinstance(tracks, str):
            listed = list(cast("Iterable[str | int]", tracks))
            if listed and all(isinstance(track, int) for track in listed):
                ids, tracks = array.array("I", cast("list[int]", listed)), None
            else:
                tracks = cast("list[str]", listed)
        chosen = (start, end, _patterns(names), _patterns(cast(Patterns, tracks)), ids)
        listed_columns = None if columns is None else ",".join([columns] if isinstance(columns, str) else columns)
        handle.stream(name, listed_columns, *chosen)  # raises what is wrong

        def count() -> int:
            kind = _KINDS.get(name)
            if kind is not None and chosen == (None, None, None, None, None):
                counts: dict[str, int] = handle.facts()["counts"]
                return counts[kind]
            first = handle.stream(name, listed_columns, *chosen).schema()[0][0]
            return handle.stream(name, first, *chosen).count()

        return Table(name, lambda: handle.stream(name, listed_columns, *chosen), count, after=self._tell_unread)

    def slices(self, columns: Iterable[str] | None = None, start: int | None = None, end: int | None = None,
               tracks: Patterns | Iterable[int] = None, names: Patterns = None) -> Table:
        """Slices: events with a begin and an end. Options as for `table`. `ts` and `dur` are int64 ns."""
        return self.table("slices", columns, start, end, tracks, names)

    def counters(self, columns: Iterable[str] | None = None, start: int | None = None, end: int | None = None,
                 tracks: Patterns | Iterable[int] = None, names: Patterns = None) -> Table:
        """Samples of counters: a row for each value. Options as for `table`."""
        return self.table("counters", columns, start, end, tracks, names)

    def flows(self, columns: Iterable[str] | None = None, start: int | None = None, end: int | None = None,
              tracks: Patterns | Iterable[int] = None, names: Patterns = None) -> Table:
        """Arrows between slices. Options as for `table`."""
        return self.table("flows", columns, start, end, tracks, names)

    def args(self, columns: Iterable[str] | None = None) -> Table:
        """Arguments of events: a row for each key of each event."""
        return self.table("args", columns)

    def launches(self, columns: Iterable[str] | None = None) -> Table:
        """GPU activities with the API call that launched each: `work_id` and `call_id` are rows of `slices`, `delay` is the time
        from the end of the call to the start of the activity, in ns."""
        return self.table("launches", columns)

    @property
    def tracks(self) -> Table:
        """Processes, threads, streams."""
        return self.table("tracks")

    # ---- analyses ----

    def report(self, name: str, **options: Any) -> Report:
        """An analysis: "kernels", "steps", "idle", "breakdown" …: `heddle.reports()` lists them, docs/reports explains them.

        Options are those of `heddle report NAME`, with _ for -: ``report("kernels", by="stream", from_="10%")``. The result is
        its first table; ``.tables`` has all. Raises `ArgumentError` for an unknown report or option.
        """
        tables = _heddle.report(self._handle(), name, option_texts(options))
        if not tables:
            raise ArgumentError(f"report {name} gave no table")
        self._tell_unread()
        report = Report(name, tables)
        names = [name, "info", "timeline", "kernels"] if name == "summary" else [name]
        report._page = lambda: _heddle.page(self._handle(), self.paths[0] if self.paths else "trace", names, option_texts(options), name == "summary")
        return report

    def check(self, **options: Any) -> Report:
        """Events that a viewer drops or draws wrong, or an analysis misreads: a row for each finding, as in `heddle check`."""
        return self.report("check", **options)

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None, /, *, timeout: float | None = None, **params: Any) -> Table:
        """SQL over the trace: docs/query.md has the tables, named as in Perfetto where it has them::

            trace.query("select name, sum(dur) from slice where ts >= :since group by name", since=0)

        Parameters are `:name`, given by name or as a mapping. With several statements, the rows of the last one are returned; they are
        kept in memory. timeout: seconds. Each of several inputs is a `rank`. Raises `ArgumentError` with `offset`, the place
        in the SQL, and a hint; `LimitError` after the timeout. Ctrl-C ends it.
        """
        parts = self._open_parts()
        given = {**(parameters or {}), **params}
        held = _heddle.query([part.handle for part in parts], [part.path or "" for part in parts], sql, given,
                             0 if timeout is None else max(1, round(timeout * 1000)))
        self._tell_unread()
        return Table("query", held.stream, held.rows)

    def flame(self, of: str = "auto", *, by: str = "nothing", from_: str | int | None = None, until: str | int | None = None,
              names: Patterns = None, event: str | None = None, reverse: bool = False, full_names: bool = False,
              title: str | None = None) -> Flame:
        """A flame graph: the code for which the GPU, or the CPU, is busy. of: "gpu-time", "cpu-time", "cpu-self", "launches",
        "bytes", "samples"; by: "rank", "device", "stream", "thread", "step", "name", "group"."""
        handles = [part.handle for part in self._open_parts()]
        flame = Flame(handles, (of, by, _time_text(from_), _time_text(until), _patterns(names), event, reverse, full_names, title))
        self._tell_unread()
        return flame

    # ---- to look at ----

    def view(self, height: int = 700, port: int = 0) -> View:
        """The viewer, served on this machine: shown in a notebook, `.show()` opens a browser, `.url` is its address."""
        paths, scratch = self._files()
        return view(paths, height, port, scratch)

    def timeline(self, **options: Any) -> Timeline:
        """How busy each row is over time, as text: `heddle timeline`, whose options these are (rows, width, from_, until,
        tracks)."""
        paths, scratch = self._files()
        try:
            return timeline(paths, {key: _time_text(value) if key in ("from_", "until") else value for key, value in options.items()})
        finally:
            if scratch is not None:
                scratch.cleanup()

    def _files(self) -> tuple[list[str], tempfile.TemporaryDirectory[str] | None]:
        """Files with the trace: its sources, or a store written from it."""
        paths = self.paths
        if not self._options.get("binary") and len(paths) == len(self._open_parts()):
            return paths, None
        scratch = tempfile.TemporaryDirectory(prefix="heddle-")
        path = os.path.join(scratch.name, "trace.heddle")
        self.write(path)
        return [path], scratch

    # ---- other traces ----

    def apply(self, name: str, **options: Any) -> Trace:
        """A new trace, made by a pass: "crop", "filter", "lanes", "attribution" …, as `heddle.passes()` lists them."""
        known = {kind[0]: kind[2] for kind in _heddle.passes()}
        second: _heddle.Trace | None = None
        for option, kind, _, _ in known.get(name, []):
            key = option.replace("-", "_")
            if kind == "file" and isinstance(options.get(key), Trace):
                second = options[key]._handle()
                options[key] = "<trace>"
            elif kind == "file" and options.get(key) is not None:
                second = open(options[key])._handle()
        made = _heddle.run_pass([self._handle()], [""], pass_text(name, options), second)
        return Trace([_Part(made, None)], {})

    def crop(self, from_: str | int | None = None, until: str | int | None = None, clip: bool = False) -> Trace:
        """Only events that overlap a range of time: "1.5s", "10%", or int ns, from the first event on. clip: cut slices there."""
        return self.apply("crop", from_=from_, until=until, clip=clip)

    def filter(self, tracks: Patterns = None, names: Patterns = None, category: Patterns = None) -> Trace:
        """Only the events of some tracks, names, categories: patterns as for `table`."""
        return self.apply("filter", tracks=_patterns(tracks), names=_patterns(names), category=_patterns(category))

    def write(self, path: PathLike, level: int = 0, pretty: bool = False, strict: bool = False, clean: bool = False,
              threads: int = 0) -> list[dict[str, Any]]:
        """Write the trace, in the format of the extension (.heddle, .json.gz, .pftrace, .parquet …); an unknown one is an
        `ArgumentError`. The file appears whole or not at all. strict: fail instead of losing data. Returns the losses."""
        _, rows = _heddle.write(self._handle(), path, "", level, pretty, strict, clean, threads)
        return [dict(zip(("stage", "code", "level", "count", "lost_events"), row)) for row in rows]

    def to_bytes(self, format: str = "heddle", level: int = 0, threads: int = 0) -> bytes:
        """The trace as a file's bytes; format: an extension, "json", "json.gz", "heddle", "pftrace" …, or the name of a format"""
        extension = {name: ends.split()[0] for name, _, ends, _, writes in _heddle.formats() if writes}.get(format, f".{format}")
        data, _ = _heddle.write(self._handle(), None, f"trace{extension}", level, False, False, False, threads)
        assert data is not None
        return data


def _read(source: Source, strict: bool, lazy: bool, sources: bool, args: bool, threads: int, memory_limit: int,
          binary: PathLike | None) -> _Part:
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        return _Part(_heddle.read("path", path, None, strict, lazy, sources, args, threads, memory_limit, binary), path)
    if isinstance(source, (bytes, bytearray, memoryview)):
        kind = "memory"
    elif hasattr(source, "read"):
        kind = "file"
    else:
        raise TypeError(f"a path, bytes, or a file object is needed, not {type(source).__name__}")
    name = getattr(source, "name", None)
    return _Part(_heddle.read(kind, source, name if isinstance(name, str) else None, strict, lazy, sources, args, threads, memory_limit,
                              binary), None)


def _callers_level() -> int:
    """The `stacklevel` with which a warning points to the caller's line outside the package."""
    level, here, frame = 1, os.path.dirname(__file__), sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == here:
        level, frame = level + 1, frame.f_back
    return level


def _warn(part: _Part) -> None:
    ledger = Table("ledger", lambda: part.handle.stream("ledger", None, None, None, None, None, None))
    lost = [row for row in ledger if row.level == "loss"]
    if lost:
        what = "; ".join(f"{row.count:,} × {row.code}" for row in lost[:5]) + ("; …" if len(lost) > 5 else "")
        warnings.warn(f"{part.path or '<memory>'}: reading lost something: {what} (trace.ledger has all)", LossWarning,
                      stacklevel=_callers_level())


def open(source: Source | Iterable[Source], *, strict: bool = False, lazy: bool = True, sources: bool = False, args: bool = True,
         threads: int = 0, memory_limit: int = 0, binary: PathLike | None = None) -> Trace:
    """Read a trace of any format that `heddle.formats()` lists, also compressed with gzip or zstd.

    source        a path, bytes, a file object (opened as binary), or a list of these, which are the ranks of one run, each
                  with its own processes, on the clock with the earliest origin (if all origins are known)
    strict        refuse damage instead of repairing it: `DamagedError`
    lazy          read the blocks of a store (.heddle) when they are first needed. If its file is changed meanwhile, reading fails with
                  an `InputError`. Other formats are read at once
    sources       keep byte offsets and repairs (the report "check" prints them)
    args          read arguments; without them, reading is faster and takes less memory
    threads       0: one per core
    memory_limit  limit of memory for events, in bytes; the rest goes to a temporary file; 0: a quarter of the machine's
    binary        the program of an XRay log, for the names of its functions; None: it is searched next to the log

    Raises `NotFoundError`, `InputError`, `FormatError`, `DamagedError`. Losses while reading are a `LossWarning`,
    once for each input.
    """
    items = list(source) if isinstance(source, (list, tuple)) else [cast(Source, source)]
    if not items:
        raise ValueError("no trace is named")
    parts = []
    for item in items:
        parts.append(_read(item, strict, lazy, sources, args, threads, memory_limit, binary))
        _warn(parts[-1])
    if len(parts) > 1:
        _heddle.share_clock([part.handle for part in parts])
    return Trace(parts, {"strict": strict, "lazy": lazy, "sources": sources, "args": args, "threads": threads,
                         "memory_limit": memory_limit, "binary": binary})


def _reopen(paths: list[str], options: dict[str, Any]) -> Trace:
    return open([*paths], **options)


def tables() -> dict[str, dict[str, str]]:
    """The tables of `Trace.table`, with their columns and the meanings of these."""
    return {name: {column: meaning for column, _, meaning in columns} for name, _, columns in _heddle.arrow_tables()}


def reports() -> dict[str, str]:
    """The reports of `Trace.report`, with a description of each."""
    return {name: title for name, title, _, _ in _heddle.reports()}


def formats() -> dict[str, str]:
    """The formats that this build reads, with their titles."""
    return {name: title for name, title, _, reads, _ in _heddle.formats() if reads}


def passes() -> dict[str, str]:
    """The passes of `Trace.apply`, with a description of each."""
    return {name: summary for name, summary, _ in _heddle.passes()}


def path_of(source: PathLike | Trace, folder: Path) -> str:
    """A file with the trace: its source, or a store written into the folder."""
    if not isinstance(source, Trace):
        return os.fspath(source)
    paths = source.paths
    if len(paths) == 1 and os.path.exists(paths[0]) and not source._options.get("binary"):
        return paths[0]
    path = folder / "trace.heddle"
    source.write(path)
    return str(path)
