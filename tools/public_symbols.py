#!/usr/bin/python3
"""Write the linker version script of a library: what its public headers declare, under the version of the ABI, and what
the project's other libraries take from it, under a version that is theirs alone.

usage: public_symbols.py --abi N [--parts VERSION] [--nm NM] OUT HEADER... [ARCHIVE [ARCHIVE_OF_USER...]]
"""
import argparse
import re
import subprocess


def declared_names(text):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", text, flags=re.M)
    names = set()
    for match in re.finditer(r"\b(hd_[a-z0-9_]+)\s*\(", text):
        # The declaration that contains the name: types and inline functions are not symbols.
        before = re.split(r"[;{}]", text[:match.start()])[-1]
        if not re.search(r"\b(typedef|static|return)\b|[=(]", before):
            names.add(match.group(1))
    names |= set(re.findall(r"\bextern\s+const\b[^;(]*?\b(hd_[a-z0-9_]+)\s*(?:\[[^\]]*\])?\s*;", text))
    return names


def symbols(nm, archive):
    """(defined, undefined) in the objects of an archive."""
    listed = subprocess.run([nm, "-P", "-g", archive], check=True, capture_output=True, text=True).stdout
    words = [line.split() for line in listed.splitlines() if not line.endswith(":")]
    defined = {w[0] for w in words if len(w) > 1 and w[1] in "TDBRVWC"}
    return defined, {w[0] for w in words if len(w) > 1 and w[1] in "Uw"} - defined


def node(name, names, rest=""):
    return f"{name} {{\nglobal:\n" + "".join(f"    {n};\n" for n in sorted(names)) + rest + "};\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--abi", required=True)
    parser.add_argument("--parts", help="the version of the parts")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("out")
    parser.add_argument("inputs", nargs="+")
    args = parser.parse_args()
    public, archives = set(), []
    for name in args.inputs:
        if name.endswith(".h"):
            with open(name, encoding="utf-8") as file:
                public |= declared_names(file.read())
        else:
            archives.append(name)
    shared = set()
    for user in archives[1:]:
        shared |= symbols(args.nm, user)[1]
    if shared:
        shared = (shared & symbols(args.nm, archives[0])[0]) - public
    with open(args.out, "w", encoding="utf-8") as file:
        file.write(node(f"HEDDLE_{args.abi}", public, "local:\n    *;\n"))
        if shared:
            file.write(node(f"HEDDLE_PARTS_{args.parts}", shared))


main()
