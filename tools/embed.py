#!/usr/bin/python3
"""Write files as arrays of a C source, so that the library holds them.

usage: embed.py OUT.c HEADER NAME=FILE...
HEADER declares `extern const char NAME[]; extern const size_t NAME_size;`. The text must fit into a CDATA section.
"""
import sys
from pathlib import Path


def main():
    out, header, *files = sys.argv[1:]
    parts = [f'/* Made by tools/embed.py. */\n#include "{header}"\n']
    for item in files:
        name, _, path = item.partition("=")
        data = Path(path).read_bytes()
        if b"]]>" in data:
            sys.exit(f"embed.py: {path}: ']]>' would end the CDATA section around it")
        rows = [",".join(str(byte) for byte in data[i:i + 32]) for i in range(0, len(data), 32)]
        if any(byte > 127 for byte in data):
            sys.exit(f"embed.py: {path}: only ASCII, please")
        parts.append(f"const char {name}[] = {{\n" + ",\n".join(rows) + "};\n")
        parts.append(f"const size_t {name}_size = {len(data)};\n")
    Path(out).write_text("\n".join(parts), encoding="ascii")


main()
