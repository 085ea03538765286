"""The list of all traces, and a folder of them: zoo.py FOLDER [NAME...]; without FOLDER it prints the list.

Each trace NAME is its files and NAME.truth.json, made by the same generator from its own run, never from the files.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

QUESTIONS = ("open", "counts", "gpu_busy", "launches", "steps", "exposed_communication", "findings", "diff")


class Zoo:
    def __init__(self):
        self.entries = {}

    def add(self, name, family, form, about, files, facts, write):
        """write(folder) makes the files; facts: {question: answer or None}."""
        assert name not in self.entries, name
        self.entries[name] = ({"name": name, "family": family, "format": form, "about": about, "files": files, "loss": facts.pop("loss", None), **facts}, write)

    def make(self, folder, names=()):
        os.makedirs(folder, exist_ok=True)
        for name in names or self.entries:
            truth, write = self.entries[name]
            write(folder)
            with open(f"{folder}/{name}.truth.json", "w", encoding="utf-8") as out:
                json.dump(truth, out, indent=1)
                out.write("\n")


def zoo():
    import faults
    import jobs
    import pairs
    import producers
    import stacks
    all_of_it = Zoo()
    for module in (producers, faults, stacks, jobs, pairs):
        module.add_to(all_of_it)
    return all_of_it


def main():
    everything = zoo()
    if len(sys.argv) > 1:
        everything.make(sys.argv[1], sys.argv[2:])
    else:
        for name, (truth, _) in everything.entries.items():
            print(f"{name:34} {truth['family']:9} {truth['about']}")


if __name__ == "__main__":
    main()
