"""Which of the real traces of ../shared/data a test takes. `make test` takes a few, by a test's own choice or those of which several
chunks of 4 MiB are read and several blocks are written, as most of the time goes into what Python makes of them; `make test-all`
takes the others (--rest), but for the very large ones and all ranks of a job behind the first, which are like others; by hand all
are taken (--all)."""
import re
import struct

LARGEST, HUGE = 5 << 20, 16 << 20


def options(parser):
    for choice in ("rest", "all"):
        parser.add_argument("--" + choice, dest="choice", action="store_const", const=choice)


def unpacked(path):
    """The size of a file, by what gzip says at its end."""
    with open(path, "rb") as file:
        end = file.seek(0, 2)
        file.seek(max(0, end - 4))
        return struct.unpack("<I", file.read(4))[0] if str(path).endswith(".gz") else end


def chosen(paths, choice, few=lambda path: unpacked(path) <= LARGEST):
    """Those that a choice of the command line takes: without one those that `few` says."""
    if choice is None:
        return [path for path in paths if few(path)]
    return [path for path in paths if choice == "all" or not few(path) and unpacked(path) <= HUGE and not re.search(r"rank[1-9]", str(path))]
