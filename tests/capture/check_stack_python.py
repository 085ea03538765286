#!/usr/bin/python3
"""Take stacks in Python programs and hold the frames to what the programs know of themselves. Runs as a test.

usage: check_stack_python.py --taker LIBRARY --heddle HEDDLE [--python PROGRAM]...

Runs itself with each Python (this one, and those of HEDDLE_TEST_PYTHONS, separated by colons), where it loads the
library with ctypes, once such that calls release the GIL, once such that they do not.
"""
import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import threading

HERE = os.path.abspath(__file__)


# ---- inside ----

def line_of(mark):
    """The line of this file that ends with the comment."""
    with open(HERE, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.rstrip().endswith("# " + mark):
                return number
    raise KeyError(mark)


def inside(taker, path):
    free, held = ctypes.CDLL(taker), ctypes.PyDLL(taker)
    callback_type = ctypes.CFUNCTYPE(ctypes.c_uint32)
    if free.taker_start(path.encode()):
        sys.exit("the session did not start")

    def take(label):
        free.taker_take(label)  # take

    def outer(label):
        take(label)  # outer
        free.taker_take_native(b"native")

    def holding():
        held.taker_take(b"holding")  # holding

    @callback_type
    def callback():
        take(b"callback")  # callback
        return 1

    def through_native():
        held.taker_call(callback)  # through_native

    def generator():
        take(b"generator")  # generator
        yield 1

    def use_generator():
        return list(generator())  # use_generator

    class Größe:
        def 长度(self):
            take(b"text")  # text

    def recurse(depth):
        if depth:
            recurse(depth - 1)  # recurse
        else:
            take(b"recurse")  # recurse end

    def cleaning():
        try:
            raise ValueError
        except ValueError:
            take(b"except")  # except

    outer(b"outer")  # main outer
    holding()  # main holding
    through_native()  # main through_native
    use_generator()  # main use_generator
    Größe().长度()  # main text
    recurse(5)  # main recurse
    cleaning()  # main except
    (lambda: take(b"lambda"))()  # lambda
    class Made:
        def __init__(self):
            take(b"init")  # init

    for i in range(300):  # often enough to be specialised
        Made()  # main init
    # Code that takes the place of other code in memory.
    for i in range(200):
        scope = {"take": take}
        exec(f"def made_{i:03}():\n    take(b'made {i:03}')\nmade_{i:03}()", scope)  # exec
        scope.clear()
    # Another thread holds the GIL and makes and drops code and frames meanwhile.
    done = []

    def busy():
        while not done:
            exec("def f(n):\n    return [g for g in range(n)]\nf(20)", {})

    def many():
        for _ in range(20000):
            free.taker_take(b"many")  # many

    other = threading.Thread(target=busy)
    other.start()
    many()  # main many
    done.append(1)
    other.join()

    def in_thread():
        take(b"thread")  # thread

    other = threading.Thread(target=in_thread)
    other.start()
    other.join()
    if sys.version_info >= (3, 12) and getattr(sys, "activate_stack_trampoline", None):
        try:
            sys.activate_stack_trampoline("perf")
        except ValueError:
            pass
        else:
            exec("def trampolined():\n    take(b'trampoline')\ntrampolined()", {"take": take})
            sys.deactivate_stack_trampoline()
    if free.taker_count(2):
        sys.exit(f"{free.taker_count(2)} walks were broken")
    if free.taker_stop():
        sys.exit("the session did not stop")
    trampolines = f"/tmp/perf-{os.getpid()}.map"
    if os.path.exists(trampolines):
        os.unlink(trampolines)


# ---- outside ----

def stacks_of(trace):
    """Label -> the list of its stacks, each a list of (name, category), innermost first."""
    frames, out = trace["stackFrames"], {}
    for event in trace["traceEvents"]:
        stack, node = [], event.get("sf")
        while node is not None:
            frame = frames[str(node)]
            stack.append((frame["name"], frame.get("category")))
            node = frame.get("parent")
        if stack:
            out.setdefault(event["name"], []).append(stack)
    return out


def here(function, mark):
    return f"{function} ({HERE}:{line_of(mark)})"


def expected(version):
    """Label -> its Python frames, innermost first."""
    take, module = here("inside.<locals>.take", "take"), here("<module>", "call inside")

    def local(name, mark=None):
        return here("inside.<locals>." + name, mark or name)

    def main(mark):
        return [here("inside", mark), module]

    out = {
        "outer": [take, local("outer")] + main("main outer"),
        "holding": [local("holding")] + main("main holding"),
        "callback": [take, local("callback"), local("through_native")] + main("main through_native"),
        "generator": [take, local("generator"), local("use_generator")] + main("main use_generator"),
        "text": [take, local("Größe.长度", "text")] + main("main text"),
        "recurse": [take, local("recurse", "recurse end")] + [local("recurse")] * 5 + main("main recurse"),
        "except": [take, local("cleaning", "except")] + main("main except"),
        "lambda": [take, local("<lambda>", "lambda")] + main("lambda"),
        "init": [take, local("Made.__init__", "init")] + main("main init"),
        "many": [local("many")] + main("main many"),
    }
    for i in range(200):
        out[f"made {i:03}"] = [take, f"py::made_{i:03} (<string>:2)", "py::<module> (<string>:3)"] + main("exec")
    return out


def check(python, heddle, taker, folder):
    version = subprocess.run([python, "-c", "import sys, ctypes; print(*sys.version_info[:2])"], capture_output=True,
                             text=True)
    if version.returncode:
        print(f"{python}: skipped, it does not run or has no ctypes")
        return 0
    version = tuple(map(int, version.stdout.split()))
    capture, chrome = os.path.join(folder, "run.hdcap"), os.path.join(folder, "run.json")
    subprocess.run([python, HERE, "--inside", taker, capture], check=True)
    subprocess.run([heddle, "convert", "-f", capture, chrome], check=True, stdout=subprocess.DEVNULL)
    with open(chrome, encoding="utf-8") as file:
        stacks = stacks_of(json.load(file))
    if not (3, 11) <= version <= (3, 15):
        wrong = [name for group in stacks.values() for stack in group for name, kind in stack if kind == "python"]
        info = subprocess.run([heddle, "info", capture], check=True, capture_output=True, text=True).stdout
        if "stack.python-unsupported" not in info:
            wrong.append("nothing says why there are no Python frames")
        print(f"{python}: {version} has no Python frames, as expected" if not wrong else f"{python}: {wrong[0]}?")
        return len(wrong)
    problems = 0
    for label, names in expected(version).items():
        found = stacks.get(label, [])
        if not found:
            problems += 1
            print(f"{python}: {label}: no stack")
        for stack in found:
            got = [name for name, kind in stack if kind == "python"]
            if got != names:
                problems += 1
                print(f"{python}: {label}: {json.dumps(got, indent=1)}\n  expected {json.dumps(names, indent=1)}")
                break
            if any("PyEval_EvalFrameDefault" in name for name, _ in stack):
                problems += 1
                print(f"{python}: {label}: the interpreter's loop is still there")
    problems += check_order(python, stacks["callback"][0])
    problems += check_native(python, stacks["outer"][0], stacks["native"][0])
    if "trampoline" in stacks:
        trampolined = [name for name, _ in stacks["trampoline"][0] if name.startswith("py::trampolined:<string>")]
        if len(trampolined) != 1:
            problems += 1
            print(f"{python}: the perf map's name is not in {stacks['trampoline'][0]}")
    print(f"{python}: {version}, {sum(map(len, stacks.values()))} stacks, {problems} problems")
    return problems


def check_order(python, stack):
    """Python called native code, which called Python: so they stand."""
    names = [name for name, _ in stack]
    inner, outer = names.index(here("inside.<locals>.callback", "callback")), names.index(
        here("inside.<locals>.through_native", "through_native"))
    between = [name for name in names[inner:outer] if name.startswith("libstack_taker.so+0x")]
    if len(between) == 1 and names[0].startswith("libstack_taker.so+0x"):
        return 0
    print(f"{python}: native frames are not where they belong: {json.dumps(names, indent=1)}")
    return 1


def check_native(python, both, native):
    """Each run of Python's frames takes the place of one native frame: all others stay."""
    kinds = [kind for _, kind in both]
    runs = sum(a != "python" and b == "python" for a, b in zip(kinds, kinds[1:]))
    left, native = [name for name, kind in both if kind != "python"][1:], [name for name, _ in native][1:]
    rest = iter(native)
    if len(left) + runs == len(native) and all(name in rest for name in left):
        return 0
    print(f"{python}: of the native frames {json.dumps(native, indent=1)}\n  {json.dumps(left, indent=1)} are left")
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inside", nargs=2)
    parser.add_argument("--taker")
    parser.add_argument("--heddle")
    parser.add_argument("--python", action="append", default=[])
    args = parser.parse_args()
    pythons = args.python + [p for p in os.environ.get("HEDDLE_TEST_PYTHONS", "").split(":") if p]
    with tempfile.TemporaryDirectory(prefix="heddle-stack-") as folder:
        sys.exit(1 if sum(check(p, args.heddle, args.taker, folder) for p in pythons or [sys.executable]) else 0)


if "--inside" in sys.argv:
    inside(*sys.argv[sys.argv.index("--inside") + 1:])  # call inside
else:
    main()
