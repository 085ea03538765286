"""Files that appear whole or not at all."""
import os
import tempfile


def write_whole(path: str, data: bytes) -> None:
    """Writes to a temporary file next to it, then renames. Raises OSError."""
    handle, beside = tempfile.mkstemp(prefix=".heddle-", dir=os.path.dirname(path) or ".")
    try:
        with open(handle, "wb") as file:
            file.write(data)
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(file.fileno(), 0o666 & ~mask)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
