#!/usr/bin/env python3
"""Our declarations of CUPTI, and the tracer, with the real CUPTI of CUDA 11, 12 and 13.

  check_cupti_real.py --cc COMPILER --declarations TEST_C --root SOURCES --library LIBHEDDLE_CUDA --heddle HEDDLE

The wheels of cupti.txt are unpacked by `tools/setup.sh test` into tests/capture/cupti; a CUDA toolkit below /usr/local/cuda
or /opt/cuda is looked at, too, where there is one. Without any the test is skipped (status 77).
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
# What an injected program does, without CUDA: the driver would load the tracer, and there is none.
PROGRAM = "import ctypes, os; print(ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH']).InitializeInjection())"


class Cupti:
    def __init__(self, name, includes, libraries):
        self.name, self.includes, self.libraries = name, includes, libraries

    def header(self, name):
        return next((p / name for p in self.includes if (p / name).exists()), None)


def found(root):
    wheels = root / "tests/capture/cupti"
    crt = sorted(wheels.glob("nvidia_cuda_crt-*/nvidia/*/include"))  # for all: two macros of compilers
    for version, folder in (("11", "_cu11-11"), ("12", "_cu12-12"), ("13", "-13")):
        includes = [p for part in ("cupti", "runtime") for p in wheels.glob(f"nvidia_cuda_{part}{folder}*/nvidia/*/include")]
        libraries = sorted(wheels.glob(f"nvidia_cuda_cupti{folder}*/nvidia/*/lib/libcupti.so.*"))
        if len(includes) == 2 and libraries:
            yield Cupti(f"CUDA {version}", includes + crt, libraries)
        else:
            print(f"CUDA {version}: skipped: no wheels, which `tools/setup.sh test` fetches")
    for folder in (Path("/usr/local/cuda"), Path("/opt/cuda")):
        includes = [p for p in (folder / "include", folder / "extras/CUPTI/include") if (p / "cupti.h").exists()]
        if includes:
            yield Cupti(str(folder), includes + [folder / "include"],
                        sorted(p for p in folder.glob("extras/CUPTI/lib64/libcupti.so.*") if not p.is_symlink()))


def run(*command, **more):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **more)


def check_declarations(cupti, options, folder):
    """Sizes and places are compared by the compiler, lengths by the program."""
    program = Path(folder) / "abi"
    done = run(*options.cc, "-w", "-o", program, "-I", options.root / "include", "-I", options.root / "src",
               *(a for p in cupti.includes for a in ("-isystem", p)), options.declarations, "-lcmocka")
    if done.returncode == 0:
        done = run(program)
    if done.returncode != 0:
        return [(done.stdout + done.stderr)[:3000]]
    return []


def check_calls(cupti, options):
    """A number of ours is that call in every version that has the number. CUDA 13 dropped "_v2" from names it kept."""
    ours = (options.root / "src/capture/cuda/cupti/calls.h").read_text()
    bad = []
    for domain, header, prefix in (("RUNTIME", "cupti_runtime_cbid.h", "CUPTI_RUNTIME_TRACE_CBID_"),
                                   ("DRIVER", "cupti_driver_cbid.h", "CUPTI_DRIVER_TRACE_CBID_")):
        table = ours.split(f"CUPTI_{domain}_CALLS(X)")[1].split("\n\n")[0]
        wanted = {int(n): name for n, name in re.findall(r"X\((\d+), (\w+),", table)}
        theirs = {int(n): name for name, n in re.findall(prefix + r"(\w+)\s*=\s*(\d+)", cupti.header(header).read_text())}
        known = {n for n in wanted if theirs.get(n, "SIZE") != "SIZE"}
        bad += [f"{domain} {n} is {theirs[n]}, not {wanted[n]}" for n in known
                if wanted[n] not in (theirs[n], theirs[n].replace("_v2_", "_"))]
        if len(known) < 80:
            bad.append(f"{domain}: only {len(known)} of {len(wanted)} calls are in {header}")
    return bad


def has_driver():
    return os.path.exists("/dev/nvidiactl")


def check_tracer(library, options, folder):
    """Without a driver the program runs, and why nothing is recorded is said."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HEDDLE_", "CUDA_", "NVTX_", "LD_"))}
    env.update(HEDDLE_CUPTI=str(library), ASAN_OPTIONS="detect_leaks=0")
    if b"__asan_init" in options.library.read_bytes():  # Python, which loads it, has no sanitizer
        env["LD_PRELOAD"] = run(*options.cc, "-print-file-name=libasan.so").stdout.strip()
    done = run(options.heddle, "record", "--library", options.library, "-o", Path(folder) / "out.heddle", "--",
               sys.executable, "-c", PROGRAM, env=env)
    bad = []
    if done.returncode != 0 or done.stdout.strip() != "1":
        bad.append(f"the program ends with {done.returncode}, {done.stdout!r}")
    if f"{library} refuses (CUPTI_ERROR_" not in done.stderr or "no NVIDIA driver" not in done.stderr:
        bad.append(f"it is not said why: {done.stderr}")
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", nargs="+", required=True)
    for name in ("declarations", "root", "library", "heddle"):
        parser.add_argument("--" + name, type=Path, required=True)
    options = parser.parse_args()
    all_found, failed = list(found(options.root)), 0
    with tempfile.TemporaryDirectory(prefix="heddle-cupti-") as folder:
        for cupti in all_found:
            bad = check_declarations(cupti, options, folder) + check_calls(cupti, options)
            for library in cupti.libraries[:0 if has_driver() else None]:
                bad += check_tracer(library, options, folder)
            print(f"{cupti.name}: {'ok' if not bad else 'FAIL'}")
            for text in bad:
                print("   ", text)
            failed += bool(bad)
    return 1 if failed else 0 if all_found else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
