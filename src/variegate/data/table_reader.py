"""Reads the columns of CSV, TSV and Parquet files, with errors that name the line."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import DataError, InputError, MissingExtraError, NotFoundError
from variegate.files import PathLike, as_path, csv_records, read_file

if TYPE_CHECKING:
    import polars as pl


#: Number of column names listed in an error
_LISTED = 30


def parquet_bytes(table: "pl.DataFrame") -> memoryview:
    """Return a table as the bytes of a Parquet file.

    An error of the disk is raised by whoever writes them: polars calls it a wrong file.
    """
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getbuffer()


@dataclass(frozen=True, eq=False)
class Rows:
    """The columns read from one table."""

    #: The file, as errors name it
    where: str
    frame: "pl.DataFrame"
    #: Returns the place of a row for errors: `path:line`
    place: Callable[[int], str]

    def __len__(self) -> int:
        return self.frame.height

    def ids(self, name: str) -> "pl.Series":
        """Return a column of ids as text, or raise DataError at the first empty one."""
        column = self.frame[name]
        if column.dtype.is_float():
            raise DataError(
                f"{self.where}: column `{name}` must hold ids, text or whole numbers, "
                f"got {column.dtype}"
            )
        column = self.text(name)
        empty = column.str.strip_chars() == ""
        if empty.any():
            raise DataError(f"{self.place(_first(empty))}: column `{name}` must hold an id, got ''")
        return column

    def text(self, name: str) -> "pl.Series":
        """Return a column as text, "" for missing values."""
        import polars as pl

        column = self.frame[name]
        try:
            return column.cast(pl.String).fill_null("")
        except pl.exceptions.PolarsError:
            raise DataError(
                f"{self.where}: column `{name}` must hold text, got {column.dtype}"
            ) from None

    def lists(self, name: str, separator: str) -> list[tuple[str, ...]]:
        """Return the labels of each row, split at `separator` unless the column holds lists."""
        import polars as pl

        column = self.frame[name]
        if isinstance(column.dtype, pl.List) and column.dtype.inner == pl.String:
            labels = [row or [] for row in column.to_list()]
        else:
            labels = [text.split(separator) for text in self.text(name).to_list()]
        return [_distinct(row) for row in labels]

    def ratings(self, name: str) -> FloatArray:
        """Return a column of ratings, or raise DataError at the first that is not a number."""
        numbers = self.numbers(name, missing=())
        nowhere = np.flatnonzero(np.isnan(numbers))
        if nowhere.size:
            self._raise_no_number(name, int(nowhere[0]))
        return numbers

    def numbers(self, name: str, *, missing: Collection[str]) -> FloatArray:
        """Return a column of finite numbers, with nan for nan and the values in `missing`."""
        import polars as pl

        column = self.frame[name]
        known = column.is_not_null()
        if not column.dtype.is_numeric():
            column = self.text(name).str.strip_chars()
            known = ~column.is_in(list(missing))
        values = column.cast(pl.Float64, strict=False)
        wrong = known & (values.is_null() | values.is_infinite())
        if wrong.any():
            self._raise_no_number(name, _first(wrong))
        return values.fill_null(float("nan")).to_numpy().astype(np.float64)

    def _raise_no_number(self, name: str, row: int) -> None:
        got = self.frame[name][row]
        raise DataError(
            f"{self.place(row)}: column `{name}` must hold a finite number, got {got or ''!r}"
        )


def check_polars() -> None:
    """Raise MissingExtraError if polars, which reads tables, is not installed."""
    try:
        import polars  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "tables are read with polars, which is not installed: pip install 'variegate[data]'"
        ) from None


def scan_table(path: Path, name: str) -> "pl.LazyFrame":
    """Return a Parquet or CSV file that is read in pieces; `name` is the argument in errors."""
    check_polars()
    import polars as pl

    if path.suffix.lower() in PARQUET:
        return pl.scan_parquet(path)
    if path.suffix.lower() == ".csv":
        return pl.scan_csv(path)
    raise InputError(f"`{name}` must be a .parquet or .csv file, got {path}")


def check_columns(where: str, known: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise DataError unless each of the `wanted` columns exists exactly once."""
    for name in wanted:
        if name not in known:
            near = get_close_matches(str(name), known, n=1, cutoff=0.5)
            hint = f": did you mean {near[0]!r}?" if near else ""
            more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
            listed = ", ".join(map(repr, known[:_LISTED]))
            raise DataError(f"{where}: no column {name!r} among {listed}{more}{hint}")
        if known.count(name) > 1:
            raise DataError(f"{where}: column {name!r} is there {known.count(name)} times")


def check_flat(where: str, schema: Mapping[str, Any], wanted: Sequence[str]) -> None:
    """Raise DataError unless each of the `wanted` columns is another, with one value per row."""
    for name in wanted:
        if wanted.count(name) > 1:
            raise DataError(f"{where}: column {name!r} cannot serve as two")
        if schema[name].is_nested():
            raise DataError(
                f"{where}: column {name!r} must hold one value in each row, not several"
            )


def without_id(name: str) -> "pl.Expr":
    """Return in how many rows a column holds no id."""
    import polars as pl

    column = pl.col(name)
    return (column.is_null() | (column.cast(pl.String).str.strip_chars() == "")).sum().alias(name)


def _first(mask: "pl.Series") -> int:
    return int(mask.arg_true()[0])


def _distinct(labels: Sequence[str | None]) -> tuple[str, ...]:
    stripped = (label.strip() for label in labels if label)
    return tuple(dict.fromkeys(label for label in stripped if label))


def read_parquet(content: bytes, where: str, wanted: Sequence[str]) -> Rows:
    """Return the `wanted` columns of a Parquet file, with their types."""
    check_polars()
    import polars as pl

    # A damaged file can make polars panic, which is not an Exception.
    broken = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
    if not content:
        raise DataError(f"{where}: the file is empty")
    try:
        names = list(pl.read_parquet_schema(io.BytesIO(content)))
    except broken as error:
        raise _broken(where, error) from None
    check_columns(where, names, wanted)
    try:
        frame = pl.read_parquet(io.BytesIO(content), columns=list(dict.fromkeys(wanted)))
    except broken as error:
        raise _broken(where, error) from None
    if not frame.height:
        raise DataError(f"{where}: the table has no rows")
    return Rows(where, frame, lambda row: f"{where}: row {row + 1}")


def _broken(where: str, error: BaseException) -> DataError:
    reason = " ".join(str(error).split())
    return DataError(f"{where}: not a complete Parquet file: {reason}")


#: The separator by file suffix
SEPARATORS: Final = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
#: Suffixes of Parquet files
PARQUET: Final = (".parquet", ".pq")
#: The byte order marks of UTF-16
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def as_utf8(content: bytes, where: str, encoding: str = "utf-8") -> bytes:
    r"""Return the text of `content` as UTF-8 without a byte order mark, with lines ending in \n.

    `where` names the file in errors. Bytes that are invalid in `encoding` raise DataError with
    their line, an unknown `encoding` raises NotFoundError.
    """
    if _codec(encoding) == "utf-8":
        text = content.removeprefix(codecs.BOM_UTF8)
        if not text.isascii():
            _check_utf8(text, where)
    else:
        text = _recode(content, where, encoding)
    if b"\r" not in text:
        return text
    text = text.replace(b"\r\n", b"\n")
    return text if b"\n" in text else text.replace(b"\r", b"\n")


def _codec(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        raise NotFoundError(
            f"`encoding` must be one that Python knows, like utf-8 or latin-1, got {encoding!r}"
        ) from None


def _check_utf8(text: bytes, where: str) -> None:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        likely = "utf-16" if text.startswith(_UTF_16_MARKS) else "latin-1"
        raise DataError(
            f"{where}:{_line(text, error.start)}: byte 0x{text[error.start]:02x} is not UTF-8: "
            f'if the file is of another encoding, say which, like encoding="{likely}"'
        ) from None


def _recode(content: bytes, where: str, encoding: str) -> bytes:
    try:
        return content.decode(encoding).removeprefix("\ufeff").encode("utf-8")
    except UnicodeDecodeError as error:
        line = _line(content, error.start)
        reason = " ".join(error.reason.split())
        raise DataError(f"{where}:{line}: not {encoding} text: {reason}") from None
    except UnicodeError as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{where}: not {encoding} text: {reason}") from None
    except LookupError:
        raise NotFoundError(f"`encoding` must be one of text, got {encoding!r}") from None


def _line(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1


#: Replaces a separator of several bytes, since polars takes only one byte
_UNIT_SEPARATOR = "\x1f"
#: Lines converted to columns at a time when Python reads them
_CHUNK = 100_000
#: Number of characters of a broken line shown in an error
_SHOWN = 60


@dataclass(frozen=True)
class Layout:
    """The format of a delimited file."""

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

    Blank lines are skipped. A line with too many or too few fields raises DataError with its
    number, and so do an unclosed quote, an empty file, and a header without lines below it.
    """
    check_polars()
    lines = _lines(as_utf8(content, where, layout.encoding), where, layout)
    check_columns(where, lines.names, wanted)
    # polars and Python's csv treat odd quotes differently; if there are any, Python reads them.
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
    """Return the names in the first line that is not blank, and the number of lines up to it."""
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
    # A plain header keeps polars from mistaking the first bytes for a compressed file.
    places = {f"column_{place}": name for place, name in enumerate(lines.names)}
    header = separator.join(places).encode() + b"\n"
    try:
        frame = pl.read_csv(header + body, separator=separator, quote_char=None, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError):
        return None
    # polars raises for too many fields and fills in missing ones: counting separators finds these.
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
    for number, fields in csv_records(reader):
        line = first + number - 1
        if isinstance(fields, csv.Error):
            raise DataError(f"{where}:{line}: broken line: {fields}")
        yield line, fields


def _opened(text: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="\n")


def read_table(
    path: PathLike, wanted: Sequence[str], *, encoding: str, separator: str | None
) -> Rows:
    """Return the `wanted` columns of a CSV, TSV or Parquet file.

    The suffix of the file decides which, unless `separator` is given.
    """
    ending = as_path(path).suffix.lower()
    if separator is None and ending in PARQUET:
        content, where = read_file(path)
        return read_parquet(content, where, wanted)
    between = SEPARATORS.get(ending) if separator is None else separator
    if between is None:
        raise InputError(
            f"`path` must end in .csv, .tsv or .parquet unless `separator` is given, got {path}"
        )
    layout = Layout(between, encoding=encoding)
    content, where = read_file(path)
    return read_delimited(content, where, layout, wanted)
