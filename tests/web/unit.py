#!/usr/bin/python3
"""The unit tests of the page: what of it needs no browser, in node.

usage: tests/web/unit.py [NAME...]

Bundles tests/web/unit/*.test.ts with the esbuild of src/view/web/node_modules into a temporary folder and gives the
bundle to `node --test` (NAME: only files with that in their names). Exits with 77, and says why, where node or
src/view/web/node_modules (npm ci, which tools/setup.sh runs) is missing.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = HERE.parents[1] / "src" / "view" / "web" / "node_modules"
SKIP = 77


def main():
    node = shutil.which("node") or shutil.which("nodejs")
    esbuild = MODULES / ".bin" / "esbuild"
    for what, there in (("node", node), ("src/view/web/node_modules", esbuild.exists())):
        if not there:
            print(f"skipped: there is no {what}; tools/setup.sh sees to it")
            return SKIP
    tests = sorted(path for path in (HERE / "unit").glob("*.test.ts")
                   if not sys.argv[1:] or any(name in path.name for name in sys.argv[1:]))
    if not tests:
        print("no tests of that name in tests/web/unit")
        return 2
    with tempfile.TemporaryDirectory(prefix="heddle-unit-") as folder:
        every = Path(folder, "every.test.ts")  # one process for all
        every.write_text("".join(f'import "{path}";\n' for path in tests))
        # NODE_PATH: tests, which stand outside of src/view/web, may use its libraries.
        subprocess.run([esbuild, every, "--bundle", "--platform=node", "--format=esm", "--target=node18",
                        "--jsx=automatic", "--jsx-import-source=preact", "--sourcemap=inline", "--log-level=warning",
                        f"--outfile={folder}/every.mjs"],
                       check=True, env={**os.environ, "NODE_PATH": str(MODULES)})
        return subprocess.run([node, "--enable-source-maps", "--test", "--test-reporter=spec", f"{folder}/every.mjs"]).returncode


sys.exit(main())
