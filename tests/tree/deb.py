#!/usr/bin/python3
"""The packages of `make deb` are installed, used and removed in a small Debian; so is what packaging/Containerfile says.

usage: tests/tree/deb.py [--base DIR] build/deb [NAME...]

--base is a Debian that debootstrap has made, or makes there; each test has a copy of it. Needs root and the network.
"""
import argparse
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("heddle", "heddle-capture", "libheddle0", "libheddle-dev")
DEBS = BASE = None
ENV = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
       "NODE_EXTRA_CA_CERTS": "/tmp/authorities"}


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout[-5000:]}")
    return done.stdout


class Place:
    """A Debian of its own, for as long as a test takes."""

    def __init__(self, test):
        if os.geteuid() != 0:
            test.skipTest("not root")
        if not BASE.exists():
            if not shutil.which("debootstrap"):
                test.skipTest("no debootstrap")
            made = BASE.with_name(BASE.name + ".new")
            shutil.rmtree(made, ignore_errors=True)
            run("debootstrap", "--variant=minbase", "bookworm", made, "http://deb.debian.org/debian")
            made.rename(BASE)
        self.at = Path(tempfile.mkdtemp(prefix="heddle-deb-"))
        test.addCleanup(self.remove)
        run("cp", "-a", f"{BASE}/.", self.at)
        for name in ("etc/resolv.conf", "etc/hosts"):
            shutil.copy(f"/{name}", self.at / name)
        for path in glob.glob("/etc/apt/apt.conf.d/*proxy*"):
            shutil.copy(path, self.at / path[1:])
        (self.at / "etc/dpkg/dpkg.cfg.d/quick").write_text("force-unsafe-io\n")
        # The network may have an authority of its own.
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", self.at / "tmp/authorities")
        self.directory, self.env = "/", {**ENV, **{key: value for key, value in os.environ.items() if key.lower().endswith("_proxy")}}

    def enter(self, *words):
        """The words that run something inside; /proc and /dev are mounted there as long as it runs."""
        return ["unshare", "-m", "sh", "-c", 'mount --rbind /proc "$1/proc" && mount --rbind /dev "$1/dev" || exit 125\n'
                'root=$1 folder=$2; shift 2; exec chroot "$root" sh -c \'cd "$1" && shift && exec "$@"\' sh "$folder" "$@"', "sh",
                str(self.at), self.directory, *map(str, words)]

    def inside(self, *words):
        return run(*self.enter(*words), env=self.env)

    def copy(self, paths, to):
        """As COPY does: into a folder."""
        target = self.at / to.strip("/")
        target.mkdir(parents=True, exist_ok=True)
        for path in paths:
            run("cp", "-a", f"{path}/." if Path(path).is_dir() else path, target)

    def remove(self):
        shutil.rmtree(self.at, ignore_errors=True)


def ours(place):
    """What lies in the Debian that is Heddle's."""
    skipped = {"proc", "dev", "sys", "tmp", "packages"}
    return [path for top in place.at.iterdir() if top.name not in skipped
            for path in top.rglob("*heddle*") if not str(path).startswith((f"{place.at}/var/log", f"{place.at}/var/lib/dpkg"))]


def use_command(test, place, has_engine):
    about = json.loads(place.inside("heddle", "version", "--json"))
    test.assertEqual(about["parts"], dict.fromkeys(("record", "symbols", "sql", "otf2", "view", "page", "xctrace"), True))
    place.inside("heddle", "synth", "--steps", 2, "--crossings", 8, "-o", "/tmp/in.json")
    place.inside("heddle", "fix", "/tmp/in.json", "/tmp/fixed.json")
    place.inside("heddle", "check", "-q", "/tmp/fixed.json")
    place.inside("heddle", "convert", "/tmp/fixed.json", "/tmp/fixed.heddle")
    place.inside("heddle", "flame", "/tmp/fixed.heddle", "-o", "/tmp/flame.svg")
    test.assertIn("</svg>", (place.at / "tmp/flame.svg").read_text())
    test.assertIn("where the time goes", place.inside("heddle", "summary", "/tmp/fixed.heddle"))
    if has_engine:
        place.inside("heddle", "view", "--save", "/tmp/saved.html", "/tmp/fixed.heddle")
        test.assertIn('class="heddle-trace"', (place.at / "tmp/saved.html").read_text())
        test.assertTrue((place.at / "usr/share/doc/heddle/engine/compiler_rt").stat().st_size > 500)
    test.assertIn("tracer: /usr/lib/x86_64-linux-gnu/heddle/libheddle-cuda.so", place.inside("sh", "-c", "heddle record --check || true"))
    place.inside("sh", "-c", "heddle record -o /tmp/run.heddle -- true; [ $? = 1 ]")
    view = subprocess.Popen(place.enter("heddle", "view", "--no-open", "--port", 0, "--json", "--stop-after", 60, "/tmp/fixed.heddle"),
                            env=place.env, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        port = json.loads(view.stdout.readline())["port"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
            test.assertIn(b"<script", answer.read())
    finally:
        os.killpg(view.pid, signal.SIGTERM)
        view.communicate()


class Packages(unittest.TestCase):
    def test_installed_used_removed(self):
        place = Place(self)
        before = ours(place)
        place.copy(DEBS.glob("*.deb"), "packages")
        place.inside("apt-get", "update", "-q")

        def install(*names):
            place.inside("sh", "-c", "apt-get install -q -y --no-install-recommends " + " ".join(
                f"/packages/{name}_*.deb" if name in PACKAGES else name for name in names))
        install("heddle", "heddle-capture")
        use_command(self, place, (ROOT / "build/wasm/engine.html").exists())
        for path in ("bash-completion/completions/heddle.bash", "zsh/vendor-completions/_heddle", "fish/vendor_completions.d/heddle.fish"):
            self.assertTrue((place.at / "usr/share" / path).exists(), path)
        self.assertFalse((place.at / "usr/include/heddle").exists())

        install("libheddle0", "libheddle-dev", "gcc", "g++", "libc6-dev", "make", "pkg-config", "cmake")
        place.copy([ROOT / "examples"], "tmp/examples")
        place.inside("make", "-C", "/tmp/examples")
        place.inside("cmake", "-S", "/tmp/examples", "-B", "/tmp/cmake")
        place.inside("cmake", "--build", "/tmp/cmake")
        for folder in ("/tmp/examples", "/tmp/cmake"):
            for program in ("emit", "marks"):
                place.inside(f"{folder}/{program}", "/tmp/out.hdcap")
                self.assertRegex(place.inside(f"{folder}/longest", "/tmp/out.hdcap", 1), r"^ *\d+ ns  (step|work)\n$")

        place.inside("apt-get", "purge", "-q", "-y", *PACKAGES)
        self.assertEqual(ours(place), before)


class Container(unittest.TestCase):
    def test_the_lines_of_the_containerfile(self):
        """FROM is the small Debian each time; RUN, COPY, WORKDIR and ENTRYPOINT do what they do in an engine."""
        stages, place = {}, None
        for line in (ROOT / "packaging/Containerfile").read_text().splitlines():
            verb, _, rest = line.partition(" ")
            if not line or verb == "#" or verb == "CMD":
                continue
            if verb == "FROM":
                place = Place(self)
                if " AS " in rest:
                    stages[rest.split(" AS ")[1]] = place
            elif verb == "RUN":
                place.inside("sh", "-c", rest)
            elif verb == "WORKDIR":
                place.directory = rest
                (place.at / rest.strip("/")).mkdir(parents=True, exist_ok=True)
            elif verb == "COPY" and rest == ". /src":
                files = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
                (place.at / "src").mkdir()
                subprocess.run(f"tar --null -T - -cf - | tar -xf - -C {shlex.quote(str(place.at))}/src", shell=True, cwd=ROOT, input=files, text=True, check=True)
                place.inside("sh", "-c", "cd /src && git init -q && git add -A")
            elif verb == "COPY":
                stage, *paths, to = re.fullmatch(r"--from=(\w+) (.*)", rest)[1], *rest.split()[1:]
                place.copy([found for path in paths for found in glob.glob(f"{stages[stage].at}{path}")], to)
            else:
                self.assertEqual(line, 'ENTRYPOINT ["heddle"]')
        place.directory = "/tmp"
        use_command(self, place, False)
        self.assertFalse((place.at / "packages").exists())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", type=Path, default=ROOT / "build/deb-root")
    parser.add_argument("debs", type=Path)
    arguments, rest = parser.parse_known_args()
    BASE, DEBS = arguments.base.resolve(), arguments.debs.resolve()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
