"""Answers of Heddle that a test found right before, byte for byte.

An oracle, in Python or a peer, takes several times as long as Heddle, and few commits change an answer. tests/proven/TEST.txt
lists digests of what an oracle has checked: the input, Heddle's answers about it, and the Python files of the test. What is
listed is right; all else is checked, so a list that is old or missing costs time and nothing else. After a change of answers
or oracles

    HEDDLE_PROVE=1 meson test -C build/dev NAME

checks all, and writes the list anew.
"""
import hashlib
import os
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
WRITES = os.environ.get("HEDDLE_PROVE") == "1"


class Proven:
    """The list of a test. `files`: what the test reads that is neither input nor one of its Python modules."""

    def __init__(self, test, *files):
        self.path, self.lock = HERE / "proven" / (test + ".txt"), threading.Lock()
        self.listed = set() if WRITES or not self.path.exists() else set(self.path.read_text().split())
        self.right, self.known = set(), 0
        modules = {Path(m.__file__) for m in list(sys.modules.values()) if getattr(m, "__file__", None)}
        sources = [p for p in modules if HERE in p.resolve().parents and p.name != "proven.py"] + [Path(file) for file in files]
        self.of_test = b"".join(hashlib.sha256(p.read_bytes()).digest() for p in sorted(sources, key=lambda p: p.name))

    def key(self, *parts):
        """The digest of an input and the answers about it, all of them bytes."""
        digest = hashlib.sha256(self.of_test)
        for part in parts:
            digest.update(b"%d " % len(part) + part)
        return digest.hexdigest()[:24]

    def holds(self, key):
        """Was this found right before?"""
        with self.lock:
            self.known += key in self.listed
        return key in self.listed

    def add(self, key):
        """This is right."""
        with self.lock:
            self.right.add(key)

    def end(self):
        """Say how many were known, and write the list if that is asked for."""
        print("%d answers were found right before, %d are right now" % (self.known, len(self.right)))
        if WRITES:
            self.path.parent.mkdir(exist_ok=True)
            self.path.write_text("".join(key + "\n" for key in sorted(self.right)))
