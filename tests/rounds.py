"""How many rounds a random test makes: as usual, times HEDDLE_TEST_ROUNDS, or else what its build allows; and which seed it
begins with (see rounds.h)."""
import os


def rounds(usual):
    try:
        factor = float(os.environ.get("HEDDLE_TEST_ROUNDS") or os.environ.get("HEDDLE_TEST_BUILD_ROUNDS", "1"))
    except ValueError:
        factor = 1.0
    return max(1, int(usual * (factor if factor > 0 else 1.0)))


def seed(default):
    """The environment variable HEDDLE_TEST_SEED where it is set, else `default`. It is printed: a failure can be had again."""
    value = int(os.environ.get("HEDDLE_TEST_SEED") or default)
    print(f"seed: {value} (HEDDLE_TEST_SEED={value})", flush=True)
    return value
