#!/usr/bin/python3
"""Write the linker version script of libheddle: the functions and data that its public headers declare.

usage: public_symbols.py OUT HEADER...
"""
import re
import sys


def declared_names(text):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", text, flags=re.M)
    names = set()
    for match in re.finditer(r"\b(hd_[a-z0-9_]+)\s*\(", text):
        # The declaration that the name stands in: types and inline functions are no symbols.
        before = re.split(r"[;{}]", text[:match.start()])[-1]
        if not re.search(r"\b(typedef|static|return)\b|[=(]", before):
            names.add(match.group(1))
    names |= set(re.findall(r"\bextern\s+const\b[^;(]*?\b(hd_[a-z0-9_]+)\s*(?:\[[^\]]*\])?\s*;", text))
    return names


def main():
    out, headers = sys.argv[1], sys.argv[2:]
    names = set()
    for header in headers:
        with open(header, encoding="utf-8") as file:
            names |= declared_names(file.read())
    with open(out, "w", encoding="utf-8") as file:
        file.write("{\nglobal:\n")
        for name in sorted(names):
            file.write(f"    {name};\n")
        file.write("local:\n    *;\n};\n")


main()
