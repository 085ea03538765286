#!/usr/bin/python3
"""Hold the tree to the layers of docs/architecture.md. Runs as a test.

usage: check_layers.py layers|third-party|listed [ROOT]

layers       no #include runs upward: every folder may name only the folders below it
third-party  a third-party header is named in one folder only (and in the tests of that folder)
listed       every .c file of the tree is named in a meson.build
"""
import re
import sys
from pathlib import Path

# Folder -> the folders whose headers it may include, besides its own.
BELOW_FORMATS = {"base", "trace"}
BELOW_TOOLS = BELOW_FORMATS | {"format", "pass", "report"}
MAY_INCLUDE = {
    "base": set(),
    "trace": {"base"},
    "format": BELOW_FORMATS,
    "pass": BELOW_FORMATS,
    "report": BELOW_FORMATS,
    "synth": BELOW_FORMATS,
    "fix": BELOW_TOOLS,
    "convert": BELOW_TOOLS,
    "flame": BELOW_TOOLS | {"convert"},
    "symbolize": BELOW_TOOLS,
    "query": BELOW_TOOLS,
    "replay": BELOW_TOOLS,
    "view": BELOW_TOOLS | {"query"},
    "record": BELOW_TOOLS | {"convert"},
    "cluster": BELOW_TOOLS,
    "trigger": {"base"},
    "capture": {"base"},
    "devices": {"base"},
    "cli": set(),
}
# The public headers that base may include; every other layer may include any of them.
BASE_PUBLIC = {"heddle/status.h"}

THIRD_PARTY = re.compile(r"^(isa-l\b|igzip_lib|zstd|zdict|zlib|xxhash|simdjson|sqlite3|microhttpd|otf2/|elfutils/|dwarf|gelf\.h|libelf\.h|lzma|"
                         r"libunwind|bpf/|mpi\.h|cuda|cupti)")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.M)


def sources(root, *folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".cc", ".cpp", ".hpp"):
                yield path


def includes(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1)


def format_of(parts):
    """The name of one format from ("format", "chrome", "chrome_read.c"), or None for a file of format/ itself."""
    return parts[1] if len(parts) > 2 else None


def upward(path, root, target):
    """Why `path` may not include `target`, or None."""
    parts = path.relative_to(root / "src").parts
    layer = parts[0]
    if target.startswith("heddle/"):
        return "base knows no layer above it" if layer == "base" and target not in BASE_PUBLIC else None
    inside = root / "src" / target
    if not inside.is_file():
        beside = path.parent / target
        if not beside.is_file():
            return None  # a system header
        inside = beside.resolve()
    there = inside.relative_to(root / "src").parts
    if there[0] == layer:
        if layer == "format" and format_of(parts) and format_of(there) not in (None, format_of(parts)):
            return "a format never includes another format"
        if layer in ("pass", "report") and unit(inside) not in (unit(path), layer, "list", "table"):
            return f"a {layer} includes only its own headers and those shared by src/{layer}"
        return None
    if there[0] not in MAY_INCLUDE.get(layer, set()):
        return f"{layer} may include {', '.join(sorted(MAY_INCLUDE.get(layer, []))) or 'include/heddle only'}"
    return None


def unit(path):
    """lanes.c, lanes_pick.c and lanes_solve.h are one pass: the first word of their names is the same."""
    return path.stem.split("_")[0]


def check_layers(root):
    problems = []
    for path in sources(root, "src", "include"):
        relative = path.relative_to(root)
        if relative.parts[0] == "src" and len(relative.parts) > 2 and relative.parts[1] not in MAY_INCLUDE:
            problems.append(f"{relative}: src/{relative.parts[1]} has no rule in tools/check_layers.py")
            continue
        for line, target in includes(path):
            if relative.parts[0] == "include":
                reason = None
                if (root / "src" / target).is_file():
                    reason = "a public header includes public headers only"
            else:
                reason = upward(path, root, target)
            if reason:
                problems.append(f'{relative}:{line}: #include "{target}": {reason}')
    return problems


def owner(relative):
    """The folder that a file counts for: tests/base and src/base are one, as are src/format/chrome's."""
    parts = relative.parts[:-1]
    if parts[0] in ("src", "tests"):
        return "/".join(parts[1:]) or parts[0]
    return parts[0]


def check_third_party(root):
    folders = {}
    for path in sources(root, "src", "include", "fuzz", "bench", "tests"):
        for line, target in includes(path):
            match = THIRD_PARTY.match(target)
            if match:
                where = folders.setdefault(match.group(1), {})
                where.setdefault(owner(path.relative_to(root)), f"{path.relative_to(root)}:{line}")
    return [f"{name} is named in more than one folder: {', '.join(sorted(where.values()))}"
            for name, where in sorted(folders.items()) if len(where) > 1]


def check_listed(root):
    problems = []
    for path in sources(root, "src", "tests", "fuzz", "bench"):
        if path.suffix not in (".c", ".cc", ".cpp"):
            continue
        relative = path.relative_to(root)
        name = path.name
        if relative.parts[0] == "tests" and name.startswith("test_"):
            name = f"'{name[len('test_'):-2]}'"
        elif relative.parts[0] == "fuzz" and name.startswith("fuzz_") and name != "fuzz_main.c":
            name = f"'{name[len('fuzz_'):-2]}'"
        elif relative.parts[0] == "bench" and name.startswith("bench_"):
            name = f"'{name[len('bench_'):-2]}'"
        elif relative.parts[:2] == ("src", "cli") and name.startswith("cmd_"):
            name = f"'{name[len('cmd_'):-2]}'"
        folder = path.parent
        while folder != root and not (folder / "meson.build").is_file():
            folder = folder.parent
        if name not in (folder / "meson.build").read_text(encoding="utf-8"):
            problems.append(f"{relative}: not named in {(folder / 'meson.build').relative_to(root)}, so never built")
    return problems


CHECKS = {"layers": check_layers, "third-party": check_third_party, "listed": check_listed}


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    root = Path(sys.argv[2] if len(sys.argv) == 3 else Path(__file__).parent.parent).resolve()
    problems = CHECKS[sys.argv[1]](root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


sys.exit(main())
