#!/usr/bin/python3
"""Marks that are off leave no symbol and no instruction; marks that are on call the library.

usage: check_marks.py --cc CC --include DIR
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

MARKED = """
#include <heddle/mark.h>
int work(int n);
int work(int n)
{
    HD_MARK_SCOPE("work");
    HD_MARK_SCOPE_IN("inner", "category");
    HD_MARK_INSTANT("here");
    HD_MARK_COUNTER("n", n++);
    HD_MARK_FLOW_START("flow", 1);
    HD_MARK_FLOW_STEP("flow", 1);
    HD_MARK_FLOW_END("flow", 1);
    return n;
}
"""
PLAIN = "int work(int n);\nint work(int n)\n{\n    return n;\n}\n"


def compile_and_look(args, folder, name, text, *flags):
    source, obj = folder / f"{name}.c", folder / f"{name}.o"
    source.write_text(text)
    subprocess.run([args.cc, "-std=c17", "-O2", "-Wall", "-Wextra", "-Werror", *flags, "-I", args.include, "-c", source,
                    "-o", obj], check=True)
    symbols = subprocess.run(["nm", obj], check=True, capture_output=True, text=True).stdout
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", obj], check=True, capture_output=True, text=True).stdout
    return sorted(line.split()[-1] for line in symbols.splitlines()), code.split("section .text:")[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", required=True)
    parser.add_argument("--include", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        off, off_code = compile_and_look(args, folder, "off", MARKED)
        plain, plain_code = compile_and_look(args, folder, "plain", PLAIN)
        on, _ = compile_and_look(args, folder, "on", MARKED, "-DHD_MARKS=1")
    assert off == plain == ["work"], off
    assert off_code == plain_code, off_code
    assert {"hd_mark_begin", "hd_mark_instant", "hd_mark_counter", "hd_mark_flow", "hd_session_end"} <= set(on), on
    print("off:", off)
    return 0


sys.exit(main())
