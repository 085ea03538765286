"""wire.py - the protobuf wire format by hand, read and written: for fixtures, and as the oracle of tests, which shares no code"""

import struct


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, wire type, value) of each field"""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(wire)
            if size is None:
                size, at = varint(data, at)
            value = data[at:at + size]
            if len(value) != size:
                raise ValueError("cut off")
            at += size
        yield tag >> 3, wire, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def put_varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def put(number, value):
    """A field: int, float, str, bytes; what is None is not there"""
    if value is None:
        return b""
    if isinstance(value, float):
        return put_varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return put_varint(number << 3) + put_varint(value)
    data = value.encode() if isinstance(value, str) else value
    return put_varint(number << 3 | 2) + put_varint(len(data)) + data
