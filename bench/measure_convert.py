"""The rows of `heddle convert`: sizes and speeds of stores, Perfetto files and OTF2 archives; see measure.py."""
import glob
import json
import os
import shutil
import subprocess
import tempfile
import time

from measure_run import THREADS, alternate, warm

STORE_SIZE, STORE_WRITE, STORE_READ, STORE_OPEN = 50, 250, 1000, 0.050
PERFETTO_SIZE, PERFETTO_RAW_SIZE = 10, 35
OTF2_SECONDS, OTF2_MEMORY, OTF2_EVENTS = 1.0, 200e6, 300_000
WORTH_BYTES = 1_000_000


def real_traces():
    """The Kineto traces in ../shared/data (or $HEDDLE_SHARED) of more than 1 MB, as JSON text in memory, one by one."""
    shared = os.environ.get("HEDDLE_SHARED") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../shared")
    data = os.path.join(shared, "data")
    paths = sorted(glob.glob(os.path.join(data, "kineto/*.json.gz")) + glob.glob(os.path.join(data, "ranks/*/*.json*")))
    for path in paths:
        unpack = ["gzip", "-dc", path] if path.endswith(".gz") else ["cat", path]
        text = subprocess.run(unpack, stdout=subprocess.PIPE, check=True).stdout
        if len(text) > WORTH_BYTES:
            yield os.path.relpath(path, data).split(".json")[0], text


def packed_size(text, *command):
    return len(subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True).stdout)


def peer_sizes(bench, name, text):
    """gzip and zstd -19 of a text; remembered, because zstd -19 takes its time."""
    path = os.path.join(bench.folder, "sizes.json")
    known = {}
    if os.path.exists(path):
        with open(path) as f:
            known = json.load(f)
    key = f"{name} {len(text)}"
    if key not in known:
        known[key] = packed_size(text, "gzip", "-c"), packed_size(text, "zstd", "-19", "-q", "-c")
        with open(path, "w") as f:
            json.dump(known, f)
    return known[key]


def converted_size(bench, text, extension, *options):
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        source, target = os.path.join(folder, "in.json"), os.path.join(folder, "out" + extension)
        with open(source, "wb") as f:
            f.write(text)
        subprocess.run([bench.heddle, "convert", "-q", *options, source, target], check=True)
        return os.path.getsize(target)


def sizes(bench):
    """Each real trace as a store and as Perfetto files, beside gzip and zstd -19 of its JSON."""
    lines = ["| trace | JSON MB | gzip | zstd -19 | .heddle | of zstd -19 | .pftrace | of JSON | --raw | of JSON |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    worst = [0.0, 0.0, 0.0]
    for name, text in real_traces():
        gz, zst = peer_sizes(bench, name, text)
        store = converted_size(bench, text, ".heddle")
        perfetto = converted_size(bench, text, ".pftrace")
        raw = converted_size(bench, text, ".pftrace", "--raw")
        ratios = [100 * store / zst, 100 * perfetto / len(text), 100 * raw / len(text)]
        worst = [max(a, b) for a, b in zip(worst, ratios)]
        lines.append(f"| {name} | {len(text) / 1e6:.1f} | {gz:,} | {zst:,} | {store:,} | {ratios[0]:.0f} % | "
                     f"{perfetto:,} | {ratios[1]:.1f} % | {raw:,} | {ratios[2]:.1f} % |")
        print(lines[-1], flush=True)
    floors = [STORE_SIZE, PERFETTO_SIZE, PERFETTO_RAW_SIZE]
    met = [w <= f for w, f in zip(worst, floors)]
    lines.append(f"| largest share (floor) | | | | | {worst[0]:.0f} % ({floors[0]} %) | | {worst[1]:.1f} % ({floors[1]} %) "
                 f"| | {worst[2]:.1f} % ({floors[2]} %) |")
    print(lines[-1])
    bench.missed += met.count(False)
    bench.size_lines = lines


def store(bench):
    for name, path in bench.inputs:
        size = os.path.getsize(path)
        target = os.path.join(bench.folder, name + ".heddle")
        warm(path)
        (write,), others = alternate(([bench.heddle, "convert", "-q", path, target], None, (0,)))
        speed = size / write.seconds / 1e6
        zstd = peer_speed(path, size)
        bench.add("convert to .heddle", name, size, write, f"{speed:,.0f} MB/s",
                  f"{os.path.getsize(target) / 1e6:.1f} MB; zstd -3: {zstd}", f"{STORE_WRITE} MB/s", speed >= STORE_WRITE, others)
        warm(target)
        (read, info), others = alternate(([bench.program("bench_ingest"), "-t", str(THREADS), target], None, (0,)),
                                         ([bench.heddle, "info", target], None, (0, 1)))
        speed = size / read.seconds / 1e6
        bench.add("read .heddle", name, size, read, f"{speed:,.0f} MB/s", "", f"{STORE_READ:,} MB/s", speed >= STORE_READ,
                  others)
        bench.add("info of .heddle", name, size, info, f"{info.seconds * 1000:.0f} ms", "",
                  f"{STORE_OPEN * 1000:.0f} ms", info.seconds <= STORE_OPEN, others)
        os.unlink(target)


def peer_speed(path, size):
    start = time.monotonic()
    done = subprocess.run(["zstd", "-3", "-T2", "-q", "-c", path], stdout=subprocess.PIPE, check=True).stdout
    return f"{size / (time.monotonic() - start) / 1e6:,.0f} MB/s, {len(done) / 1e6:.1f} MB"


def perfetto(bench):
    for name, path in bench.inputs:
        size = os.path.getsize(path)
        target = os.path.join(bench.folder, "out.pftrace")
        warm(path)
        (write,), others = alternate(([bench.heddle, "convert", "-q", path, target], None, (0,)))
        bench.add("convert to .pftrace", name, size, write, f"{size / write.seconds / 1e6:,.0f} MB/s",
                  f"{os.path.getsize(target) / 1e6:.1f} MB", others=others)
        os.unlink(target)


def otf2(bench):
    """300,000 events, beside a converter in Python over python3-otf2 where that is installed."""
    source, target = os.path.join(bench.folder, "otf2_300k.json"), os.path.join(bench.folder, "out.otf2")
    if not os.path.exists(source):
        subprocess.run([bench.heddle, "synth", "-q", "-o", source, "--events", str(OTF2_EVENTS)], check=True,
                       stdout=subprocess.DEVNULL)
    size = os.path.getsize(source)
    warm(source)
    (write,), others = alternate(([bench.heddle, "convert", "-q", "--clean", source, target], None, (0,)))
    peer = "python3-otf2: not installed"
    python3 = "/usr/bin/python3"  # Debian's, which python3-otf2 is for
    if subprocess.run([python3, "-c", "import otf2"], stderr=subprocess.DEVNULL).returncode == 0:
        folder = os.path.join(bench.folder, "python.otf2")
        shutil.rmtree(folder, ignore_errors=True)
        (python,), _ = alternate(([python3, os.path.join(bench.here, "peers", "peer_otf2.py"), source, folder], None, (0,)),
                                 runs=1)
        peer = f"Python, slices only: {python.seconds:.1f} s, {python.peak_bytes / 1e6:,.0f} MB"
        shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    met = write.seconds <= OTF2_SECONDS and write.peak_bytes <= OTF2_MEMORY
    bench.missed += not met
    bench.add("convert to OTF2", "synth", size, write, f"{write.seconds:.2f} s, {write.peak_bytes / 1e6:,.0f} MB", peer,
              f"{OTF2_SECONDS:.0f} s, {OTF2_MEMORY / 1e6:.0f} MB: " + ("met" if met else "NOT MET"), others=others)
