#!/usr/bin/env python3
"""The reports by name, as docs/reports/definitions.md defines them.

  reports.py NAME FILE [--linked] [--by WORD,...] [--step PATTERN] [--from NS] [--until NS]

prints {table: [row, ...]} as JSON; shares, rates and means of counts as decimals, times in nanoseconds.
"""
import argparse
import fractions
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import accounts  # noqa: E402
import flops  # noqa: E402
import lists  # noqa: E402
import scope  # noqa: E402
import trace  # noqa: E402

REPORTS = {"breakdown": accounts.breakdown, "idle": accounts.idle, "hta": accounts.hta, "queue": accounts.queue,
           "states": accounts.states, "kernels": lists.kernels, "copies": lists.copies, "operators": lists.operators,
           "modules": lists.modules, "ranges": lists.ranges, "steps": lists.steps, "launches": lists.launches, "syncs": lists.syncs,
           "communication": lists.communication, "flops": flops.flops}


def report(name, trace_, **options):
    return REPORTS[name](scope.Scope(trace_, scope.Options(**options)))


def plain(value):
    if isinstance(value, fractions.Fraction):
        return float(value)
    raise TypeError(value)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=sorted(REPORTS))
    parser.add_argument("file")
    parser.add_argument("--linked", action="store_true")
    parser.add_argument("--by", default="")
    parser.add_argument("--step")
    parser.add_argument("--from", dest="since", type=int)
    parser.add_argument("--until", type=int)
    parser.add_argument("--rows", type=int, default=20)
    asked = parser.parse_args()
    out = report(asked.name, trace.read(asked.file), linked=asked.linked, by=[w for w in asked.by.split(",") if w],
                 step=asked.step, since=asked.since, until=asked.until, rows=asked.rows)
    print(json.dumps(out, default=plain, indent=1))


if __name__ == "__main__":
    main()
