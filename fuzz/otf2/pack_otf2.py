#!/usr/bin/env python3
"""Makes an input of fuzz_otf2 from an archive: pack_otf2.py traces.otf2 OUT"""

import pathlib
import re
import sys

source = pathlib.Path(__file__).with_name("fuzz_otf2.c").read_text()
names = re.findall(r'"(traces[^"]*)"', source.partition("names[] = {")[2].partition("};")[0])
anchor, out = map(pathlib.Path, sys.argv[1:])
packed = b""
for number, name in enumerate(names):
    path = anchor.parent / name.replace("traces", anchor.stem, 1)
    if path.exists():
        data = path.read_bytes()
        assert len(data) < 1 << 16, path
        packed += bytes([number]) + len(data).to_bytes(2, "little") + data
out.write_bytes(packed)
