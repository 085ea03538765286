#!/usr/bin/env python3
"""Say which files of other projects define what each importer reads, and whether they have changed.

usage: upstream.py [--table FILE] [--format NAME]... [--checkout DIR]... [--update]

Without --checkout it prints the table, tools/pinned/upstream.txt. --checkout is a checkout (or bare repository) of one project, or a
folder with checkouts; its name is NAME or OWNER/NAME, as in the table. Files are read at its HEAD. Each file of these projects is

    same     as in the commit that the table names
    changed  the changes since then are printed, where the checkout has that commit
    gone     there is no such file any more
    new      no digest is stored yet

and the exit status is 1 if one is not the same. When the importer was compared with the changes, --update stores commit and digest.
Nothing is downloaded.
"""
import argparse
import hashlib
import subprocess
import sys
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "pinned/upstream.txt"


def rows(text):
    """(number of the line, [format, repository, file, commit, digest, what]) of each line that is no comment."""
    for number, line in enumerate(text.splitlines()):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 3 and cells[1] == "-":
            cells = [cells[0], "-", "", "-", "-", cells[2]]
        if len(cells) != 6 or not all(cells[i] for i in (0, 1, 5)):
            sys.exit(f"upstream.py: line {number + 1} of the table has not the six columns that its head lists")
        yield number, cells


def git(folder, *words):
    run = subprocess.run(["git", "-C", str(folder), *words], capture_output=True)
    return run.stdout if run.returncode == 0 else None


def find_checkout(folders, repository):
    """The checkout of OWNER/NAME among the folders; None: there is none."""
    owner, name = repository.split("/")
    for folder in folders:
        for candidate in [folder] * (folder.name == name) + [folder / owner / name, folder / name]:
            if (candidate / ".git").exists() or (candidate / "HEAD").is_file():
                return candidate
    return None


def compare(checkout, cells):
    """(state, commit, digest) of a file at HEAD."""
    commit = git(checkout, "rev-parse", "HEAD")
    content = git(checkout, "show", f"HEAD:{cells[2]}") if commit else None
    if content is None:
        return "gone", cells[3], cells[4]
    digest = hashlib.sha256(content).hexdigest()
    return "new" if cells[4] == "-" else "same" if digest == cells[4] else "changed", commit.decode().strip(), digest


def print_changes(checkout, cells):
    changes = git(checkout, "diff", cells[3], "HEAD", "--", cells[2])
    if changes:
        print("    " + changes.decode(errors="replace").rstrip().replace("\n", "\n    "))
    else:
        print(f"    the checkout has no commit {cells[3]}: git fetch --depth 1 origin {cells[3]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--format", action="append", default=[])
    parser.add_argument("--checkout", action="append", type=Path, default=[])
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    if args.update and not args.checkout:
        parser.error("--update needs --checkout")
    lines = args.table.read_text(encoding="utf-8").splitlines()
    chosen = [(number, cells) for number, cells in rows("\n".join(lines)) if not args.format or cells[0] in args.format]
    states = []
    for number, cells in chosen:
        if not args.checkout:
            print(f"{cells[0]:12} " + (cells[5] if cells[1] == "-" else f"https://github.com/{cells[1]}  {cells[2]}: {cells[5]}"))
            continue
        checkout = find_checkout([folder.resolve() for folder in args.checkout], cells[1]) if cells[1] != "-" else None
        if not checkout:
            continue
        state, commit, digest = compare(checkout, cells)
        states.append(state)
        print(f"{state:8} {cells[0]:12} {cells[1]}  {cells[2]}")
        if state == "changed":
            print_changes(checkout, cells)
        if args.update and state != "gone":
            lines[number] = " | ".join(cells[:3] + [commit, digest, cells[5]])
    if args.update:
        args.table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if args.checkout and not states:
        sys.exit("upstream.py: the table has no file of these checkouts")
    sys.exit(1 if any(state != "same" for state in states) and not args.update else 0)


if __name__ == "__main__":
    main()
