#!/usr/bin/python3
"""A baseline of heddle diff --save: a diff from it is that from its traces, byte by byte but for names of inputs, in all forms, for
steps of one GPU, several ranks, several runs, and named steps; what is damaged or of another kind is refused with a sentence.

usage: tests/diff/check_baseline.py --heddle PROGRAM
"""
import argparse
import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "job"))
import hds  # noqa: E402
import rounds  # noqa: E402
from patience import patience  # noqa: E402
from small import Op, training, write  # noqa: E402

HEADER = struct.Struct("<8sIIQ")


class Heddle:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *args, status=(0,)):
        done = subprocess.run([self.program, *map(str, args)], capture_output=True, text=True, timeout=patience(60), check=False, cwd=self.folder)
        assert done.returncode in status, f"{args}: exit {done.returncode}: {done.stdout[:300]}{done.stderr}"
        return done

    def diff(self, *args):
        return self.run("diff", *args, status=(0, 1, 2))

    def save(self, name, *inputs, more=()):
        inputs = inputs if len(inputs) == 1 else [arg for path in inputs for arg in ("--before", path)]
        self.run("diff", *more, "--save", name, *inputs)
        return name


def sides(before, after):
    return [arg for name, paths in (("--before", before), ("--after", after)) for path in paths for arg in (name, path)]


def same(heddle, before, after, name, more=()):
    """A diff of the two sides, and with either as a baseline; names of inputs are made one."""
    base = [heddle.save(f"{name}{n}.hds", *paths, more=more) for n, paths in enumerate((before, after))]
    for form in (["--json", "--all", "--fail-if", "step>1%"], ["--csv"], ["--markdown"]):
        whole = heddle.diff(*form, *more, *sides(before, after))
        for one, other in (([base[0]], after), (before, [base[1]]), ([base[0]], [base[1]])):
            got = heddle.diff(*form, *more, *sides(one, other))
            texts = []
            for text, given in ((whole.stdout, (before, after)), (got.stdout, (one, other))):
                for paths in given:
                    text = text.replace(", ".join(map(str, paths)), "INPUT") if form == ["--markdown"] else text
                    text = text.replace(", ".join(f'"{path}"' for path in paths), '"INPUT"')
                texts.append(text)
            assert got.returncode == whole.returncode, (name, form, got.returncode, got.stderr)
            assert texts[0] == texts[1], f"{name} {form}: differs from the diff of the traces\n{texts[0][:600]}\n{texts[1][:600]}"
    return base


def check_same(heddle):
    def slower(n):
        return [*training(scale=1.0 if n < 3 else 1.1), Op("aten::add", ("add_kernel", 90_000))]

    def make(name, **options):
        path = heddle.folder / name
        write(path, options.pop("ops", training()), **options)
        return name

    one = make("one.json", seed=1)
    other = make("other.json", ops=slower, seed=2)
    base = same(heddle, [one], [other], "plain")
    assert (heddle.folder / base[0]).stat().st_size < 20_000, "a baseline has some kB"
    assert "before and after hold the same" in heddle.diff(base[0], one).stdout
    again = heddle.save("again.hds", one)
    assert (heddle.folder / again).read_bytes() == (heddle.folder / base[0]).read_bytes(), "two baselines of a trace differ"
    again = heddle.save("again.hds", base[0])
    assert (heddle.folder / again).read_bytes() == (heddle.folder / base[0]).read_bytes(), "a baseline of a baseline differs"

    ranks = [[make(f"{side}{rank}.json", ops=ops, rank=rank, seed=10 * rank + 3) for rank in range(2)]
             for side, ops in (("a", training()), ("b", slower))]
    same(heddle, *ranks, "ranks")
    runs = [[make(f"{side}_run{run}.json", ops=ops, seed=20 + run) for run in range(3)] for side, ops in (("a", training()), ("b", slower))]
    same(heddle, *runs, "runs")
    parts = [heddle.save(f"run{run}.hds", path) for run, path in enumerate(runs[0])]
    for given in (parts, [parts[0], *runs[0][1:]], [*runs[0][:1], *parts[1:]]):     # joined in any mixture
        text = heddle.diff("--csv", *sides(given, runs[1])).stdout
        assert text == heddle.diff("--csv", *sides(*runs)).stdout, f"{given} is not {runs[0]}"
    named = [make(f"named{n}.json", ops=ops, step_name="iteration {}", seed=4 + n) for n, ops in enumerate((training(), slower))]
    base = same(heddle, [named[0]], [named[1]], "named", more=("--step", "iteration*"))
    for more, text in (((), "--step 'iteration*'"), (("--step", "other*"), "--step 'iteration*'")):
        done = heddle.run("diff", *more, base[0], named[1], status=(2,))
        assert text in done.stderr, done.stderr
    return one, other


def refused(heddle, args, text):
    done = heddle.run("diff", *args, status=(2,))
    assert text in done.stderr, f"{args}: {done.stderr}"


def check_refused(heddle, one, other):
    (heddle.folder / "none.json").write_text("[]\n")
    refused(heddle, ["--save", "no.hds", "none.json"], "no steps")
    assert not (heddle.folder / "no.hds").exists()
    refused(heddle, ["--save", "no.hds", one, other], "one side")
    refused(heddle, ["--save", one, one], "")
    refused(heddle, ["--save", "no.hds", "--fail-if", "step>3%", one], "compares nothing")
    heddle.run("summarize", one, "-o", "job.hds")
    refused(heddle, ["job.hds", one], "summary of ranks")


def seal(plain, version=1):
    packed = hds.compress(plain)
    return HEADER.pack(b"HEDDLEBL", version, 0, hds.checksum(packed)) + packed


def check_hostile(heddle, one):
    if not (hds.ZSTD and hds.XXH):
        print("damaged baselines: skipped, there is no libzstd or libxxhash to make them")
        return
    seed = rounds.seed(1)
    rng = random.Random(seed)
    whole = (heddle.folder / heddle.save("whole.hds", one)).read_bytes()
    plain = hds.decompress(whole[HEADER.size:])
    bad = heddle.folder / "bad.hds"
    for data, text in ((whole[:8], "damaged"), (whole[:HEADER.size], "damaged"), (whole[:-1], "damaged"), (whole + b"x", "damaged"),
                       (seal(plain, 2), "a later version"), (seal(plain.replace(b"kernels", b"kernelz", 1)), "another version"),
                       (seal(plain + b"\0"), "damaged"), (seal(plain[:-1]), "damaged"), (seal(b""), "another version"),
                       (seal(plain + bytes(1 << 20)), "damaged")):
        bad.write_bytes(data)
        refused(heddle, ["bad.hds", one], text)
    names, refusals = plain.index(b"kernel", plain.index(b"world size")) + 40, 0     # behind the names of columns
    count = rounds.rounds(60)
    for _ in range(count):
        changed = bytearray(plain)
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(names, len(changed))
            what = rng.random()
            if what < 0.5:
                changed[at] = rng.randrange(256)
            elif what < 0.75:
                changed[at:at + rng.randrange(1, 8)] = b""
            else:
                changed[at:at] = bytes(rng.choice((0, 0x80, 0xff, 1, rng.randrange(256))) for _ in range(rng.randrange(1, 12)))
        bad.write_bytes(seal(bytes(changed)))
        done = heddle.diff("--json", "bad.hds", one)
        assert done.stdout or done.stderr.strip(), f"seed {seed}: nothing is said"
        refusals += not done.stdout
    print(f"damaged: {refusals} of {count} refused, the others compared")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True, type=os.path.abspath)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heddle-baseline-") as folder:
        heddle = Heddle(args.heddle, Path(folder))
        one, other = check_same(heddle)
        check_refused(heddle, one, other)
        check_hostile(heddle, one)


if __name__ == "__main__":
    main()
