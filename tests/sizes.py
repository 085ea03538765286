"""How large the real traces of ../shared/data are. `make test` takes those of which several chunks of 4 MiB are read and several blocks
are written, and no larger ones, as most of the time goes into what Python makes of them; `make test-all` takes all (--all)."""
import struct

LARGEST = 12 << 20


def unpacked(path):
    """The size of a file, by what gzip says at its end."""
    return struct.unpack("<I", path.read_bytes()[-4:])[0] if path.suffix == ".gz" else path.stat().st_size


def usual(paths, everything=False):
    """Those that are no larger than LARGEST when they are unpacked, or all."""
    return [path for path in paths if everything or unpacked(path) <= LARGEST]
