"""How many rounds a random test makes: as usual, times HEDDLE_TEST_ROUNDS, or else what its build allows (see rounds.h)."""
import os


def rounds(usual):
    try:
        factor = float(os.environ.get("HEDDLE_TEST_ROUNDS") or os.environ.get("HEDDLE_TEST_BUILD_ROUNDS", "1"))
    except ValueError:
        factor = 1.0
    return max(1, int(usual * (factor if factor > 0 else 1.0)))
