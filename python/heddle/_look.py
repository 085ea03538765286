"""Showing traces: the viewer in a notebook, flame graphs, a timeline as text."""
from __future__ import annotations

import atexit
import html
import json
import os
import subprocess
import tempfile
import weakref
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import _heddle
from ._command import command

_servers: weakref.WeakSet[View] = weakref.WeakSet()


def _in_notebook() -> bool:
    try:
        from IPython import get_ipython  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


class View:
    """The viewer's server. It listens on this machine only and requires a token; a notebook displays it inline. It ends by
    `stop()`, with the last reference to this object, or with the process."""

    def __init__(self, server: _heddle.View, height: int, scratch: tempfile.TemporaryDirectory[str] | None) -> None:
        self._server = server
        self._scratch = scratch
        self.height = height
        _servers.add(self)

    @property
    def url(self) -> str:
        """The address of the viewer, with its token."""
        return self._server.url()

    @property
    def ready(self) -> bool:
        """Whether all files have been read. Raises `OSError` if one cannot be read."""
        reading, failed = self._server.state()
        if failed:
            raise OSError(f"{failed} of the files cannot be read: the viewer prints the reason")
        return reading == 0

    def stop(self) -> None:
        """End the server. Later calls do nothing."""
        self._server.stop()
        if self._scratch is not None:
            self._scratch.cleanup()

    def show(self) -> None:
        """Open the viewer in a browser of this machine."""
        webbrowser.open(self.url)

    def __repr__(self) -> str:
        try:
            return f"<heddle.View {self.url}>"
        except ValueError:
            return "<heddle.View, stopped>"

    def _repr_html_(self) -> str:
        return f'<iframe src="{html.escape(self.url)}" width="100%" height="{self.height}" style="border:0" allow="clipboard-write"></iframe>'


@atexit.register
def _stop_all() -> None:
    for view in list(_servers):
        view.stop()


def view(paths: Sequence[str], height: int, port: int, scratch: tempfile.TemporaryDirectory[str] | None) -> View:
    return View(_heddle.view(paths, port, True), height, scratch)


class Flame:
    """A flame graph: weights by stack. A notebook displays it inline."""

    def __init__(self, traces: Sequence[_heddle.Trace], options: tuple[Any, ...]) -> None:
        self._traces = traces
        self._options = options
        #: what is counted, its unit, and the sum of all
        self.of, self.unit, self.total, _ = _heddle.flame(traces, None, *options)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write .svg, .folded or .speedscope.json, by the extension of the path."""
        _heddle.flame(self._traces, path, *self._options)

    def _text(self, extension: str) -> str:
        with tempfile.TemporaryDirectory(prefix="heddle-") as folder:
            path = Path(folder, f"flame{extension}")
            self.write(path)
            return path.read_text(encoding="utf-8")

    def folded(self) -> dict[str, int]:
        """Weights by stack, such as "main;train;[GPU_Kernel]gemm". In names of frames, ; becomes : and invalid UTF-8 U+FFFD."""
        out: dict[str, int] = {}
        for line in self._text(".folded").splitlines():
            stack, _, weight = line.rpartition(" ")
            out[stack] = out.get(stack, 0) + int(weight)
        return out

    def svg(self) -> str:
        """An SVG that zooms and searches in a browser; it refers to no other file."""
        return self._text(".svg")

    def speedscope(self) -> dict[str, Any]:
        """Speedscope's JSON, parsed."""
        parsed: dict[str, Any] = json.loads(self._text(".speedscope.json"))
        return parsed

    def show(self) -> Flame | None:
        """Display the graph in the notebook, or else in a browser of this machine."""
        if _in_notebook():
            return self
        handle, path = tempfile.mkstemp(prefix="heddle-flame-", suffix=".svg")
        os.close(handle)
        self.write(path)
        webbrowser.open(Path(path).as_uri())
        return None

    def __repr__(self) -> str:
        return f"<heddle.Flame of {self.of}: {self.total:,} {self.unit}>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.svg())}" width="100%" height="600" style="border:0"></iframe>'


class Timeline(str):
    """A trace as text: how busy each track is over time."""

    def __repr__(self) -> str:
        return str(self)


def timeline(paths: Sequence[str], options: dict[str, Any]) -> Timeline:
    arguments = [command(), "timeline", "--color", "never"]
    for key, value in options.items():
        name = "--" + key.rstrip("_").replace("_", "-")
        if value is True:
            arguments.append(name)
        elif value is not None and value is not False:
            arguments += [name, str(value)]
    ran = subprocess.run([*arguments, "--", *paths], capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    if ran.returncode != 0:
        raise ValueError(ran.stderr.decode("utf-8", "replace").strip())
    return Timeline(ran.stdout.decode("utf-8", "replace"))
