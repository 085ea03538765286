"""Reads, analyses, repairs and writes GPU traces of any profiler.

    import heddle

    with heddle.open("trace.json.gz") as trace:
        slices = trace.slices().to_pandas()
        kernels = trace.report("kernels", step=3)

docs/python.md is the reference.
"""
from typing import TYPE_CHECKING

from . import _heddle
from ._diff import Diff as Diff
from ._diff import diff as diff
from ._errors import ArgumentError as ArgumentError
from ._errors import DamagedError as DamagedError
from ._errors import Error as Error
from ._errors import FormatError as FormatError
from ._errors import InputError as InputError
from ._errors import InternalError as InternalError
from ._errors import LimitError as LimitError
from ._errors import LossWarning as LossWarning
from ._errors import NotFoundError as NotFoundError
from ._errors import OutOfMemoryError as OutOfMemoryError
from ._errors import UnsupportedError as UnsupportedError
from ._look import Flame as Flame
from ._look import Timeline as Timeline
from ._look import View as View
from ._session import Session as Session
from ._session import active as active
from ._session import counter as counter
from ._session import instant as instant
from ._session import memory as memory
from ._session import session as session
from ._session import slice as slice
from ._session import start as start
from ._session import stop as stop
from ._session import trace as trace
from ._session import trace_handler as trace_handler
from ._table import Column as Column
from ._table import Report as Report
from ._table import Table as Table
from ._trace import Info as Info
from ._trace import Trace as Trace
from ._trace import formats as formats
from ._trace import open as open
from ._trace import passes as passes
from ._trace import reports as reports
from ._trace import tables as tables
from ._work import ConvertReport as ConvertReport
from ._work import FixReport as FixReport
from ._work import FixSlice as FixSlice
from ._work import Recording as Recording
from ._work import convert as convert
from ._work import crop as crop
from ._work import filter as filter
from ._work import fix as fix
from ._work import merge as merge
from ._work import record as record
from ._work import version as version

__version__ = _heddle.version

if not TYPE_CHECKING:  # which would take every name for one that exists

    def __getattr__(name: str) -> object:
        ours = "heddle.open(path)" if name in ("load", "read", "read_trace", "load_trace") else "help(heddle) lists what it has"
        raise AttributeError(f"heddle has no {name}: {ours}")
