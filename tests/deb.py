#!/usr/bin/python3
"""The Debian packages, in a root that debootstrap makes: installed, used, removed.

usage: deb.py DIR        the folder with the .deb files

It needs root and Debian's archive; the root is made once and kept as DIR/root.tar. Skipped (77) without root.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITE = "bookworm"
NAMES = ("heddle", "heddle-capture", "libheddle0", "libheddle-dev")


def run(*words, status=0, **how):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=1800, **how)
    assert done.returncode == status, (words, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def make_root(folder):
    """Debian's own archive as this machine reaches it."""
    run("debootstrap", "--variant=minbase", SUITE, folder, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    for source in ("sources.list", "sources.list.d", "apt.conf.d", "trusted.gpg.d", "auth.conf.d"):
        path = Path("/etc/apt") / source
        if path.is_dir():
            shutil.copytree(path, folder / "etc/apt" / source, dirs_exist_ok=True)
        elif path.exists():
            shutil.copy(path, folder / "etc/apt" / source)
    run("chroot", folder, "apt-get", "update")


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="heddle-deb-")
        cls.root, kept = Path(cls.place.name) / "root", DEBS / "root.tar"
        cls.root.mkdir()
        if not kept.exists():
            make_root(cls.root)
            run("tar", "-C", cls.root, "-cf", kept, ".")
        else:
            run("tar", "-C", cls.root, "-xf", kept)
        shutil.copy("/etc/resolv.conf", cls.root / "etc/resolv.conf")
        (cls.root / "debs").mkdir()
        for name in NAMES:
            shutil.copy(next(DEBS.glob(f"{name}_*.deb")), cls.root / f"debs/{name}.deb")
        cls.before = cls.files()
        cls.inside("sh", "-c", "apt-get install -y --no-install-recommends " + " ".join(f"/debs/{n}.deb" for n in NAMES))

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    @classmethod
    def files(cls):
        return set(cls.inside("find", "/usr", "/etc", "/opt", "-iname", "*heddle*").split())

    @classmethod
    def inside(cls, *words, **how):
        return run("chroot", cls.root, *words, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
                                                    "DEBIAN_FRONTEND": "noninteractive"}, **how)

    def test_1_the_command(self):
        about = json.loads(self.inside("heddle", "version", "--json"))
        self.assertEqual(about["parts"], dict.fromkeys(("record", "symbols", "otf2", "view", "page"), True))
        self.inside("heddle", "synth", "--steps", 2, "--crossings", 8, "-o", "/tmp/in.json")
        self.inside("heddle", "check", "/tmp/in.json", status=1)
        self.inside("heddle", "fix", "/tmp/in.json", "/tmp/fixed.json")
        for end in (".heddle", ".pftrace", ".otf2", ".json.zst"):
            self.inside("heddle", "convert", "/tmp/fixed.json", f"/tmp/out{end}")
            self.inside("heddle", "info", f"/tmp/out{end}")
        self.assertTrue((self.root / "usr/share/man/man1/heddle-fix.1.gz").exists())

    def test_2_record_finds_the_tracer(self):
        self.assertIn("/heddle/libheddle-cuda.so", self.inside("sh", "-c", "heddle record --check || true"))

    def test_3_programs_are_built_with_it(self):
        lib = next((self.root / "usr/lib").glob("*/libheddle.so")).parent
        flags = run("pkg-config", "--define-variable=prefix=" + str(self.root / "usr"), "--cflags", "--libs", "heddle",
                    env={**os.environ, "PKG_CONFIG_LIBDIR": str(lib / "pkgconfig")})
        examples = self.root / "usr/share/doc/libheddle-dev/examples"
        run("gcc", "-std=c17", examples / "longest.c", "-o", self.root / "tmp/longest", *shlex.split(flags), f"-Wl,-rpath-link,{lib}")
        self.assertEqual(len(self.inside("/tmp/longest", "/tmp/in.json", 7).splitlines()), 7)

    def test_4_libraries_of_others(self):
        for name in ("heddle-capture", "libheddle0"):
            depends = re.search(r"^ Depends: (.*)$", run("dpkg-deb", "-I", self.root / f"debs/{name}.deb"), re.M)[1]
            self.assertIn("libc6", depends)
            if name == "heddle-capture":
                self.assertNotIn(",", depends)

    def test_5_removed_without_a_rest(self):
        self.inside("apt-get", "purge", "-y", *NAMES)
        self.assertEqual(self.files(), self.before)
        self.inside("heddle", "version", status=127)


if __name__ == "__main__":
    DEBS = Path(sys.argv.pop(1)).resolve()
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("skipped: needs root and debootstrap")
        sys.exit(77)
    unittest.main(verbosity=2)
