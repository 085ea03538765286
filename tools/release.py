#!/usr/bin/python3
"""Prepares a release in build/release-VERSION and stops before anything is published.

usage: tools/release.py [--check | --again | --twice [TARGET…]]

It checks that one version is in all places, that CHANGELOG.md and debian/changelog have a dated section of it, that the tree is
clean and its commit has the tag vVERSION; --check ends here. Then it runs the tests, and builds the archives and wheels of x86-64 and
aarch64 twice, the second time in a clone in build/again: both must be the same, bit by bit. It adds the site of
the documentation, the SBOMs, SHA256SUMS and, if RELEASE_KEY names a key of gpg, the signature SHA256SUMS.asc.

This takes hours. build/release-passed.json lists the parts that passed for this commit, with the hashes of what they built: after a
failure the next run skips these parts and goes on with the rest. --again, or another commit, starts over.

--twice only builds twice and compares: dist (the default), dist-aarch64, wheel, wheel-aarch64.
"""
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Where the version is, and what precedes it; the first place decides.
PLACES = (
    ("meson.build", r"^  version: '([^']+)'"),
    ("CHANGELOG.md", r"\A(?:(?!^## ).*\n)*## (\d\S*?),"),
    ("debian/changelog", r"\Aheddle \(([^)]+)\)"),
    ("docs/install.md", r"\bheddle-(\d[\d.]*\d)-linux-"),
    ("docs/reference/view-protocol.md", r'"version": "([^"]+)"'),
)
# What builds each thing, and where it is then. The static libraries are built once: they are Debian's sources, by a pinned version.
BUILT = {"dist": "build/dist/*.tar.*", "dist-aarch64": "build/dist-aarch64/*.tar.*", "wheel": "build/wheel/*.whl",
         "wheel-aarch64": "build/wheel-aarch64/*.whl"}
SHARED = ("build/dist-libs", "build/dist-libs-aarch64", "build/glibc-2.28", "build/glibc-2.28-aarch64", "build/wheel-tools", "src/view/web/node_modules")
TESTS = ("test", "test-dist", "test-dist-aarch64", "test-wheel", "test-wheel-aarch64")
# The parts that passed: {commit: {part: {file: SHA-256}}}.
PASSED = "build/release-passed.json"


def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], check=True, capture_output=True, text=True).stdout


def version_of(root):
    return re.search(PLACES[0][1], (root / PLACES[0][0]).read_text(encoding="utf-8"), re.M)[1]


def version_faults(root):
    """Places that have another version, or none."""
    version = version_of(root)
    for name, pattern in PLACES[1:]:
        found = set(re.findall(pattern, (root / name).read_text(encoding="utf-8"), re.M)) - {version}
        if found:
            yield f"{name} has the version {', '.join(sorted(found))}; meson.build has {version}"
        elif not re.search(pattern, (root / name).read_text(encoding="utf-8"), re.M):
            yield f"{name} has no version; meson.build has {version}"


def faults(root):
    """What a release of the tree still needs."""
    version = version_of(root)
    yield from version_faults(root)
    section = re.search(rf"^## {re.escape(version)}, (.*)\n\n[^#\n]", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    if not section:
        yield f"CHANGELOG.md has no section of {version} with a text"
    elif not re.fullmatch(r"\d{4}-\d\d-\d\d", section[1]):
        yield f'CHANGELOG.md: {version} has no date, but "{section[1]}"'
    if "UNRELEASED" in (root / "debian/changelog").read_text(encoding="utf-8").split("\n", 1)[0]:
        yield f"debian/changelog: {version} is UNRELEASED"
    changed = git(root, "status", "--porcelain").splitlines()
    if changed:
        yield f"the tree has {len(changed)} files that are not committed, the first is {changed[0][3:]}"
    if f"v{version}" not in git(root, "tag", "--points-at", "HEAD").split():
        yield f"this commit has no tag v{version}"


def key_faults(key):
    """Builds take long: whether the key signs is known before."""
    if key and (not shutil.which("gpg") or subprocess.run(["gpg", "--batch", "--list-secret-keys", key], capture_output=True).returncode):
        yield f"gpg has no secret key of RELEASE_KEY, {key}"


def hashes(root, targets=tuple(BUILT)):
    """{name: SHA-256} of what was built."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for target in targets for path in sorted(root.glob(BUILT[target]))}


def differences(first, second):
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))


def make(root, *targets, **more):
    subprocess.run(["make", "--no-print-directory", *targets], cwd=root, check=True, env={**os.environ, **more})
    return True


def is_passed(root, part, targets, run):
    """Whether `run` succeeds, or did so before for this commit, and what it built of `targets` has the same bytes still."""
    file, commit = root / PASSED, git(root, "rev-parse", "HEAD").strip()
    passed = json.loads(file.read_text(encoding="utf-8")).get(commit, {}) if file.exists() else {}
    if part in passed and passed[part] == hashes(root, targets):
        print(f"release: {part}: passed before")
        return True
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not run():
        return False
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    minutes = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 60
    print(f"release: {part}: passed, {minutes:.1f} CPU minutes", flush=True)
    passed[part] = hashes(root, targets)
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({commit: passed}, indent=1), encoding="utf-8")
    return True


def forget(root):
    """Lets all parts run again."""
    shutil.rmtree(root / "build/again", ignore_errors=True)
    (root / PASSED).unlink(missing_ok=True)


def build_again(root, targets):
    """A second build, in a clone of this commit, with no object of the first."""
    again = root / "build/again"
    if not again.exists() or git(again, "rev-parse", "HEAD") != git(root, "rev-parse", "HEAD"):
        shutil.rmtree(again, ignore_errors=True)
        git(root, "clone", "--quiet", "--no-hardlinks", root, again)
    for name in SHARED:
        (again / name).parent.mkdir(parents=True, exist_ok=True)
        if not (again / name).is_symlink():
            (again / name).symlink_to(root / name)
    make(again, *targets, CCACHE_DISABLE="1")
    return hashes(again, targets)


def is_same_twice(root, targets):
    """Whether a second build of the commit, after a first one in the tree, gives the same bytes."""
    first = hashes(root, targets)
    differing = differences(first, build_again(root, targets))
    if differing or not first:
        print(f"release: two builds differ: {', '.join(differing) or 'there is no first one'}", file=sys.stderr)
        return False
    print(f"release: two builds are the same, bit by bit: {', '.join(sorted(first))}")
    return True


def gather(root, out, made):
    """Puts in `out` what is to be published."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for pattern in BUILT.values():
        for path in root.glob(pattern):
            shutil.copy(path, out)
    shutil.copytree(root / "build/site", out / "site")
    for sbom in [*root.glob("build/dist/*.cdx.json"), *root.glob("build/dist-aarch64/*.cdx.json")]:
        shutil.copy(sbom, out)
        made[sbom.name] = hashlib.sha256(sbom.read_bytes()).hexdigest()
    (out / "SHA256SUMS").write_text("".join(f"{of}  {name}\n" for name, of in sorted(made.items())), encoding="ascii")


def sign(out, key):
    if not key:
        return "unsigned: RELEASE_KEY names no key"
    subprocess.run(["gpg", "--batch", "--yes", "--local-user", key, "--armor", "--detach-sign", out / "SHA256SUMS"], check=True)
    return f"signed by {key}: SHA256SUMS.asc"


def main(words):
    if words[:1] == ["--twice"] and BUILT.keys() >= set(words[1:]):
        targets = words[1:] or ["dist"]
        shutil.rmtree(ROOT / "build/again", ignore_errors=True)
        make(ROOT, *targets)
        return 0 if is_same_twice(ROOT, targets) else 1
    if words not in ([], ["--check"], ["--again"]):
        sys.exit(__doc__)
    version = version_of(ROOT)
    found = [*faults(ROOT), *key_faults(os.environ.get("RELEASE_KEY"))]
    for fault in found:
        print(f"release: {fault}", file=sys.stderr)
    if found:
        return 1
    print(f"release: {version}: version, changes, tree and tag are as they should be")
    if words == ["--check"]:
        return 0
    if words:
        forget(ROOT)
    for part in TESTS:
        is_passed(ROOT, part, BUILT.keys() & {part.removeprefix("test-")}, lambda: make(ROOT, part))
    for target in BUILT:
        if not is_passed(ROOT, f"{target} twice", [target], lambda: is_same_twice(ROOT, [target])):
            return 1
    make(ROOT, "test-site")
    out = ROOT / f"build/release-{version}"
    gather(ROOT, out, hashes(ROOT))
    print(f"release: {sign(out, os.environ.get('RELEASE_KEY'))}")
    print(f"release: build/release-{version} is ready; nothing was published. To publish: push the tag v{version}, upload the folder's files, "
          f"the wheels to the package index, and site/ to a web server")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"release: failed: {' '.join(map(str, error.cmd))}")
