#!/usr/bin/python3
"""Hold the tree to the layers of docs/architecture.md. Runs as a test.

usage: check_layers.py layers|third-party|listed|mentioned|toured|used|effects|same|structs|formats [ROOT]

layers       no #include and no call runs upward: every folder uses only the folders below it
third-party  a third-party header is named in one folder only (and in the tests of that folder)
listed       every .c file of the tree is named in a meson.build
mentioned    a file that a comment names exists
toured       docs/tour.md names functions where they are
used         what a file of src defines for others is called by one, is public, or a test calls what the file calls itself
effects      no library call changes what belongs to the whole process
same         no order is left to the C library's qsort, no number of a name to the compiler's order of evaluation
structs      public structs can grow as CONTRIBUTING.md says
formats      each format of src/format/formats.inc has its page, its row, tests; what reads a fuzz target and files to begin with
"""
import re
import sys
from bisect import bisect
from collections import Counter
from pathlib import Path

# Layer (folder of src) -> the layers it may use, besides its own: by their headers, or by calling what they define.
BELOW_FORMATS = {"base", "trace", "model"}
BELOW_TOOLS = BELOW_FORMATS | {"format", "pass", "table", "report"}
MAY_USE = {
    "base": set(),
    "table": {"base"},
    "trace": {"base"},
    "model": {"base", "trace"},
    "pass": BELOW_FORMATS,
    "graph": BELOW_FORMATS | {"table"},
    "arrow": BELOW_FORMATS | {"pass", "table"},
    "parquet": {"base", "arrow"},
    "format": BELOW_FORMATS | {"arrow", "parquet"},
    "report": BELOW_FORMATS | {"arrow", "parquet", "format", "graph", "pass", "table"},
    "replay": BELOW_TOOLS | {"graph"},
    "synth": BELOW_FORMATS | {"format"},
    "fix": BELOW_TOOLS,
    "convert": BELOW_TOOLS,
    "flame": BELOW_TOOLS | {"convert"},
    "symbolize": BELOW_TOOLS,
    "query": BELOW_TOOLS | {"arrow"},
    "mcp": BELOW_TOOLS | {"query"},
    "view": BELOW_TOOLS | {"arrow", "convert", "flame", "graph", "parquet", "query"},
    "wasm": {"base", "view"},
    "devices": {"base"},
    "capture": {"base"},
    "mpi": {"base", "devices"},
    "trigger": {"base", "table"},
    "record": BELOW_TOOLS | {"convert", "symbolize", "devices", "capture"},
    "cli": set(),
}
# Within these layers each room stands for itself, but may use the layer's own files, and these rooms.
ROOMS = {"format": {"mapped", "pickle", "repair", "sqlite", "tracepoint"}, "pass": {"copy"}, "report": {"gpu", "clocks"}}
# Of these layers the rooms in order: each may include those before it, and those of its own line.
ORDERED = {"view": ["write", "rows", "scene", "search tile select fidelity", "queries", "derive", "event", "session ranks sql", "route", "server", "engine"]}
FILES_MOST = 30 # of a folder of src, so that a reader can look over it
# The public headers that base may include. Other layers may include any: what they call is looked at.
BASE_PUBLIC = {"heddle/status.h", "heddle/source.h", "heddle/version.h"}

# Of these several parts use the library, each for another end: SQL over traces, and reading files of SQLite.
SHARED_LIBRARIES = {"sqlite3": {"query", "format/sqlite"}}
THIRD_PARTY = re.compile(r"^(isa-l\b|igzip_lib|zstd|zdict|zlib|xxhash|simdjson|sqlite3|microhttpd|otf2/|expat|elfutils/|dwarf|gelf\.h|libelf\.h|lzma|"
                         r"libunwind|bpf/|mpi\.h|cuda|cupti)")
MENTION = re.compile(r"(?<![<\w./*\"])[a-z][a-z0-9_*/]*\.[ch]\b")
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


def room(parts):
    """"chrome" of ("format", "chrome", "read.c"), None for a file of the layer itself."""
    return parts[1] if len(parts) > 2 else None


def upward(path, root, target):
    """Why `path` may not include `target`, or None."""
    parts = path.relative_to(root / "src").parts
    if parts[:2] == ("capture", "cuda") and target == "capture/session/impl.h":
        return "a session's insides are its own: capture/session/tracers.h has what tracers may ask"
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
    if there[0] != layer:
        return None if there[0] in MAY_USE[layer] else allowed(layer)
    if layer in ORDERED and room(parts) and room(there):
        place = {name: i for i, names in enumerate(ORDERED[layer]) for name in names.split()}
        if place.get(room(there), len(place)) > place.get(room(parts), -1):
            return f"src/{layer}/{room(there)} stands above src/{layer}/{room(parts)}: ORDERED in tools/check_layers.py"
    if layer in ROOMS and room(parts) and room(there) not in ROOMS[layer] | {None, room(parts)}:
        return f"src/{layer}/{room(parts)} uses its own headers, and those that all of src/{layer} share"
    return None


def allowed(layer):
    return f"{layer} may use {', '.join(sorted(MAY_USE[layer])) or 'what include/heddle declares'}"


COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
DEFINED = re.compile(r"^(?!static\b|typedef\b|extern\b|else\b|return\b)\w[\w *]*?\b(hd_\w+)\((?:[^;{]*?)\)\s*\{", re.M)


def check_calls(root):
    """No file calls a function that a layer defines which it may not use, whichever header declares it."""
    codes = {path.relative_to(root / "src"): COMMENT.sub(" ", path.read_text(encoding="utf-8"))
             for path in sources(root, "src")}
    owner = {match[1]: path.parts[0] for path, code in codes.items() if path.suffix == ".c"
             for match in DEFINED.finditer(code)}
    problems = []
    for path, code in codes.items():
        layer = path.parts[0]
        for name in sorted(set(re.findall(r"\bhd_\w+\b", code)) & owner.keys()):
            if layer != "cli" and owner[name] not in MAY_USE[layer] | {layer}:
                problems.append(f"src/{path}: {name} is of src/{owner[name]}: {allowed(layer)}")
    return problems


def check_layers(root):
    problems = []
    for path in sources(root, "src", "include"):
        relative = path.relative_to(root)
        if relative.parts[0] == "src" and len(relative.parts) > 2 and relative.parts[1] not in MAY_USE:
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
    folders = Counter(path.parent.relative_to(root) for path in sources(root, "src"))
    problems += [f"{folder}: {count} sources; a folder has {FILES_MOST} at most" for folder, count in sorted(folders.items())
                 if count > FILES_MOST]
    return problems + check_calls(root)


def owner(relative):
    """The folder that a file counts for: tests/base and src/base are one; each format is one, with its rooms."""
    parts = relative.parts[:-1]
    if parts[0] in ("src", "tests"):
        return "/".join(parts[1:3] if parts[1:2] == ("format",) else parts[1:2]) or parts[0]
    return parts[0]


def check_third_party(root):
    folders = {}
    for path in sources(root, "src", "include", "bench", "tests"):  # a fuzz target may compare with a library
        for line, target in includes(path):
            match = THIRD_PARTY.match(target)
            folder = owner(path.relative_to(root))
            if match and folder not in SHARED_LIBRARIES.get(match.group(1), set()):
                folders.setdefault(match.group(1), {}).setdefault(folder, f"{path.relative_to(root)}:{line}")
    return [f"{name} is named in more than one folder: {', '.join(sorted(where.values()))}"
            for name, where in sorted(folders.items()) if len(where) > (name not in SHARED_LIBRARIES)]


def check_listed(root):
    problems = []
    commands = (root / "src/cli/meson.build").read_text(encoding="utf-8")
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
        elif relative.parts[:3] == ("src", "cli", "commands") and f"'{name[:-2]}'" in commands:
            continue
        folder = path.parent
        while folder != root and not (folder / "meson.build").is_file():
            folder = folder.parent
        if not name.startswith("'"):
            name = f"'{path.relative_to(folder)}'"
        built = (folder / "meson.build").read_text(encoding="utf-8")
        if name not in built and f"'{path.relative_to(folder)}'" not in built:
            problems.append(f"{relative}: not named in {(folder / 'meson.build').relative_to(root)}, so never built")
    return problems


def check_mentioned(root):
    """Comments name files by their path from the root, src or include, or as they stand beside or below; a name alone may
    be any file's. "NAME.c" and other capitals are not files."""
    paths = {str(path.relative_to(root)) for path in sources(root, "src", "include", "tests", "fuzz", "bench")}
    names = {path.rsplit("/", 1)[-1] for path in paths}
    problems = []
    for path in sources(root, "src", "include"):
        text = path.read_text(encoding="utf-8")
        here = path.parent.relative_to(root)
        places = [f"{place}/" for place in ("src", "include", "include/heddle", "include/heddle/analysis", "include/heddle/capture", "tests", here, here.parent)] + [""]
        for comment in COMMENT.finditer(text):
            for match in MENTION.finditer(comment[0]) if comment[0][0] == "/" else ():
                name = match[0]
                known = any(place + name in paths for place in places) if "/" in name else name in names
                if not known and "*" not in name:
                    line = text.count("\n", 0, comment.start() + match.start()) + 1
                    problems.append(f"{path.relative_to(root)}:{line}: there is no {name}")
    return problems


def check_toured(root):
    problems, steps = [], 0
    for number, line in enumerate((root / "docs/tour.md").read_text(encoding="utf-8").splitlines(), 1):
        for name, function in re.findall(r"`([\w/]+\.\w+)`(?: `(\w+)`)?", line):
            path = root / (name if name.startswith("tools/") else f"src/{name}")
            steps += bool(function)
            if not path.is_file():
                problems.append(f"docs/tour.md:{number}: there is no src/{name}")
            elif function and not re.search(rf"^(?!.*;$).*\b({function}\(|class {function}\b)", path.read_text(encoding="utf-8"), re.M):
                problems.append(f"docs/tour.md:{number}: {function} is not in src/{name}")
    return problems if steps else ["docs/tour.md names no functions"]


def check_formats(root):
    listed = re.findall(r"^FORMAT\((\w+)\)", (root / "src/format/formats.inc").read_text(encoding="utf-8"), re.M)
    rows = (root / "docs/formats.md").read_text(encoding="utf-8")
    fuzzed = (root / "fuzz/meson.build").read_text(encoding="utf-8")
    table = (root / "tests/format/test_importers.c").read_text(encoding="utf-8")
    importers = re.findall(r'^    \{"(\w+)", "\.', table, re.M)
    problems = [] if listed else ["src/format/formats.inc lists no formats"]
    for path in sources(root, "src/format"):
        for name in re.findall(r"^const hd_format hd_(\w+)_format\b", path.read_text(encoding="utf-8"), re.M):
            if name not in listed or path.parent.name != name:
                problems.append(f"{path.relative_to(root)}: hd_{name}_format is not FORMAT({name}) in src/format/formats.inc")
    for name in listed:
        wanted = {f"docs/formats/{name}.md": "a page"}
        if name not in importers:
            wanted |= {f"tests/format/**/test_{name}*.c": "a test"}
        folder = root / "src/format" / name
        if not folder.is_dir() or any(".reads = true" in path.read_text(encoding="utf-8") for path in folder.rglob("*.c")):
            wanted |= {f"fuzz/corpus/{name}*/*": "files to fuzz with"}
            if f"'{name}" not in fuzzed:
                problems.append(f"src/format/{name}: fuzz/meson.build has no target for it")
        problems += [f"src/format/{name}: there is no {what}, {pattern}" for pattern, what in wanted.items()
                     if not any(root.glob(pattern))]
        if not re.search(rf"^\| \[[^]]*\]\(formats/{name}\.md\)", rows, re.M):
            problems.append(f"src/format/{name}: docs/formats.md has no row for it")
    return problems


# What a library must not do behind its caller's back: limits, signals, environment, heap, locale, the process's life.
EFFECTS = re.compile(r"(?<![\w.>])(mallopt|malloc_trim|setrlimit|prlimit|prctl|exit|_exit|quick_exit|abort|atexit|on_exit|signal|sigaction|"
                     r"sigprocmask|raise|kill|alarm|setitimer|umask|f?chdir|chroot|setenv|unsetenv|putenv|clearenv|setlocale|tzset|s?rand|"
                     r"srandom|setpriority|nice|setpgid|setsid|dup2|dup3|daemon|mlockall|close_range|close_?from|pthread_atfork|set[eu]*[ug]id)\s*\(")
# (file, call): why it may. src/capture/cuda is not a library of the program's: the driver loads it.
EFFECTS_WITH_REASON = {
    ("record/command.c", "sigaction"): "signals are passed on to the command as record.h says, and given back",
    ("record/command.c", "sigprocmask"): "in the child, before execve",
    ("record/command.c", "_exit"): "in the child, where execve failed",
    ("record/command.c", "kill"): "the command, which is our child",
    ("record/command.c", "raise"): "SIGTSTP stops us as it stopped the command, as record.h says",
    ("record/command.c", "prctl"): "wait_all, which is off unless asked for; given back",
    ("record/library.c", "_exit"): "in a child that tries to load the library",
    ("record/library.c", "dup2"): "in that child",
    ("devices/python.c", "kill"): "our child",
    ("mpi/witness.c", "sigaction"): "SIGTERM, before the program's handler, as mpi.h says; given back",
    ("mpi/witness.c", "raise"): "SIGTERM, which came",
    ("mpi/witness.c", "setsid"): "in the witness, a child that never returns",
    ("mpi/witness.c", "dup2"): "in the witness",
    ("mpi/witness.c", "close_from"): "in the witness",
    ("mpi/witness.c", "_exit"): "in the witness",
    ("capture/uprobe/tracefs.c", "kill"): "signal 0: whether a process lives",
    ("record/live.c", "kill"): "signal 0: whether a process lives",
    ("capture/session/alone.c", "exit"): "exit_when_alone, which is off unless asked for",
    ("capture/session/fork.c", "pthread_atfork"): "a session must know of fork, as session.h says",
    ("view/session/session.c", "setpriority"): "of the calling thread, which is ours",
    ("view/scene/work.c", "malloc_trim"): "gives unused memory back, and changes no setting",
    ("view/session/session.c", "malloc_trim"): "likewise, of a closed trace",
}


def check_effects(root):
    problems, seen = [], set()
    for path in sources(root, "src"):
        name = str(path.relative_to(root / "src"))
        if name.startswith(("cli/", "capture/cuda/")) or path.suffix != ".c":
            continue
        code = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), path.read_text(encoding="utf-8"))
        for match in EFFECTS.finditer(code):
            seen.add((name, match[1]))
            if (name, match[1]) not in EFFECTS_WITH_REASON:
                line = code.count("\n", 0, match.start()) + 1
                problems.append(f"src/{name}:{line}: {match[1]} changes the whole process: the command may, or an option that is off")
    problems += [f"tools/check_layers.py: {name} calls no {call} any more" for name, call in EFFECTS_WITH_REASON.keys() - seen]
    return problems


# C libraries differ in what qsort does with equal elements: hd_sort is stable. These cannot call it, and have no equal ones:
TOTAL_ORDERS = {
    "cli/job_in.c": "by name, or by size and number",
    "flame/svg_layout.c": "by caller and name, then by number",
    "report/whatif/model.c": "by start, then by place",
    "view/ranks/picture.c": "by what a row shows, then by number",
    "wasm/compat.c": "a definition, by hd_sort",
}
SORTS = re.compile(r"\bqsort(?:_r)?\s*\(")
QUOTED = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'")
# Names get numbers in the order in which they are first asked for: by these, and by what calls them and returns a number.
NUMBERS = {"hd_builder_intern", "hd_builder_intern_text", "hd_copy_string", "ow_bytes"}
NUMBERING = re.compile(r"^(static )?(?:inline )?(?:uint32_t|hd_ident) (\w+)\([^;{}]*\)\s*\{(.*?)^\}", re.M | re.S)


def arguments(code, at):
    """Where the arguments of the call whose bracket is at `at` begin and end."""
    depth, first, found = 0, at + 1, []
    for i in range(at, len(code)):
        if code[i] in "([{":
            depth += 1
        elif code[i] in ")]}":
            depth -= 1
            if depth == 0:
                return found + [(first, i)]
        elif code[i] == "," and depth == 1:
            found.append((first, i))
            first = i + 1
    return found


def check_same(root):
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    texts = {path: QUOTED.sub(blank, COMMENT.sub(blank, path.read_text(encoding="utf-8")))
             for path in sources(root, "src") if path.suffix == ".c"}
    shared, own, grew = set(NUMBERS), {path: set() for path in texts}, True
    functions = [(own[path] if match[1] else shared, own[path], match[2], set(re.findall(r"\b(\w+)\(", match[3])))
                 for path, code in texts.items() for match in NUMBERING.finditer(code)]
    while grew:
        found = [(known, name) for known, local, name, calls in functions if name not in known and calls & (shared | local)]
        for known, name in found:
            known.add(name)
        grew = bool(found)
    problems = []
    for path, code in texts.items():
        name = str(path.relative_to(root / "src"))
        places = [(match.start(), "qsort: hd_sort is stable") for match in SORTS.finditer(code)
                  if name not in TOTAL_ORDERS]
        numbering = re.compile(rf"\b(?:{'|'.join(shared | own[path])})\(")
        numbered = [match.start() for match in numbering.finditer(code)]
        ends = [match.start() for match in re.finditer(";", code)]
        for match in re.finditer(r"\b(\w+)\(", code):
            within = bisect(numbered, match.start()), bisect(numbered, ends[bisect(ends, match.start())] if ends[-1] > match.start() else 0)
            if within[1] - within[0] > 1 and match[1] not in ("if", "for", "while", "switch", "return") and \
                    sum(bool(numbering.search(code, *at)) for at in arguments(code, match.end() - 1)) > 1:
                places.append((match.start(), f"{match[1]}: two arguments number names: in which order is the compiler's choice"))
        problems += [f"src/{name}:{code.count(chr(10), 0, at) + 1}: {why}" for at, why in places]
    return problems


EXTERNAL = re.compile(r"^(?!static\b|_Noreturn static\b|PART\b|typedef\b|else\b|return\b)\w[\w *]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
DECLARED = re.compile(r"^\w[^;{}=]*;", re.M)
# Called by name, from outside or by tests alone.
CALLED_BY_NAME = {
    "main": "programs",
    "InitializeInjection": "the CUDA driver",
    "InitializeInjectionNvtx2": "NVTX",
    "view_session_add_scene": "tests: a session of scenes that they make",
    "view_row_bytes": "tests and bench: the memory of a row",
    "sqlite3_os_init": "SQLite, in WebAssembly",
    "sqlite3_os_end": "SQLite, in WebAssembly",
    **{f"hd_engine_{name}": "the host of WebAssembly" for name in ("room", "give", "begin", "end", "open", "follow", "step", "ask", "data", "size", "type", "file_name")},
}


def check_used(root):
    def words(*folders):
        return {path: Counter(re.findall(r"\w+", DECLARED.sub(" ", code) if path.suffix == ".h" else code))
                for folder in folders for path in (root / folder).rglob("*") if path.suffix in (".c", ".h", ".cc", ".inc")
                for code in [COMMENT.sub(" ", path.read_text(encoding="utf-8"))]}
    inside = words("src")
    public = {word for path in (root / "include").rglob("*.h") for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    tests, all_words = Counter(), Counter()
    for total, files in ((tests, words("tests", "fuzz", "bench")), (all_words, inside)):
        for counts in files.values():
            total.update(counts)
    problems = []
    for path, own in inside.items():
        code = COMMENT.sub(" ", path.read_text(encoding="utf-8")) if path.suffix == ".c" else ""
        for name in EXTERNAL.findall(code):
            others = all_words[name] - own[name]
            if others or name in public or name in CALLED_BY_NAME or own[name] > 1 and tests[name]:
                continue
            why = "its own file alone calls it: static" if own[name] > 1 else "only tests call it" if tests[name] else "nothing calls it"
            problems.append(f"{path.relative_to(root)}: {name}: {why}")
    return problems


STRUCT = re.compile(r"typedef struct (hd_\w+) \{\n(.*?)\n\} \1;", re.S)
# Never longer than they are: a value with its unit, an id, a column's encoding.
VALUES = {"hd_convert_time", "hd_ident", "hd_column", "hd_string", "hd_clock_fit"}


def check_structs(root):
    """Options begin with their size, and their functions copy them; no public struct lies within another; outputs come first."""
    structs, takers, problems = {}, {}, []
    for path in sources(root, "include"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        if path.name == "synth.h":
            continue  # not installed
        problems += [f"{path.name}: {name}: what callers hold is made by _new or **out, and ends with _free"
                     for name in re.findall(r"\bhd_\w+_(?:init|deinit)\b", text)]
        structs.update({match[1]: match[2] for match in STRUCT.finditer(text)})
        for match in re.finditer(r"\b(hd_\w+)\([^;{}()]*const hd_\w+_options \*\w+[^;{}]*\);", text):
            takers[match[1]] = path.name
        for match in re.finditer(r"\b(hd_\w+)\(([^;{}()]*)\);", re.sub(r"\btypedef\b[^;{]*;", "", text)):
            outputs = [bool(re.search(r"\*\s*out(_\w+)?$|\bout\[", parameter.strip())) for parameter in match[2].split(",")]
            if outputs != sorted(outputs, reverse=True):
                problems.append(f"{path.name}: {match[1]}: outputs come first")
    for name, body in structs.items():
        if name.endswith("_options") and not body.lstrip().startswith("size_t size;"):
            problems.append(f"{name}: the first member of options is `size_t size`")
        inside = {member for member in re.findall(r"^\s*(?:const )?(hd_\w+) (?!\*)", body, re.M) if member in structs.keys() - VALUES}
        inside |= {"memory"} if re.search(r"void \*memory;", body) else set()
        problems += [f"{name}: {member} stands in it by value, or is no business of callers" for member in sorted(inside)]
    for path in sources(root, "src"):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"^\w[\w *)(]*?\b(hd_\w+)\([^;{]*\)\n\{\n(.*?)^\}", text, re.M | re.S):
            if match[1] in takers and not re.search(r"HD_OWN_OPTIONS|hd_options_copy|HD_ERR_UNSUPPORTED|hd_trace_read_from\(|hd_(?:trace|job)_write_to\(", match[2]):
                problems.append(f"{path.relative_to(root)}: {match[1]} uses its options without HD_OWN_OPTIONS")
    return problems


CHECKS = {"layers": check_layers, "third-party": check_third_party, "listed": check_listed, "mentioned": check_mentioned,
          "toured": check_toured, "used": check_used, "effects": check_effects, "same": check_same, "structs": check_structs, "formats": check_formats}


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    root = Path(sys.argv[2] if len(sys.argv) == 3 else Path(__file__).parent.parent).resolve()
    problems = CHECKS[sys.argv[1]](root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


sys.exit(main())
