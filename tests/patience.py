#!/usr/bin/python3
"""How long tests wait for what should come: a time limit in a test only guards against hangs.

patience(SECONDS): SECONDS times the environment variable HEDDLE_TEST_PATIENCE. `make test` sets that to what this program
prints: how many times as slow this machine is at the moment as an idle one of 2026, at least 1.
"""
import os
import time

REFERENCE_S = 0.075  # what once() takes on such a machine


def patience(seconds):
    try:
        factor = float(os.environ.get("HEDDLE_TEST_PATIENCE", "1"))
    except ValueError:
        factor = 1.0
    return seconds * max(factor, 1.0)


def once(clock=time.monotonic):
    """Seconds of a fixed piece of work, by a clock."""
    start = clock()
    sum(i * i % 7 for i in range(2_000_000))
    return clock() - start


if __name__ == "__main__":
    print(f"{max(1.0, sorted(once() for _ in range(3))[1] / REFERENCE_S):.1f}")
