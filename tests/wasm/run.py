#!/usr/bin/python3
"""The engine in WebAssembly: answers as the server's, the package of Node, and pages of `heddle view --save` in a browser.

usage: tests/wasm/run.py --heddle PROGRAM [--engine FOLDER] [FILE...]

FOLDER is where `make wasm` built it (build/wasm). FILE: traces to compare instead of the own ones. Exits with 77, and
says why, where the engine or a browser is missing.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/web"))
import chromium  # noqa: E402

SKIP = 77


def make_trace(path, pid, repeats=1):
    """Two threads, kernels that they launch, counters, instants; names that must not end a script, and other letters."""
    events = [{"ph": "M", "pid": pid, "tid": 1, "name": "thread_name", "args": {"name": "main"}}]
    for i in range(400 * repeats):
        at = 1000 + 100 * i
        events += [
            {"ph": "X", "cat": "cpu_op", "pid": pid, "tid": 1 + i % 2, "name": f"aten::op_{i % 7}", "ts": at, "dur": 60.125},
            {"ph": "X", "cat": "cuda_runtime", "pid": pid, "tid": 1 + i % 2, "name": "cudaLaunchKernel", "ts": at + 10, "dur": 5,
             "args": {"correlation": i}},
            {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "name": ["gemm", "</script><b>&", "überschlag"][i % 3], "ts": at + 30, "dur": 55,
             "args": {"correlation": i, "device": 0, "stream": 7}},
            {"ph": "C", "pid": pid, "name": "bytes", "ts": at, "args": {"v": i * i}},
        ]
    events.append({"ph": "i", "pid": pid, "tid": 1, "name": "mark", "ts": 5000, "s": "t"})
    path.write_text(json.dumps({"traceEvents": events}))


def check_arrow(path):
    """pyarrow reads what the package wrote as the same rows as its JSON, and the file has them itself."""
    python = ROOT / "build/peers/bin/python3"
    check = ("import json, sys; from pyarrow import ipc; table = ipc.open_stream(sys.argv[1]).read_all(); table.validate(full=True); "
             "rows = [list(row.values()) for row in table.to_pylist()]; assert rows == json.load(open(sys.argv[1] + '.json')), rows[:3]; "
             "assert len(rows) == 1201 and [row[5] is None for row in rows] == [row[0] % 3 == 0 for row in rows]; assert [str(t) for t in table.schema.types] == "
             "['int64', 'string', 'int64', 'int64', 'double', 'string']; print('pyarrow reads', len(rows), 'rows')")
    if python.exists():
        subprocess.run([python, "-c", check, path], check=True)
    else:
        print("not checked: there is no pyarrow in build/peers")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", type=Path, required=True)
    parser.add_argument("--engine", type=Path, default=ROOT / "build/wasm")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    node, browser, missing = chromium.tools()
    if not (args.engine / "engine.html").exists():
        print("skipped: there is no engine; make wasm builds it")
        return SKIP
    if missing:
        print(f"skipped: there is no {missing}; tools/setup.sh sees to it")
        return SKIP
    heddle = args.heddle.resolve()
    module = args.engine / "src/wasm/engine.wasm"
    with tempfile.TemporaryDirectory(prefix="heddle-wasm-") as folder:
        inputs = [Path(folder, name) for name in ("rank0.json", "rank1.json")]
        for pid, path in enumerate(inputs):
            make_trace(path, 100 + pid)
        files = args.files or [inputs[0]]
        status = subprocess.run([node, HERE / "compare.mjs", heddle, args.engine / "engine.mjs", module, *files]).returncode
        if args.files or status:
            return status
        status = subprocess.run([node, HERE / "malloc.mjs", module]).returncode
        if status:
            return status
        arrow = Path(folder, "rows.arrow")
        status = subprocess.run([node, HERE / "npm.mjs", args.engine / "npm", inputs[0], arrow]).returncode
        if status:
            return status
        check_arrow(arrow)
        page, empty, large = (Path(folder, name) for name in ("saved.html", "empty.html", "large.json"))
        subprocess.run([heddle, "view", "--save", page, *inputs], check=True)
        subprocess.run([heddle, "view", "--save", empty], check=True)
        make_trace(large, 1, 300)
        modules = {**os.environ, "NODE_PATH": str(ROOT / "tests/web/node_modules")}
        return subprocess.run([node, ROOT / "tests/web/saved.mjs", browser, page, empty, folder, *inputs, large], env=modules).returncode


if __name__ == "__main__":
    sys.exit(main())
