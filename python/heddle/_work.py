"""From files to files: fix, convert, merge, crop, filter; and recording a command."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Union

from . import _heddle
from ._command import command, environment
from ._trace import PathLike, Patterns, Trace, _patterns, pass_text, path_of

Input = Union[PathLike, Trace]
Time = Union[str, int, None]


class Step(NamedTuple):
    """One line of the way; in + added == out + removed + lost."""

    name: str
    events_in: int
    added: int
    removed: int
    lost: int
    events_out: int


@dataclass(frozen=True)
class LedgerRow:
    stage: str
    code: str
    level: str  #: "note", "repair", "loss"
    count: int
    lost_events: int


@dataclass(frozen=True)
class ConvertReport:
    """Where every event went: events_in + added == events_out + removed + lost."""

    format: str
    events_in: int
    events_out: int
    added: int
    removed: int  #: by the options
    lost: int  #: what went with that
    new_lanes: int
    moved_slices: int
    snapped_crossings: int
    repairs: int
    losses: int
    steps: list[Step]
    ledger: list[LedgerRow]


class FixTrack(NamedTuple):
    pid: str
    tid: str
    lane_count: int  #: with the track's own
    slices: int
    moved: int
    snapped: int


class FixKernel(NamedTuple):
    """All changed slices of category "kernel" with one name. Times are ps."""

    name: str
    runs: int
    moved: int
    snapped: int
    delayed_ps: int
    trimmed_ps: int


class FixSlice(NamedTuple):
    """A slice that was changed. Times are ps."""

    name: str
    pid: str
    tid: str
    lane: int  #: 0: snapped in place
    lane_tid: str | None
    start_shift_ps: int
    end_shift_ps: int


@dataclass(frozen=True)
class FixReport:
    """What `fix` changed. Times are integer picoseconds."""

    slices: int
    moved: int
    snapped_crossings: int
    updated: int
    start_shift_ps: int
    end_shift_ps: int
    moved_others: int
    snapped_others: int
    flow_endpoints: int
    flows_unresolved: int
    new_lanes: int
    repairs: int
    losses: int
    output_bytes: int
    tracks: list[FixTrack]
    kernels: list[FixKernel]
    moved_list: list[FixSlice]
    snapped_list: list[FixSlice]


def convert(source: Input | Sequence[Input], target: PathLike, *, format: str | None = None, passes: Iterable[str] = (),
            fix: bool = False, ranks: bool = False, processes: bool = False, strict: bool = False, threads: int = 0,
            memory_limit: int = 0, level: int = 0, pretty: bool = False, clean: bool = False,
            binary: PathLike | None = None) -> ConvertReport:
    """Write traces as another file; several inputs become one trace. `target` appears whole or not at all.

    format      of the target; else by its extension
    passes      run in this order, as `heddle passes` writes them: "crop:from=10%", "lanes" …; fix: "lanes" at the end
    ranks       name processes by their rank, also of one input; processes: the inputs are processes of one run, not ranks
    strict      write nothing if anything of the input would be lost: `DamagedError`, `UnsupportedError`
    binary      the program of an XRay log, which has the names of its functions; else it is searched next to the log
    level       of compression; pretty: indent JSON; clean: replace an OTF2 archive or a folder that is there

    After Ctrl-C nothing is written if reading had not ended; what is being written by then is finished in the background.
    """
    inputs: Sequence[Input] = [source] if isinstance(source, (str, os.PathLike, Trace)) else source
    chain = [*passes, *(["lanes"] if fix else [])]
    with tempfile.TemporaryDirectory(prefix="heddle-") as folder:
        paths = []
        for i, one in enumerate(inputs):
            place = Path(folder, str(i))
            place.mkdir()
            paths.append(path_of(one, place))
        raw = _heddle.convert(paths, target, format, chain, ranks, processes, strict, threads, memory_limit, level, pretty, clean,
                              binary)
    raw["steps"] = [Step(*row) for row in raw["steps"]]
    raw["ledger"] = [LedgerRow(*row) for row in raw["ledger"]]
    return ConvertReport(**raw)


def merge(sources: Sequence[Input], target: PathLike, *, processes: bool = False, **options: Any) -> ConvertReport:
    """Put traces into one, as ranks of a job, or as processes of one run. Options of `convert`."""
    return convert(sources, target, ranks=not processes, processes=processes, **options)


def crop(source: Input, target: PathLike, *, from_: Time = None, until: Time = None, clip: bool = False,
         **options: Any) -> ConvertReport:
    """Keep what touches [from_, until): "1.5s", "10%", or int ns, counted from the first event. clip: cut slices there.
    Options of `convert`."""
    return convert(source, target, passes=[pass_text("crop", {"from": from_, "until": until, "clip": clip})], **options)


def filter(source: Input, target: PathLike, *, tracks: Patterns = None, names: Patterns = None, category: Patterns = None,
           **options: Any) -> ConvertReport:
    """Keep the events of some tracks, names, categories: patterns as of `Trace.table`. Options of `convert`."""
    chosen = {"tracks": _patterns(tracks), "names": _patterns(names), "category": _patterns(category)}
    return convert(source, target, passes=[pass_text("filter", chosen)], **options)


def fix(source: PathLike, target: PathLike | None = None, *, snap_us: float = 5.0, dry_run: bool = False,
        full_lists: bool = False, strict: bool = False, pretty: bool = False, threads: int = 0,
        memory_limit: int = 0) -> FixReport:
    """Repair the lanes of a Chrome JSON trace, so that every viewer shows every slice; all other bytes stay as they are.

    snap_us     crossings smaller than this are timing noise, and snapped in place; 0: none
    dry_run     report only; `target` is not needed then, and not touched
    full_lists  list every changed slice, not the 50 largest

    Raises `UnsupportedError` for what is not Chrome JSON: `convert(…, fix=True)` takes all formats.
    """
    if target is None and not dry_run:
        raise ValueError("name the target; it may be the source")
    snap_ps = round(snap_us * 1_000_000)
    if snap_ps < 0:
        raise ValueError("snap_us is 0 or more")
    raw = _heddle.fix(source, source if target is None else target, snap_ps or -1, dry_run, full_lists, strict, pretty, threads,
                      memory_limit)
    raw["tracks"] = [FixTrack(*row) for row in raw["tracks"]]
    raw["kernels"] = [FixKernel(*row) for row in raw["kernels"]]
    raw["moved_list"] = [FixSlice(*row) for row in raw["moved_list"]]
    raw["snapped_list"] = [FixSlice(*row) for row in raw["snapped_list"]]
    return FixReport(**raw)


@dataclass(frozen=True)
class Recording:
    """What `record` gives."""

    output: str | None  #: the trace; None: nothing was captured
    exit_status: int  #: the command's, as shells have it
    stderr: str  #: what `heddle record` said; empty unless `quiet`


def record(argv: Sequence[Union[str, "os.PathLike[str]"]], output: PathLike | None = None, *, quiet: bool = False,
           **options: Any) -> Recording:
    """Run a command and write what it and its children do on the GPU: `heddle record`, whose options these are, with _ for -
    (``python=True``, ``memory=True``, ``steps="3:5"`` …). The command has this process's terminal and environment. A
    Python program that calls `heddle.start()` is in the trace with its own events.

    Raises `subprocess.SubprocessError` if heddle itself fails; a command that fails is not an error.
    """
    words = [os.fspath(word) for word in argv]
    if not words:
        raise ValueError("no command is named")
    if output is None:
        output = f"{Path(words[0]).name}-{os.getpid()}.heddle"
    arguments = [command(), "record", "--output", os.fspath(output)]
    for key, value in options.items():
        name = "--" + key.rstrip("_").replace("_", "-")
        if value is True:
            arguments.append(name)
        elif value is not None and value is not False:
            arguments += [name, str(value)]
    sys.stdout.flush()
    sys.stderr.flush()
    ran = subprocess.run([*arguments, "--", *words], env=environment(), text=True, errors="surrogateescape",
                         stderr=subprocess.PIPE if quiet else None)
    if ran.returncode == 2 and not os.path.exists(output):
        raise subprocess.CalledProcessError(2, arguments, stderr=ran.stderr)
    return Recording(os.fspath(output) if os.path.exists(output) else None, ran.returncode, ran.stderr or "")


def version() -> dict[str, Any]:
    """What the `heddle` command of this package says of its build."""
    out = subprocess.run([command(), "version", "--json"], check=True, capture_output=True, text=True).stdout
    parsed: dict[str, Any] = json.loads(out)
    return parsed
