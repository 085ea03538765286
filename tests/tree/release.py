#!/usr/bin/python3
"""The checks of `make release` find what a release still needs, in small trees of the test's own; nothing is built.

usage: tests/tree/release.py
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import release  # noqa: E402
import sbom  # noqa: E402

FILES = {
    "meson.build": "project('heddle', 'c',\n  version: '2.3.4',\n)\n",
    "CHANGELOG.md": "# Changes\n\nText.\n\n## 2.3.4, 2027-05-06\n\nIt is faster.\n\n## 2.3.3, 2027-01-02\n\n- Old.\n",
    "debian/changelog": "heddle (2.3.4) unstable; urgency=medium\n\n  * Text.\n",
    "docs/install.md": "tar -xf heddle-2.3.4-linux-x86_64.tar.gz && ln -s heddle-2.3.4-linux-x86_64/bin/heddle .\n",
    "docs/reference/view-protocol.md": '{"version": "2.3.4", "session": "5f0c"}\n',
}


class Release(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-release-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, text in FILES.items():
            self.write(name, text)
        self.git("init", "-q")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=Test", "-c", "user.email=test@example.org", *words], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull})

    def commit(self, tag="v2.3.4"):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "all")
        if tag:
            self.git("tag", "-f", tag)

    def faults_after(self, name, old, new):
        """What is found when a file has another text, which is committed and tagged."""
        self.assertIn(old, FILES[name])
        self.write(name, FILES[name].replace(old, new, 1))
        self.commit()
        return list(release.faults(self.root))

    def test_a_whole_tree_has_no_fault(self):
        self.assertEqual(list(release.faults(self.root)), [])

    def test_each_place_has_the_version(self):
        for name in FILES.keys() - {"meson.build"}:
            with self.subTest(name):
                found = self.faults_after(name, "2.3.4", "2.3.5")
                self.assertTrue(any(fault.startswith(f"{name} has the version 2.3.5;") for fault in found), found)
                self.write(name, FILES[name])

    def test_a_place_without_a_version(self):
        self.assertEqual(self.faults_after("docs/reference/view-protocol.md", '"version"', '"release"'),
                         ["docs/reference/view-protocol.md has no version; meson.build has 2.3.4"])

    def test_a_section_without_date_or_text(self):
        self.assertEqual(self.faults_after("CHANGELOG.md", "2027-05-06", "not released yet"),
                         ['CHANGELOG.md: 2.3.4 has no date, but "not released yet"'])
        self.assertEqual(self.faults_after("CHANGELOG.md", "\n\nIt is faster.", ""), ["CHANGELOG.md has no section of 2.3.4 with a text"])

    def test_debian_says_unreleased(self):
        self.assertEqual(self.faults_after("debian/changelog", "unstable", "UNRELEASED"), ["debian/changelog: 2.3.4 is UNRELEASED"])

    def test_a_tree_with_changes(self):
        self.write("new.c", "")
        self.assertEqual(list(release.faults(self.root)), ["the tree has 1 files that are not committed, the first is new.c"])

    def test_the_tag_is_at_this_commit(self):
        self.write("new.c", "")
        self.commit(tag=None)
        self.assertEqual(list(release.faults(self.root)), ["this commit has no tag v2.3.4"])

    def test_this_tree_has_one_version(self):
        self.assertEqual(list(release.version_faults(ROOT)), [])

    def test_builds_that_differ_are_named(self):
        self.write("build/dist/a.tar.gz", "1")
        self.write("build/dist/a.tar.zst", "2")
        self.write("build/wheel/a.whl", "3")
        first = release.hashes(self.root)
        self.assertEqual(release.differences(first, release.hashes(self.root)), [])
        self.write("build/wheel/a.whl", "4")
        (self.root / "build/dist/a.tar.gz").unlink()
        self.assertEqual(release.differences(first, release.hashes(self.root)), ["a.tar.gz", "a.whl"])

    def test_a_part_that_passed_runs_again_for_other_bytes_or_another_commit(self):
        runs = []

        def build(text="1", passes=True):
            runs.append(text)
            self.write("build/dist/a.tar.gz", text)
            return passes

        def is_passed(part="test-dist", run=build):
            with unittest.mock.patch("builtins.print"):
                return release.is_passed(self.root, part, ["dist"], run)

        self.assertFalse(is_passed(run=lambda: build(passes=False)))
        for expected in (1, 1):
            self.assertTrue(is_passed())
            self.assertEqual(len(runs) - 1, expected)
        self.assertTrue(is_passed("dist twice"))
        self.assertTrue(is_passed())
        self.assertEqual(len(runs), 3)
        self.write("build/dist/a.tar.gz", "2")
        self.assertTrue(is_passed())
        self.assertEqual(len(runs), 4)
        release.forget(self.root)
        self.assertTrue(is_passed())
        self.assertEqual(len(runs), 5)
        self.write("new.c", "")
        self.commit()
        self.assertTrue(is_passed())
        self.assertEqual(len(runs), 6)

    def test_what_is_published(self):
        self.write("build/dist/a.tar.gz", "1")
        self.write("build/dist/a.cdx.json", "{}")
        self.write("build/site/index.html", "")
        out = self.root / "build/release-2.3.4"
        release.gather(self.root, out, release.hashes(self.root))
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["SHA256SUMS", "a.cdx.json", "a.tar.gz", "site"])
        subprocess.run(["sha256sum", "--quiet", "--check", "SHA256SUMS"], cwd=out, check=True)
        self.assertIn("unsigned", release.sign(out, None))
        self.assertFalse((out / "SHA256SUMS.asc").exists())

    def test_the_sums_are_signed_by_the_key_that_is_given(self):
        if not shutil.which("gpg"):
            self.skipTest("no gpg")
        self.write("out/SHA256SUMS", "0  a.tar.gz\n")
        home = self.root / "gpg"
        home.mkdir(mode=0o700)
        with unittest.mock.patch.dict(os.environ, {"GNUPGHOME": str(home)}):
            self.addCleanup(subprocess.run, ["gpgconf", "--kill", "all"], env=dict(os.environ))
            subprocess.run(["gpg", "--quiet", "--batch", "--passphrase", "", "--quick-gen-key", "test@example.org", "ed25519", "sign"], check=True)
            self.assertIn("SHA256SUMS.asc", release.sign(self.root / "out", "test@example.org"))
            verify = ["gpg", "--quiet", "--verify", self.root / "out/SHA256SUMS.asc", self.root / "out/SHA256SUMS"]
            self.assertEqual(subprocess.run(verify, capture_output=True).returncode, 0)
            self.write("out/SHA256SUMS", "1  a.tar.gz\n")
            self.assertNotEqual(subprocess.run(verify, capture_output=True).returncode, 0)
            self.assertEqual(list(release.key_faults("test@example.org")), [])
            self.assertEqual(list(release.key_faults("other@example.org")), ["gpg has no secret key of RELEASE_KEY, other@example.org"])

    def test_sbom_names_what_is_linked_in(self):
        bom = sbom.sbom("2.3.4", ["zlib 1:1.2.13-1", "elfutils 0.188-2", "zlib 1:1.2.13-1", "libc/musl ziglang-0.1 pkg:pypi/ziglang@0.1#lib/libc/musl"], {"@a/b": ("1.0.0", "MIT")}, 86400)
        self.assertEqual([part["purl"] for part in bom["components"]],
                         ["pkg:deb/debian/elfutils@0.188-2?arch=source", "pkg:pypi/ziglang@0.1#lib/libc/musl", "pkg:deb/debian/zlib@1%3A1.2.13-1?arch=source", "pkg:npm/%40a/b@1.0.0"])
        self.assertEqual(bom["dependencies"][0]["dependsOn"], [part["bom-ref"] for part in bom["components"]])
        self.assertEqual(bom["metadata"]["timestamp"], "1970-01-02T00:00:00Z")
        self.assertEqual(json.loads(json.dumps(bom)), bom)


if __name__ == "__main__":
    unittest.main()
