"""What tests in a browser need, found: Node.js, Chromium, and the modules that drive it (tools/setup.sh test installs all).

The headless shell comes first: the same engine without the windows of the full program, for three fifths of its CPU time.
"""
import shutil
from pathlib import Path

MODULES = Path(__file__).resolve().parent / "node_modules"


def first_of(*names):
    return next(filter(None, map(shutil.which, names)), None)


def tools(*modules):
    """(node, chromium, what is missing or None); the paths are None where something is missing. `modules`: needed besides."""
    node, chromium = first_of("node", "nodejs"), first_of("chromium-headless-shell", "chromium", "chromium-browser")
    for what, there in (("node", node), ("chromium", chromium), *((name, (MODULES / name).is_dir()) for name in ("playwright-core", *modules))):
        if not there:
            return None, None, what
    return node, chromium, None
