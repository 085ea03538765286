#!/usr/bin/env python3
"""Puts C files together that can be compiled as one: a third of what a file of this tree takes to compile is the compiler's start
and its headers.

usage: grouped.py FOLDER NAME FILE...

Writes FOLDER/NAME_N.c, each of which includes its files, and prints the paths of what is to be compiled instead of FILE...:
the groups, and the files that stand alone. Meson runs it, with -Dgrouped=true, for the tests' builds. Where a group cannot be
compiled, tools/build_for.py writes its files to FOLDER/apart.txt, and they are compiled one by one.

Files of a group define nothing of the same name at file scope. No macro of one is a word of another, and none defines what a
header declares or has as a macro: a header may come after it. A file whose macros put names together stands alone.
"""
import re
import subprocess
import sys
from pathlib import Path

MOST = 12  # files of a group
SRC = Path(__file__).resolve().parents[1] / "src"
CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
SYSTEM = re.compile(r"^#include <([\w/.]+)>", re.M)
MACRO = re.compile(r"^\s*#\s*define\s+(\w+)", re.M)
DEFINED = [re.compile(text, re.M) for text in (
    r"^static\b[^;={(]*?\b(\w+)\s*[(\[=;]",
    r"^(?:typedef\s+|static\s+|const\s+)*(?:struct|union|enum)\s+(\w+)\s*\{",
    r"^\}[ ]*(?:const )?(\w+)",  # what a type ends with
    r"^typedef\b[^;{]*?\b(\w+)\s*(?:\)\s*\([^;]*|\[[^;]*)?;")]
ENUM = re.compile(r"\benum\b[^{;()]*\{([^}]*)\}")


def words(code):
    return set(re.findall(r"\b[A-Za-z_]\w*", code))


def enumerators(code):
    return {name for body in ENUM.findall(code) for name in re.findall(r"(?:^|,)\s*(\w+)", body)}


def without(code, inner):
    """Code without what is in the brackets of a pattern."""
    count = 1
    while count:
        code, count = re.subn(inner, " ", code)
    return code


class Source:
    def __init__(self, path):
        self.path = path
        code = CODE.sub(lambda match: "\n" * match[0].count("\n") if match[0][0] == "/" else '""', path.read_text())
        self.words, self.system, self.macros = words(code), SYSTEM.findall(code), set(MACRO.findall(code))
        self.alone = "##" in code
        self.defined = self.macros | enumerators(code) | {name for find in DEFINED for name in find.findall(code)}

    def goes_with(self, other):
        return not (self.defined & other.defined or self.macros & other.words or other.macros & self.words)


def declared_by_headers(sources):
    """What headers declare at file scope, and their macros."""
    includes = "".join(f"#include <{name}>\n" for name in sorted({name for source in sources for name in source.system}))
    system = subprocess.run(["cc", "-E", "-P", "-D_GNU_SOURCE", "-"], input=includes, capture_output=True, text=True, check=False).stdout
    own = "".join(CODE.sub(" ", path.read_text()) for path in sorted(SRC.rglob("*.h")))
    outside = without(without(re.sub(r"^\s*#.*", "", system + own, flags=re.M), r"\{[^{}]*\}"), r"\([^()]*\)")
    return words(outside) | enumerators(system) | enumerators(own) | set(MACRO.findall(own))


def main():
    folder, name, sources = Path(sys.argv[1]), sys.argv[2], [Source(Path(path)) for path in sys.argv[3:]]
    declared, groups, alone = declared_by_headers(sources), [], []
    for source in sources:
        group = next((g for g in groups if len(g) < MOST and all(map(source.goes_with, g))), None)
        if source.alone or source.defined & declared:
            alone.append([source])
        elif group:
            group.append(source)
        else:
            groups.insert(0, [source])
    folder.mkdir(parents=True, exist_ok=True)
    apart = (folder / "apart.txt").read_text().split() if (folder / "apart.txt").exists() else []
    for n, group in enumerate(groups + alone):
        files, path = [source.path for source in group], folder / f"{name}_{n}.c"
        if len(files) == 1 or str(files[0]) in apart:
            print(*files, sep="\n")
            continue
        text = "".join(f'#include "{file}"\n' for file in files)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        print(path)


if __name__ == "__main__":
    main()
