"""Lines with separators between their fields: CSV, TSV and the like."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from variegate.datasets.rows import Rows, check_columns, check_polars
from variegate.datasets.text import as_utf8
from variegate.errors import DataError, InputError

if TYPE_CHECKING:
    import polars as pl

#: Stands in for a separator of several bytes, since polars takes one byte only
_UNIT_SEPARATOR = "\x1f"
#: Lines turned into columns at once where Python must read them
_CHUNK = 100_000
#: So much of a broken line is shown
_SHOWN = 60


@dataclass(frozen=True)
class Layout:
    """How the lines of a file are to be understood."""

    separator: str = ","
    #: The columns, for a file without a header
    names: tuple[str, ...] | None = None
    quoted: bool = True
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if not self.separator or any(mark in self.separator for mark in '"\r\n'):
            raise InputError(
                f"`separator` must be text without quotes or line ends, got {self.separator!r}"
            )


@dataclass(frozen=True)
class _Lines:
    """The lines below the header."""

    where: str
    body: bytes
    #: The number of the body's first line in the file
    first: int
    names: tuple[str, ...]
    separator: str
    quoted: bool

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the fields of each line that is not blank, with the line's number."""
        if self.quoted:
            yield from _quoted(self.body, self.separator, self.where, self.first)
            return
        for number, line in enumerate(_opened(self.body), start=self.first):
            if line != "\n":
                yield number, line.removesuffix("\n").split(self.separator)

    def place(self, row: int) -> str:
        """Return the path and line of a record."""
        number, _ = next(islice(self.records(), row, None))
        return f"{self.where}:{number}"


def read_delimited(content: bytes, where: str, layout: Layout, wanted: Sequence[str]) -> Rows:
    """Return the `wanted` columns of a file, every value as text.

    Blank lines are passed over. A line with more or fewer fields than there are columns
    raises DataError with its number, and so do a quote that is never closed, a file with
    nothing in it, and a header with nothing below.
    """
    check_polars()
    lines = _lines(as_utf8(content, where, layout.encoding), where, layout)
    check_columns(where, lines.names, wanted)
    # polars and Python's csv differ about odd quotes; where there are any, Python decides.
    frame = None if lines.quoted else _read_by_polars(lines, wanted)
    if frame is None:
        frame = _read_by_python(lines, wanted)
    if not frame.height:
        raise DataError(f"{where}: no lines below the header")
    return Rows(where, frame, lines.place)


def _lines(text: bytes, where: str, layout: Layout) -> _Lines:
    if not text or text.isspace():
        raise DataError(f"{where}: the file is empty")
    names, body, first = layout.names, text, 1
    may_quote = layout.quoted and len(layout.separator) == 1
    if names is None:
        names, above = _header(text, where, layout.separator, may_quote)
        ends = re.finditer(rb"\n", text)
        end = next(islice(ends, above - 1, None), None)
        body, first = (text[end.end() :] if end else b""), above + 1
    return _Lines(where, body, first, names, layout.separator, may_quote and b'"' in body)


def _header(text: bytes, where: str, separator: str, quoted: bool) -> tuple[tuple[str, ...], int]:
    """Return the names in the first line that is not blank, and the lines up to its end."""
    if not quoted:
        above = len(text) - len(text.lstrip(b"\n"))
        line = text[above:].split(b"\n", 1)[0].decode()
        return tuple(name.strip() for name in line.split(separator)), above + 1
    reader = csv.reader(_opened(text), delimiter=separator, strict=True)
    try:
        names = next(fields for fields in reader if fields)
    except csv.Error as error:
        raise DataError(f"{where}:1: not a header: {error}") from None
    return tuple(name.strip() for name in names), reader.line_num


def _read_by_polars(lines: _Lines, wanted: Sequence[str]) -> "pl.DataFrame | None":
    """Return the columns, or None unless every line has as many fields as there are names."""
    import polars as pl

    body, separator = lines.body, lines.separator
    if len(separator.encode()) > 1:
        body = body.replace(separator.encode(), _UNIT_SEPARATOR.encode())
        separator = _UNIT_SEPARATOR
    if b"\n\n" in body or body.startswith(b"\n"):
        body = re.sub(rb"\n\n+", b"\n", body).lstrip(b"\n")
    # Plain names in front keep polars from taking the first bytes for a compressed file's.
    places = {f"column_{place}": name for place, name in enumerate(lines.names)}
    header = separator.join(places).encode() + b"\n"
    try:
        frame = pl.read_csv(header + body, separator=separator, quote_char=None, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError):
        return None
    # polars raises for fields too many and fills up fields too few: the sums tell of those.
    ended = body.count(b"\n") + (not body.endswith(b"\n") and bool(body))
    between = frame.height * (len(places) - 1)
    if frame.height != ended or body.count(separator.encode()) != between:
        return None
    chosen = {place: name for place, name in places.items() if name in wanted}
    return frame.select(list(chosen)).rename(chosen)


def _read_by_python(lines: _Lines, wanted: Sequence[str]) -> "pl.DataFrame":
    import polars as pl

    places = {name: lines.names.index(name) for name in wanted}
    schema = dict.fromkeys(places, pl.String)
    frames = [pl.DataFrame(schema=schema)]
    records = lines.records()
    while chunk := [_whole(record, lines) for record in islice(records, _CHUNK)]:
        columns = {name: [fields[place] for fields in chunk] for name, place in places.items()}
        frames.append(pl.DataFrame(columns, schema=schema))
    return pl.concat(frames)


def _whole(record: tuple[int, list[str]], lines: _Lines) -> list[str]:
    number, fields = record
    if len(fields) != len(lines.names):
        line = lines.separator.join(fields)
        shown = line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
        raise DataError(
            f"{lines.where}:{number}: expected {len(lines.names)} fields, "
            f"got {len(fields)}: {shown!r}"
        )
    return fields


def _quoted(body: bytes, separator: str, where: str, first: int) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(_opened(body), delimiter=separator, strict=True)
    while True:
        number = first + reader.line_num
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{where}:{number}: broken line: {error}") from None
        if fields:
            yield number, fields


def _opened(text: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="\n")
