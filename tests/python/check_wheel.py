#!/usr/bin/python3
"""The wheel in a fresh virtual environment of another folder: pip installs it by the name heddle-trace from an index (PEP 503) of
this test, it imports, opens a trace, and has the command; uvx runs that command from the same index.

usage: check_wheel.py WHEEL

A wheel for aarch64 is unpacked instead, and used under qemu-user by the Python that tools/static_libs.sh has put in
build/dist-libs-aarch64; what starts other programs is left out.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROGRAM = """
import heddle, subprocess, sys
trace = heddle.open(b'[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]')
assert [tuple(row) for row in trace.slices(["ts", "dur", "name"])] == [(1000, 2000, "a")]
assert trace.query("select 1 as one")[0].one == 1
trace.write("t.heddle")
assert heddle.__version__
"""
RECORDS = """
assert heddle.version()["version"] == heddle.__version__
assert trace.view().url.startswith("http://localhost")
assert "a" in trace.timeline()
recording = heddle.record([sys.executable, "-c", "import heddle; heddle.start(); heddle.instant('x')"], "r.heddle", quiet=True)
assert recording.output == "r.heddle", recording
assert heddle.open("r.heddle").table("instants", ["name"])["name"] == ["x"]
"""

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "build/wheel-tools/bin"


def index_of(folder, wheel):
    """The address of an index that has this wheel alone."""
    project = Path(folder, "simple/heddle-trace")
    project.mkdir(parents=True)
    shutil.copy(wheel, project)
    of = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (project / "index.html").write_text(f'<!DOCTYPE html><a href="{wheel.name}#sha256={of}">{wheel.name}</a>', encoding="utf-8")
    (project.parent / "index.html").write_text('<!DOCTYPE html><a href="heddle-trace/">heddle-trace</a>', encoding="utf-8")
    return project.parent.as_uri()


def check_aarch64(wheel, folder):
    root = ROOT / "build/dist-libs-aarch64/root/usr"
    libraries = root / "lib/aarch64-linux-gnu"
    shutil.unpack_archive(wheel, folder, "zip")
    emulator = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-E", f"LD_LIBRARY_PATH={libraries}:{root.parent}/lib/aarch64-linux-gnu", "-E", f"PYTHONHOME={root}", "-E", f"PYTHONPATH={folder}"]
    python = next((root / "bin").glob("python3.*"))
    command = Path(folder, "heddle/bin/heddle")
    command.chmod(0o755)
    for program in ([python, "-c", PROGRAM], [command, "info", "t.heddle"], [command, "version"]):
        out = subprocess.run([*emulator, *program], check=True, cwd=folder, capture_output=True, text=True).stdout
    assert out.startswith("heddle "), out
    assert Path(folder, "heddle/lib/heddle/libheddle-cuda.so").is_file()


def main(wheel):
    wheel = Path(wheel).resolve()
    assert wheel.name.startswith("heddle_trace-") and "-abi3-manylinux_" in wheel.name, wheel.name
    if wheel.name.endswith("_aarch64.whl"):
        with tempfile.TemporaryDirectory() as folder:
            check_aarch64(wheel, folder)
        print(f"{wheel.name}: imports and opens under qemu-user; {wheel.stat().st_size / 1e6:.1f} MB")
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "venv")
        venv.create(home, with_pip=True)
        env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "HEDDLE_BIN", "HEDDLE_CUDA_LIBRARY")}
        env["PATH"] = "/usr/bin:/bin"

        def run(*command):
            return subprocess.run(command, check=True, cwd=folder, env=env, capture_output=True, text=True).stdout

        index = index_of(folder, wheel)
        run(home / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--index-url", index, "heddle-trace")
        run(home / "bin/python", "-c", PROGRAM + RECORDS)
        assert "slice" in run(home / "bin/heddle", "info", "t.heddle")
        assert run(home / "bin/python", "-m", "heddle", "version").startswith("heddle ")
        assert "Name: heddle-trace\n" in run(home / "bin/pip", "show", "--disable-pip-version-check", "heddle-trace")
        # Its page has the version's engine, and the trace.
        assert run(home / "bin/python", "-m", "heddle.site", "site", "t.heddle").startswith("wrote site/index.html")
        page = Path(folder, "site/index.html").read_text(encoding="utf-8")
        assert "<title>t.heddle – Heddle</title>" in page and 'class="heddle-trace" data-name="t.heddle"' in page
        # The licences of what is linked into the command and into that engine.
        about, = home.glob("lib/python*/site-packages/heddle/share/doc/heddle")
        for name in ("libmicrohttpd-dev", "libdw-dev", "libzstd-dev", "musl", "wasi-libc", "compiler_rt", "preact", "LGPL-3"):
            assert (about / "licences" / name).stat().st_size > 500, name
        assert "ziglang" in (about / "sbom.cdx.json").read_text(encoding="utf-8")
        uvx = shutil.which("uvx", path=f"{TOOLS}:{os.environ['PATH']}")
        assert uvx, "no uvx: tools/wheel.sh installs it"
        env["UV_CACHE_DIR"] = str(Path(folder, "uv"))
        out = run(uvx, "--quiet", "--default-index", index, "--python", sys.executable, "--from", "heddle-trace", "heddle", "t.heddle")
        assert out.startswith("t.heddle  summary: "), out
        parts = run(home / "bin/heddle", "version")
        missing = [name for name in ("sql", "view", "record") if name not in parts]
        assert not missing, parts
        # What record injects loads, and is found without being told.
        assert (home / "lib").is_dir() and list(home.glob("lib/python*/site-packages/heddle/lib/heddle/libheddle-cuda.so"))
    print(f"{wheel.name}: imports, opens, records; {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
