#!/usr/bin/python3
"""convert --anonymize replaces what identifies somebody, and nothing else.

usage: tests/convert/anonymize.py --heddle PROGRAM [--all] [FILE...]

A trace with a secret word in each place that a text can be in, and some fixtures (--all: each file below tests/format that
is read). The anonymized trace is compared with the plain one, both as JSON: the same structure, numbers and times; each
text is kept, or has the same words but for those that became x and 16 digits, always the same for a word and never the
same for two. No word that was replaced is anywhere in the bytes of the output, but for names that stay by the rules: of
kernels, operators of frameworks, API calls. Numbers of the reports breakdown, steps and job are equal.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FIXTURES = ("chrome/edge-args.json", "flight/small.pickle", "pprof/small.pprof", "producers/mctracer.json")
HASHED = re.compile(r"x[0-9a-f]{16}")
LETTER = "[0-9A-Za-z_\u0080-\U0010ffff]"
WORD = re.compile(f"{LETTER}+(?:-{LETTER}+)*")
ADDRESS = re.compile(r"(?:[0-9]{1,3}[.]){3}[0-9]{1,3}|[0-9A-Fa-f]*:[0-9A-Fa-f:]*[0-9A-Fa-f]")
KEPT = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "cpu_op", "cuda_sync", "overhead"}


class Failure(Exception):
    pass


def heddle(program, *words):
    result = subprocess.run([program, *map(str, words)], capture_output=True)
    if result.returncode != 0:
        raise Failure(f"heddle {' '.join(map(str, words))}: {result.stderr.decode('utf-8', 'replace')}")
    return result.stdout


class Pairs(list):
    """An object's members in their order: keys are replaced, too, and may occur twice."""


def load(path):
    return json.loads(path.read_bytes().decode("utf-8", "surrogateescape"), object_pairs_hook=Pairs)


def replaced_words(before, after):
    """The words of a text with what each became; all else must be equal."""
    at = to = 0
    while at < len(before) or to < len(after):
        made = HASHED.match(after, to)
        if made and not before.startswith(made.group(), at):
            for word in filter(None, (ADDRESS.match(before, at), WORD.match(before, at))):
                end = word.end()
                number = re.search(r"_[0-9]+$", word.group())
                if number and after.startswith(number.group(), made.end()):
                    end -= len(number.group())
                if before[end:end + 1] == after[made.end():made.end() + 1]:
                    yield before[at:end], made.group()
                    at, to = end, made.end()
                    break
            else:
                raise Failure(f"{before!r} became {after!r}")
        elif before[at:at + 1] == after[to:to + 1]:
            at, to = at + 1, to + 1
        else:
            raise Failure(f"{before!r} became {after!r}")


class Comparison:
    def __init__(self):
        self.words = {}  # a replaced word -> what it became
        self.kept = set()  # texts that stayed
        self.texts = []

    def text(self, before, after):
        if before == after:
            self.kept.add(before)
            return
        self.texts.append(before)
        for word, made in replaced_words(before, after):
            if self.words.setdefault(word, made) != made:
                raise Failure(f"{word!r} became {made} and {self.words[word]}")

    def value(self, before, after, where="$"):
        if type(before) is not type(after):
            raise Failure(f"{where}: {before!r} became {after!r}")
        if isinstance(before, str):
            self.text(before, after)
        elif isinstance(before, Pairs):
            if len(before) != len(after):
                raise Failure(f"{where}: {len(before)} members became {len(after)}")
            for (k, v), (l, w) in zip(before, after):
                self.text(k, l)
                self.value(v, w, f"{where}.{k}")
        elif isinstance(before, list):
            if len(before) != len(after):
                raise Failure(f"{where}: {len(before)} elements became {len(after)}")
            for i, (v, w) in enumerate(zip(before, after)):
                self.value(v, w, f"{where}[{i}]")
        elif before != after:
            raise Failure(f"{where}: {before!r} became {after!r}")


def words_of(text):
    return set(WORD.findall(text))


def check_bytes(comparison, output):
    """No replaced word is in the output, unless in a text that stays."""
    stays = set()
    for text in comparison.kept:
        stays |= words_of(text)
    there = words_of(output.read_bytes().decode("utf-8", "surrogateescape"))
    for word in comparison.words:
        for part in words_of(word):
            if len(part) > 3 and part in there and part not in stays:
                raise Failure(f"{part!r} is in the output")
    if len(set(comparison.words.values())) != len(comparison.words):
        raise Failure("two words became one")


def numbers(value):
    if isinstance(value, dict):
        return [(k, numbers(v)) for k, v in value.items() if k not in ("path", "file", "trust", "input_bytes", "bytes")]
    if isinstance(value, list):
        return sorted((numbers(v) for v in value), key=repr)
    return value if isinstance(value, (int, float)) or value is None else "text"


def check_reports(program, plain, hidden):
    for report in ("breakdown", "steps", "job"):
        runs = [subprocess.run([program, "report", report, "--json", p], capture_output=True) for p in (plain, hidden)]
        if runs[0].returncode != runs[1].returncode:
            raise Failure(f"{report}: exit status {runs[0].returncode} became {runs[1].returncode}: {runs[1].stderr}")
        if runs[0].returncode == 0:
            before, after = (numbers(json.loads(r.stdout)) for r in runs)
            if before != after:
                raise Failure(f"{report} changed:\n{before}\n{after}")


def check(program, path, work, kinds="", reports=True):
    plain, hidden = work / "plain.json", work / "hidden.json"
    heddle(program, "convert", "-q", path, plain)
    said = json.loads(heddle(program, "convert", "--json", "--anonymize" + kinds, "--salt", "pepper", path, hidden))
    comparison = Comparison()
    comparison.value(load(plain), load(hidden))
    check_bytes(comparison, hidden)
    if bool(comparison.texts) != bool(said["texts_replaced"]):
        raise Failure(f"{len(comparison.texts)} texts changed, {said['texts_replaced']} reported")
    if reports:
        check_reports(program, plain, hidden)
    return comparison, said


def secrets(work):
    """A trace with secret words, each its own, in all places."""
    count = iter(range(1000))

    def secret():
        return f"zq{next(count)}topsecret"

    def event(name, cat, tid, ts, dur, **args):
        return {"ph": "X", "name": name, "cat": cat, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}

    trace = {
        "schemaVersion": 1, "hostname": secret() + "-17.corp", "traceName": f"/home/{secret()}/trace.json",
        secret(): secret(), "environment": {"USER": secret(), secret(): [secret()]},
        "perf": {"hostname": "node417"}, "modules": [{"path": f"/opt/{secret()}/lib{secret()}.so", "build_id": "ab34cd" + secret()}],
        "deviceProperties": [{"id": 0, "name": "GPU " + secret()}],
        "stackFrames": {"1": {"name": f"/home/{secret()}/{secret()}.py(3): {secret()}"},
                        "2": {"name": "/venv/site-packages/torch/nn/modules/module.py(1): forward", "parent": "1"}},
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python " + secret()}},
            {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": secret()}},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": secret()}},
            {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "GPU 0"}},
            event("ProfilerStep#1", "user_annotation", 1, 0, 90),
            event(secret(), "user_annotation", 1, 1, 50, **{secret(): secret(), "note": "10.1.2.3 on " + secret()}),
            event(f"train.py(12): {secret()}", "python_function", 1, 2, 40, **{"Python id": 1}),
            event(f"{secret()}::op", "cpu_op", 1, 3, 30, **{"Concrete Inputs": [secret(), "\u00e9" + secret()]}),
            event("aten::mm", "cpu_op", 1, 4, 20, **{"External id": 5, "sf": 1}),
            event("cudaLaunchKernel", "cuda_runtime", 1, 5, 10, correlation=7),
            {**event("sgemm_32x32", "kernel", 7, 6, 30, device=0, stream=7, correlation=7, nest={secret(): secret()}),
             "pid": 0},
            {**event("ncclDevKernel_AllReduce", "kernel", 7, 40, 9, **{"Process Group Description": secret(),
                                                                         "Collective name": "allreduce"}), "pid": 0},
            {"ph": "C", "name": secret(), "pid": 1, "ts": 5, "args": {secret(): 3}},
            {"ph": "b", "cat": secret(), "name": secret(), "id": secret(), "pid": 1, "tid": 1, "ts": 1},
            {"ph": "e", "cat": "c", "name": "x", "id": "y", "pid": 1, "tid": 1, "ts": 2},
            {"ph": "s", "cat": "ac2g", "name": secret(), "id": secret(), "pid": 1, "tid": 1, "ts": 3},
            {"ph": "i", "name": secret(), "pid": secret(), "tid": secret(), "ts": 3, "s": "t", "cname": secret()},
            {"ph": "B", "name": "outer " + secret(), "pid": 1, "tid": 3, "ts": 3},
            {"ph": "B", "name": "inner", "pid": 1, "tid": 3, "ts": 4},
            {"ph": "Z", "name": secret(), "pid": 1, "ts": 3, secret(): secret()},
            {"ph": "c", "name": secret(), "id": 1, "ts": 3, "args": {"a": {"b": [secret()]}}},
            {"ph": "O", "name": secret(), "id": "0x1", "pid": 1, "tid": 1, "ts": 3, "args": {"snapshot": secret()}},
        ],
    }
    path = work / "secrets.json"
    path.write_text(json.dumps(trace))
    return path


def check_secrets(program, work):
    path = secrets(work)
    comparison, said = check(program, path, work)
    for name in ("hidden.json", "again.heddle", "again.pftrace", "names.json"):
        kinds = "=names,paths,args,hosts" if name == "names.json" else ""
        if name != "hidden.json":
            raw = ["--raw"] if name.endswith(".pftrace") else []
            heddle(program, "convert", "-q", "--anonymize" + kinds, "--salt", "pepper", *raw, path, work / name)
        if name == "again.heddle":
            heddle(program, "convert", "-q", work / name, work / "again.json")
            name = "again.json"
        text = (work / name).read_bytes()
        for word in (b"topsecret", b"10.1.2.3", b"node417"):
            if word in text:
                at = text.index(word)
                raise Failure(f"{name}: {text[max(0, at - 80):at + 40]}")
    names = {e["name"] for e in json.loads((work / "hidden.json").read_bytes())["traceEvents"]}
    if not {"sgemm_32x32", "aten::mm", "cudaLaunchKernel", "ProfilerStep#1", "ncclDevKernel_AllReduce"} <= names:
        raise Failure(f"names that stay: {sorted(names)}")
    if b"sgemm" in (work / "names.json").read_bytes() or b"AllReduce" not in (work / "names.json").read_bytes():
        raise Failure("names: sgemm stayed, or AllReduce did not")
    if b"torch/nn/modules/module.py" not in (work / "hidden.json").read_bytes():
        raise Failure("the frames of frameworks are gone")
    counts = {row["code"]: row["count"] for row in said["ledger"] if row["stage"] == "anonymize"}
    if set(counts) != {"anonymize.paths", "anonymize.args", "anonymize.hosts"} or \
            sum(counts.values()) != said["texts_replaced"]:
        raise Failure(f"the ledger has {counts}")
    first = (work / "hidden.json").read_bytes()
    for salt, same in ((["--salt", "pepper"], True), (["--salt", "other"], False), ([], False)):
        heddle(program, "convert", "-q", "--anonymize", *salt, path, work / "hidden.json")
        if ((work / "hidden.json").read_bytes() == first) != same:
            raise Failure(f"salt {salt}: same is {not same}")


def check_models(program, work):
    """The names of GPUs that peak rates are known by stay."""
    listed = re.findall(r"names = \[(.*?)\]", (ROOT / "share/gpus.toml").read_text(encoding="utf-8"), re.S)
    models = [name for names in listed for name in re.findall(r'"([^"]+)"', names)]
    (work / "models.json").write_text(json.dumps({"deviceProperties": [{"id": i, "name": n} for i, n in enumerate(models)], "traceEvents": []}))
    heddle(program, "convert", "-q", "--anonymize", work / "models.json", work / "hidden.json")
    after = [device["name"] for device in json.loads((work / "hidden.json").read_bytes())["deviceProperties"]]
    if after != models or not models:
        raise Failure(f"of GPUs became {set(after) - set(models)}")


sys.setrecursionlimit(20000)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    files = options.files or [ROOT / "tests/format" / name for name in FIXTURES]
    if options.all:
        files = sorted(p for p in (ROOT / "tests/format").rglob("*") if p.is_file() and p.suffix not in (".py", ".c"))
    failed = tested = 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        check_secrets(options.heddle, work)
        check_models(options.heddle, work)
        for path in files:
            if options.all and subprocess.run([options.heddle, "convert", "-q", path, work / "plain.json"],
                                              capture_output=True).returncode:
                continue
            try:
                tested += 1
                check(options.heddle, path, work)
            except Failure as failure:
                failed += 1
                print(f"{path}: {failure}"[:1500])
    print(f"{tested} traces, {failed} failed")
    return failed > 0 or not tested


if __name__ == "__main__":
    sys.exit(main())
