#!/usr/bin/env python3
"""The same questions about a trace through every door: SQL, reports, info, flame, the page, and SQL behind each conversion.
Prints noun, door and input of each disagreement. Those listed in known.py must disagree: a line that agrees is to be removed."""
import argparse
import collections
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
import ask
import inputs
import known


def answers_of(doors, path):
    """{door: {noun: value}}; an exception's text where a door has no answer."""
    out = {}

    def through(door, question):
        try:
            out[door] = question()
        except (ValueError, KeyError, TypeError, OSError, AttributeError) as error:
            out[door] = f"no answer: {type(error).__name__}: {error}"

    base, about = doors.sql(path)
    out["sql"] = base
    through("report", lambda: doors.reports(path, about["least"]))
    through("info", lambda: doors.info(path))
    if base["gpu_time"]:
        through("flame", lambda: doors.flame(path))
    for form in ask.FORMS:
        through(form, lambda form=form: doors.sql(doors.convert([path], form), about["names"])[0])
    through("page", lambda: doors.page(path, **about))
    return out


def disagreements(name, answers, truth):
    """[(noun, door, what it says, what is right)]: against the truth where it is known, else against SQL."""
    out = []
    for door, told in answers.items():
        if isinstance(told, str):
            out.append(("any", door, told, None))
            continue
        for noun, value in told.items():
            right = truth.get(noun, answers["sql"][noun])
            order = lambda v: sorted(v, key=str) if isinstance(v, list) else v
            # What `info` counts is asked of the trace itself, as some formats keep async slices as slices.
            if noun == "info" and door not in ("sql", "info"):
                continue
            # A rank that the trace does not tell is asked for where an input says so.
            if noun == "rank" and noun not in truth:
                continue
            if value is not None and order(value) != order(right):
                out.append((noun, door, value, right))
    return out


def short(value):
    text = json.dumps(value)
    return text if len(text) <= 150 else text[:147] + "..."


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--noun", help="only this noun, and print every answer")
    parser.add_argument("--input", help="only this input")
    parser.add_argument("--data", action="store_true", help="the small real traces of ../shared/data in place of generated ones")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        doors = ask.Doors(options.heddle, folder)
        made = inputs.real() if options.data else inputs.generated(folder)
        if not made:
            print("skipped: ../shared/data is not there")
            sys.exit(77)
        if not options.data:
            paths, truth = inputs.ranks(folder)
            for form in ask.FORMS:
                merged = os.path.join(folder, f"merged.{form}")
                os.rename(doors.convert(paths, form), merged)
                made.append((f"merged_{form}", merged, truth))
        found = {}
        for name, path, truth in made:
            if options.input in (None, name):
                for noun, door, value, right in disagreements(name, answers_of(doors, path), truth):
                    found[noun, door, name] = (value, right)
    asked = lambda key: options.noun in (None, key[0]) and options.input in (None, key[2])
    found = {key: told for key, told in found.items() if asked(key)}
    expected = {key for key in (known.REAL if options.data else known.GENERATED) if asked(key)}
    table = collections.Counter(key[:2] for key in found)
    for (noun, door), count in sorted(table.items()):
        print(f"{noun:10} {door:8} {count}")
    for key, (value, right) in sorted(found.items()):
        print(f"{'known' if key in expected else 'NEW'} {key}: {short(value)}; right: {short(right)}")
    for key in sorted(expected - set(found)):
        print(f"AGREES {key}: remove its line from known.py")
    if set(found) != expected:
        sys.exit(1)


main()
