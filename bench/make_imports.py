"""Large files of other profilers, made of small real ones: rows, records or messages of one file again and again, each time
later. A maker takes the real file, the path to write and how many bytes it should have at least."""
import os
import sqlite3


def sqlite_rows(source, path, size, tables):
    """The database with the rows of `tables` again and again; each names its columns of time."""
    with open(source, "rb") as real, open(path, "wb") as out:
        out.write(real.read())
    db = sqlite3.connect(path)
    db.executescript("pragma journal_mode=off; pragma synchronous=off; pragma cache_size=-200000")
    copies = max(1, size // os.path.getsize(source))
    for table, times in tables.items():
        columns = [row[1] for row in db.execute(f'pragma table_info("{table}")')]
        keys = {row[1] for row in db.execute(f'pragma table_info("{table}")') if row[5]}
        if not columns:
            continue
        kept = [c for c in columns if c not in keys]
        shown = ", ".join(f'"{c}" + {{0}}' if c in times else f'"{c}"' for c in kept)
        first = ", ".join(f'"{c}"' for c in kept)
        span = max(db.execute(f'select max("{c}") - min("{c}") from "{table}"').fetchone()[0] or 0 for c in times)
        last = db.execute(f'select max(rowid) from "{table}"').fetchone()[0] or 0
        for copy in range(1, copies):
            db.execute(f'insert into "{table}" ({first}) select {shown.format((span + 1000) * copy)} from "{table}" where rowid <= {last}')
    db.commit()
    db.close()


def nsys(source, path, size):
    both = ("start", "end")
    sqlite_rows(source, path, size, {**{f"CUPTI_ACTIVITY_KIND_{kind}": both for kind in (
        "KERNEL", "RUNTIME", "MEMCPY", "MEMSET", "SYNCHRONIZATION")}, "NVTX_EVENTS": both, "OSRT_API": both,
                                     "COMPOSITE_EVENTS": ("start",), "SCHED_EVENTS": ("start",)})


def repeated(source, path, size):
    """A protobuf message behind itself is one message with its lists again."""
    with open(source, "rb") as real:
        data = real.read()
    with open(path, "wb") as out:
        while out.tell() < size:
            out.write(data)


MAKERS = {  # format: maker, real file below ../shared/data, whether it is text
    "nsys": (nsys, "nsys/h100_2gpu_1s.sqlite", False),
    "xplane": (repeated, "xplane/tpu_inference_2.h2cc1243f.xplane.pb", False),
}
