"""python -m heddle.site DIR [FILE...]: a web site of one page, the viewer with its engine, for any web server.

It shows the traces FILE, and those that are dropped on it, which are read in the browser and sent nowhere."""
from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from ._command import command, environment


def make(folder: str | Path, *files: str | Path) -> Path:
    """Writes folder/index.html, and returns its path. RuntimeError: the command says why it cannot."""
    page = Path(folder, "index.html")
    page.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([command(), "view", "-q", "--save", str(page), *map(str, files)], env=environment(), stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return page


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m heddle.site", description="Writes a web site with Heddle's viewer, which needs no server of its own.")
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("files", metavar="FILE", nargs="*", help="traces that the page has from the start")
    args = parser.parse_args()
    try:
        page = make(args.folder, *args.files)
    except (OSError, RuntimeError) as error:
        parser.exit(1, f"{error}\n")
    print(f"wrote {page}: try it with python3 -m http.server -d {args.folder}")


if __name__ == "__main__":
    main()
