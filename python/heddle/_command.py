"""The command `heddle` that the package carries."""
from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

_HERE = Path(__file__).parent


def command() -> str:
    """The path of the command: $HEDDLE_BIN, the package's own, or the first of PATH."""
    own = _HERE / "bin" / "heddle"
    found = os.environ.get("HEDDLE_BIN") or (str(own) if own.exists() else shutil.which("heddle"))
    if not found:
        raise FileNotFoundError("this build of the package has no command, and PATH has no heddle: install the wheel of heddle-trace, or set HEDDLE_BIN")
    return found


def environment() -> dict[str, str]:
    """That of this process; children find this package's tracer."""
    out = dict(os.environ)
    tracer = _HERE / "lib" / "heddle" / "libheddle-cuda.so"
    if tracer.exists():
        out.setdefault("HEDDLE_CUDA_LIBRARY", str(tracer))
    return out


def main() -> None:
    """`heddle …`, as pip installs it: becomes the command."""
    path = command()
    os.execv(path, ["heddle", *sys.argv[1:]])
