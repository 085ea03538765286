#!/usr/bin/env python3
"""Holds libraries to the glibc they promise: no version of a symbol above it, and no library besides glibc's.

    check_portable.py 2.17 LIBRARY...
"""
import re
import subprocess
import sys
from pathlib import Path

GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def number(version):
    return tuple(int(part) for part in version.split("."))


def readelf(what, path):
    return subprocess.run(["readelf", "-W", what, path], check=True, capture_output=True, text=True).stdout


def faults(path, promised, beside=()):
    """What is wrong with a file, where `beside` are libraries of our own that lie beside it."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", path))
    if "libc.so.6" not in needed:
        yield "does not name libc.so.6: is it a shared library?"
    for library in sorted(set(needed) - GLIBC - set(beside)):
        yield f"needs {library}"
    symbols = re.findall(r" UND (\S+)@(\S+)", readelf("--dyn-syms", path))
    if not symbols:
        yield "has no versions of symbols"
    for name, version in symbols:
        found = re.fullmatch(r"GLIBC_([0-9.]+)", version)
        if beside and version.startswith("HEDDLE_"):
            continue
        if not found or number(found[1]) > number(promised):
            yield f"needs {name} of {version}, above GLIBC_{promised}"
    # Before 2.34, these were in libraries of their own.
    names = {name for name, _ in symbols}
    apart = (("libpthread.so.0", "pthread_"), ("libdl.so.2", "dl")) if number(promised) < (2, 34) else ()
    for library, prefix in apart:
        of_library = {name for name in names if name.startswith(prefix)} - {"dl_iterate_phdr"}
        if of_library and library not in needed:
            yield f"takes {min(of_library)} and does not name {library}, where it was before glibc 2.34"


def main():
    promised, *paths = sys.argv[1:]
    failed = 0
    for path in paths:
        found = list(faults(path, promised, [library.name for library in Path(path).parent.glob("libheddle*.so.0")]))
        failed += bool(found)
        print(f"{path}: {'at most GLIBC_' + promised if not found else ''}")
        for fault in found:
            print(f"  {fault}")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
