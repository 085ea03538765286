#!/usr/bin/python3
"""The example in include/heddle/heddle.h compiles, runs, and tells the truth.

usage: example.py --cc CC --include DIR --library libheddle.so [--flags FLAGS]
"""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--cc", required=True)
parser.add_argument("--include", type=Path, required=True)
parser.add_argument("--library", type=Path, required=True)
parser.add_argument("--flags", default="", help="of the compiler, such as the library's sanitizers")
args = parser.parse_args()

head = (args.include / "heddle/heddle.h").read_text(encoding="utf-8").split("*/")[0].splitlines()
code = [line[7:] for line in head if line.startswith(" *     ") or line == " *"]
first = next(i for i, line in enumerate(code) if line.startswith("#include"))
last = max(i for i, line in enumerate(code) if line == "}")
source = "\n".join(code[first:last + 1]) + "\n"
assert source.count("{") == source.count("}") and "int main" in source, source

with tempfile.TemporaryDirectory() as folder:
    program, trace, out = Path(folder) / "example", Path(folder) / "trace.json", Path(folder) / "out.json.gz"
    events = [{"ph": "X", "name": f"k{i}", "cat": ("kernel", "cpu_op")[i % 2], "pid": 0, "tid": 7, "ts": i * 10 + 0.125, "dur": i / 8}
              for i in range(1000)]
    trace.write_text(json.dumps(events), encoding="utf-8")
    (Path(folder) / "example.c").write_text(source, encoding="utf-8")
    subprocess.run([args.cc, "-std=c17", "-Wall", "-Wextra", "-Werror", *args.flags.split(), f"-I{args.include}", f"{folder}/example.c",
                    str(args.library), f"-Wl,-rpath,{args.library.resolve().parent}", "-o", str(program)], check=True)
    said = subprocess.run([program, trace, out], check=True, capture_output=True, text=True).stdout
    wanted = sum(i * 125 for i in range(0, 1000, 2))
    assert said == f"1000 events, {wanted} ns of kernels\n", said
    assert out.read_bytes()[:2] == b"\x1f\x8b"
    trace.write_text(json.dumps([{"ph": "X", "name": "call", "pid": 1, "tid": 1, "ts": 0, "dur": 5}]), encoding="utf-8")
    said = subprocess.run([program, trace, out], check=True, capture_output=True, text=True).stdout
    assert said == "1 events, 0 ns of kernels\n", said  # without categories, no event is a kernel
    missing = subprocess.run([program, Path(folder) / "none.json", out], capture_output=True, text=True)
    assert missing.returncode == 1 and "none.json" in missing.stderr, missing
print("1 passed")
