"""trace-lanefix's entry point: `fix_overlaps`, with its parameters and its report on standard output.

    from heddle.compat.lanefix import fix_overlaps

    fix_overlaps("trace.json", "fixed.json", snap_threshold_us=2.5)

The output is the input with patches, not printed anew; both may be packed, and be the same file. `heddle.fix` gives the report as
data.
"""
from __future__ import annotations

import math
import os

import heddle

__all__ = ["SNAP_THRESHOLD_US", "fix_overlaps"]

SNAP_THRESHOLD_US = 5.0
_PS_PER_US = 1_000_000


def fix_overlaps(in_path: str | os.PathLike[str], out_path: str | os.PathLike[str],
                 snap_threshold_us: float = SNAP_THRESHOLD_US) -> None:
    """Repair the lanes of a Chrome or Kineto trace, so that Perfetto shows every slice, and print what was changed.

    Crossings below snap_threshold_us are snapped in place (0: none), larger ones move to a lane of their own. out_path appears
    whole or not at all. Raises `heddle.Error`: the input cannot be read, or the output not be written.
    """
    if not 0 <= snap_threshold_us < math.inf:
        raise ValueError(f"snap_threshold_us is microseconds, 0 or more, not {snap_threshold_us}")
    report = heddle.fix(in_path, out_path, snap_us=snap_threshold_us, full_lists=True)
    print("\n".join(_lines(report, snap_threshold_us, os.fspath(out_path))))


def _time(ps: int) -> str:
    """480ns, 0.2ns, 2.848us; nothing at all is 0.000us."""
    if ps == 0 or ps >= _PS_PER_US:
        ns = (ps + 500) // 1000
        return f"{ns // 1000}.{ns % 1000:03}us"
    return f"{ps // 1000}ns" if ps % 1000 == 0 else f"{ps / 1000:.6g}ns"


def _sums(start_ps: int, end_ps: int, words: tuple[str, str, str]) -> str:
    return ", ".join(f"{word}={_time(ps)}" for word, ps in zip(words, (start_ps, end_ps, start_ps + end_ps)))


def _lines(report: heddle.FixReport, threshold_us: float, out_path: str) -> list[str]:
    lines = [f"processing {len(report.tracks)} track(s)"]
    lines += [f"  pid={track.pid} tid={track.tid}: {track.lane_count} lane(s), {track.moved} slice(s) moved, {track.snapped} snapped"
              for track in report.tracks if track.moved or track.snapped]
    lines.append(f"snapped {report.snapped_crossings} sub-{threshold_us}us crossing(s)")
    if report.updated:
        words = ("total |start shift|", "total |end shift|", "total |boundary shift|")
        lines.append(f"updated {report.updated} slice(s): {_sums(report.start_shift_ps, report.end_shift_ps, words)}")
    if kernels := report.kernels:
        words = ("total delayed", "total trimmed", "total boundary shift")
        lines.append(f"kernel timing summary ({sum(k.runs for k in kernels)} run(s) across {len(kernels)} kernel name(s)):")
        lines += [f"  {k.name}: runs={k.runs}, {_sums(k.delayed_ps, k.trimmed_ps, words)}, moved={k.moved}, snapped={k.snapped}"
                  for k in kernels]
    if report.moved_others:
        lines.append(f"moved slices ({report.moved_others}):")
        lines += [f"  {s.name} pid={s.pid}: moved to lane {s.lane} (tid {s.tid} -> {s.lane_tid})"
                  for s in report.moved_list]
    if report.snapped_others:
        lines.append(f"snapped slices ({report.snapped_others}):")
        lines += [f"  {s.name} pid={s.pid} tid={s.tid}: {_shifts(s)}" for s in report.snapped_list]
    lines.append(f"rewrote {report.flow_endpoints} flow endpoint(s) onto rewritten slice starts/lanes")
    if report.flows_unresolved:
        lines.append(f"could not keep {report.flows_unresolved} flow endpoint(s) bound to their slice")
    if report.repairs or report.losses:
        lines.append(f"mended broken JSON in {report.repairs + report.losses} place(s), lost {report.losses}")
    lines.append(f"wrote {out_path}: {report.slices} slices, {report.new_lanes} new lanes")
    return lines


def _shifts(row: heddle.FixSlice) -> str:
    parts = [f"{word} by {_time(ps)}" for word, ps in (("start delayed", row.start_shift_ps), ("end trimmed", row.end_shift_ps)) if ps]
    return ", ".join(parts)
