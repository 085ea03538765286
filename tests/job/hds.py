"""Summaries (.hds) read and written by what docs/formats/hds.md says, without any code of heddle's.

    job = hds.read(path)      job.members: [Member(rank, world_size, base_ns, host, file, tables={name: bytes or None: lost})]
    hds.table(bytes)          ([column names], [rows])
    hds.write(path, job)
    hds.pack([(name, kind, [value, ...]), ...])             compressed bytes of a table; None is null
"""
import ctypes
import ctypes.util
import dataclasses
import struct

MAGIC, END = b"HEDDLEHS", b"HSEND\r\n\x1a"
STRING, INT, COUNT, DECIMAL, BYTES, DURATION, TIME, BOOL = range(8)


def library(name):
    found = ctypes.util.find_library(name)
    return ctypes.CDLL(found) if found else None


ZSTD, XXH = library("zstd"), library("xxhash")
if ZSTD:
    for function in (ZSTD.ZSTD_getFrameContentSize, ZSTD.ZSTD_decompress, ZSTD.ZSTD_compress, ZSTD.ZSTD_compressBound):
        function.restype = ctypes.c_size_t
    ZSTD.ZSTD_getFrameContentSize.restype = ctypes.c_uint64
if XXH:
    XXH.XXH3_64bits.restype = ctypes.c_uint64


def checksum(data):
    return XXH.XXH3_64bits(data, ctypes.c_size_t(len(data)))


def decompress(data):
    size = ZSTD.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(size + 1)
    got = ZSTD.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    assert got == size, (got, size)
    return out.raw[:size]


def compress(data):
    room = ZSTD.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    size = ZSTD.ZSTD_compress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:size]


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        assert self.at + size <= len(self.data), "cut"
        self.at += size
        return self.data[self.at - size:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value & (1 << 64) - 1

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def text(self):
        size = self.varint()
        return self.take(size - 1) if size else None


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def zigzag(value):
    return varint((value << 1 ^ value >> 63) & (1 << 64) - 1)


def text(value):
    return varint(0) if value is None else varint(len(value) + 1) + value


@dataclasses.dataclass
class Member:
    rank: int
    world_size: int
    base_ns: int
    host: bytes
    file: bytes
    tables: dict  # name: compressed bytes; None: lost


@dataclasses.dataclass
class Job:
    tables: list
    members: list


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == MAGIC and struct.unpack_from("<I", data, 8) == (1,), path
    offset, size, check, end = struct.unpack("<QQQ8s", data[-32:])
    packed = data[offset:offset + size]
    assert end == END and offset + size + 32 == len(data) and checksum(packed) == check, path
    r = Reader(decompress(packed))
    names = [r.text().decode() for _ in range(r.varint())]
    members, sizes = [], []
    for _ in range(r.varint()):
        members.append(Member(r.zigzag(), r.zigzag(), r.zigzag(), r.text(), r.text(), {}))
        sizes.append([])
        for _ in names:
            size = r.varint()
            sizes[-1].append((size - 1, r.varint(), struct.unpack("<Q", r.take(8))[0]) if size > 1 else size)
    assert r.at == len(r.data)
    at = 16
    for t, name in enumerate(names):
        for member, about in zip(members, sizes):
            if about[t] == 1:
                member.tables[name] = None
            elif about[t]:
                size, plain, check = about[t]
                chunk = data[at:at + size]
                at += size
                member.tables[name] = chunk
                assert checksum(chunk) == check and len(decompress(chunk)) == plain, (path, member.rank, name)
    assert at == offset
    return Job(names, members)


def write(path, job):
    """With the bytes of each table as they are."""
    with open(path, "wb") as file:
        file.write(MAGIC + struct.pack("<II", 1, 0))
        directory = varint(len(job.tables)) + b"".join(text(name.encode()) for name in job.tables) + varint(len(job.members))
        for name in job.tables:
            for member in job.members:
                file.write(member.tables.get(name) or b"")
        parts = [directory]
        for m in job.members:
            parts += [zigzag(m.rank), zigzag(m.world_size), zigzag(m.base_ns), text(m.host), text(m.file)]
            for name in job.tables:
                chunk = m.tables.get(name, b"")
                parts.append(varint(1) if chunk is None else varint(len(chunk) + 1) if chunk else varint(0))
                if chunk:
                    plain = ZSTD.ZSTD_getFrameContentSize(chunk, ctypes.c_size_t(len(chunk)))
                    parts.append(varint(plain) + struct.pack("<Q", checksum(chunk)))
        offset, packed = file.tell(), compress(b"".join(parts))
        file.write(packed + struct.pack("<QQQ", offset, len(packed), checksum(packed)) + END)


def columns(chunk):
    """[(name, kind, values)] of compressed bytes; null is None, texts are bytes."""
    r = Reader(decompress(chunk))
    count, rows = r.varint(), r.varint()
    found = []
    for _ in range(count):
        name = r.take(r.varint()).decode()
        kind, _ = r.byte(), r.byte()
        nulls = r.take((rows + 7) // 8) if r.byte() else bytes((rows + 7) // 8)
        values, texts, above = [], [], 0
        for row in range(rows):
            if nulls[row // 8] >> row % 8 & 1:
                values.append(None)
            elif kind == STRING:
                number = r.varint()
                if number == len(texts):
                    texts.append(r.take(r.varint()))
                values.append(texts[number])
            elif kind == DECIMAL:
                values.append(struct.unpack("<d", r.take(8))[0])
            elif kind == BOOL:
                values.append(bool(r.byte()))
            else:
                above = above + r.zigzag() & (1 << 64) - 1
                values.append(above if kind in (COUNT, BYTES) or above < 1 << 63 else above - (1 << 64))
        found.append((name, kind, values))
    assert r.at == len(r.data)
    return found


def table(chunk):
    """([names], [rows]) of compressed bytes."""
    found = columns(chunk)
    return [name for name, _, _ in found], [list(row) for row in zip(*(values for _, _, values in found))]


def column(name, kind, values):
    nulls = sum((v is None) << i for i, v in enumerate(values))
    out = bytearray(varint(len(name)) + name.encode() + bytes([kind, 0]))
    out += b"\1" + nulls.to_bytes((len(values) + 7) // 8, "little") if nulls else b"\0"
    texts, above = {}, 0
    for value in values:
        if value is None:
            continue
        if kind == STRING:
            new = value not in texts
            out += varint(texts.setdefault(value, len(texts))) + (varint(len(value)) + value if new else b"")
        elif kind == DECIMAL:
            out += struct.pack("<d", value)
        elif kind == BOOL:
            out.append(value)
        else:
            out += zigzag((value - above + (1 << 63)) % (1 << 64) - (1 << 63))
            above = value
    return bytes(out)


def pack(columns):
    return compress(varint(len(columns)) + varint(len(columns[0][2])) + b"".join(column(*c) for c in columns))
