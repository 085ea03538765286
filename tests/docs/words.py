#!/usr/bin/python3
"""Counts words of a private English in README, docs, what `heddle help` prints, and comments of include and src.

usage: tests/docs/words.py --heddle PROGRAM [--update] [-v] [--sample N [--seed SEED]]

The field has a word for each of these (CONTRIBUTING.md, "Words"). tests/docs/words.txt has how many of them a page still has: no page may
have more than that, and a page that is not listed none. `--update` lowers the counts, never raises one. Code is not looked at.

`--sample` prints N random sentences of README, docs, help and public headers instead, for somebody to judge who knows GPUs and C:
each should read at once.
"""
import argparse
import json
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = Path(__file__).with_name("words.txt")
WORDS = re.compile(r"\b(?:tells?|told|telling|stands?(?! out| still)|stood(?! out)|beside|whoever|whom|nobody|parted by|mend(?:s|ed|ing)?|meetings?|seats?|bears?|"
                   r"foretold|foretells?|oddit(?:y|ies)|lookalikes?|witness(?:es)?|it is said|is said|what lacks|asks? for|is asked|"
                   r"are asked|asked for)\b", re.I)


# Names in help: the usage line, names of tables, and of columns.
NAMES = r"^(?:Usage:.*|Table \w+:|\w+ +(?=(?:text|number|count|duration|time|bytes|decimal|percent|yes or no)\b))"


def without_names(text):
    return re.sub(r"`[^`\n]*`", "", text)


def prose(text, inline=without_names):
    """A page without its code: fenced blocks, and what is between backquotes."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"^### \w+$", "", text, flags=re.M)  # the name of a table
    return inline(re.sub(r"<!--.*?-->", "", text, flags=re.S))


COMMENT = re.compile(r"""(//[^\n]*|/\*.*?\*/)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`""", re.S)


def comments(inline=without_names):
    """The comments of the public headers, and of each folder of src, without what is between backquotes."""
    folders = {}
    listed = subprocess.run(["git", "ls-files", "include/heddle", "src"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.splitlines() or [str(path.relative_to(ROOT)) for top in ("include/heddle", "src")
                                           for path in (ROOT / top).rglob("*") if "node_modules" not in path.parts]
    for name in names:
        if name.endswith((".c", ".h", ".ts", ".tsx", ".js", ".mjs")):
            text = (ROOT / name).read_text(encoding="utf-8")
            found = (match[1] for match in COMMENT.finditer(text) if match[1])
            folders.setdefault("/".join(Path(name).parts[:2]), []).extend(prose(comment, inline) for comment in found)
    return {folder: "\n\n".join(texts) for folder, texts in sorted(folders.items())}


def topics(heddle):
    """What `heddle help` has pages of: commands, and reports."""
    def printed(*args):
        return subprocess.run([heddle, *args], capture_output=True, text=True, check=True).stdout
    reports = [report["name"] for report in json.loads(printed("report", "--json"))]
    commands = [name for name in re.findall(r"^  ([a-z]+)  ", printed("help"), re.M) if name not in reports]
    return [(), *[(name,) for name in commands], *[("report", name) for name in reports]]


def texts(heddle, inline=without_names):
    for path in [ROOT / "README.md", ROOT / "examples/README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        yield str(path.relative_to(ROOT)), prose(path.read_text(encoding="utf-8"), inline)
    every = topics(heddle)
    with ThreadPoolExecutor(2) as pool:
        shown = pool.map(lambda topic: subprocess.run([heddle, "help", *topic], capture_output=True, text=True, check=True).stdout, every)
        for topic, text in zip(every, shown):
            yield " ".join(["help", *topic]), re.sub(NAMES, "", text, flags=re.M)
    yield from comments(inline).items()


def sentences(name, text):
    """The sentences of a text that are long enough to be judged alone: of paragraphs, list items, cells of tables and options of help."""
    text = re.sub(r"^[ \t]*(?:/\*|\*/?|//)+ ?|\*/", "", text, flags=re.M) if name.startswith("include/") else text
    text = re.sub(r"^(#.*|\|[-| :]*\||Examples$|Options.*|.*----.*)$", "", text, flags=re.M)
    for block in re.split(r"\n\s*\n|\n(?=[-*|] |  +-\S|      --\S)|\|", text):
        if re.match(r"\s*(?:heddle|Table) .*$", block, re.M) or re.search(r"^  \w+ +(?:text|number|count|duration|time|bytes|decimal) ", block, re.M):
            continue  # examples, columns
        block = " ".join(re.sub(r"^\s*(?:[-*] |-\w, )?(?:--[\w-]+(?: [A-Z]\S*)*  +)?", "", block).split())
        for sentence in re.split(r"(?<=[.;:]) (?=[A-Z])", block):
            if len(sentence) > 45 and sentence.count(" ") > 6 and sentence.count(",") < sentence.count(" ") / 2:
                yield sentence


def sample(heddle, count, seed):
    found = [(name, sentence) for name, text in texts(heddle, lambda text: re.sub(r"`([^`\n]*)`", r"\1", text))
             if not name.startswith("src") for sentence in sentences(name, text)]
    print(f"seed {seed}: {count} of {len(found)} sentences")
    for number, (name, sentence) in enumerate(random.Random(seed).sample(found, count), 1):
        print(f"{number}. {name}: {sentence}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each place")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.sample:
        sample(args.heddle, args.sample, args.seed)
        return 0
    lines = ALLOWED.read_text(encoding="utf-8").splitlines()
    allowed = {name: int(count) for count, name in (line.split(" ", 1) for line in lines if line[0] != "#")}
    failed, seen, left = 0, 0, {}
    for name, text in texts(args.heddle):
        seen += 1
        found = list(WORDS.finditer(text))
        if args.verbose:
            for match in found:
                at, end = text.rfind("\n", 0, match.start()) + 1, (text + "\n").index("\n", match.end())
                print(f"{name}: {text[at:end].strip()}")
        if len(found) > allowed.get(name, 0):
            failed += 1
            print(f"{name}: {len(found)} of these words, {allowed.get(name, 0)} allowed: {', '.join(match[0] for match in found)}")
        elif found:
            left[name] = len(found)
    assert seen > 80, f"only {seen} texts were looked at"
    if args.update and not failed:
        lines = [line for line in lines if line[0] == "#"] + [f"{count} {name}" for name, count in sorted(left.items())]
        ALLOWED.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{seen} texts, {sum(left.values())} words left, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
