"""Exceptions and warnings."""
from __future__ import annotations

import errno
import os


class Error(Exception):
    """An error of the library.

    status   its name: "argument", "memory", "io", "format", "damaged", "limit", "unsupported", "internal"
    message  what was found, and what was expected
    path     the file that it is about, or None
    offset   the byte offset in the (decompressed) input, or None
    causes   the operations that failed with it, innermost first

    ``str()`` has all of it in one line. Each status has a subclass, which also derives from the built-in exception with the
    same meaning: an `InputError` is an `OSError`, an `ArgumentError` a `ValueError`.
    """

    status = "internal"

    def __init__(self, text: str, message: str = "", path: str | None = None, offset: int | None = None,
                 causes: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.text = text
        self.message = message or text
        self.path = path
        self.offset = offset
        self.causes = causes

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.text, self.message, self.path, self.offset, self.causes)


class ArgumentError(Error, ValueError):
    """An argument is invalid. For SQL, `offset` is the position of the error in the statement."""

    status = "argument"


class OutOfMemoryError(Error, MemoryError):
    """The system has no memory left."""

    status = "memory"


class InputError(Error, OSError):
    """Opening, reading, writing or renaming a file failed, or the file of an open trace changed."""

    status = "io"


class NotFoundError(InputError, FileNotFoundError):
    """The file does not exist."""

    def __init__(self, text: str, message: str = "", path: str | None = None, offset: int | None = None,
                 causes: tuple[str, ...] = ()) -> None:
        super().__init__(text, message, path, offset, causes)
        self.errno = errno.ENOENT
        self.filename = path


class FormatError(Error, ValueError):
    """No reader recognises the input."""

    status = "format"


class DamagedError(Error, ValueError):
    """The input is broken beyond repair, or ``strict`` refused to repair it."""

    status = "damaged"


class LimitError(Error):
    """A stated limit was passed: time, rows, memory."""

    status = "limit"


class UnsupportedError(Error, NotImplementedError):
    """This build, or this format, does not support the operation."""

    status = "unsupported"


class InternalError(Error, RuntimeError):
    """Figures that must agree do not: a bug of Heddle. Please report it."""


class LossWarning(UserWarning):
    """Reading a trace lost something that was in the file; ``trace.ledger`` lists it."""


# By hd_status of status.h.
_BY_STATUS: dict[int, type[Error]] = {
    2: ArgumentError, 3: OutOfMemoryError, 4: InputError, 5: FormatError, 6: DamagedError, 7: LimitError, 8: UnsupportedError,
    9: InternalError,
}


def make(status: int, message: str, path: str, offset: int | None, causes: list[str], text: str) -> Error:
    kind = _BY_STATUS.get(status, InternalError)
    if kind is InputError and path and not path.startswith("…") and not os.path.lexists(path):
        kind = NotFoundError
    return kind(text, message, path or None, offset, tuple(causes))
