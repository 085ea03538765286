"""Traces with something added, as Chrome JSON: what `TraceAnalysis` of heddle.compat.hta writes. All else in them keeps its bytes."""
from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import heddle

_PHASE = re.compile(rb'^\{.*?"ph":"(.)"')
_ARGS = re.compile(rb'"args":\{(?=(.))')


def event(ts_ns: int, **members: Any) -> bytes:
    """An event at that time, whose digits are exact where those of a float are not."""
    return json.dumps(members, separators=(",", ":")).encode()[:-1] + f',"ts":{ts_ns // 1000}.{ts_ns % 1000:03d}}}'.encode()


def add_args(line: bytes, args: Mapping[str, Any]) -> bytes:
    """The event with more arguments."""
    text = json.dumps(args, separators=(",", ":")).encode()[1:-1]
    if _ARGS.search(line):
        return _ARGS.sub(lambda found: found[0] + text + (b"" if found[1] == b"}" else b","), line, count=1)
    return line[:-1] + b',"args":{' + text + b"}}"


def drop_args(line: bytes) -> bytes:
    """The event without arguments, which the writer puts last."""
    found = _ARGS.search(line)
    if found is None or next(reversed(json.loads(line))) != "args":
        return line
    return line[:found.start() - 1] + b"}"


def out_path(path: str, prefix: str = "", suffix: str = "", folder: str | None = None) -> str:
    """path with another name, in a folder that is made if need be. What is no JSON becomes JSON."""
    own, name = os.path.split(path)
    stem, dot, rest = name.partition(".json")
    if not dot:
        stem, rest = os.path.splitext(name)[0], ""
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    return os.path.join(own if folder is None else folder, prefix + stem + suffix + ".json" + rest)


def write_changed(trace: heddle.Trace, out: str, change: Callable[[int, bytes], bytes | None], more: Iterable[bytes] = ()) -> None:
    """The trace in the file `out`, with the slices as change(id, event) gives them (None: without it), and with the events `more`.

    The writer puts each event in a line of its own, and slices in the order of their ids.
    """
    lines: list[bytes] = []
    slices, events = 0, False
    for line in trace.to_bytes("json").split(b"\n"):
        if line.startswith(b'"traceEvents":['):
            events = True
        found = _PHASE.match(line) if events else None
        if found is None:
            if events and line.startswith(b"]"):
                kept = lines.pop().rstrip(b",") if lines[-1].startswith(b"{") else b""
                lines.append(b",\n".join(part for part in (kept, *more) if part))
                events = False
            lines.append(line)
            continue
        if found[1] in b"XB":
            comma = line.endswith(b",")
            changed = change(slices, line.removesuffix(b","))
            slices += 1
            if changed is None:
                continue
            line = changed + b"," * comma
        lines.append(line)
    if slices != trace.info.counts["slice"]:
        raise heddle.Error(f"{out}: {slices} of {trace.info.counts['slice']} slices were found again")
    heddle.open(b"\n".join(lines)).write(out)
