#!/usr/bin/python3
"""What heddle diff must refuse, and where other tools gave a wrong answer: each a pair of small traces.

usage: tests/diff/check_refusals.py --heddle PROGRAM [NAME...]

The first nine are failures that tools of this kind had: an empty capture that passed as a win, a file against itself that was a
regression, a lost GPU that was time saved, "faster" at equal step time, a renamed product that made everything new and gone, one
more kernel that shifted every pair, rows of one range that differ in an id, sides mixed up, thresholds below the noise.
"""
import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from patience import patience  # noqa: E402
from small import H100, MI300, Op, training, write  # noqa: E402

HTA = Path(__file__).resolve().parents[2].parent / "shared/data/analysis/hta/trace_compare"
CASES = []


def case(function):
    CASES.append(function)
    return function


class Diff:
    """One run: status, text, and the answer in JSON."""

    def __init__(self, heddle, *args):
        self.args = [str(arg) for arg in args]
        done = [subprocess.run([heddle, "diff", *form, *self.args], capture_output=True, text=True, timeout=patience(120), check=False)
                for form in ([], ["--json"])]
        self.status, self.text, self.errors = done[0].returncode, done[0].stdout, done[0].stderr
        assert self.status == done[1].returncode, f"text ends with {self.status}, JSON with {done[1].returncode}: {done[1].stderr}"
        assert self.status in (0, 1, 2), f"exit {self.status}: {self.errors}"
        try:
            self.json = json.loads(done[1].stdout)
        except ValueError:
            self.json = None

    def is_(self, verdict, status):
        assert self.json, f"no JSON; {self.errors}"
        assert self.json["verdict"] == verdict, f"verdict {self.json['verdict']}, not {verdict}: {self.json['reasons']}"
        assert self.status == status, f"exit {self.status}, not {status}"
        return self

    def because(self, *words):
        """The verdict is inconclusive, and one reason has all the words."""
        self.is_("inconclusive", 2)
        reasons = self.json["reasons"]
        assert any(all(word.lower() in reason.lower() for word in words) for reason in reasons), f"no reason says {words}: {reasons}"
        assert all(word.lower() in self.text.lower() for word in words), f"the text does not say {words}: {self.text[:500]}"
        return self

    def rows(self, **wanted):
        return [row for row in self.json["rows"] if all(row[key] in value if isinstance(value, tuple) else row[key] == value
                                                        for key, value in wanted.items())]


def change(row):
    return abs(row["change_ns"] or 0)


# The nine.

@case
def an_empty_side_is_no_win(d):
    d.write("full.json", training())
    for name, text in {"nothing.json": "", "no_events.json": '{"traceEvents": []}', "no_gpu.json": json.dumps({"traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "pid": 1, "tid": 1, "ts": n * 10, "dur": 9} for n in range(9)]})}.items():
        (d.folder / name).write_text(text)
        for sides in (("full.json", name), (name, "full.json")):
            run = d.diff(*sides)
            assert run.status == 2, f"{sides}: exit {run.status}: {run.text[:200]}"
            assert not run.json or run.json["verdict"] == "inconclusive" and run.json["reasons"], f"{sides}: {run.json['verdict']}"
            side = "after" if sides[1] == name else "before"
            assert side in run.text or name in run.errors, f"{sides}: which side is not said"
            assert d.diff(*sides, "--fail-if", "step>3%").status == 2


@case
def a_file_against_itself_has_not_changed(d):
    a = d.write("a.json", training())
    shutil.copy(a, d.folder / "b.json")
    (d.folder / "c.json.gz").write_bytes(gzip.compress(a.read_bytes(), mtime=0))
    for other in ("a.json", "b.json", "c.json.gz"):
        run = d.diff("a.json", other).is_("same", 0)
        assert run.json["step"]["change_ns"] == 0 and all(part["change_ns"] == 0 for part in run.json["parts"])
        assert not [row for row in run.json["rows"] if row["change_ns"]], run.json["rows"][:1]
        d.diff("a.json", other, "--fail-if", "step>0%", "--fail-if", "launches>0").is_("same", 0)


@case
def a_lost_gpu_is_no_time_saved(d):
    d.write("two.json", training(), devices=2)
    d.write("one.json", training(), devices=1)
    d.diff("two.json", "one.json").because("GPU", "2", "1")
    d.diff("one.json", "two.json").because("GPU", "1", "2")
    d.write("other.json", training(scale=0.5), gpu=MI300)
    d.diff("one.json", "other.json").because("H100", "MI300")
    run = d.diff("one.json", "other.json", "--across", "gpus").is_("faster", 0)
    assert any("MI300" in entry["after"] for entry in run.json["differs"]), run.json["differs"]


@case
def faster_kernels_at_equal_step_time_are_no_faster_step(d):
    """The host sets the pace: it launches every 60 us what takes 40 us, then 20 us."""
    def ops(length):
        return [Op("aten::mm", ("gemm_kernel", length), host=60_000) for _ in range(10)] + [Op("aten::item", ("last_kernel", 9_000), host=60_000)]
    d.write("before.json", ops(40_000), seed=1)
    d.write("after.json", ops(20_000), seed=2)
    run = d.diff("before.json", "after.json")
    assert run.json["step"]["verdict"] != "faster", run.json["step"]
    run.is_("same", 0)
    kernels = run.rows(kind="kernel", name="gemm_kernel")
    assert kernels and kernels[0]["verdict"] == "faster", "the kernel itself is faster"
    assert abs(kernels[0]["change_ns"] + 200_000) < 10_000, kernels[0]
    assert "after is" not in run.text.split("\n")[0] or "faster" not in run.text.split("\n")[0], run.text.split("\n")[0]


@case
def a_renamed_product_is_neither_new_nor_gone(d):
    d.write("before.json", training(), seed=1)
    for name in ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", "nvjet_tst_192x192_64x4_2x1_v_bz_TNN"):
        d.write("after.json", training(gemm=name), seed=2)
        run = d.diff("before.json", "after.json", "--all").is_("same", 0)
        assert not run.rows(matched=("new", "gone")), run.rows(matched=("new", "gone"))[:2]
        renamed = run.rows(kind="kernel", matched="renamed")
        assert {row["name_after"] for row in renamed} == {name}, renamed
        d.write("slower.json", training(gemm=name, scale=1.3), seed=2)
        run = d.diff("before.json", "slower.json").is_("slower", 0)
        assert run.json["rows"][0]["name_after"] == name or "addmm" in run.json["rows"][0]["name"] \
            or "linear" in run.json["rows"][0]["name"], run.json["rows"][0]


@case
def one_more_kernel_shifts_no_pair(d):
    """Twenty kernels of one name with lengths of their own; the second side has one more, at the front."""
    ops = [Op("aten::add", ("elementwise_kernel", 20_000 + 4_000 * n, (16 + n, 1, 1))) for n in range(20)]
    d.write("before.json", ops, seed=1)
    d.write("after.json", [Op("aten::mul", ("mul_kernel", 100_000)), *ops], seed=2)
    run = d.diff("before.json", "after.json", "--all")
    first = run.json["rows"][0]
    assert first["name"] in ("aten::mul", "mul_kernel") and first["matched"] == "new", first
    wrong = [row for row in run.json["rows"] if row["verdict"] in ("slower", "faster") and row["kind"] in ("kernel", "operator")]
    assert not wrong, wrong[:2]
    d.write("after.json", [Op("aten::add", ("elementwise_kernel", 100_000, (16, 1, 1))), *ops], seed=2)
    run = d.diff("before.json", "after.json", "--all")
    wrong = [row for row in run.json["rows"] if row["verdict"] == "faster" or row["matched"] == "gone"]
    assert not wrong, wrong[:2]
    grown = sum(row["change_ns"] for row in run.rows(kind="kernel"))
    assert abs(grown - 100_000) < 15_000, f"{grown} ns more of kernels, not 100,000"


@case
def ranges_that_differ_by_an_id_are_one(d):
    def ops(first):
        return lambda n: [Op(f"batch {first + n} of {hex(0x7f3a_1000 + 4096 * n)}", category="user_annotation", inner=training())]
    d.write("before.json", ops(17), seed=1)
    d.write("after.json", ops(9_000), seed=2, first=500)
    run = d.diff("before.json", "after.json", "--all").is_("same", 0)
    assert not run.rows(matched=("new", "gone")), [row["name"] for row in run.rows(matched=("new", "gone"))]
    batches = [row for row in run.json["rows"] if "batch" in row["name"]]
    assert len(batches) <= 1, [row["name"] for row in batches]


@case
def swapped_sides_say_the_opposite(d):
    d.write("fast.json", training(), seed=1)
    d.write("slow.json", training(scale=1.25), seed=2)
    there, back = d.diff("fast.json", "slow.json").is_("slower", 0), d.diff("slow.json", "fast.json").is_("faster", 0)
    assert there.json["step"]["change_ns"] == -back.json["step"]["change_ns"] > 0
    for run, sides in ((there, ("fast.json", "slow.json")), (back, ("slow.json", "fast.json"))):
        for side, name in zip(("before", "after"), sides):
            assert [Path(file).name for file in run.json[side]["files"]] == [name], run.json[side]
    parts = {part["part"]: part["change_ns"] for part in there.json["parts"]}
    for part in back.json["parts"]:
        assert part["change_ns"] == -parts.get(part["part"], 0), part
    assert "slower" in there.text.split("\n", 3)[0] + there.text and "faster" in back.text, "the first screen names the direction"
    assert there.text.index("fast.json") < there.text.index("slow.json") and back.text.index("slow.json") < back.text.index("fast.json")


@case
def a_threshold_below_the_noise_fails_nothing(d):
    for seed in range(4):
        d.write("before.json", training(), seed=2 * seed, noise=0.05)
        d.write("after.json", training(), seed=2 * seed + 1, noise=0.05)
        run = d.diff("before.json", "after.json", "--fail-if", "step>0.05%")
        assert run.status in (0, 2), f"seed {seed}: exit 1: {run.text}"
        assert run.json["gate"][0]["verdict"] != "fail", run.json["gate"]
    d.write("after.json", training(scale=1.2), seed=9, noise=0.05)
    assert d.diff("before.json", "after.json", "--fail-if", "step>3%").status == 1
    assert d.diff("before.json", "after.json", "--fail-if", "step>60%").status == 0


# Bad input.

@case
def no_steps(d):
    d.write("before.json", training(), step_name=None)
    d.write("after.json", training(scale=1.3), step_name=None)
    d.diff("before.json", "after.json").because("step")


@case
def one_step(d):
    d.write("before.json", training(), steps=1)
    d.write("after.json", training(scale=1.3), steps=1)
    run = d.diff("before.json", "after.json")
    run.because("step")
    assert not [row for row in run.json["rows"] if row["verdict"] in ("slower", "faster")], "one step shows no difference"
    assert d.diff("before.json", "after.json", "--fail-if", "step>3%").status == 2


@case
def nothing_in_common(d):
    d.write("before.json", training(), seed=1)
    d.write("after.json", [Op(f"other{chr(97 + n)}", (f"unlike{chr(107 + n)}", 70_000)) for n in range(6)], seed=2)
    assert not d.diff("before.json", "after.json").because("common").json["rows"], "rows of what cannot be compared"


@case
def other_names_are_matched_by_structure_which_is_said(d):
    """Each operator and kernel has another name, the host's pauses have as well: one row each, and a slower one is found."""
    def renamed(ops):
        return [Op(o.name[::-1], *[(k[0] if "Memcpy" in k[0] else k[0][::-1], *k[1:]) for k in o.kernels], category=o.category, host=o.host,
                   inner=renamed(o.inner)) for o in ops]
    ops = [*training(), Op("aten::slow_on_the_host", ("last_kernel", 50_000), host=400_000)]
    d.write("before.json", ops, seed=1)
    d.write("after.json", renamed(ops), seed=2)
    run = d.diff("before.json", "after.json", "--all").is_("same", 0)
    assert "by their place" in run.json["sentence"] and not run.rows(matched=("new", "gone")), run.rows(matched=("new", "gone"))[:2]
    [pause] = [row for row in run.rows(kind="idle") if row["name"].startswith("host")]
    assert (pause["name"], pause["name_after"]) == ("host: aten::slow_on_the_host", f"host: {'aten::slow_on_the_host'[::-1]}"), pause
    assert not d.diff("before.json", "after.json").json["rows"], "that all is renamed is not a row"
    d.write("slower.json", renamed([*training(scale=1.3), ops[-1]]), seed=3)
    first = d.diff("before.json", "slower.json").is_("slower", 0).json["rows"][0]
    assert first["name_after"] == "ampere_bf16_s16816gemm_bf16_128x128_tn"[::-1], first


@case
def a_damaged_side(d):
    a = d.write("before.json", training(), seed=1, steps=20)
    text = d.write("after.json", training(), seed=2, steps=20).read_bytes()
    (d.folder / "cut.json").write_bytes(text[:len(text) * 6 // 10])
    d.diff("before.json", "cut.json").is_("inconclusive", 2)
    d.diff("cut.json", "before.json").is_("inconclusive", 2)
    assert d.diff("before.json", "absent.json").status == 2
    assert a.exists()


@case
def other_clocks_are_no_change(d):
    for name, start in (("before.json", 10**12), ("after.json", 1_700_000_000 * 10**9)):
        d.write(name, training(), seed=3, start=start)
    run = d.diff("before.json", "after.json").is_("same", 0)
    assert run.json["step"]["change_ns"] == 0 and all(part["change_ns"] == 0 for part in run.json["parts"]), run.json["parts"]


@case
def thousands_of_steps_and_names_are_sentences(d):
    """As many names as activities, none of them twice, and as many steps: nothing has changed, in a screenful of lines."""
    def ops(n):
        return [Op(f"op_{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}_{n // 676}x", (f"{n // 4}kernel_{n}y{k}", 30_000)) for k in range(4)]
    for steps, made in ((1_000, ops), (2_000, [Op("aten::mm", ("gemm", 40_000))])):
        for seed, name in enumerate(("before.json", "after.json")):
            d.write(name, made, steps=steps, seed=seed)
        run = d.diff("before.json", "after.json").is_("same", 0)
        assert not run.json["rows"] and len(run.text.splitlines()) < 40, run.text[:2000]


@case
def bytes_of_copies_have_two_names(d):
    a = d.write("before.json", training())
    (d.folder / "after.json").write_text(a.read_text().replace('"bytes": ', '"size": '))
    [copied] = [count for count in d.diff("before.json", "after.json").json["counts"] if count["what"] == "copied_bytes"]
    assert copied["before"] == copied["after"] > 0, copied
    (d.folder / "after.json").write_text(a.read_text().replace('"bytes": ', '"unknown": ', 4))
    run = d.diff("before.json", "after.json", "--fail-if", "copied_bytes>0")
    assert run.status == 2 and "copied_bytes is not known after" in run.json["gate"][0]["text"], run.json["gate"]
    [copied] = [count for count in run.json["counts"] if count["what"] == "copied_bytes"]
    assert copied["before"] > 0 and copied["after"] is None, copied


@case
def a_step_more_is_no_slower_step(d):
    d.write("before.json", training(), seed=1, steps=10)
    d.write("after.json", training(), seed=2, steps=13, first=4)
    d.diff("before.json", "after.json").is_("same", 0)


@case
def operators_of_whole_recordings_are_those_of_hta(d):
    """HTA's example, counted here from the raw files: operators that are new, gone, and called as often as before."""
    if not HTA.exists():
        print(f"skipped: there is no {HTA}")
        return
    paths = [next((HTA / side).glob("*.json.gz")) for side in ("base", "test")]
    raw = [Counter(event["name"] for event in json.loads(gzip.open(path).read())["traceEvents"]
                   if event.get("cat") in ("cpu_op", "user_annotation") and not event["name"].startswith("ProfilerStep#")) for path in paths]
    run = d.diff("--step", "none", "--all", *paths).because("1 and 1 are not enough")
    rows = run.rows(kind="operator")
    said = [Counter({row["name"]: row[f"calls_{side}"] for row in rows if row[f"calls_{side}"]}) for side in ("before", "after")]
    assert said == raw, (said, raw)
    assert {row["name"] for row in rows if row["matched"] == "new"} == set(raw[1]) - set(raw[0])
    assert {row["name"] for row in rows if row["matched"] == "gone"} == set(raw[0]) - set(raw[1])
    assert (len(set(raw[1]) - set(raw[0])), sum(raw[1][name] < raw[0][name] for name in raw[0])) == (3, 1)
    kernels = run.rows(kind=("kernel", "collective", "copy"))       # of six names one is launched less often
    assert sorted(row["calls_after"] - row["calls_before"] for row in kernels)[:2] == [-1, 0], [row["name"] for row in kernels]
    d.diff(*paths).because("too few steps", "2 and 1")
    # Of step 1010 HTA has 5 equal, 3 added and 1 gone: of the equal, one is the step, and two are API calls.
    run = d.diff("--step", "ProfilerStep#1010", "--all", *paths).because("1 and 1 can be compared")
    called = {how: {row["name"] for row in run.rows(kind="operator", matched=how)} for how in ("same", "new", "gone")}
    assert called == {"same": {"aten::as_strided", "aten::empty"}, "new": {"AddmmBackward0", "All2All_Pooled_Req", "CatBackward0"},
                      "gone": {"nccl:all_reduce"}}, called
    [launches] = [count for count in run.json["counts"] if count["what"] == "launches"]
    assert launches["before"] == launches["after"] == 1, launches


@case
def profiles_of_the_cpu_are_compared_by_operators(d):
    """Steps without any GPU: of operators their own time on the CPU; a culprit among them is first."""
    def profile(name, matmul, seed, launches=False):
        rng, events, now = random.Random(seed), [], 10**6
        for n in range(10):
            begin, ops = now, []
            for op, length in (("aten::linear", 50), ("aten::mm", matmul), ("aten::relu", 120)):
                length = int(length * rng.uniform(0.98, 1.02))
                ops.append((op, now, length))
                now += length if op != "aten::linear" else 0        # linear is around the next
            ops[0] = (ops[0][0], begin, ops[1][2] + 10)
            ops[2] = (ops[2][0], begin + ops[0][2], ops[2][2])
            now = ops[2][1] + ops[2][2] + 5
            events += [{"ph": "X", "cat": "cpu_op", "name": op, "pid": 1, "tid": 1, "ts": at, "dur": length} for op, at, length in ops]
            events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "pid": 1, "tid": 1, "ts": begin, "dur": now - begin})
            if launches:
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": begin, "dur": 1, "args": {"correlation": n}})
        (d.folder / name).write_text(json.dumps({"traceEvents": events}))

    profile("one.json", 600, 1)
    profile("other.json", 600, 2)
    profile("slow.json", 700, 3)
    profile("lost.json", 600, 4, launches=True)
    d.write("gpu.json", training())
    d.diff("one.json", "one.json").is_("same", 0)
    assert not d.diff("one.json", "other.json").is_("same", 0).json["rows"]
    run = d.diff("one.json", "slow.json", "--fail-if", "step>3%").is_("slower", 1)
    [row] = run.rows(kind="operator")
    assert row["name"] == "aten::mm" and 80_000 < row["change_ns"] < 120_000, row
    assert [part["part"] for part in run.json["parts"]] == ["host"] and "on the CPU" in run.text
    raw = {name: [e for e in json.loads((d.folder / f"{name}.json").read_text())["traceEvents"]] for name in ("one", "slow")}
    for name, side in (("one", "before"), ("slow", "after")):
        mine = [e["dur"] for e in raw[name] if e["name"] == "aten::mm"][1:]       # without warm-up
        assert abs(row[f"{side}_ns"] - 1000 * sum(mine) / len(mine)) <= 1, (row, mine)
        steps = [e["dur"] for e in raw[name] if e["name"].startswith("ProfilerStep")][1:]
        assert run.json["parts"][0][f"{side}_total_ns"] == 1000 * sum(steps)
    d.diff("one.json", "gpu.json").because("before has no GPU activity")
    d.diff("gpu.json", "one.json").because("after has no GPU activity")
    d.diff("one.json", "lost.json").because("after has no GPU activity")


class Dir:
    def __init__(self, heddle, folder):
        self.heddle, self.folder = heddle, folder

    def write(self, name, *args, **options):
        return write(self.folder / name, *args, **options)

    def diff(self, *args):
        return Diff(self.heddle, *[self.folder / arg if str(arg).endswith((".json", ".gz")) else arg for arg in args])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True, type=os.path.abspath)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    failed = ran = 0
    for function in CASES:
        if args.names and not any(name in function.__name__ for name in args.names):
            continue
        ran += 1
        with tempfile.TemporaryDirectory(prefix="heddle-diff-") as folder:
            try:
                function(Dir(args.heddle, Path(folder)))
            except (AssertionError, subprocess.TimeoutExpired, KeyError, IndexError, TypeError) as error:
                failed += 1
                print(f"{function.__name__}: {type(error).__name__}: {error}", flush=True)
    print(f"{ran} cases, {failed} failed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
