#!/usr/bin/env python3
"""Runs the notebooks of examples/ as a reader does: each in a new kernel. Their own asserts hold the figures; here the outputs
that are committed must be those of a run: every cell has one of the same kind, and text is equal but for what differs each time.

Without nbclient or ipykernel: skipped (77).
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from patience import patience  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SECONDS = patience(600)
SKIP = 77


def texts(cell):
    """What a cell prints or shows as text: numbers and addresses may differ, words may not. What is printed may come in pieces."""
    out = []
    for output in cell.get("outputs", []):
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        words = re.sub(r"[\d.,]+|\s+", " ", "".join(text)).split()
        if output["output_type"] == "stream" and out and out[-1][0] == "stream":
            out[-1][1].extend(words)
        else:
            out.append((output["output_type"], words))
    return out


def main():
    try:
        import ipykernel  # noqa: F401
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError
    except ImportError as error:
        print(f"skipped: {error}; tools/setup.sh test installs what is needed")
        return SKIP
    paths = sorted(EXAMPLES.glob("*.ipynb"))
    wrong = [] if len(paths) == 4 else [f"{len(paths)} notebooks, not 4"]
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        committed = [texts(cell) for cell in notebook.cells]
        try:
            NotebookClient(notebook, timeout=int(SECONDS), kernel_name="python3").execute()
        except CellExecutionError as error:
            wrong.append(f"{path.name}: {error}")
            continue
        for i, (cell, before) in enumerate(zip(notebook.cells, committed)):
            if texts(cell) != before:
                wrong.append(f"{path.name}: cell {i} is committed with {before}, and gives {texts(cell)}")
        print(f"{path.name}: {len(notebook.cells)} cells")
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
