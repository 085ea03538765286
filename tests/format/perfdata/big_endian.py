#!/usr/bin/env python3
"""big_endian.py - files of perf as a big-endian machine would have written them, which have to give the same trace

usage: big_endian.py HEDDLE
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SHARED = HERE.parents[2] / "../shared/data/perf"
FILES = ["perf.data.callgraph-3.8", "perf.data.ctx_switch_namespaces-4.14", "perf.data.lost_samples-4.4", "perf.data.piped.header_features-4.16",
         "single-event-single-process.perf.data"]
IP, TID, TIME, ADDR, READ, CHAIN, ID, CPU, PERIOD, STREAM, RAW = (1 << i for i in range(11))
IDENTIFIER = 1 << 16
#: the fields of records before their text, or before their sample_id
FIELDS = {1: "2I3Q", 2: "2Q", 3: "2I", 4: "4IQ", 5: "3Q", 6: "3Q", 7: "4IQ", 10: "2I3Q2I2Q2I", 13: "Q", 14: "", 15: "2I", 16: "2IQ", 17: "QI2H"}


class File:
    def __init__(self, data):
        self.data, self.types, self.has_all, self.read_format = bytearray(data), [], True, 0

    def swap(self, at, form):
        """Numbers of a form, from `at` on; where they end."""
        values = struct.unpack_from("<" + form, self.data, at)
        struct.pack_into(">" + form, self.data, at, *values)
        return at + struct.calcsize("<" + form)

    def number(self, at, form):
        return struct.unpack_from("<" + form, self.data, at)[0]

    def attr(self, at):
        size = self.number(at + 4, "I") or 64
        self.types.append(self.number(at + 24, "Q"))
        self.read_format = self.number(at + 32, "Q")
        self.has_all = bool(self.data[at + 42] & 4)
        form = "2I5Q2IQQQQIiQIHHI"
        while struct.calcsize("<" + form.replace("5Q", "4QQ")) > size:
            form = form[:-1] if not form[-2:-1].isdigit() else form[:-2]
        for i in range(40, 48):  # bit fields begin at the other end of their word
            self.data[at + i] = int(f"{self.data[at + i]:08b}"[::-1], 2)
        flags = bytes(self.data[at + 40:at + 48])
        self.swap(at, form)
        self.data[at + 40:at + 48] = flags
        return size

    def sample_id(self, at):
        kind = self.types[0]
        at = self.swap(at, "2I") if kind & TID else at
        for bit in (TIME, ID, STREAM):
            at = self.swap(at, "Q") if kind & bit else at
        at = self.swap(at, "2I") if kind & CPU else at
        return self.swap(at, "Q") if kind & IDENTIFIER else at

    def sample(self, at, end):
        kind = self.types[0]
        for bit, form in ((IDENTIFIER, "Q"), (IP, "Q"), (TID, "2I"), (TIME, "Q"), (ADDR, "Q"), (ID, "Q"), (STREAM, "Q"), (CPU, "2I"), (PERIOD, "Q")):
            at = self.swap(at, form) if kind & bit else at
        if kind & READ:
            assert not self.read_format & 8
            at = self.swap(at, "Q" * (1 + sum(self.read_format >> i & 1 for i in (0, 1, 2, 4))))
        if kind & CHAIN:
            count = self.number(at, "Q")
            at = self.swap(at, f"{count + 1}Q")
        if kind & RAW:
            at = self.swap(at, "I")
        else:
            while at + 8 <= end:
                at = self.swap(at, "Q")

    def text(self, at):
        size = self.number(at, "I")
        return self.swap(at, "I") + size

    def feature(self, bit, at, size):
        end = at + size
        if bit in (3, 4, 5, 6, 8):
            self.text(at)
        elif bit == 11:
            count, at = self.number(at, "I"), self.swap(at, "I")
            for _ in range(count):
                at = self.text(at)
        elif bit == 12:
            count, attr_size = self.number(at, "I"), self.number(at + 4, "I")
            at = self.swap(at, "2I")
            for _ in range(count):
                at += attr_size
                ids = self.number(at, "I")
                at = self.text(self.swap(at, "I"))
                at = self.swap(at, f"{ids}Q")
        elif bit == 2:
            while at + 8 <= end:
                step = self.number(at + 6, "H")
                self.swap(at, "IHHi")
                at += step
        elif bit == 29:
            self.swap(at, "2I2Q")

    def records(self, at, end):
        while at < end:
            kind, misc, size = struct.unpack_from("<IHH", self.data, at)
            body, stop = at + 8, at + size
            if kind == 9:
                self.sample(body, stop)
            elif kind in FIELDS:
                is_id = kind == 10 and misc & 1 << 14  # a build-id stands in the place of device and inode
                fields = self.swap(self.swap(body, "2I3Q") + 24, "2I") if is_id else self.swap(body, FIELDS[kind])
                if self.has_all and kind not in (4, 7) or self.has_all and stop - fields >= 8:
                    known = self.types[0] & (TID | TIME | ID | STREAM | CPU | IDENTIFIER)
                    tail = stop - 8 * bin(known).count("1")
                    if tail >= fields:
                        self.sample_id(tail)
            elif kind == 64:
                size_of = self.attr(body)
                self.swap(body + size_of, f"{(size - 8 - size_of) // 8}Q")
            elif kind == 78:
                self.swap(body, "2Q")
            elif kind == 67:
                self.swap(body, "i")
            elif kind == 80:
                bit = self.number(body, "Q")
                self.swap(body, "Q")
                self.feature(bit, body + 8, size - 16)
            elif kind == 66:
                raise ValueError("layouts of tracepoints")
            self.swap(at, "IHH")
            at = stop

    def file(self):
        header = struct.unpack_from("<9Q", self.data, 8)
        _, attr_size, attrs, attrs_size, start, size = header[:6]
        for at in range(attrs, attrs + attrs_size, attr_size):
            self.attr(at)
            offset, bytes_ = struct.unpack_from("<2Q", self.data, at + attr_size - 16)
            self.swap(at + attr_size - 16, "2Q")
            self.swap(offset, f"{bytes_ // 8}Q")
        bits = int.from_bytes(self.data[72:104], "little")
        place = start + size
        for bit in (b for b in range(256) if bits >> b & 1):
            offset, bytes_ = struct.unpack_from("<2Q", self.data, place)
            place = self.swap(place, "2Q")
            if bit == 1:
                raise ValueError("layouts of tracepoints")
            self.feature(bit, offset, bytes_)
        self.records(start, start + size)
        self.swap(8, "8Q")
        self.swap(72, "4Q")

    def turned(self):
        if self.number(8, "Q") == 16:
            self.records(16, len(self.data))
            self.swap(8, "Q")
        else:
            self.file()
        self.data[:8] = b"2ELIFREP"
        return bytes(self.data)


def read(heddle, path, folder):
    out = folder / "out.json"
    done = subprocess.run([heddle, "convert", str(path), str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out.read_text(), [line for line in done.stderr.splitlines() if "  " in line]


def main():
    heddle = sys.argv[1]
    paths = [HERE / name for name in ("small.data", "edge-plain.data")] + [SHARED / name for name in FILES if (SHARED / name).exists()]
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            turned = pathlib.Path(folder) / "turned"
            turned.write_bytes(File(path.read_bytes()).turned())
            big, little = read(heddle, turned, pathlib.Path(folder)), read(heddle, path, pathlib.Path(folder))
            assert big == little, (path, next((a, b) for a, b in zip(big[0].splitlines(), little[0].splitlines()) if a != b), big[1], little[1])
            assert turned.read_bytes() != path.read_bytes() and big[0].count('"ph"') > 0, path
            print(f"{path.name}: {big[0].count(chr(34) + 'ph' + chr(34))} events are the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
