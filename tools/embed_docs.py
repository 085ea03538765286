#!/usr/bin/python3
"""Write pages of the documentation as a C source: what `heddle mcp` gives to read.

usage: embed_docs.py OUT.c DEPFILE NAME=PATH...

NAME is that of the resource. PATH is a page, or a folder, each page of which becomes NAME/STEM (a README is left out). The
title is the first heading, else the name.
"""
import sys
from pathlib import Path


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def pages(items):
    for item in items:
        name, _, path = item.partition("=")
        if Path(path).is_dir():
            for page in sorted(Path(path).glob("*.md")):
                if page.stem != "README":
                    yield f"{name}/{page.stem}", page
        else:
            yield name, Path(path)


def main():
    out, depfile, *items = sys.argv[1:]
    arrays, rows, used = [], [], [item.partition("=")[2] for item in items]
    for number, (name, path) in enumerate(pages(items)):
        used.append(str(path))
        text = path.read_text(encoding="utf-8")
        title = next((line.lstrip("# ").replace("`", "") for line in text.splitlines() if line.startswith("#")), name)
        data = text.encode()
        lines = [",".join(str(byte) for byte in data[i:i + 32]) for i in range(0, len(data), 32)]
        arrays.append(f"static const unsigned char text_{number}[] = {{\n" + ",\n".join(lines) + "};\n")
        rows.append(f"    {{{quoted(name)}, {quoted(title)}, (const char *)text_{number}, {len(data)}}},\n")
    Path(depfile).write_text(f"{out}: " + " ".join(path.replace(" ", "\\ ") for path in used) + "\n", encoding="utf-8")
    Path(out).write_text('/* Made by tools/embed_docs.py. */\n#include "mcp/impl.h"\n\n' + "\n".join(arrays) +
                         "\nconst mcp_doc mcp_docs[] = {\n" + "".join(rows) + "    {0},\n};\n", encoding="utf-8")


main()
