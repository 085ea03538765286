#!/usr/bin/env python3
"""Asks trace tools the same questions about the traces of the zoo, and holds their answers against the truth.

usage: zoo/run.py [--tool TOOL]... [--trace TRACE]... [--question QUESTION]... [--out FOLDER]

Writes zoo.md, zoo.json and zoo.html to FOLDER (default: build/zoo). `zoo/run.py --trace X --tool Y` prints the cells of one
trace and tool, with the commands. docs/zoo.md says what the questions and the verdicts mean.
"""
import argparse
import concurrent.futures
import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

ZOO = Path(__file__).resolve().parent
sys.path[:0] = [str(ZOO / "traces"), str(ZOO / "adapters")]
import adapter as adapters  # noqa: E402
import judge  # noqa: E402
import page  # noqa: E402
import peers  # noqa: E402
import zoo  # noqa: E402


def questions_of(module, truth, wanted):
    """(asked, those that make sense for this trace)."""
    sensible = [q for q in zoo.QUESTIONS if q == "open" or truth.get(q) is not None]
    sensible = [q for q in sensible if not wanted or q in wanted]
    claimed = module.CLAIMS.get(truth["format"], ())
    culprit = (truth.get("findings") or {}).get("culprit")
    if culprit and truth["format"] == "kineto" and culprit not in getattr(module, "CAUSES_KNOWN", (culprit,)):
        claimed = [q for q in claimed if q != "findings"]
    return [q for q in sensible if q in claimed], sensible


def in_process(module, truth, asked, files):
    """Heddle is a command: its own processes are the wall, and one crash is one cell."""
    out, rest = {}, list(asked)
    while rest:
        try:
            for question, got in adapters.answers(module, truth["format"], rest, files):
                out[question] = got
        except Exception as e:
            out[next(q for q in rest if q not in out)] = {"crashed": f"{type(e).__name__}: {e}"}
        rest = [q for q in rest if q not in out]
    return out


def in_own_process(command, truth, asked, files, limit):
    """{question: answer}. The first question without an answer crashed the tool or made it hang; the rest is asked again."""
    out, rest = {}, list(asked)
    while rest:
        words = [*command, truth["format"], ",".join(rest), *files]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        try:
            text, log = process.communicate(timeout=limit)
            why = f"exit status {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, log = process.communicate()
            why = f"no answer in {limit} s"
        last = log.strip().split("\n")[-1][:300]
        for line in text.splitlines():
            got = json.loads(line)
            question = got.pop("question", None) or rest[0]
            if question in rest:
                out[question] = got
                rest = rest[rest.index(question) + 1:]
                if "crashed" in got:
                    break
        else:
            if rest:
                out[rest.pop(0)] = {"crashed": f"{why}: {last}"}
    return out


def cell_of(name, tool, args, folder):
    truth = json.loads((folder / f"{name}.truth.json").read_text())
    module, command = tool["module"], tool["command"]
    asked, sensible = questions_of(module, truth, args.question)
    files = [str(folder / f) for f in truth["files"]]
    got = in_process(module, truth, asked, files) if command is None else in_own_process(command, truth, asked, files, args.time_limit)
    cells = {}
    for question in sensible:
        answer = got.get(question, {"not claimed": None})
        verdict, detail = judge.verdict(question, truth, answer)
        cells[question] = {"verdict": verdict, "detail": detail, **answer}
    return name, tool["name"], cells


def adapter_of(name):
    """Not the name of the library that it imports."""
    return "use_" + name.replace("-", "_")


def tools_of(args):
    """Those that can run here, and why others cannot."""
    ready, missing = [], {}
    for name in args.tool or peers.TOOLS:
        module = importlib.import_module(adapter_of(name))
        try:
            command = None if name == "heddle" else [str(w) for w in peers.command(name, args.peers)] + [str(ZOO / "adapters" / (adapter_of(name) + ".py"))]
            version = module.version(args.peers) if command is None else peers.version(name, args.peers)
            ready.append({"name": name, "module": module, "command": command, "version": version})
        except peers.Missing as e:
            missing[name] = str(e)
    return ready, missing


def joined(old, new):
    """The columns of tools that were asked earlier, with those that were asked now."""
    if old["traces"] != json.loads(json.dumps(new["traces"])):
        return new
    both = {t["name"]: t for t in [*old["tools"], *new["tools"]]}
    return {**new, "tools": [both[n] for n in peers.TOOLS if n in both], "missing": {n: w for n, w in {**old["missing"], **new["missing"]}.items() if n not in both}, "cells": {**old["cells"], **new["cells"]}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    build = ZOO.parent / "build"
    parser.add_argument("--tool", action="append", help="one of " + ", ".join(peers.TOOLS))
    parser.add_argument("--trace", action="append", help="its name, as zoo/traces/zoo.py lists it")
    parser.add_argument("--question", action="append", choices=zoo.QUESTIONS)
    parser.add_argument("--traces", type=Path, default=build / "zoo/traces", help="where they are made")
    parser.add_argument("--peers", type=Path, default=build / "zoo-peers", help="where the peers are installed")
    parser.add_argument("--heddle", default=str(build / "release/src/cli/heddle"))
    parser.add_argument("--out", type=Path, default=build / "zoo")
    parser.add_argument("--time-limit", type=float, default=120, help="seconds for a tool and a trace")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--docs", action="store_true", help="write docs/reference/zoo-results.md as well")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a cell is wrong, lost silently or crashed")
    args = parser.parse_args()
    os.environ["ZOO_HEDDLE"] = importlib.import_module("use_heddle").PROGRAM = args.heddle
    everything = zoo.zoo()
    unknown = [t for t in args.trace or [] if t not in everything.entries]
    if unknown:
        parser.error("no trace " + ", ".join(unknown))
    names = args.trace or list(everything.entries)
    everything.make(str(args.traces), names)
    tools, missing = tools_of(args)
    for name, why in missing.items():
        print(f"{name}: skipped: {why}", file=sys.stderr)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        todo = [pool.submit(cell_of, name, tool, args, args.traces) for tool in tools for name in names]
        cells = {tool["name"]: {} for tool in tools}
        for one in todo:
            name, tool, got = one.result()
            cells[tool][name] = got
    result = {"tools": [{"name": t["name"], "title": t["module"].TITLE, "version": t["version"], "documented": t["module"].DOCUMENTED} for t in tools], "missing": missing,
              "traces": {n: {k: everything.entries[n][0][k] for k in ("family", "format", "about", "files")} for n in names}, "cells": cells}
    earlier = args.out / "zoo.json"
    if args.tool and not args.trace and not args.check and earlier.exists():
        result = joined(json.loads(earlier.read_text()), result)
    bad = [(tool, name, q, c) for tool, rows in cells.items() for name, row in rows.items() for q, c in row.items() if c["verdict"] in judge.BAD]
    if args.check or args.trace:
        for tool, rows in cells.items():
            for name, row in rows.items():
                for q, c in row.items():
                    if not args.check or c["verdict"] in judge.BAD:
                        print(f"{tool} {name} {q}: {c['verdict']}{': ' + c['detail'] if c['detail'] else ''}")
                        if args.trace and "answer" in c:
                            print(f"  answer {json.dumps(c['answer'])}\n  truth  {json.dumps(judge.truth_of(q, everything.entries[name][0]))}")
        if args.check:
            asked = sum(len(row) for rows in cells.values() for row in rows.values())
            print(f"{len(names)} traces, {asked} questions, {len(bad)} wrong, lost silently or crashed")
            return bool(bad)
        return 0
    page.write(result, args.out, ZOO.parent / "docs/reference/zoo-results.md" if args.docs else None)
    print(page.summary(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
