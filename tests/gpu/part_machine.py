"""Parts of run.py: what heddle says of the machine, and how it scales on its cores."""
import ctypes
import json
import os
import platform
import shutil
import time

from gpu_support import Skip, check, remove, run_quietly

SMI = ["index", "name", "uuid", "pci.bus_id", "memory.total", "driver_version"]
THREADS = (1, 2, 4, 8, 16)
EVENTS = 1_500_000


def smi_rows():
    if not shutil.which("nvidia-smi"):
        raise Skip("there is no nvidia-smi")
    done = run_quietly(["nvidia-smi", "--query-gpu=" + ",".join(SMI), "--format=csv,noheader,nounits"], timeout=60)
    check(done.returncode == 0, "nvidia-smi:", done.stdout, done.stderr)
    return [dict(zip(SMI, (cell.strip() for cell in line.split(",")))) for line in done.stdout.splitlines() if line.strip()]


class NvmlMemory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def nvml_memory():
    """Bytes of each GPU's memory."""
    nvml, count, out = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_uint(), []
    check(nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0, "NVML does not start")
    for i in range(count.value):
        device, memory = ctypes.c_void_p(), NvmlMemory()
        check(nvml.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(device)) == 0, "NVML has no GPU", i)
        check(nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)) == 0, "NVML does not tell the memory of GPU", i)
        out.append(memory.total)
    nvml.nvmlShutdown()
    return out


def pci_key(text):
    """00000000:19:00.0 and 0000:19:00.0 are one."""
    domain, rest = text.lower().split(":", 1)
    return int(domain, 16), rest


def devices(place):
    """heddle devices against nvidia-smi and NVML; CUDA can be captured"""
    place.need_real()
    told = json.loads(place.heddle("devices", "--json").stdout)
    ours = {pci_key(g["pci"]): g for g in told["gpus"] if g["vendor"] == "NVIDIA" or "NVIDIA" in str(g["name"])}
    rows, totals = smi_rows(), nvml_memory()
    check(len(ours) == len(rows), len(ours), "GPUs instead of", len(rows))
    for row, total in zip(rows, totals):
        gpu = ours[pci_key(row["pci.bus_id"])]
        check(gpu["name"] == row["name"] and gpu["uuid"] == row["uuid"], gpu, row)
        check(gpu["driver"] == "nvidia " + row["driver_version"] == "nvidia " + told["driver"], gpu["driver"], row)
        check(int(gpu["memory"]) == total, "memory", gpu["memory"], "instead of", total)
    way = next(w for w in told["ways"] if w["way"] == "cuda")
    check(way["works"] in ("yes", "partly"), way)
    return {"GPU": rows[0]["name"], "driver": told["driver"], "CUDA": told["cuda"], "capture of CUDA": way["works"]}


def check_devices(place):
    """heddle record --check says that it works"""
    place.need_real()
    done = place.heddle("record", "--check")
    check(done.returncode == 0, done.stdout, done.stderr)
    return {}


def best_of(place, command, runs=3):
    times = []
    for _ in range(runs):
        start = time.monotonic()
        done = place.heddle(*command)
        times.append(time.monotonic() - start)
        check(done.returncode in (0, 1), command, done.stderr)
    return min(times)


def speed(place):
    """fix, ingest and convert of a synthetic trace with 1 to 16 threads: the scaling curve"""
    cores = len(os.sched_getaffinity(0))
    threads = [n for n in THREADS if n <= cores]
    trace, out = place.out / "speed.json", place.out / "speed-out"
    events = EVENTS if not place.double else 20_000
    done = place.heddle("synth", "-q", "-o", trace, "--events", events, "--crossings", events // 1000)
    check(done.returncode == 0, done.stderr)
    megabytes = trace.stat().st_size / 1e6
    figures = {"MB": round(megabytes), "cores": cores}
    try:
        for name, command, extension in (("fix", ["fix", "-q"], ".json"), ("ingest", ["convert", "-q"], ".heddle"),
                                         ("convert", ["convert", "-q"], ".pftrace")):
            source = place.out / "speed.heddle" if name == "convert" else trace
            for n in threads:
                seconds = best_of(place, [*command, "--threads", n, source, str(out) + extension])
                figures[f"{name}, {n} threads, MB/s"] = round(megabytes / seconds)
            if name == "ingest":
                os.replace(str(out) + extension, place.out / "speed.heddle")
    finally:
        for path in place.out.glob("speed*"):
            remove(path)
    return figures


def facts(place):
    return {"system": platform.platform(), "python": platform.python_version(), "cores": os.cpu_count(),
            "cupti": place.cupti, "double": bool(place.double)}


FIRST = [devices, check_devices]
LAST = [speed]
