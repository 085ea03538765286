#!/usr/bin/env python3
"""Asks `heddle report NAME --json FILE` and holds every cell against the slow reports beside this file.

  check_reports.py --heddle HEDDLE [--report NAME ...] [--rest | --all | --few] [FILE.json[.gz] ...]

Without files: random traces (random_trace.py), and of HEDDLE_SHARED or ../shared a few real ones, with --rest or --all those
that tests/sizes.py says, with --few three random ones alone.
Heddle may have more columns and tables than are known here, not fewer. Reports that it does not have are said and left
out; if it has none of them the test is skipped. What tests/proven lists is not computed again.
"""
import argparse
import collections
import fractions
import functools
import glob
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import proven  # noqa: E402
import random_trace  # noqa: E402
import reports  # noqa: E402
import rounds  # noqa: E402
import sizes  # noqa: E402
import trace  # noqa: E402

SKIP, USAGE = 77, 2
WRITTEN = {"shape", "shapes", "group", "ranks"}
# By report: the words that are tried, and what they mean here.
WAYS = {name: [(name, [], {}), (name, ["--by", "step"], {"by": ("step",)})] for name in reports.REPORTS}
for NAME in ("breakdown", "idle", "kernels"):
    WAYS[NAME].append((NAME, ["--linked"], {"linked": True}))
WAYS["kernels"] += [("kernels", ["--by", words], {"by": tuple(words.split(","))}) for words in
                    ("op", "module", "shape", "grid", "short", "class", "op,stream,step")]
MORE_GPUS = pathlib.Path(__file__).resolve().parent / "more_gpus.toml"
WITH_GPUS = ["--gpus", str(MORE_GPUS), "--tf32"], {"gpus": [MORE_GPUS.read_text(encoding="utf-8")], "tf32": True}
WAYS["flops"] += [("flops", *WITH_GPUS),
                  ("flops", ["--by", "step", "--gpu", "NVIDIA H100 80GB HBM3"],
                   {"by": ("step",), "gpu": "NVIDIA H100 80GB HBM3"})]
WAYS["operators"].append(("operators", ["--by", "shape"], {"by": ("shape",)}))
WAYS["steps"] = [("steps", [], {}), ("steps", ["--step", "forward"], {"step": "forward$"}), ("steps", ["--step", "auto"], {"step": "auto"})]
WAYS["hta"] = [("idle", ["--hta"], {})]
for NAME, TRIED in WAYS.items():  # "window": parts of the trace's time, of 8
    if NAME not in ("steps", "hta"):
        TRIED += [(NAME, words, {**options, "window": window}) for words, options, window in
                  (([], {}, (2, 5)), (["--by", "step"], {"by": ("step",)}, (3, None)))]
for NAME, MORE in (("queue", ["--series", "--pieces", "7"]), ("copies", ["--pieces", "7"])):
    WAYS[NAME] = [(NAME, MORE + words, {**options, "pieces": 7}) for _, words, options in WAYS[NAME]]
problems, compared = [], collections.Counter()


# ---- cells ----

def is_same(column, got, wanted):
    if wanted is None or got is None:
        return got is wanted
    if column in WRITTEN and isinstance(got, str):  # JSON as the file has it, of which only spaces are lost here
        return got.replace(" ", "") == str(wanted).replace(" ", "")
    if isinstance(wanted, bool) or isinstance(wanted, str):
        return got == wanted and isinstance(got, type(wanted))
    if isinstance(wanted, fractions.Fraction):
        return isinstance(got, (int, float)) and abs(got - float(wanted)) <= 1e-9 * max(1e-9, abs(float(wanted)))
    return abs(got - wanted) <= 1 if column == "stddev" else got == wanted


def differences(got, wanted):
    """Of two tables, each a list of rows."""
    if len(got) != len(wanted):
        yield "%d rows, %d are right" % (len(got), len(wanted))
        known = {json.dumps({k: v for k, v in r.items() if isinstance(v, (str, int))}, sort_keys=True) for r in got}
        for row in wanted:
            cells = {k: v for k, v in row.items() if isinstance(v, (str, int))}
            if json.dumps(cells, sort_keys=True) not in known:
                yield "the first that is not there: %r" % cells
                return
    for i, (a, b) in enumerate(zip(got, wanted)):
        for column, cell in b.items():
            if column not in a:
                yield "no column %s" % column
                return
            if not is_same(column, a[column], cell):
                yield "row %d (%s), %s: %r, right is %r" % (
                    i, " ".join(str(v)[:40] for v in list(b.values())[:6]), column, a[column],
                    float(cell) if isinstance(cell, fractions.Fraction) else cell)


def check_differences():
    """That this test can fail."""
    rows = [{"name": "a", "total": 5, "share": fractions.Fraction(1, 3), "stddev": None}]
    for column, cell in (("name", "b"), ("total", 6), ("share", 0.334), ("stddev", 0)):
        assert list(differences([{**rows[0], column: cell}], rows)), column
    assert list(differences([], rows)) and list(differences([{}], rows))
    assert not list(differences([{**rows[0], "share": 1 / 3, "more": 1}], rows))


# ---- one trace ----

def ask(heddle, words, path):
    """What heddle says; None: it has no such report."""
    done = subprocess.run([heddle, "report", *words, "--json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, env={**os.environ, "XDG_CONFIG_HOME": "/nonexistent"})
    if done.returncode == USAGE:
        return None
    if done.returncode not in (0, 1):
        raise RuntimeError("heddle report %s %s: %d\n%s" % (" ".join(words), path, done.returncode,
                                                          done.stderr.decode(errors="replace")[-2000:]))
    return done.stdout


def tables_of(said):
    """By name."""
    said = json.loads(said)
    return said[0] if isinstance(said, list) else said


def window_of(span, words, options):
    """The words with the option `window`, in eighths of the span, as --from and --until, which count from the first event."""
    first, last = options.get("window", (None, None))
    for word, part in (("--from", first), ("--until", last)):
        if part is not None and span <= 10 ** 17:  # of two clocks otherwise; --from takes no such time
            words = [*words, word, "%dns" % (span * part // 8)]
    return words


def meaning_of(t, words, options):
    """The options of the oracle, whose times are those of the file."""
    options = {key: value for key, value in options.items() if key != "window"}
    for key, word in (("since", "--from"), ("until", "--until")):
        if word in words:
            first = min([s.start for s in t.slices] + [trace.floor(trace.EXACT.multiply(f[2], 1000)) for f in t.flows])
            options[key] = first + int(words[words.index(word) + 1].removesuffix("ns"))
    return options


def check(heddle, path, name, wanted_reports, missing, known):
    if "kernels" in wanted_reports:
        check_stacks(heddle, path, name)
    info = subprocess.run([heddle, "info", "--json", path], stdout=subprocess.PIPE, check=False).stdout
    span = json.loads(info)["duration"] or 0
    answers = []
    for report in wanted_reports:
        for asked, words, options in WAYS[report]:
            words = window_of(span, words, options)
            said = ask(heddle, [asked, *words], path)
            if said is None:
                missing[" ".join([asked, *words])] += 1
                if asked in known_reports(heddle):
                    problems.append("%s: report %s is refused" % (name, " ".join([asked, *words])))
                continue
            answers.append((report, asked, words, options, said))
    key = known.key(pathlib.Path(path).read_bytes(), *(part for _, asked, words, _, said in answers for part in
                                                       (" ".join([asked, *words]).encode(), said.replace(json.dumps(path).encode(), b""))))
    if known.holds(key):
        return
    t, found = trace.read(path), len(problems)
    for report, asked, words, options, said in answers:
        tables = tables_of(said)
        for table, rows in reports.report(report, t, **meaning_of(t, words, options)).items():
            compared[report] += len(rows)
            if table not in tables:
                problems.append("%s: report %s: no table %s" % (name, asked, table))
                continue
            for text in list(differences(tables[table], rows))[:3]:
                problems.append("%s: report %s, %s: %s" % (name, " ".join([asked, *words]), table, text))
    if len(problems) == found:
        known.add(key)


def check_stacks(heddle, path, name):
    """kernels --by stack against the flame graph of the same trace, whose own tests say what stacks are."""
    tables = tables_of(ask(heddle, ["kernels", "--by", "stack"], path))
    done = subprocess.run([heddle, "flame", "--of", "gpu-time", "--to", "folded", "-o", "-", path], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    got, wanted = collections.Counter(), collections.Counter()
    for row in tables["kernels"]:
        got[(row["stack"] or "[no stack]").replace(",", ":")] += row["total"]
    for line in done.stdout.decode().splitlines() if done.returncode == 0 else ():
        stack, _, leaf = line.rpartition(" ")[0].rpartition(";")
        if leaf.startswith("[GPU_Kernel]"):
            wanted[stack.replace(",", ":")] += int(line.rpartition(" ")[2])
    got, wanted = +got, +wanted  # without stacks of kernels that take no time
    compared["stacks"] += len(wanted)
    for stack in sorted(got.keys() | wanted.keys(), key=lambda s: -abs(got[s] - wanted[s]))[:2]:
        if got[stack] != wanted[stack]:
            problems.append("%s: kernels --by stack: %d ns of %r, a flame graph has %d" %
                            (name, got[stack], stack[-80:], wanted[stack]))


def deep_trace(seed):
    """Ranges and operators within one another, deeper than any program has them, some of which cross; from all depths
    work is launched that runs at one time with other work."""
    r, events = random.Random("deep %d" % seed), []

    def add(category, name, tid, start, duration, args=None):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 0 if "stream" in (args or {}) else 4000,
                       "tid": tid, "ts": start, "dur": duration, **({"args": args} if args else {})})

    depth = r.randint(50, 90)
    for i in range(depth):
        crossing = r.randint(0, 300) if i % 7 == 6 else 0
        add("user_annotation", "range %d" % (i % 9), 1, 10 * i, 20 * depth - 20 * i + crossing)
        add("cpu_op", "aten::op%d" % (i % 11), 1, 10 * i + 1, 20 * depth - 20 * i - 2 + crossing)
        for k in range(i // 10):
            correlation, stream = 100 * i + k + 1, r.choice([7, 14, 20])
            add("cuda_runtime", "cudaLaunchKernel", 1, 10 * i + 2 + k, 1, {"correlation": correlation})
            add("kernel", "k%d" % r.randint(0, 3), stream, r.randint(0, 40 * depth), r.choice([0, 3, 50, 400]),
                {"device": 0, "stream": stream, "correlation": correlation})
    return json.dumps({"traceEvents": events})


def real_traces(choice):
    root = os.environ.get("HEDDLE_SHARED") or os.path.join(os.environ.get("HEDDLE_SOURCE_ROOT", "."), "..", "shared")
    few = ["kineto/b200_eager", "kineto/event_sync", "kineto/mi250", "h100_qwen", "dlrm/rank0", "simple_add", "cupti/"]
    found = []
    for kind in ("kineto", "ranks/*", "analysis/*", "analysis/hta/*", "analysis/hta/*/*", "cupti"):
        found += sorted(glob.glob(os.path.join(root, "data", kind, "*.json*")))
    return sizes.chosen(found, choice, few=lambda path: any(word in path for word in few))


@functools.lru_cache(maxsize=None)
def known_reports(heddle):
    done = subprocess.run([heddle, "report"], stdout=subprocess.PIPE, check=False)
    return {line.split()[0] for line in done.stdout.decode().splitlines() if line.strip()}


def has_reports(heddle):
    """Does the command know `report` at all? Then no trace needs to be computed."""
    return subprocess.run([heddle, "report", "--help"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--report", action="append", choices=sorted(WAYS))
    sizes.options(parser)
    parser.add_argument("--few", action="store_true")
    parser.add_argument("files", nargs="*")
    asked = parser.parse_args()
    wanted, missing = asked.report or sorted(WAYS), collections.Counter()
    known = proven.Proven("reports_" + (asked.choice or "few" * asked.few or "some"), MORE_GPUS)
    check_differences()
    if not has_reports(asked.heddle):
        print("skipped: this heddle has no reports")
        return SKIP
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(0 if asked.files or asked.choice else 3 if asked.few else rounds.rounds(10)):
            path = os.path.join(folder, "random.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(random_trace.text(seed))
            check(asked.heddle, path, "random trace %d" % seed, wanted, missing, known)
            with open(path, "w", encoding="utf-8") as file:
                file.write(deep_trace(seed))
            deep = [report for report in wanted if report in ("kernels", "operators", "ranges")]
            check(asked.heddle, path, "deep trace %d" % seed, deep, missing, known)
            if len(problems) > 40:
                break
    for path in asked.files or ([] if asked.few else real_traces(asked.choice)):
        check(asked.heddle, path, os.path.basename(path), wanted, missing, known)
    known.end()
    for words in sorted(missing):
        print("heddle has no report %s" % words)
    for report, rows in sorted(compared.items()):
        print("%8d rows of %s" % (rows, report))
    print("\n".join(problems[:40]))
    if problems:
        return 1
    return 0 if sum(compared.values()) or known.known else SKIP


if __name__ == "__main__":
    sys.exit(main())
