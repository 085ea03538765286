#!/usr/bin/python3
"""Write the files of the page as a C source, compressed, so that the library holds them.

usage: embed_page.py OUT.c [FILE...]

Each FILE is served as /NAME. The output depends on their names and bytes alone. Without any, the page is absent.
"""
import gzip
import sys
from pathlib import Path

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}


def main():
    out, *files = sys.argv[1:]
    arrays, rows = [], []
    for number, path in enumerate(sorted(files, key=lambda file: Path(file).name)):
        name = Path(path).name
        kind = TYPES.get(Path(path).suffix)
        if kind is None or not all(c.isalnum() or c in "-_." for c in name):
            sys.exit(f"embed_page.py: {path}: only names of plain letters, and types {', '.join(TYPES)}")
        plain = Path(path).read_bytes()
        packed = gzip.compress(plain, 9, mtime=0)
        smaller = len(packed) < len(plain)
        data = packed if smaller else plain
        lines = [",".join(str(byte) for byte in data[i:i + 32]) for i in range(0, len(data), 32)] or ["0"]
        arrays.append(f"static const unsigned char data_{number}[] = {{\n" + ",\n".join(lines) + "};\n")
        rows.append(f'    {{"/{name}", "{kind}", data_{number}, {len(data)}, {"true" if smaller else "false"}}},\n')
    Path(out).write_text('/* Made by tools/embed_page.py. */\n#include "view/server/page.h"\n\n' + "\n".join(arrays) +
                         "\nconst view_page_file view_page_files[] = {\n" + "".join(rows) + "    {0},\n};\n",
                         encoding="ascii")


main()
