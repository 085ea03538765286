#!/usr/bin/python3
"""What is written for speedscope is what speedscope's own page makes of it.

usage: speedscope_real.py --heddle PROGRAM [FILE...]

`heddle flame` writes each trace as speedscope's JSON and as folded text. The stacks and weights in both files, as a few
lines of Python read them, are the same. speedscope's page (tests/web/speedscope.mjs) then loads both without a complaint,
and has

  the profile   one, of our title and unit; what the page saves as its own holds the same stacks with the same weights
  the table     of the Sandwich view: the frames with the most weight of their own, self and total

What tests/proven lists is not loaded again. With no FILE: stacks with hostile names and weights, random ones, our fixtures, and those traces of ../shared/data that are
no larger than LARGEST when they are unpacked (--most BYTES: others). Exits with 77, and says why, without node, Chromium or the page.
"""
import argparse
import collections
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[1:1] = [str(TESTS), str(TESTS / "format/checks"), str(TESTS / "web")]
import chromium  # noqa: E402
import perfetto_model as model  # noqa: E402
import proven  # noqa: E402
from rounds import rounds, seed  # noqa: E402

SKIP, LARGEST, EXACT = 77, 1 << 20, 1 << 53
FIRST = seed(0)  # of random stacks
EMPTY = '"frames":[\n]'
STACKS = ("tests/format/folded/*.folded", "tests/format/perfscript/*.perf", "../shared/data/stacks/*.folded",
          "../shared/data/stacks/*perf-stacks.txt.gz")
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "": 1}

# ---- what there is to count ----

NAMES = ["", " ", "a", "b", "main", "[unknown]", "line\nfeed", "tab\tcr\r", "nul\0nul", "\x01\x1f\x7f\x85\u2028", "semi;colon",
         "\"quoted\" \\back\\slash", "</script><b>&amp;", "layer 3", "a 1.5", "12", "漢字 🔥", "שלום \u202e right to left",
         "e\u0301 \ufeff\ufffe\uffff", "x" * 5000, "__proto__", "constructor", "toString", "(root)", "(garbage collection)",
         "[speedscope root]", "{\"name\":1}", "# comment", "%s%n${1}$&"]


def samples(stacks):
    """A trace of samples, [(names, weight)]."""
    frames, events = {}, []
    for names, weight in stacks:
        parent = None
        for depth, name in enumerate(names):
            node = "/".join(map(str, [parent, NAMES.index(name) if name in NAMES else name]))
            frames[node] = {"name": name, **({"parent": parent} if depth else {})}
            parent = node
        events.append({"ph": "P", "name": "stack", "ts": len(events), "pid": 1, "tid": 1, "sf": parent,
                       "args": {"weight": weight}})
    return {"traceEvents": events, "stackFrames": frames}


def random_stacks(number):
    rng = random.Random(number)
    weights = rng.choice([[0, 1, 2], [1, 1000, 10**6, 10**12], [10**15, EXACT - 1], [0, 1, EXACT + 1, 1 << 57]])
    names = rng.sample(NAMES, rng.randrange(2, 12))
    return samples([([rng.choice(names) for _ in range(rng.randrange(1, 12))], rng.choice(weights)) for _ in range(30)])


def made():
    """{name: document}"""
    return {"hostile names": samples([(["main", name], 100 + i) for i, name in enumerate(NAMES)]),
            "names as roots": samples([([name], 1 + i) for i, name in enumerate(NAMES)]),
            "recursion": samples([(["a", "b", "a", "a", "b"], 5), (["a", "b", "a"], 7), (["b", "a"], 1)]),
            "deep": samples([([f"f{i}" for i in range(1000)], 3)]),
            "one name, deep": samples([(["a"] * 500, 3), (["a"] * 200, 4)]),
            "weights of 0": samples([(["a", "b"], 0), (["a", "c"], 2), (["d"], 0)]),
            "nothing but 0": samples([(["a", "b"], 0)]),
            "large weights": samples([(["a"], EXACT - 1), (["b"], EXACT + 1), (["c"], 1 << 61), (["d", "a"], 1)]),
            "no samples": {"traceEvents": []},
            **{f"random {i}": random_stacks(FIRST + i) for i in range(rounds(12))}}


# ---- our two files, read in Python ----


def clean(names):
    """A stack as folded text has it: docs/flame.md, "Files"."""
    names = [re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", name.replace(";", ":")) or "[unknown]" for name in names]
    if re.search(r" (\d+\.?\d*|\.\d+)$", names[-1]):
        names[-1] = "_".join(names[-1].rsplit(" ", 1))
    return ";".join(names)


def of_folded(text):
    stacks = collections.Counter()
    for line in text.split("\n")[:-1]:
        names, weight = line.rsplit(" ", 1)
        stacks[names] += int(weight)
    return +stacks


def of_sampled(document):
    """{stack of places of frames: weight}"""
    stacks, (profile,) = collections.Counter(), document["profiles"]
    for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
        stacks[tuple(stack)] += weight
    return stacks


# ---- what speedscope says ----


def of_saved(profile, names):
    """{stack of names: weight} of the begins and ends of frames that the page saves."""
    stacks, stack, last = collections.Counter(), [], 0
    for event in profile["events"]:
        if event["at"] > last:
            stacks[tuple(names[f] for f in stack)] += event["at"] - last
        last = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
        elif stack.pop() != event["frame"]:
            raise ValueError("a frame ends that is not on top")
    return stacks


def number(text):
    """(value, how far off its digits may be) of "1.50ms (12%)", "1:05 (3%)", "1.25 KB (…", "12,345 (…"."""
    if minutes := re.match(r"(\d+):(\d\d) ", text):
        return (60 * int(minutes[1]) + int(minutes[2])) * 1e9, 1e9
    digits, unit = re.match(r"([\d,.]+) ?([a-zA-Zµ]*) \(", text).groups()
    value, scale = float(digits.replace(",", "")), UNITS[unit]
    return value * scale, (0.5 if unit in ("", "B") else 0.0051) * scale + 1e-15 * value * scale


def check_rows(stacks, names, rows):
    totals, selves, problems = collections.Counter(), collections.Counter(), []
    for stack, weight in stacks.items():
        selves[stack[-1]] += weight
        for frame in set(stack):
            totals[frame] += weight
    if not totals:
        return [] if rows == [["No symbols found."]] else [f"the table has {rows}"]
    waiting = collections.defaultdict(list)
    for frame in totals:
        waiting[names[frame]].append(frame)
    for (total, self, name), most in zip(rows, sorted((selves[f] for f in totals), reverse=True)):
        for frame in waiting.get(name, []):
            pairs = [(number(total), totals[frame]), (number(self), selves[frame]), (number(self), most)]
            if all(abs(shown - value) <= off for (shown, off), value in pairs):
                waiting[name].remove(frame)
                break
        else:
            problems.append(f"the table has {name[:60]!r} {self}, {total}; that is none of "
                            f"{[(selves[f], totals[f]) for f in waiting.get(name, [])]}")
    return problems if rows else ["the table has no rows"]


def check_answer(answer, title, unit, stacks, names):
    """`stacks` by frames, each with its name in `names`."""
    if "error" in answer:
        return [answer["error"][:600]]
    saved, problems = answer["profile"], []
    (profile,) = saved["profiles"]
    if answer["title"] != title + " - speedscope" or saved["name"] != title:
        problems.append(f"the title is {answer['title']!r}")
    by_name, total = collections.Counter(), sum(stacks.values())
    for stack, weight in stacks.items():
        by_name[tuple(names[f] for f in stack)] += weight
    if profile["unit"] != unit or abs(profile["endValue"] - total) > total / EXACT * len(stacks):
        problems.append(f"it holds {profile['endValue']} {profile['unit']}, not {total} {unit}")
    found = of_saved(profile, [frame["name"] for frame in saved["shared"]["frames"]])
    near = 0 if total < EXACT else total / EXACT * 2 * len(stacks)
    for stack in (+by_name).keys() | found.keys():
        if abs(by_name[stack] - found[stack]) > near:
            problems.append(f"{str(stack)[:200]}: {found[stack]}, not {by_name[stack]}")
    return problems[:5] + check_rows(+stacks, names, answer["rows"][1:])[:5]


def check_files(paths, answers):
    """(problems, what there was) of a flame as JSON and, if it weighs anything, as folded text."""
    document, folded = json.loads(paths[0].read_bytes()), of_folded(paths[1].read_bytes().decode())
    stacks, names = of_sampled(document), [frame["name"] for frame in document["shared"]["frames"]]
    title, unit = document["profiles"][0]["name"], document["profiles"][0]["unit"]
    as_lines = collections.Counter()
    for stack, weight in stacks.items():
        as_lines[clean([names[f] for f in stack])] += weight
    problems = [] if +as_lines == folded else [f"folded text has {len(folded)} stacks, JSON {len(+as_lines)}: "
                                               f"{list((folded - as_lines) + (as_lines - folded))[:3]}"]
    problems += ["JSON: " + text for text in check_answer(answers[paths[0]], title, unit, stacks, names)]
    if folded:
        by_names = {tuple(line.split(";")): weight for line, weight in folded.items()}
        shown = {name: name for stack in by_names for name in stack}
        problems += ["folded: " + text for text in
                     check_answer(answers[paths[1]], paths[1].name, "none", collections.Counter(by_names), shown)]
    return problems, f"{sum(stacks.values())} {unit} in {len(stacks)} stacks of {len(names)} frames"


def check(heddle, engine, jobs, folder, known):
    """[(name, problems, what there was)] of [(name, trace, options)]."""
    out, drawn = [], []
    for i, (name, trace, more) in enumerate(jobs):
        paths = [folder / f"{i}{kind}" for kind in (".speedscope.json", ".folded")]
        for path in paths:
            run = subprocess.run([heddle, "flame", "-q", *more, trace, "-o", path], capture_output=True, text=True)
            if run.returncode and not name.startswith("bad-"):
                out.append((name, [run.stderr], ""))
            if run.returncode or (trace.parent != folder and EMPTY in path.read_text()):
                break
        else:
            key = known.key(*(path.read_bytes() for path in paths))
            if not known.holds(key):
                drawn.append((name, key, paths))
    if not drawn:
        return out
    files = [path for _, _, paths in drawn for path in paths if path.stat().st_size]
    run = subprocess.run([*engine, *files], capture_output=True, text=True)
    answers = dict(zip(files, map(json.loads, run.stdout.split("\n")[:-1])))
    if len(answers) != len(files):
        return [*out, ("all", [f"{len(answers)} answers to {len(files)} files: {run.stderr}"], "")]
    for name, key, paths in drawn:
        problems, there = check_files(paths, answers)
        if not problems:
            known.add(key)
        out.append((name, problems, there))
    return out


def inputs(folder, most):
    """[(name, trace, options)]"""
    out = []
    for i, (name, document) in enumerate(made().items()):
        path = folder / f"made-{i}.json"
        path.write_text(json.dumps(document))
        out.append((name, path, ["--of", "samples"]))
    root = TESTS.parent
    files = [path for path, _ in model.inputs(root) if model.sizes.unpacked(path) <= most]
    files += [path for pattern in STACKS for path in sorted(root.glob(pattern))]
    out += [(path.name, path, []) for path in files]
    for of in ("cpu-time", "cpu-self", "launches", "bytes"):
        out += [(f"{path.name}, {of}", path, ["--of", of]) for path in files if path.name.startswith("nccl_data")]
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--most", type=int, default=LARGEST)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    node, browser, missing = chromium.tools("speedscope")
    if missing:
        print(f"skipped: there is no {missing}; tools/setup.sh test sees to it")
        return SKIP
    failed, known = 0, proven.Proven("speedscope_real", TESTS / "web/speedscope.mjs", TESTS / "web/package-lock.json")
    with tempfile.TemporaryDirectory(prefix="heddle-speedscope-") as folder:
        jobs = [(path.name, path, []) for path in options.files] or inputs(Path(folder), options.most)
        engine = [node, TESTS / "web/speedscope.mjs", browser]
        for name, problems, there in check(options.heddle, engine, jobs, Path(folder), known):
            failed += bool(problems)
            print("\n  ".join([f"{'FAIL' if problems else 'ok  '} {name}: {there}"] + problems))
    known.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
