#!/usr/bin/python3
"""The tests of what heddle writes for browsers, in Debian's Chromium.

usage: tests/web/run.py --make-flames PROGRAM [--keep DIR] [NAME...]
       tests/web/run.py --heddle PROGRAM --test SCRIPT[,SCRIPT...] [--make-job PROGRAM] [--keep DIR] [--delay MS] [NAME...]

Writes the pictures or the traces, then runs flame.test.mjs or SCRIPT.test.mjs over them (NAME: only tests with that in
their names); several SCRIPTs share a browser. With --delay 700 each answer to the page comes so many ms later, with --delay 0-2000 after a random time: whoever
writes a test tries it so, as it must not rely on what is asked for being there. Exits with 77, and says why, where
Chromium, node or tests/web/node_modules (npm ci, which tools/setup.sh runs) is missing, or where heddle was built without
its page.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import chromium

HERE = Path(__file__).resolve().parent
SKIP = 77
# What each script opens, of make_views.py; all where it says nothing.
VIEWS = {"page_open": ["small", "ranks", "busy37", "one_event"], "page_draw": ["small", "busy37", "crossings", "zero_durations"],
         "page_keys": ["small"], "page_select": ["small", "busy37"], "page_query": ["small", "ranks"], "page_tracks": ["small", "only_counters"],
         "page_trouble": ["small", "busy37"], "page_mouse": ["small"], "page_seen": ["small", "ranks", "questions"], "page_real": ["one_event"],
         "page_report": ["ranks"], "page_job": ["job", "one_event", "ranks"]}
# Scripts that run themselves: in no browser, or with a page of another kind.
ALONE = ["page_report", "page_tiles"]


def has_view(heddle):
    done = subprocess.run([heddle, "view", "--help"], capture_output=True, text=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--make-flames", type=Path)
    parser.add_argument("--heddle", type=Path)
    parser.add_argument("--make-job", type=Path)
    parser.add_argument("--test", type=lambda text: text.split(","), help="page_NAME,...: runs page_NAME.test.mjs")
    parser.add_argument("--keep", type=Path, help="write the pictures or traces there, and leave them")
    parser.add_argument("--delay", help="MS, or LEAST-MOST")
    parser.add_argument("--engine", type=Path, help="build/wasm of make wasm: the page of heddle view --save, which has no server")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if not args.make_flames and not (args.heddle and args.test):
        parser.error("--make-flames, or --heddle and --test")
    node, browser, missing = chromium.tools()
    if missing:
        print(f"skipped: there is no {missing}; tools/setup.sh sees to it")
        return SKIP
    if args.heddle and not has_view(args.heddle):
        print("skipped: this heddle was built without the page (libmicrohttpd, node and npm are needed)")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="heddle-web-") as folder:
        inputs = (args.keep or Path(folder)).resolve()
        inputs.mkdir(parents=True, exist_ok=True)
        # The profile and caches of the browser stay in the folder, too.
        env = {**os.environ, "HOME": folder, "TMPDIR": folder, "HEDDLE_DELAY": args.delay or ""}
        if args.engine:
            env["HEDDLE_ENGINE"] = str(args.engine.resolve())
        if args.make_flames:
            subprocess.run([args.make_flames.resolve(), inputs], check=True)
            return subprocess.run([node, HERE / "flame.test.mjs", browser, inputs, *args.names], env=env).returncode
        heddle = args.heddle.resolve()
        views = [VIEWS.get(name, []) for name in args.test]
        views = sorted({view for some in views for view in some}) if all(views) else []
        subprocess.run([sys.executable, HERE / "make_views.py", inputs, "--heddle", heddle, *views], check=True)
        if args.make_job:
            one = inputs / "one.hds"
            subprocess.run([heddle, "summarize", "-q", inputs / "job_rank0.json", "-o", one], check=True)
            subprocess.run([args.make_job.resolve(), one, "4096", inputs / "many.hds"], check=True)
        words = [f"{args.test[0]}.test.mjs", browser, inputs, heddle] if args.test[0] in ALONE else ["page_tests.mjs", browser, inputs, heddle, ",".join(args.test)]
        return subprocess.run([node, HERE / "pages" / words[0], *words[1:], *args.names], env=env).returncode


sys.exit(main())
