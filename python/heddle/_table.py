"""Tables: named, typed columns and rows, exported to other libraries."""
from __future__ import annotations

import array
import difflib
import html
import os
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Union, overload

from . import _heddle
from ._errors import ArgumentError

if TYPE_CHECKING:
    import numpy  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import polars  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]

_TYPES = {"l": "int64", "L": "uint64", "i": "int32", "I": "uint32", "g": "float64", "f": "float32", "b": "bool", "u": "str",
          "U": "str", "s": "int16", "S": "uint16", "c": "int8", "C": "uint8"}
_HEAD = 10


class Column(NamedTuple):
    """A column in memory of its own, contiguous and read-only."""

    name: str
    code: str  #: of an element, as of `struct`: "q" int64, "d" float64, "?" bool …; "t": text
    data: memoryview  #: values; of text the index into `texts`, -1: null
    mask: memoryview | None  #: true where the value is null; None: nowhere
    texts: list[str] | None  #: the texts that occur, each once

    def to_list(self) -> list[Any]:
        values: list[Any] = self.data.tolist()
        if self.texts is not None:
            texts: list[str | None] = [*self.texts, None]  # -1: the last
            return [texts[code] for code in values]
        if self.mask is not None:
            return [None if null else value for value, null in zip(values, self.mask.tolist())]
        return values


def _columns(raw: list[tuple[str, str, Any, Any, list[str] | None]]) -> list[Column]:
    return [Column(name, code, memoryview(data), None if mask is None else memoryview(mask), texts)
            for name, code, data, mask, texts in raw]


class Table:
    """Rows with named columns, returned by `Trace.slices`, `Trace.query` and `Trace.report`.

    A table of a trace is computed block by block each time it is read, so it takes no memory of its own. It keeps the data of
    its trace, even after the trace is closed. It exports Arrow data, so libraries that read Arrow take the table itself::

        polars.DataFrame(table), pyarrow.table(table), duckdb.sql("select * from table"), pandas.DataFrame.from_arrow(table)

    Times and durations are int64 nanoseconds. Text is valid UTF-8: invalid bytes of a trace become U+FFFD.
    Iteration gives rows as named tuples; `None` is null. A slice is a table, as `head()` and `tail()` are; a table can be pickled, with
    its rows. Any number of threads may use one table.
    """

    def __init__(self, name: str, make: Callable[[], _heddle.Stream], count: Callable[[], int] | None = None,
                 text: Callable[[int, int], str] | None = None, after: Callable[[], None] = lambda: None) -> None:
        self.name = name
        self._make = make
        self._count = count
        self._text = text
        self._after = after
        self._rows: int | None = None
        self._all: list[Column] | None = None

    # ---- Arrow ----

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule "arrow_array_stream": each call makes a new stream. `requested_schema` is ignored."""
        return self._make().capsule()

    def __arrow_c_schema__(self) -> object:
        return self._make().schema_capsule()

    def to_arrow(self) -> pyarrow.Table:
        """A `pyarrow.Table`. Needs pyarrow 14 or later."""
        import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]

        table = pyarrow.table(self)
        self._after()
        return table

    def to_polars(self) -> polars.DataFrame:
        """A `polars.DataFrame`; text is Categorical. Needs polars 1.3 or later."""
        import polars  # type: ignore[import-not-found,import-untyped,unused-ignore]

        frame = polars.DataFrame(self)
        self._after()
        return frame

    # ---- NumPy and pandas ----

    def collect(self) -> list[Column]:
        """All columns, each copied once into contiguous memory, which later calls share."""
        if self._all is None:
            self._all = _columns(self._make().columns())
            self._rows = len(self._all[0].data) if self._all else 0
            self._after()
        return self._all

    def to_numpy(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """Read-only arrays by column, without a copy. Text is an array of `str` (dtype object, null is None); a column of
        numbers that has nulls is a masked array, so that its integers stay exact."""
        import numpy  # type: ignore[import-not-found,import-untyped,unused-ignore]

        out: dict[str, numpy.ndarray[Any, Any]] = {}
        for column in self.collect():
            values = numpy.asarray(column.data)
            if column.texts is not None:
                texts = numpy.empty(len(column.texts) + 1, dtype=object)  # the last, for -1, is None
                texts[:-1] = column.texts
                values = texts[values]
                values.flags.writeable = False
            elif column.mask is not None:
                values = numpy.ma.masked_array(values, numpy.asarray(column.mask))
            out[column.name] = values
        return out

    def to_pandas(self) -> pandas.DataFrame:
        """A `pandas.DataFrame` with memory of its own; pandas 1.5 or later. Text is Categorical. Integers that have nulls are
        pandas' "Int64", so that they stay exact; floats have NaN."""
        import numpy  # type: ignore[import-not-found,import-untyped,unused-ignore]
        import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]

        data: dict[str, Any] = {}
        for column in _columns(self._make().columns()) if self._all is None else self._all:
            values = numpy.asarray(column.data)
            if column.texts is not None:
                data[column.name] = pandas.Categorical.from_codes(values, categories=pandas.Index(column.texts, dtype=_text_dtype()))
            elif column.mask is None:
                data[column.name] = values
            elif column.code in "df":
                data[column.name] = numpy.where(numpy.asarray(column.mask), numpy.nan, values)
            else:
                kind = pandas.arrays.BooleanArray if column.code == "?" else pandas.arrays.IntegerArray
                data[column.name] = kind(values, numpy.asarray(column.mask))
        self._after()
        return pandas.DataFrame(data)

    # ---- rows ----

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _, _ in self._make().schema())

    @property
    def types(self) -> dict[str, str]:
        """The type of each column: "int64", "str", "float64" …"""
        return {name: _TYPES.get(code, "int64" if code[:1] == "t" else code) for name, code, _ in self._make().schema()}

    def __len__(self) -> int:
        if self._rows is None:
            self._rows = self._count() if self._count else self._make().count()
        return self._rows

    def __bool__(self) -> bool:
        return len(self) > 0

    def _row_type(self) -> Callable[..., Any]:
        return namedtuple("Row", self.columns, rename=True)

    def _batches(self) -> Iterator[list[Column]]:
        if self._all is not None:
            yield self._all
            return
        stream = self._make()
        while (batch := stream.next()) is not None:
            yield _columns(batch)
        self._after()

    def __iter__(self) -> Iterator[Any]:
        """Rows as named tuples; columns whose names are not Python names are `_0`, `_1` …, by position."""
        make = self._row_type()
        for batch in self._batches():
            for row in zip(*(column.to_list() for column in batch)):
                yield make(*row)

    def to_dicts(self) -> list[dict[str, Any]]:
        names = self.columns
        return [dict(zip(names, row)) for batch in self._batches() for row in zip(*(column.to_list() for column in batch))]

    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    @overload
    def __getitem__(self, key: int) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> Table: ...

    def __getitem__(self, key: str | int | slice) -> Any:
        """A column by name, as a list; a row by index, as a named tuple; a slice of the rows, as a table."""
        if not isinstance(key, (str, slice)) and not hasattr(key, "__index__"):
            raise TypeError(f"an index of a table is the name of a column, the number of a row, or a slice, not {type(key).__name__}: "
                            "for anything else take .to_pandas(), .to_polars() or .to_arrow()")
        columns = self.collect()
        if isinstance(key, str):
            for column in columns:
                if column.name == key:
                    return column.to_list()
            names = [column.name for column in columns]
            near = difflib.get_close_matches(key, names, 1)
            raise KeyError(f"no column {key!r}{f'; did you mean {near[0]}?' if near else ''}: there are {', '.join(names)}")
        count = len(self)
        if isinstance(key, slice):
            return self._of([_part(column, key) for column in columns])
        if not -count <= key < count:
            raise IndexError(f"row {key} of {count}")
        at = key % count
        return self._row_type()(*(_part(column, slice(at, at + 1)).to_list()[0] for column in columns))

    def _of(self, columns: list[Column]) -> Table:
        """A table of these rows, with the same columns."""
        return _unpickled(self.name, _packed(self._make().schema(), columns))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.name, _packed(self._make().schema(), self.collect()))

    if not TYPE_CHECKING:  # which would take every name for one that exists

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            if name in self.columns:
                raise AttributeError(f"{name} is a column: table[{name!r}] is a list of its values, and to_pandas().{name} a Series")
            raise AttributeError(f"a table has no {name}: to_pandas(), to_polars() and to_arrow() make one of the library that you know")

    # ---- to look at ----

    def head(self, rows: int = _HEAD) -> Table:
        """The first rows, as a table. For a few rows, only the first block is read."""
        first = next(self._batches(), None)
        if first is None or not first or len(first[0].data) < rows:
            return self[:rows]
        return self._of([_part(column, slice(0, rows)) for column in first])

    def tail(self, rows: int = _HEAD) -> Table:
        """The last rows, as a table."""
        return self[max(len(self) - rows, 0):]

    def __repr__(self) -> str:
        """The first rows, without columns that are empty in them."""
        count = len(self)
        title = f"<heddle.Table {self.name}: {count:,} rows, {len(self.columns)} columns>"
        if not count:
            return title
        shown, empty = _parted(self.head())
        body = self._text(_HEAD, 160) if self._text else _aligned(*shown)
        return (f"{title}\n{body.rstrip()}" + (f"\n… {count - _HEAD:,} more" if count > _HEAD else "") +
                (f"\nno value in these rows: {', '.join(empty)}" if empty else ""))

    def _repr_html_(self) -> str:
        count = len(self)
        (names, rows), empty = _parted(self.head())
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(_shown(value))}</td>" for value in row) + "</tr>" for row in rows)
        more = f" ({count - _HEAD:,} more)" if count > _HEAD else ""
        more += f"; no value in these rows: {', '.join(empty)}" if empty else ""
        return (f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
                f"<p>{html.escape(self.name)}: {count:,} rows × {len(self.columns)} columns{more}</p>")


def _text_dtype() -> str:
    """The dtype of categories: pandas 3 has a type for text, which it uses in place of `object`."""
    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]

    return "str" if int(pandas.__version__.split(".")[0]) >= 3 else "object"


def _part(column: Column, rows: slice) -> Column:
    return column._replace(data=column.data[rows], mask=None if column.mask is None else column.mask[rows])


_Packed = list[tuple[str, str, bool, bytes, Union[bytes, None], Union[list[str], None]]]


def _packed(schema: list[tuple[str, str, bool]], columns: list[Column]) -> _Packed:
    """Columns as arguments of `_heddle.held`; texts that no row uses are left out."""
    out: _Packed = []
    for (name, code, is_dictionary), column in zip(schema, columns):
        data, texts = column.data, column.texts
        if texts is not None and len(data) < len(texts):
            places = {old: new for new, old in enumerate(sorted({value for value in data.tolist() if value >= 0}))}
            data = memoryview(array.array("i", [places.get(value, -1) for value in data.tolist()]))
            texts = [texts[old] for old in places]
        out.append((name, code, is_dictionary, data.tobytes(), None if column.mask is None else column.mask.tobytes(), texts))
    return out


def _unpickled(name: str, columns: _Packed) -> Table:
    held = _heddle.held(columns)
    return Table(name, held.stream, held.rows)


def _parted(table: Table) -> tuple[tuple[list[str], list[list[Any]]], list[str]]:
    """Names and rows of the columns that have a value, and the names of the others."""
    columns = table.collect()
    values = {column.name: column.to_list() for column in columns}
    full = {name: rows for name, rows in values.items() if any(value is not None for value in rows)}
    return ([*full], [list(row) for row in zip(*full.values())]), [name for name in values if name not in full]


def _shown(value: object) -> str:
    """On one line, with control characters escaped."""
    if isinstance(value, str):
        return "".join(c if c.isprintable() else repr(c)[1:-1] for c in value)
    return "" if value is None else f"{value:,.3f}" if isinstance(value, float) else str(value)


def _aligned(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [list(names), *([_shown(value) for value in row] for row in rows)]
    lines = [[cell if len(cell) <= 40 else f"{cell[:19]}…{cell[-20:]}" for cell in line] for line in lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
    right = [all(isinstance(row[i], (int, float, type(None))) for row in rows) for i in range(len(names))]
    return "\n".join("  ".join(cell.rjust(width) if number else cell.ljust(width)
                               for cell, width, number in zip(line, widths, right)).rstrip() for line in lines)


def table_of(name: str, table: _heddle.Table | _heddle.Held) -> Table:
    """The `Table` of a report's table."""
    return Table(name, table.stream, table.rows, getattr(table, "text", None))


def _unpickled_report(name: str, tables: list[tuple[str, _Packed]]) -> Report:
    return Report(name, [(key, _heddle.held(columns)) for key, columns in tables])


class Report(Table):
    """The result of `Trace.report`: its first table; all of them are in `tables`, by name."""

    def __init__(self, name: str, tables: Sequence[tuple[str, _heddle.Table | _heddle.Held]]) -> None:
        first_name, first = tables[0]
        super().__init__(first_name, first.stream, first.rows, getattr(first, "text", None))
        self.report = name
        self.tables: dict[str, Table] = {key: table_of(key, table) for key, table in tables}
        self._page: Callable[[], bytes] | None = None

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report as one HTML page, without external resources; with a path it is also written there. Of the report "summary" the
        page has a headline, findings, a timeline and a flame graph, as `heddle report -o page.html` makes it."""
        if self._page is None:
            raise ArgumentError("a report that was unpickled has no trace to make a page of")
        text = self._page().decode()
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled_report, (self.report, [(key, _packed(table._make().schema(), table.collect())) for key, table in self.tables.items()])
