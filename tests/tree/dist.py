#!/usr/bin/python3
"""The archive of `make dist` needs nothing but glibc, and works where there is nothing else.

usage: tests/tree/dist.py build/dist/heddle-VERSION-linux-x86_64.tar.zst

It is unpacked into a folder with blanks in its name, read-only, in a root of its own (unshare, chroot) that has glibc, a
/proc and a /dev, and called through a symbolic link. What the machine lacks for a part is said, and the part skipped.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(1, str(ROOT / "tests/capture"))
from check_portable import GLIBC, faults  # noqa: E402

PLACE = "opt/a place with blanks"
# Binds the folder of the archive read-only; then as in a machine that has nothing.
ENTER = """
mount --rbind /proc "$1/proc" && mount --rbind /dev "$1/dev" &&
mount --bind "$1/$2" "$1/$2" && mount -o remount,bind,ro "$1/$2" || exit 125
root=$1; shift 2; exec chroot "$root" "$@"
"""
ARCHIVE = None


def run(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def need(test, *programs):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        test.skipTest("no " + ", ".join(missing))


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = Path(tempfile.mkdtemp(prefix="heddle-dist-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, True)
        for folder in ("proc", "dev", "tmp", "usr/bin", PLACE):
            (cls.root / folder).mkdir(parents=True)
        run("tar", "-xf", ARCHIVE, "-C", cls.root / PLACE)
        cls.name, = os.listdir(cls.root / PLACE)
        cls.at = cls.root / PLACE / cls.name
        (cls.root / "usr/bin/heddle").symlink_to(f"/{PLACE}/{cls.name}/bin/heddle")
        needed = run("ldd", cls.at / "bin/heddle") + run("ldd", cls.at / "lib/heddle/libheddle-cuda.so")
        for path in {word for word in needed.split() if word.startswith("/") and Path(word).name in GLIBC}:
            inside = cls.root / path.lstrip("/")
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, inside)

    def enter(self, *words, env=None, **more):
        """Starts a program in the root, in its /tmp."""
        need(self, "unshare", "chroot")
        if subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode:
            self.skipTest("no namespaces of users here")
        clean = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/tmp", "LANG": "C.UTF-8", **(env or {})}
        return subprocess.Popen(["unshare", "-Urm", "sh", "-c", ENTER, "sh", str(self.root), PLACE, *map(str, words)],
                                env=clean, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def inside(self, *words, status=0, **more):
        process = self.enter(*words, **more)
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, status, f"{words}\n{out}\n{err}")
        return out

    def made(self):
        """A trace in the root's /tmp, with slices that cross."""
        if not (self.root / "tmp/in.json").exists():
            self.inside("heddle", "synth", "--steps", 2, "--crossings", 8, "-o", "/tmp/in.json")
        return "/tmp/in.json"

    # ---- what it is linked with ----

    def test_nothing_above_the_promise(self):
        need(self, "readelf")
        files = [path for path in self.at.rglob("*") if path.is_file() and not path.is_symlink() and
                 path.read_bytes()[:4] == b"\x7fELF"]
        injected = {path for path in files if path.name.startswith(("libheddle-cuda", "libheddle-capture"))}
        beside = {path for path in files if path.name.startswith(("libheddle-view", "libheddle-query"))}
        self.assertEqual((len(files), len(injected), len(beside)), (8, 2, 2), files)
        for path in files:
            found = faults(path, "2.17" if path in injected else "2.28", ["libheddle.so.0", "libheddle-query.so.0"] if path in beside else [])
            self.assertEqual(list(found), [], path)
            # Other variables have several names in glibc, of which a copy would be but one.
            copied = set(re.findall(r"_COPY .* (\S+)@", run("readelf", "-rW", path)))
            self.assertLessEqual(copied, {"stdin", "stdout", "stderr"}, path)

    def test_licences_and_pages(self):
        for path in ("LICENSE", "sbom.cdx.json", "licences/libisal-dev", "licences/libdw-dev", "licences/LGPL-3", "licences/preact"):
            self.assertTrue((self.at / "share/doc/heddle" / path).stat().st_size > 500, path)
        # The libraries in the viewer's engine are named too.
        for path in ("libzstd-dev", "libxxhash-dev", "libsqlite3-dev", "musl", "wasi-libc", "compiler_rt"):
            self.assertTrue((self.at / "share/doc/heddle/licences" / path).stat().st_size > 500, path)
        parts = json.loads((self.at / "share/doc/heddle/sbom.cdx.json").read_text())["components"]
        self.assertLessEqual({"libisal", "libzstd", "sqlite3", "xxhash", "libc/musl", "libc/wasi", "compiler_rt", "preact"}, {part["name"] for part in parts})
        self.assertEqual(len({part["bom-ref"] for part in parts}), len(parts), parts)
        self.assertIn("heddle\\-fix", (self.at / "share/man/man1/heddle-fix.1").read_text())
        for path in ("bash-completion/completions/heddle.bash", "zsh/site-functions/_heddle", "fish/vendor_completions.d/heddle.fish"):
            self.assertIn("complet", (self.at / "share" / path).read_text(), path)

    # ---- the command, where there is nothing ----

    def test_version_tells_what_is_linked_in(self):
        about = json.loads(self.inside("heddle", "version", "--json"))
        self.assertTrue(about["libraries_static"])
        self.assertEqual(about["parts"], dict.fromkeys(("record", "symbols", "sql", "otf2", "view", "page", "xctrace"), True))

    def test_its_folder_is_read_only(self):
        self.inside("heddle", "synth", "-o", f"/{PLACE}/{self.name}/out.json", status=1)

    def test_fix_convert_flame(self):
        trace = self.made()
        self.inside("heddle", "check", trace, status=1)
        self.inside("heddle", "fix", trace, "/tmp/fixed.json")
        for end in (".heddle", ".pftrace", ".json.gz", ".json.zst", ".otf2"):
            self.inside("heddle", "convert", "/tmp/fixed.json", f"/tmp/converted{end}")
            self.inside("heddle", "info", f"/tmp/converted{end}")
        self.inside("heddle", "flame", "/tmp/converted.heddle", "-o", "/tmp/flame.svg")
        self.assertIn("</svg>", (self.root / "tmp/flame.svg").read_text())
        self.inside("heddle", "view", "--save", "/tmp/saved.html", "/tmp/converted.heddle")
        self.assertIn('class="heddle-trace"', (self.root / "tmp/saved.html").read_text())
        self.inside("heddle", "query", "/tmp/converted.heddle", "select count(*) from slice", "-o", "/tmp/count.csv")
        self.assertGreater(int((self.root / "tmp/count.csv").read_text().split()[1]), 100)

    def test_view_answers(self):
        process = self.enter("heddle", "view", "--no-open", "--port", 0, "--json", "--stop-after", 120, self.made())
        try:
            line = process.stdout.readline()
            self.assertTrue(line, process.poll())
            with urllib.request.urlopen(f"http://127.0.0.1:{json.loads(line)['port']}/", timeout=60) as answer:
                self.assertEqual(answer.status, 200)
                self.assertIn(b"<script", answer.read())
        finally:
            process.terminate()
            process.communicate()

    def test_record_finds_its_library_and_names_stacks(self):
        need(self, "gcc")
        fake, cuda = ROOT / "tests/capture/fake_cuda", self.root / "tmp/cuda"
        cuda.mkdir()
        compile = ["gcc", "-D_GNU_SOURCE", "-g", "-fno-inline", "-fno-optimize-sibling-calls", "-w", f"-I{ROOT}/include",
                   f"-I{ROOT}/src", f"-I{ROOT}/tests", f"-L{cuda}", "-Wl,--no-as-needed", '-DHD_VERSION="test"']
        parts = {"libcuda.so.1": ["driver", "graph", "memory", "more", "script"], "libcudart.so.13": ["runtime"],
                 "libcupti.so.13": ["buffers", "cupti", "ids", "records"]}
        for name, files in parts.items():
            run(*compile, "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", cuda / name, *[fake / f"double_{file}.c" for file in files],
                *[] if name == "libcuda.so.1" else ["-l:libcuda.so.1"], "-lpthread", "-ldl")
        run(*compile, "-o", cuda / "app", fake / "fake_app.c", "-l:libcuda.so.1", "-l:libcudart.so.13", "-lpthread", "-ldl")
        out = self.inside("heddle", "record", "-o", "/tmp/run.heddle", "--", "/tmp/cuda/app", "launch:30", "sync",
                          env={"LD_LIBRARY_PATH": "/tmp/cuda", "HEDDLE_CUPTI": "/tmp/cuda/libcupti.so.13", "FAKE_CUDA_TRUTH": "/tmp/truth"})
        self.inside("heddle", "convert", "/tmp/run.heddle", "/tmp/run.json")
        trace = json.loads((self.root / "tmp/run.json").read_text())
        kernels = [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]
        self.assertEqual(len(kernels), 30, out)
        self.assertIn("do_launch", [frame["name"] for frame in trace["stackFrames"].values()])

    def test_the_test_on_a_gpu_is_there(self):
        self.assertIn("driver", run(sys.executable, self.at / "tests/gpu/run.py", "--heddle", self.at / "bin/heddle", "--list"))
        self.assertTrue(os.access(self.at / "tests/gpu/gpu_program", os.X_OK))

    # ---- the libraries ----

    def test_programs_are_built_with_it(self):
        need(self, "gcc", "pkg-config")
        run(sys.executable, ROOT / "tests/tree/example.py", "--cc", "gcc", "--include", self.at / "include",
            "--library", self.at / "lib/libheddle.so")
        source = self.root / "tmp/version.c"
        source.write_text('#include <stdio.h>\n#include <heddle/heddle.h>\n#include <heddle/session.h>\n#include <heddle/view.h>\n'
                          "int main(void) { puts(hd_version()); return !hd_view_start || !hd_session_start; }\n")
        flags = shlex.split(run("pkg-config", "--cflags", "--libs", "heddle-view", "heddle-capture",
                                env={**os.environ, "PKG_CONFIG_PATH": str(self.at / "lib/pkgconfig")}))
        run("gcc", source, "-o", self.root / "tmp/version", *flags, f"-Wl,-rpath,/{PLACE}/{self.name}/lib")
        self.assertEqual(self.inside("/tmp/version").strip(), self.name.split("-")[1])

    def test_examples_are_built_with_it(self):
        need(self, "gcc", "g++", "make", "pkg-config", "cmake")
        out = self.root / "tmp/examples"
        examples = self.at / "share/doc/heddle/examples"
        (out / "make").mkdir(parents=True)
        run("make", "-C", examples, f"OUT={out}/make", f"PKG_CONFIG_PATH={self.at}/lib/pkgconfig")
        run("cmake", "-S", examples, "-B", out / "cmake", f"-DCMAKE_PREFIX_PATH={self.at}")
        run("cmake", "--build", out / "cmake")
        for way in ("make", "cmake"):
            run(out / way / "emit", out / "out.hdcap")
            self.assertRegex(run(out / way / "longest", out / "out.hdcap", 1), r"^ *\d+ ns  step\n$")


if __name__ == "__main__":
    ARCHIVE = Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
