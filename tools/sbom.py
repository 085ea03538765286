#!/usr/bin/python3
"""Writes the SBOM of an archive (CycloneDX 1.5, JSON): the libraries that are linked into Heddle, with their versions.

usage: tools/sbom.py VERSION SOURCES MODULES >SBOM

SOURCES has a line "PACKAGE VERSION" for each of Debian's source packages and "NAME VERSION PURL" for libraries from
elsewhere, as tools/licences.sh writes it; MODULES is the folder of the viewer's JavaScript modules. SOURCE_DATE_EPOCH is the time that the SBOM has. The same input gives the same bytes.
"""
import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

# What of the modules is a part of the viewer's page; the others only build it.
MODULES = ("@preact/signals", "@preact/signals-core", "preact")


def component(name, version, purl, **more):
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, **more}


def sbom(version, sources, modules, seconds):
    """sources: lines of text; modules: {name: (version, licence)}; seconds: Unix time."""
    parts = []
    for line in sorted(set(sources)):
        name, of, *purl = line.split()
        parts.append(component(name, of, *purl or [f"pkg:deb/debian/{name}@{quote(of, safe='')}?arch=source"]))
    for name, (of, licence) in sorted(modules.items()):
        parts.append(component(name, of, f"pkg:npm/{quote(name, safe='/')}@{of}", licenses=[{"license": {"id": licence}}]))
    heddle = {"type": "application", "bom-ref": "heddle", "name": "heddle", "version": version, "licenses": [{"license": {"id": "Apache-2.0"}}]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "component": heddle},
        "components": parts,
        "dependencies": [{"ref": "heddle", "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def main(version, sources, folder):
    packages = {name: json.loads(Path(folder, name, "package.json").read_text(encoding="utf-8")) for name in MODULES}
    out = sbom(version, Path(sources).read_text(encoding="utf-8").splitlines(),
               {name: (package["version"], package["license"]) for name, package in packages.items()},
               int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    json.dump(out, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
