"""The row of `heddle view`: a store of ten million events in a browser; see measure.py and measure_page.mjs."""
import json
import os
import shutil
import statistics
import subprocess

from measure_run import Load

EVENTS, TILE_RUNS = 10_000_000, 3
FIRST_PICTURE_MS, BATCH_MS, FRAME_MS, SEARCH_MS, MEMORY_MB = 300, 5, 8, 50, 200


def store(bench):
    path = os.path.join(bench.folder, "page_10m.heddle")
    if not os.path.exists(path):
        print("bench: making page_10m.heddle (once)", flush=True)
        made = subprocess.Popen([bench.heddle, "synth", "-q", "--events", str(EVENTS), "--crossings", "1000",
                                 "-o", "-"], stdout=subprocess.PIPE)
        part = os.path.join(bench.folder, "part_page_10m.heddle")
        subprocess.run([bench.heddle, "convert", "-q", "-", part], stdin=made.stdout, check=True)
        if made.wait():
            raise SystemExit("bench: heddle synth failed")
        os.rename(part, path)
    return path


def missing(bench):
    if not any(map(shutil.which, ("chromium", "chromium-browser", "chromium-headless-shell"))):
        return "there is no Chromium"
    if not shutil.which("node") or not os.path.isdir(os.path.join(bench.here, "../tests/web/node_modules")):
        return "node and tests/web/node_modules are needed (tools/setup.sh test)"
    if subprocess.run([bench.heddle, "view", "--help"], capture_output=True).returncode:
        return "this heddle was built without heddle view"
    return None


def page(bench):
    """One run: prints distributions over hundreds of frames and answers."""
    why = missing(bench)
    if why:
        print(f"page: {why}")
        return
    path = store(bench)
    script = os.path.join(bench.here, "measure_page.mjs")
    done = subprocess.run(["node", script, bench.heddle, path, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout.strip():
        raise SystemExit("bench: measure_page.mjs failed")
    m, size = json.loads(done.stdout), os.path.getsize(path)
    if m["left_out"]:
        bench.missed += 1
        print("page: left out: " + "; ".join(m["left_out"]))
        return
    one, many, frames = m["batch_one_client"], m["batch_many_clients"], m["frames"]

    def row(what, figure, beside, value, limit, unit):
        met = value <= limit
        bench.missed += not met
        bench.add(what, "store", size, None, figure, beside, f"{limit} {unit}: {'met' if met else 'NOT MET'}",
                  others=None, whole=False)

    warm = m["first_warm"]
    row("page: first picture", f"{warm['from_first_request']:.0f} ms",
        f"of {warm['runs']} runs the least: {warm['least']:.0f} ms; of the navigation: {warm['from_navigation']:.0f} ms; while it is laid out: "
        f"{m['first_cold']['from_first_request']:.0f} ms", warm["from_first_request"], FIRST_PICTURE_MS, "ms")
    row("page: frame, p95", f"{frames['own']['p95']:.1f} ms",
        f"{frames['own']['n']} frames, p50 {frames['own']['p50']:.1f}, max {frames['own']['max']:.1f} ms; CPU of the thread: "
        f"p50 {frames['cpu']['p50']:.1f}, p95 {frames['cpu']['p95']:.1f} ms; between two frames: "
        f"p50 {frames['between']['p50']:.1f} ms", frames["own"]["p95"], FRAME_MS, "ms")
    row(f"page: {one['tracks']} tracks, p95", f"{one['p95']:.1f} ms",
        f"p50 {one['p50']:.1f} ms; {many['clients']} clients at once: p95 {many['p95']:.1f} ms", one["p95"], BATCH_MS, "ms")
    row("page: search", f"{m['search_names']['max']:.1f} ms", f"p50 {m['search_names']['p50']:.1f} ms",
        m["search_names"]["max"], SEARCH_MS, "ms")
    print(f"page: load when it began {m['load']}")
    row("page: memory", f"{m['memory_end']['anonymous']:.0f} MB", f"of the file: {m['memory_end']['file']:.0f} MB",
        m["memory_end"]["anonymous"] + m["memory_end"]["shared_memory"], MEMORY_MB, "MB")


def tiles(bench):
    """Batches of up to 100 tracks without HTTP: bench_tiles, one thread, all zooms, places all over the trace."""
    path = store(bench)
    size, median, p95, cpu = os.path.getsize(path), [], [], []
    load = Load()
    for _ in range(TILE_RUNS):
        done = subprocess.run([bench.program("bench_tiles"), path], stdout=subprocess.PIPE, text=True, check=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith("laid_out ")]
        words = [dict(w.split("=") for w in line.split() if "=" in w) for line in lines]
        median.append(float(words[-1]["median_ms"]))
        p95.append(float(words[-1]["p95_ms"]))
        cpu.append(max(float(w["cpu_p95_ms"]) for w in words[:-1]))
    tracks = words[0]["tracks"]
    figure = statistics.median(p95)
    met = figure <= BATCH_MS
    bench.missed += not met
    bench.add(f"tiles: {tracks} tracks, p95", "store", size, None, f"{figure:.2f} ms",
              f"p50 {statistics.median(median):.2f} ms; of the slowest zoom p95 {statistics.median(cpu):.2f} ms of CPU",
              f"{BATCH_MS} ms: {'met' if met else 'NOT MET'}",
              others=load.others(), whole=False)
