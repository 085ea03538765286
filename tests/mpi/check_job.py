#!/usr/bin/python3
"""heddle job and heddle convert --mpi by 1, 2, 4 and 8 processes of an MPI, here and on hosts that are network namespaces:
the bytes of the serial run; ranks that are damaged or missing, a process that is killed, no plugin.

usage: check_job.py --kind openmpi|mpich|none --heddle HEDDLE
"""
import argparse
import contextlib
import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from check_mpi import ENVIRONMENT, LAUNCHERS, expect, run
from patience import patience  # noqa: E402  by check_mpi's path

RANKS = "traces/rank{rank}.json.gz"
GOOD = [RANKS.format(rank=rank) for rank in (6, 0, 3, 1, 2)]
BRIDGE = "10.77.83.254"
HOSTS = {f"heddle-host{i}": f"10.77.83.{i}" for i in (1, 2)}  # network namespaces
LIBC = ctypes.CDLL(None)
CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
# Launchers call it as ssh: options, an address, a command.
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=heddle-host${1##*.}; shift
exec ip netns exec $host unshare --uts sh -c "hostname $host; $*"
"""


def make_traces(heddle):
    """Six of seven ranks, of which one is damaged, and a file that is none; and what a serial run makes of them."""
    done = run(heddle, "synth", "-q", "-o", "job.json.gz", "--ranks", 7, "--steps", 2, "--layers", 2, "--no-python")
    expect(done.returncode == 0, "synth", done)
    Path("traces").mkdir()
    for rank in 0, 1, 2, 3, 5, 6:
        os.rename(f"job_rank{rank}.json.gz", f"traces/rank{rank}.json.gz")
    shutil.copy("traces/rank1.json.gz", "traces/rank1_old.json.gz")
    Path("traces/rank5.json.gz").write_text("no trace")
    done = run(heddle, "summarize", *(f"traces/rank{rank}.json.gz" for rank in (6, 0, 3, 1, 2)), "-o", "serial.hds")
    expect(done.returncode == 0, "a serial run", done)
    return Path("serial.hds").read_bytes()


def check_bytes(launch, heddle, serial, *options):
    Path("job.hds").unlink(missing_ok=True)
    done = run(*launch, heddle, "job", "--ranks", Path(RANKS).absolute(), "-o", Path("job.hds").absolute(), *options)
    lines = sorted(line for line in done.stderr.splitlines() if line.startswith("heddle: "))
    expect(done.returncode == 0 and Path("job.hds").read_bytes() == serial, f"{launch} {options}: the serial bytes", done)
    expect(len(lines) == 2 and "2 of 7 ranks are missing: 4-5" in lines[1] and "rank5.json.gz" in lines[0] and
           "job.hds: 5 ranks" in done.stderr, "what is damaged or missing is told once", done)


def check_strict(launch, heddle):
    """Of seven ranks two are missing; of the first four none. A file that is none is one process's to see."""
    whole = [f"traces/rank{rank}.json.gz" for rank in (0, 1, 2, 3)]
    run(heddle, "synth", "-q", "-o", "four.json.gz", "--ranks", 2, "--steps", 2, "--layers", 1, "--no-python")
    two = ["four_rank0.json.gz", "four_rank1.json.gz"]
    for files, options, fails in ((whole, [], False), (whole, ["--strict"], True), (two, ["--strict"], False),
                                  ([*two, "traces/rank5.json.gz"], ["--strict"], True), ([*two, "traces/rank5.json.gz"], [], False)):
        done = run(*launch, heddle, "job", *files, "-o", "strict.hds", *options)
        expect((done.returncode != 0) == fails and Path("strict.hds").exists(), f"{launch} {files} {options}", done)
        Path("strict.hds").unlink()


def files_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def convert(launch, heddle, kind, *paths):
    paths = [path if str(path).startswith("--") else Path(path).absolute() for path in paths]
    return run(*launch, heddle, "convert", "-q", "--clean", "--mpi", kind, *paths)


def make_archive(heddle):
    """What a serial run makes; None: no OTF2."""
    if '"otf2"' not in run(heddle, "formats", "--json").stdout:
        return None
    done = convert([], heddle, "none", *GOOD, "serial.otf2")
    expect(done.returncode == 0, "a serial archive", done)
    return files_of("serial.otf2")


def check_archive(launch, heddle, serial, kind="auto"):
    done = convert(launch, heddle, kind, *GOOD, "job.otf2")
    expect(done.returncode == 0 and files_of("job.otf2") == serial and done.stderr.count("2 of 7 ranks are missing: 4-5") == 1,
           f"{launch}: the serial archive", done)


def check_twin(launch, heddle, serial):
    """A second file of a rank is left out, and told."""
    done = convert(launch, heddle, "auto", *GOOD, "traces/rank1_old.json.gz", "twin.otf2")
    expect(done.returncode == 0 and files_of("twin.otf2") == serial and "(merge.rank-twice " in done.stderr and
           done.stderr.count("rank 1 is there more than once (rank1.json.gz and rank1_old.json.gz)") == 1, "a rank twice", done)
    done = convert(launch, heddle, "auto", "--strict", *GOOD, "traces/rank1_old.json.gz", "strict.otf2")
    expect(done.returncode != 0 and "strict refuses" in done.stderr and not list(Path().glob("*strict.otf2*")), "strict", done)


def check_order(launch, heddle):
    """Files whose sizes each process sees in another order, as if they grew: each is converted once."""
    for process in range(2):
        Path(f"seen{process}").mkdir()
        for rank in range(6):
            blanks = " " * 1000 * (rank if process else 6 - rank)
            Path(f"seen{process}/rank{rank}.json").write_text('{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 5}]}' + blanks)
    here = 'cd "seen$((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} % 2))" && exec "$0" "$@"'
    done = run(*launch, "sh", "-c", here, Path(heddle).absolute(), "convert", "--mpi", "auto", *(f"rank{rank}.json" for rank in range(6)),
               Path("seen.otf2").absolute())
    expect(done.returncode == 0 and "6 events in, 12 out, nothing lost" in done.stdout, "an order that differs", done)


def check_cut(launch, heddle):
    """All processes cut at one time, that of a serial run; and where nothing would be left, none writes."""
    for words, name in ([], "whole.otf2"), (["--from=30%", "--until=60%", "--clip"], "serial_cut.otf2"):
        done = run(heddle, "convert", "-q", "--mpi", "none", *words, *GOOD, name)
        expect(done.returncode == 0, "a serial cut", done)
    done = run(*launch, heddle, "convert", "-q", "--mpi", "auto", *words, *GOOD, "cut.otf2")
    expect(done.returncode == 0 and files_of("cut.otf2") == files_of("serial_cut.otf2"), f"{launch}: the serial cut", done)
    whole, cut = (sum(len(data) for data in files_of(name).values()) for name in ("whole.otf2", "cut.otf2"))
    expect(cut < 0.7 * whole, f"{cut} of {whole} bytes", done)
    done = run(*launch, heddle, "convert", "-q", "--mpi", "auto", "--from", "3000s", *GOOD, "none.otf2")
    expect(done.returncode != 0 and "nothing is left" in done.stderr and not list(Path().glob("*none.otf2*")), "nothing left", done)


def check_damaged_archive(launch, heddle):
    """A rank that cannot be read is left out and told once, cut or not; strict, or where none can be read, nothing is written."""
    sound = [RANKS.format(rank=rank) for rank in (0, 1, 2, 3, 6)]
    for cut in [], ["--from=30%"]:
        for name, start, kind, files in ("sound.otf2", [], "none", sound), ("left.otf2", launch, "auto" if launch else "none", [RANKS]):
            done = run(*start, heddle, "convert", "-q", "--clean", "--mpi", kind, *cut, *(Path(path).absolute() for path in files), Path(name).absolute())
            expect(done.returncode == 0 and done.stderr.count("rank5.json.gz: ") == (name == "left.otf2") and
                   done.stderr.count("convert.input-left-out 1") == (name == "left.otf2"), f"{launch} {cut} {name}", done)
        expect(files_of("left.otf2") == files_of("sound.otf2"), f"{launch} {cut}: the bytes of the others", done)
        done = convert(launch, heddle, "auto", "--strict", *cut, RANKS, "none.otf2")
        expect(done.returncode != 0 and "strict refuses" in done.stderr and not list(Path().glob("*none.otf2*")), "strict", done)
        done = convert(launch, heddle, "auto", *cut, RANKS.format(rank=5), "traces/rank5.json.gz", "none.otf2")
        expect(done.returncode != 0 and "no input can be read" in done.stderr and not list(Path().glob("*none.otf2*")), "none", done)


def check_one_rank(launch, heddle):
    """Recordings that all say rank 0 are numbered by their place, with one that cannot be read among them; for that they are converted again."""
    Path("alike").mkdir()
    for place in range(5):
        info = '"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 5}]'
        Path(f"alike/run{place}.json").write_text("no trace" if place == 3 else "{" + info + "}")
    made = []
    for name, start in ("first", []), ("shared", launch):
        words = ["--mpi", "auto" if start else "none", *(Path(f"alike/run{place}.json").absolute() for place in range(5)), Path(f"{name}.otf2").absolute()]
        done = run(*start, heddle, "convert", *words)
        expect(done.returncode == 0 and "merge.ranks-by-place " in done.stdout and "4 events in, 8 out, 1 loss" in done.stdout, f"{name}: alike", done)
        made.append(files_of(f"{name}.otf2"))
    back = run(heddle, "convert", "-q", "shared.otf2", "-").stdout
    expect(made[0] == made[1] and [place for place in range(5) if f'"rank {place}"' in back] == [0, 1, 2, 4], "alike: by place", done)
    shutil.rmtree("alike")


def check_full_disk(heddle, serial):
    """Files as large as the largest may be written, then one byte less, then hardly any."""
    largest = max(len(data) for data in serial.values())
    for size in largest, largest - 1, 1000:
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        done = subprocess.run([heddle, "convert", "-q", "--mpi", "none", *GOOD, "full.otf2"], capture_output=True, text=True, timeout=patience(300), preexec_fn=limit)
        if size == largest:
            expect(done.returncode == 0 and files_of("full.otf2") == serial, "the largest file fits", done)
            shutil.rmtree("full.otf2")
        else:
            expect(done.returncode == 1 and "File too large" in done.stderr and not list(Path().glob("*full.otf2*")), f"{size} bytes", done)


def check_refused(launch, heddle):
    for words, text in (["--ranks", "none/rank{rank}.json", "-o", "none.hds"], "none/rank{rank}.json"), \
                       (["traces/rank0.json.gz", "-o", "absent/job.hds"], "absent"):
        done = run(*launch, heddle, "job", *words)
        expect(done.returncode != 0 and text in done.stderr and not Path("none.hds").exists(), f"{words}", done)


def check_plugin(launch, heddle):
    shutil.copy(heddle, "heddle")  # plugins are not where it looks
    done = run(*launch, "./heddle", "job", "--ranks", RANKS, "-o", "none.hds")
    expect(done.returncode != 0 and "there is no heddle-mpi-" in done.stderr and not Path("none.hds").exists(), "no plugin", done)
    done = subprocess.run([heddle, "job", "--ranks", RANKS, "-o", "none.hds"], capture_output=True, text=True, timeout=patience(300),
                          env=ENVIRONMENT | {"SLURM_STEP_NUM_TASKS": "2"})
    expect(done.returncode != 0 and "2 processes were started, but not as those of an MPI" in done.stderr, "no MPI", done)
    other = "openmpi" if "mpich" in launch[0] else "mpich"
    done = run(*launch, heddle, "job", "--ranks", RANKS, "-o", "none.hds", "--mpi", other)
    expect(done.returncode != 0 and ("2 processes were started, but not as those of" in done.stderr or
                                     f"there is no heddle-mpi-{other}.so" in done.stderr) and not Path("none.hds").exists(),
           "another MPI", done)


def readers_of(path):
    """Processes that wait in a read of it: those that look what it is do not."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            for thread in list((process / "task").iterdir()):
                with contextlib.suppress(OSError):
                    words = (thread / "syscall").read_text().split()  # number, arguments; or `running`
                    if len(words) > 2 and os.readlink(process / "fd" / str(int(words[1], 16))) == path:
                        yield int(process.name)


def check_killed(launch, heddle, how, archive=False):
    """Who reads a pipe that gives nothing is killed there."""
    pipe, killed = str(Path("slow_rank9.json").absolute()), Path("killed.otf2" if archive else "killed.hds").absolute()
    os.mkfifo(pipe)
    words = ["convert", "--mpi", "auto", pipe, *(Path(RANKS.format(rank=rank)).absolute() for rank in range(4)), killed] \
        if archive else ["job", pipe, Path("traces").absolute(), "-o", killed]
    job = subprocess.Popen([str(word) for word in [*launch, heddle, *words]],
                           env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    writer = os.open(pipe, os.O_WRONLY)
    end = time.monotonic() + patience(300)
    while not (readers := list(readers_of(pipe))) and time.monotonic() < end and job.poll() is None:
        time.sleep(0.01)
    for process in readers:
        rank = next(value for name, _, value in (line.partition("=") for line in
                    Path(f"/proc/{process}/environ").read_text().split("\0")) if name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK"))
        os.kill(process, how)
    try:
        out, told = job.communicate(timeout=patience(300))
    finally:
        job.kill()
        os.close(writer)
        os.unlink(pipe)
    lines = [line for line in told.splitlines() if line.startswith("heddle: process ")]
    died = [line for line in lines if line.endswith(f" died while it was at {pipe}")]
    # A process of another host, which the MPI ended as it lost the connection before the launcher asked it to end, may be named.
    host = died[0].partition(") died")[0].rpartition(" of ")[2] if died else ""
    others = [line for line in lines if line not in died and f" of {host}) died" in line]
    expect(job.returncode != 0 and len(died) == 1 and not others and died[0].startswith(f"heddle: process {rank} of 4 ") and
           not killed.exists(), f"{how!r}: {rank} was killed", subprocess.CompletedProcess(launch, job.returncode, out, told))


def on_hosts(kind):
    """The launcher of two processes on each of two hosts."""
    agent = Path("agent.sh").absolute()
    agent.write_text(AGENT)
    agent.chmod(0o755)
    hosts = ",".join(f"{address}:2" for address in HOSTS.values())
    if kind == "openmpi":
        network = [word for part in ("oob", "btl") for word in ("--mca", f"{part}_tcp_if_include", "10.77.83.0/24")]
        return ["mpirun.openmpi", "--allow-run-as-root", "--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self", *network,
                "-H", hosts, "-n", 4]
    return ["mpiexec.mpich", "-localhost", BRIDGE, "-launcher", "ssh", "-launcher-exec", agent, "-hosts", hosts, "-n", 4]


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False).returncode == 0


def make_hosts():
    """In a network, and with names of hosts, of this process's own: two tests may run at once. They end with the process."""
    made = LIBC.unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 and shutil.which("ip")
    made = made and all(subprocess.run(words, check=False).returncode == 0 for words in (
        ["mount", "--make-rprivate", "/"], ["mkdir", "-p", "/run/netns"], ["mount", "-t", "tmpfs", "none", "/run/netns"]))
    made = made and ip("link", "set", "lo", "up") and ip("link", "add", "heddle-bridge", "type", "bridge")
    if made:
        ip("address", "add", f"{BRIDGE}/24", "dev", "heddle-bridge")
        ip("link", "set", "heddle-bridge", "up")
    for i, (host, address) in enumerate(HOSTS.items() if made else []):
        made = ip("netns", "add", host) and made
        ip("link", "add", f"heddle-veth{i}", "type", "veth", "peer", "name", "eth0", "netns", host)
        ip("link", "set", f"heddle-veth{i}", "master", "heddle-bridge", "up")
        ip("-n", host, "address", "add", f"{address}/24", "dev", "eth0")
        ip("-n", host, "link", "set", "lo", "up")
        made = ip("-n", host, "link", "set", "eth0", "up") and made
    return made


def check_hosts(kind, heddle, serial, archive):
    if not make_hosts():
        print("no network namespaces can be made here: not tried on several hosts")
        return
    launch = on_hosts(kind)
    check_bytes(launch, heddle, serial)
    if archive:
        check_archive(launch, heddle, archive)
    check_killed(launch, heddle, signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser()
    for name in "--kind", "--heddle":
        parser.add_argument(name)
    options = parser.parse_args()
    heddle = Path(options.heddle).absolute()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        serial = make_traces(heddle)
        archive = make_archive(heddle)
        if options.kind == "none":
            if archive:
                check_archive([], heddle, archive)
                check_damaged_archive([], heddle)
                check_twin([], heddle, archive)
                check_one_rank([], heddle)
                check_full_disk(heddle, archive)
            for words in [], ["-j", 1], ["-j", 3], ["--mpi", "none"]:
                check_bytes([], heddle, serial, *words)
            check_refused([], heddle)
            check_strict([], heddle)
            return 0
        launch = LAUNCHERS[options.kind]
        if not shutil.which(launch[0]):
            print(f"skipped: no {launch[0]}")
            return 77
        for size in 1, 2, 4, 8:
            check_bytes([*launch, size], heddle, serial)
            if archive:
                check_archive([*launch, size], heddle, archive)
        check_bytes([*launch, 1], heddle, serial, "--mpi", options.kind)
        check_refused([*launch, 4], heddle)
        check_strict([*launch, 2], heddle)
        check_plugin([*launch, 2], heddle)
        for how in signal.SIGKILL, signal.SIGTERM:
            check_killed([*launch, 4], heddle, how)
        if archive:
            check_damaged_archive([*launch, 4], heddle)
            check_order([*launch, 2], heddle)
            check_twin([*launch, 2], heddle, archive)
            check_one_rank([*launch, 4], heddle)
            check_cut([*launch, 4], heddle)
            check_killed([*launch, 4], heddle, signal.SIGKILL, archive=True)
        check_hosts(options.kind, heddle, serial, archive)
    return 0


sys.exit(main())
