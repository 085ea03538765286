#!/usr/bin/env python3
"""Writes docs/commands.md, the reference of the commands, from what `heddle help` prints of each.

usage: tools/command_page.py --heddle PROGRAM [--check]

With --check nothing is written; if the page is not as it would be, it is named and the exit status is 1.
"""
import argparse
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/commands.md"
COMMON = "\nOptions of every command\n"
HEAD = """<!-- Made by tools/command_page.py from the help of each command. -->

# Commands

`heddle FILE...` prints the summary of a trace, or of a job. The name of a [report](reports) is a command too: `heddle kernels
trace.json` is `heddle report kernels trace.json`. `heddle help COMMAND` prints what is below, `man heddle-COMMAND` as well.

"""


def help_of(heddle, *words):
    return subprocess.run([heddle, "help", *words], stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout


def sections(overview):
    """(title, [command]) of the overview, in its order."""
    found = []
    for line in overview.split("\nOptions\n")[0].splitlines()[1:]:
        if re.match(r"[A-Z][a-z ]+$", line):
            found.append((line, []))
        elif found and (name := re.match(r"  ([a-z]+)  ", line)) and name[1] != "summary":
            found[-1][1].append(name[1])
    return found


def entry(heddle, command):
    """Of a command, and of those below it."""
    text = help_of(heddle, *command.split())
    own, common, rest = text.partition(COMMON)
    examples = rest.partition("\nExamples\n")
    own += examples[1] + examples[2]
    below = re.findall(rf"^  ({command} [a-z]+)  ", own, re.M)
    title, _, body = own.partition("\n\n")
    name, _, summary = title.partition(" - ")
    parts = [f"### {name}", summary[0].upper() + summary[1:] + ".", f"```text\n{body.strip()}\n```"]
    return "\n\n".join(parts + [part for one in below for part in [entry(heddle, one)]])


def page(heddle):
    parts = []
    for title, commands in sections(help_of(heddle)):
        parts += [f"## {title}", *(entry(heddle, command) for command in commands)]
    common = help_of(heddle, "info").partition(COMMON)[2].partition("\nExamples\n")[0]
    return HEAD + "\n\n".join([*parts, "## Options of every command", f"```text\n{common.rstrip()}\n```"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    wanted = page(asked.heddle)
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted:
        return 0
    if asked.check:
        print("docs/commands.md is not what tools/command_page.py makes: run it")
        return 1
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
