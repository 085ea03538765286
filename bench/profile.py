#!/usr/bin/env python3
"""Where the time goes: samples of a command by phase, and by source file of libheddle, as Markdown tables.

usage: profile.py BUILD_DIR COMMAND...      (needs perf: package linux-perf)

    bench/profile.py build/release build/release/bench/bench_ingest trace.json
    bench/profile.py build/release build/release/src/cli/heddle fix -q trace.json fixed.json

A function belongs to the object file of the build that defines it; what was inlined counts where it ended up.
"""
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

PHASES = (  # first match of "file" or "kernel/function"
    ("read()", r"kernel/.*(copy_to_iter|filemap|read|readahead)|base_input"),
    ("write()", r"kernel/.*(from_iter|ext4|jbd2|write|block_|folio|inode|xas_|truncate|bio)|base_output|write_behind"),
    ("memory from the system", r"kernel/.*(clear_page|page|fault|mmap|munmap|vma|zap|alloc|charge)"),
    ("events: members and args", r"format_chrome_chrome_(event|value|elements|shapes)"),
    ("JSON values skipped whole, white space", r"base_json"),
    ("cutting into pieces", r"format_chrome_"),
    ("strings: intern", r"trace_strings|libc/.*memcmp"),
    ("columns: batch and seal", r"trace_(batch|column)|base_arena"),
    ("commit, finish", r"trace_"),
    ("lane pass", r"pass_lanes"),
    ("plan to text, report", r"fix_|cli_"),
    ("copies, allocation (libc)", r"libc/"),
    ("other kernel", r"kernel/"),
    ("other", r""),
)


def files_of_functions(build):
    """Function -> object file, only where one file alone has it."""
    found = {}
    for path in glob.glob(os.path.join(build, "src", "libheddle*.a.p", "*.o")):
        name = os.path.basename(path).removesuffix(".c.o")
        for line in subprocess.run(["nm", path], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
            words = line.split()
            if len(words) == 3 and words[1] in "tT":
                function = words[2].split(".")[0]
                found[function] = name if found.get(function, name) == name else "ambiguous"
    return found


def samples(command):
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        subprocess.run(["perf", "record", "-q", "-F", "1999", "-o", data, "--"] + command, stdout=subprocess.DEVNULL,
                       check=True)
        report = subprocess.run(["perf", "report", "-i", data, "--stdio", "-F", "overhead,dso,sym", "-t", ";"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for line in report.splitlines():
        match = re.match(r"\s*([0-9.]+)%?\s*;([^;]*);\s*\[(.)\]\s*(\S+)", line)
        if match:
            yield float(match[1]), match[2].strip(), match[3] == "k", match[4]


def table(title, sums, least):
    print(f"| {title} | % |\n|---|---|")
    for name, share in sums.most_common():
        if share >= least:
            print(f"| {name} | {share:.0f} |")
    print()


def main(build, *command):
    files = files_of_functions(build)
    phases, by_file = collections.Counter(), collections.Counter()
    for share, dso, kernel, function in samples(list(command)):
        base = function.split(".")[0].split("@")[0]
        if kernel:
            place = "kernel/" + base
        elif base in files:
            place = files[base]
        else:
            place = ("libc/" if "libc" in dso or "@plt" in function else "") + base
        phases[next(name for name, pattern in PHASES if re.search(pattern, place))] += share
        if base in files and not kernel:
            by_file[files[base]] += share
    table("phase", phases, 0.5)
    table("file", by_file, 1)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
