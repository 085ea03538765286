"""Two runs compared: heddle.diff."""
from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Union

from . import _heddle
from ._table import Report
from ._trace import PathLike, Trace, open

Side = Union[PathLike, Trace, Sequence[Union[PathLike, Trace]]]
_Half = tuple[list[_heddle.Trace], list[str], list[str]]
_Raw = tuple[str, str, list[tuple[str, _heddle.Table]]]
_ACROSS = {"gpus": 1, "ranks": 2}


class Diff(Report):
    """What `heddle.diff` gives: the table `rows`, and all others in `tables`: step, parts, counts, figures, steps, sides, differs, reasons,
    gate."""

    def __init__(self, run: Callable[[str | None], _Raw]) -> None:
        verdict, gate, tables = run(None)
        super().__init__("diff", tables)
        self._run = run
        self.verdict = verdict  #: "same", "slower", "faster", "inconclusive"
        self.gate = gate  #: of all conditions: "passes", "fails", "cannot be said"
        self.sentence: str = self.tables["step"]["sentence"][0]
        self.reasons: list[str] = self.tables["reasons"]["reason"]  #: why nothing can be concluded
        self._page = self._make_page

    def __repr__(self) -> str:
        return f"<heddle.Diff: {self.sentence}>\n{super().__repr__()}"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a diff cannot be pickled: its tables can")

    def write(self, path: PathLike) -> None:
        """Write it, by the extension: .html, a page with pictures; .json, .md; .csv and .parquet, the rows; FOLDER/ each table."""
        self._run(os.fspath(path))

    def _make_page(self) -> bytes:
        with tempfile.TemporaryDirectory(prefix="heddle-") as folder:
            path = Path(folder, "diff.html")
            self.write(path)
            return path.read_bytes()


def _half(side: Side, stack: ExitStack) -> _Half:
    handles: list[_heddle.Trace] = []
    names: list[str] = []
    baselines: list[str] = []
    for one in [side] if isinstance(side, (str, os.PathLike, Trace)) else side:
        if not isinstance(one, Trace):
            if _heddle.is_baseline(one):
                baselines.append(os.fspath(one))
                continue
            one = stack.enter_context(open(one))
        for part in one._open_parts():
            handles.append(part.handle)
            names.append(part.path or "<memory>")
    return handles, names, baselines


def diff(before: Side, after: Side, *, step: str | None = None, fail_if: Iterable[str] = (), min_ns: int = 20_000, noise: float = 0.0,
         across: Iterable[str] = (), seed: int = 0, all: bool = False) -> Diff:
    """Compare two runs: what got slower, and is it real? `heddle diff`; docs/diff.md says what is compared and how.

        change = heddle.diff("main.json.gz", "branch.json.gz", fail_if=["step>3%"])
        change.verdict, change.sentence, change.gate
        change.to_pandas()                  # the rows: what makes up the change
        change.tables["parts"]

    A side is a trace, a path, a baseline of `heddle diff --save`, or a list of these: ranks, or several runs.

    step        annotations of these names are the steps; "none": whole recordings
    fail_if     conditions as "step>3%", "launches>0": see `gate`
    min_ns      what changes by less per step is noise; noise: likewise, in percent of before
    across      "gpus", "ranks": what may differ
    all         rows that are noise as well
    """
    if min_ns < 1:
        raise ValueError("min_ns is 1 or more")
    fail_if = list(fail_if)
    words = [across] if isinstance(across, str) else [*across]
    if unknown := [word for word in words if word not in _ACROSS]:
        raise ValueError(f"across is \"gpus\" or \"ranks\", not {unknown[0]!r}")
    with ExitStack() as stack:
        halves = _half(before, stack), _half(after, stack)

        def run(path: str | None) -> _Raw:
            return _heddle.diff(*halves, step, path, fail_if, min_ns, noise / 100, seed, sum(_ACROSS[word] for word in {*words}), all)

        return Diff(run)
