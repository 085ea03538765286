#!/usr/bin/python3
"""Each part is installed with its headers and a .pc of its own, a program builds with that alone, and needs no more.

usage: parts.py --meson MESON --build DIR --cc CC [--flags FLAGS] [--without PART...]

The programs in examples/ are built against the same tree, by pkg-config and, where there is one, CMake, and do what they say.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--meson", required=True)
parser.add_argument("--build", type=Path, required=True)
parser.add_argument("--cc", required=True)
parser.add_argument("--flags", default="", help="of the compiler, such as the library's sanitizers")
args = parser.parse_args()

START = "#include <stdio.h>\n#include <heddle/%s.h>\nint main(void)\n{\n    hd_error err = {0};\n    char text[HD_ERROR_TEXT_BYTES];\n"
END = """    if (status == HD_OK) return 0;
    fprintf(stderr, "%s\\n", hd_error_text(text, sizeof text, &err));
    return 1;
}
"""
READ = '    hd_trace *trace = NULL;\n    hd_status status = hd_trace_read(&trace, "t.json", NULL, &err);\n'
# Part -> (its header, a program, which of the project's and of others' libraries the program's process has and has not)
PARTS = {
    "heddle": ("heddle", READ + """    if (status == HD_OK) status = hd_trace_write(trace, "t.heddle", NULL, &err);
    hd_trace_free(trace);
""", {"heddle"}, {"microhttpd", "dw", "elf", "gnutls", "heddle-view", "heddle-symbolize", "heddle-record", "heddle-capture"}),
    "heddle-symbolize": ("symbolize", READ + """    hd_trace *named = NULL;
    hd_symbolize_report *report = NULL;
    if (status == HD_OK) status = hd_symbolize(&named, &report, trace, NULL, &err);
    hd_symbolize_report_free(report);
    hd_trace_free(named);
    hd_trace_free(trace);
""", {"heddle", "heddle-symbolize"}, {"microhttpd", "gnutls", "heddle-view", "heddle-record"}),
    "heddle-query": ("query", READ + """    hd_query *query = NULL;
    hd_statement *rows = NULL;
    hd_query_input input = {.trace = trace, .rank = HD_NO_NUMBER};
    if (status == HD_OK) status = hd_query_new(&query, &input, 1, NULL, &err);
    if (status == HD_OK) status = hd_query_prepare(&rows, NULL, query, "select count(*) from slice", SIZE_MAX, &err);
    if (status == HD_OK) status = hd_statement_next(rows, &err);
    hd_statement_free(rows);
    hd_query_free(query);
    hd_trace_free(trace);
    if (status == HD_ERR_UNSUPPORTED) return 0;
""", {"heddle", "heddle-query"}, {"microhttpd", "dw", "elf", "heddle-view", "heddle-symbolize", "heddle-record"}),
    "heddle-view": ("view", """    hd_view *view = NULL;
    const char *paths[] = {"t.json"};
    hd_status status = hd_view_start(&view, paths, 1, NULL, &err);
    if (status == HD_ERR_UNSUPPORTED && !hd_view_has_server()) return 0;
    if (view && !hd_view_port(view)) return 2;
    hd_view_free(view);
""", {"heddle", "heddle-query", "heddle-view"}, {"dw", "elf", "heddle-symbolize", "heddle-record"}),
    "heddle-record": ("capture/record", """    const char *command[] = {"true", NULL};
    const hd_record_options options = {.output = "r.heddle", .no_cuda = true};
    hd_record_result *result;
    hd_status status = hd_record_run(&result, command, &options, &err);
    if (status == HD_OK && (!result->started || result->exit_status)) return 2;
    hd_record_result_free(result);
""", {"heddle", "heddle-symbolize", "heddle-record", "heddle-capture"}, {"microhttpd", "gnutls", "heddle-view"}),
    "heddle-capture": ("session", """    hd_session *session = NULL;
    hd_status status = hd_session_start(&session, "s.hdcap", NULL, &err);
    hd_session_instant(session, hd_session_intern(session, "here"), 0);
    if (status == HD_OK) status = hd_session_stop(NULL, session, &err);
    hd_session_free(session);
""", {"heddle-capture"}, {"heddle", "isal", "zstd", "microhttpd", "dw"}),
}


def run(*words, **how):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **how)
    assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


def check_examples(programs, work, env):
    """What was built of examples/ in a folder, against a trace whose longest slices are known."""
    events = [{"ph": "X", "name": f"slice {i}", "pid": 0, "tid": 0, "ts": i * 1000, "dur": i * 37 % 101} for i in range(100)]
    (work / "slices.json").write_text(json.dumps(events), encoding="utf-8")
    longest = [line.split(" ns  ") for line in run(programs / "longest", work / "slices.json", 4, env=env).splitlines()]
    wanted = sorted(events, key=lambda event: -event["dur"])[:4]
    assert [(int(ns), name) for ns, name in longest] == [(event["dur"] * 1000, event["name"]) for event in wanted], longest
    for program, names in (("emit", {"step": 10, "part": 30}), ("marks", {"work": 4})):
        run(programs / program, work / "out.hdcap", env=env)
        seen = [line.split(" ns  ")[1] for line in run(programs / "longest", work / "out.hdcap", 1000, env=env).splitlines()]
        assert {name: seen.count(name) for name in set(seen)} == names, (program, seen)
    assert bool(shutil.which("nvcc")) == (programs / "saxpy").exists()


def build_examples(prefix, libdir, work, env):
    """By both ways, from a copy of the tree elsewhere: nothing in it names the place where it was made."""
    flags, examples = args.flags, Path(__file__).resolve().parents[2] / "examples"
    moved = work / "moved here"
    shutil.copytree(prefix, moved, symlinks=True)
    libdir = moved / libdir.relative_to(prefix)
    env = {**env, "LD_LIBRARY_PATH": str(libdir)}
    (work / "make").mkdir()
    link = f"-Wl,-rpath-link,'{libdir}' {flags}"
    cuda = [f"{work}/make/saxpy"] if shutil.which("nvcc") else []
    if not cuda:
        print("no nvcc: saxpy.cu is not compiled")
    run("make", "-C", examples, "all", *cuda, f"OUT={work}/make", f"CC={args.cc}", f"CFLAGS=-Wall -Wextra -Werror {flags}", f"LDFLAGS={link}",
        f"PKG_CONFIG=pkg-config --define-variable=prefix='{str(moved).replace(' ', chr(92) + ' ')}'", env=env)
    check_examples(work / "make", work, env)
    if shutil.which("cmake"):
        run("cmake", "-S", examples, "-B", work / "cmake", f"-DCMAKE_PREFIX_PATH={moved}", f"-DCMAKE_C_COMPILER={args.cc}",
            f"-DCMAKE_C_FLAGS=-Wall -Wextra -Werror {flags}", f"-DCMAKE_CXX_FLAGS={flags}", env=env)
        run("cmake", "--build", work / "cmake", env=env)
        check_examples(work / "cmake", work, env)
        assert str(moved) in run("ldd", work / "cmake/longest", env=env)
        for version, part, fine in (("0.1", "heddle", True), ("0.0.9", "heddle", False), ("99", "heddle", False), ("0.1", "loom", False)):
            (work / "find").mkdir(exist_ok=True)
            (work / "find/CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.18)\nproject(find LANGUAGES C)\n"
                                                      f"find_package(heddle {version} REQUIRED COMPONENTS {part})\n")
            done = subprocess.run(["cmake", "-S", work / "find", "-B", work / "find/build", f"-DCMAKE_PREFIX_PATH={moved}"],
                                  capture_output=True, text=True, env=env)
            assert (done.returncode == 0) == fine, (version, part, done.stderr)
    else:
        print("no cmake: its package file is not tried")


with tempfile.TemporaryDirectory() as folder:
    root, work = Path(folder) / "root", Path(folder) / "work"
    work.mkdir()
    (work / "t.json").write_text('[{"ph":"X","name":"a","pid":0,"tid":0,"ts":1,"dur":2}]', encoding="utf-8")
    run(args.meson, "install", "-C", args.build, "--no-rebuild", "--destdir", root)
    pcs = sorted(root.rglob("*.pc"))
    assert {pc.stem for pc in pcs} == PARTS.keys(), pcs
    libdir = pcs[0].parent.parent
    prefix = root / re.search(r"^prefix=/(.*)", pcs[0].read_text(), re.M)[1]
    assert not list(root.rglob("*synth.h")) and not list(root.rglob("libheddle-synth*"))
    env = {**os.environ, "PKG_CONFIG_PATH": str(libdir / "pkgconfig")}
    for name, (header, body, has, has_not) in PARTS.items():
        flags = run("pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs", name, env=env).split()
        (work / "main.c").write_text(START % header + body + END, encoding="utf-8")
        run(args.cc, "-std=c17", "-Wall", "-Wextra", "-Werror", *args.flags.split(), "main.c", "-o", name, *flags,
            f"-Wl,-rpath-link,{libdir}", cwd=work)
        run(work / name, cwd=work, env={**env, "LD_LIBRARY_PATH": str(libdir)})
        listed = run("ldd", work / name, env={**env, "LD_LIBRARY_PATH": str(libdir)})
        loaded = set(re.findall(r"\blib([\w-]+?)\.so", listed))
        assert has <= loaded and not has_not & loaded, (name, loaded)
        assert str(root) in listed and "not found" not in listed, listed
        # What users link is under the ABI's version; what only parts take is under one that ends with this release.
        versions = run("readelf", "-V", "-W", libdir / f"lib{name}.so")
        nodes = set(re.findall(r"Rev: .*Name: (HEDDLE\S+)", versions))
        assert nodes and nodes <= {"HEDDLE_0", f"HEDDLE_PARTS_{run('pkg-config', '--modversion', name, env=env).strip()}"}, versions
        used = set(re.findall(r"Name: (HEDDLE_PARTS\S+)", run("readelf", "-V", "-W", work / name)))
        assert not used, (name, used)
    build_examples(prefix, libdir, work, env)
print(f"{len(PARTS)} passed")
