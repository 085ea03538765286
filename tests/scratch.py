"""Where tests put thousands of small files: in memory, where there is room, as some disks take long to make and forget them."""
import os
import shutil

MEMORY, ROOM = "/dev/shm", 1 << 30


def in_memory():
    """A folder for tempfile's `dir`, or None: where it usually is."""
    return MEMORY if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM else None
