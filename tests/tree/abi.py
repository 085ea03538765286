#!/usr/bin/python3
"""Programs that were built with the last release run with these libraries: abidiff finds no incompatible change.

usage: abi.py --source DIR --build DIR --abi N [--against REVISION] LIBRARY...

The release's libraries are built in BUILD/abi/COMMIT, once. Skips (77) without abidiff (Debian: abigail-tools), without
git, where no commit before this one has a release tag (v*), or where the release has another version of the interface: then it may change.
"""
import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

CHANGED_OR_FAILED = 1 | 2 | 4 | 8 # bits of what abidiff returns


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def git(source, *words, **how):
    return subprocess.run(["git", "-C", source, *words], capture_output=True, **how)


def release(args):
    """(commit, name) of what to compare with."""
    named = args.against
    if not named:
        tag = git(args.source, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^", text=True)  # not this commit itself
        named = tag.stdout.strip() if tag.returncode == 0 else skip("no earlier commit is tagged as a release")
    commit = git(args.source, "rev-parse", f"{named}^{{commit}}", text=True)
    return (commit.stdout.strip(), named) if commit.returncode == 0 else skip(f"there is no {named}")


def build(args, commit):
    """The folder of the release's libraries, with types, and its headers."""
    folder = args.build.resolve() / "abi" / commit
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "source").mkdir(parents=True)
        tree = git(args.source, "archive", commit, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder / "source"], input=tree, check=True)
        options = subprocess.run(["meson", "introspect", "--buildoptions", folder / "source/meson.build"], capture_output=True, text=True,
                                 check=True).stdout
        off = [f"-D{name}=false" for name in ("tests", "bench", "man") if f'"{name}"' in options]
        subprocess.run(["meson", "setup", folder / "build", folder / "source", "-Dbuildtype=debug", "-Dpage=disabled", *off], check=True,
                       stdout=subprocess.DEVNULL)
        names = subprocess.run(["ninja", "-C", folder / "build", "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
        wanted = sorted(set(re.findall(r"^(src/\S*libheddle\S*\.so[.\d]*): c_LINKER", names, re.M)))
        subprocess.run(["ninja", "-C", folder / "build", *wanted], check=True, stdout=subprocess.DEVNULL)
        (folder / "done").touch()
    return folder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--abi", required=True, help="the version of the interface now")
    parser.add_argument("--against", help="compare with this revision, not with the last release")
    parser.add_argument("libraries", nargs="+", type=Path)
    args = parser.parse_args()
    for tool in ("abidiff", "git"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    commit, name = release(args)
    old = build(args, commit)
    bad = 0
    for library in args.libraries:
        soname = f"{library.name.split('.so')[0]}.so.{args.abi}"
        before = next(iter((old / "build/src").rglob(soname)), None)
        if not before:
            print(f"{soname}: {name} has none")
            continue
        result = subprocess.run(["abidiff", "--headers-dir1", old / "source/include/heddle", "--headers-dir2", args.source / "include/heddle",
                                 "--no-added-syms",
                                 "--suppressions", args.source / "tests/tree/abi.suppr", before, library], capture_output=True, text=True)
        if result.returncode & CHANGED_OR_FAILED:
            bad += 1
            print(f"{soname}: not what programs built with {name} know (a new abi_version in src/meson.build lets it change)")
            print(result.stdout + result.stderr)
        else:
            print(f"{soname}: fine beside {name}")
    return 1 if bad else 0


sys.exit(main())
