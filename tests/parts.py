#!/usr/bin/python3
"""Each part is installed with its headers and a .pc of its own, a program builds with that alone, and needs no more.

The programs of examples/ build with what is installed, by make and by CMake, and do what they say.

usage: parts.py --meson MESON --build DIR --cc CC [--flags FLAGS]
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
    hd_symbolize_report report = {0};
    if (status == HD_OK) status = hd_symbolize(&named, &report, trace, NULL, &err);
    hd_symbolize_report_deinit(&report);
    hd_trace_free(named);
    hd_trace_free(trace);
""", {"heddle", "heddle-symbolize"}, {"microhttpd", "gnutls", "heddle-view", "heddle-record"}),
    "heddle-view": ("view", """    hd_view *view = NULL;
    const char *paths[] = {"t.json"};
    hd_status status = hd_view_start(&view, paths, 1, NULL, &err);
    if (status == HD_ERR_UNSUPPORTED && !hd_view_has_server()) return 0;
    if (view && !hd_view_port(view)) return 2;
    hd_view_free(view);
""", {"heddle", "heddle-view"}, {"dw", "elf", "heddle-symbolize", "heddle-record"}),
    "heddle-record": ("record", """    const char *command[] = {"true", NULL};
    const hd_record_options options = {.output = "r.heddle", .no_cuda = true};
    hd_record_result result = {0};
    hd_status status = hd_record_run(&result, command, &options, &err);
    if (status == HD_OK && (!result.started || result.exit_status)) return 2;
    hd_record_result_deinit(&result);
""", {"heddle", "heddle-symbolize", "heddle-record", "heddle-capture"}, {"microhttpd", "gnutls", "heddle-view"}),
    "heddle-capture": ("session", """    hd_session *session = NULL;
    hd_status status = hd_session_start(&session, "s.hdcap", NULL, &err);
    hd_session_instant(session, hd_session_intern(session, "here"), 0);
    if (status == HD_OK) status = hd_session_stop(NULL, session, &err);
    hd_session_free(session);
""", {"heddle-capture"}, {"heddle", "isal", "zstd", "microhttpd", "dw"}),
}


EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def check_examples(folder, env):
    """What the programs print and record."""
    durations = [(i * 37 % 101, i) for i in range(100)]
    (folder / "t.json").write_text(json.dumps([{"ph": "X", "name": f"s{i}", "pid": 0, "tid": i, "ts": i, "dur": d}
                                               for d, i in durations]))
    said = run("./longest", "t.json", 5, cwd=folder, env=env)
    assert said == "".join(f"{d * 1000:12} ns  s{i}\n" for d, i in sorted(durations, reverse=True)[:5]), said
    for name, wanted in (("emit", {"work": 20, "rounds": 20, "thread is done": 2}),
                         ("emit_cc", {"matmul": 32, **{f"layer {i}": 4 for i in range(8)}})):
        run(f"./{name}", cwd=folder, env=env)
        run(os.environ["HEDDLE_BIN"], "convert", f"{name}.hdcap", f"{name}.json", cwd=folder)
        counts = {}
        for event in json.loads((folder / f"{name}.json").read_text())["traceEvents"]:
            if event["ph"] in "XBCi":
                counts[event["name"]] = counts.get(event["name"], 0) + 1
        assert counts == wanted, counts


def run(*words, **how):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **how)
    assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


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
    flags = f"-Wall -Wextra -Werror {args.flags} -Wl,-rpath-link,{libdir}"
    by_make, by_cmake = work / "make", work / "cmake"
    shutil.copytree(EXAMPLES, by_make)
    pc_env = {**env, "PKG_CONFIG_SYSROOT_DIR": "", "LD_LIBRARY_PATH": str(libdir)}
    define = f"pkg-config --define-variable=prefix={prefix}"
    run("make", "-C", by_make, f"CFLAGS=-std=c17 {flags}", f"CXXFLAGS=-std=c++17 {flags}",
        *(f"{what}=$(shell {define} --cflags --libs {name})" for what, name in (("heddle", "heddle"), ("capture", "heddle-capture"))),
        env=pc_env)
    check_examples(by_make, pc_env)
    if shutil.which("cmake"):
        run("cmake", "-S", EXAMPLES, "-B", by_cmake, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}")
        run("cmake", "--build", by_cmake)
        check_examples(by_cmake, env)
        (work / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.18)\nproject(p C)\nfind_package(heddle 0.2 REQUIRED)\n")
        refused = subprocess.run(["cmake", "-S", work, "-B", work / "refused", f"-DCMAKE_PREFIX_PATH={prefix}"], capture_output=True, text=True)
        assert refused.returncode and '"0.2"' in refused.stderr and "version: 0.1.0" in refused.stderr, refused
    else:
        print("cmake is not installed: its part is skipped")
print(f"{len(PARTS)} passed")
