"""Reads past interactions (user, item, reward, time) from large tables, some lines at a time."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import islice
from math import isfinite
from typing import Final, Literal, NamedTuple, TypeAlias

from variegate.arrays import check_choice
from variegate.data.table_reader import PARQUET, SEPARATORS, check_columns, check_polars
from variegate.errors import DataError, InputError
from variegate.files import PathLike, as_path, csv_records

#: Lines that are read at a time
CHUNK: Final = 20_000
#: Times are seconds since 1970, up to the year 2106.
MAX_TIME: Final = 2.0**32
_UNITS: Final = {"s": ("seconds", 1.0), "ms": ("milliseconds", 1000.0)}
#: Characters of a value that a message shows
_SHOWN: Final = 60

#: The fields of a line by name, or why it has none
_Fields: TypeAlias = Mapping[str, str] | str


class PastInteraction(NamedTuple):
    """A line: one user's reward of one item.

    Parameters
    ----------
    key
        Identifies it among the user's: lines with the same item, value and time are one
        interaction, in one file or in several.
    """

    number: int
    user: str
    item: str
    reward: float
    time: float | None
    key: str


class RejectedLine(NamedTuple):
    """A line that cannot be imported, with all that is wrong with it."""

    number: int
    reasons: tuple[str, ...]


Line: TypeAlias = PastInteraction | RejectedLine


@dataclass(frozen=True, kw_only=True)
class InteractionColumns:
    """Which columns hold what.

    Parameters
    ----------
    reward
        The column of rewards from 0 to 1, or a number: the reward of every line.
    threshold
        If given, a value above it is a reward of 1, and any other of 0: for ratings.
    time
        The column of times; None: `time`, if there is one.
    unit
        Of times that are numbers: seconds or milliseconds since 1970. Others are ISO 8601.
    """

    user: str = "user"
    item: str = "item"
    reward: str | float = "reward"
    threshold: float | None = None
    time: str | None = None
    unit: Literal["s", "ms"] = "s"

    def __post_init__(self) -> None:
        check_choice("unit", self.unit, _UNITS)
        if self.threshold is not None and not isfinite(self.threshold):
            raise InputError(f"`threshold` must be a finite number, got {self.threshold}")
        if isinstance(self.reward, float) and not 0.0 <= self.reward <= 1.0:
            raise InputError(f"`reward` must be a column or from 0 to 1, got {self.reward}")

    def found_in(self, known: Sequence[str], where: str) -> "InteractionColumns":
        """Return the columns with the time's name, or raise DataError if one is missing."""
        wanted = [self.user, self.item, *([] if self.time is None else [self.time])]
        check_columns(where, known, wanted)
        if isinstance(self.reward, str) and self.reward not in known:
            raise DataError(
                f"{where}: no column {self.reward!r} of rewards among "
                f"{', '.join(map(repr, known))}: name it, or give one number for all lines"
            )
        has_time = self.time is not None or "time" in known
        time = (self.time or "time") if has_time else ""
        return InteractionColumns(**{**vars(self), "time": time})

    def parse(self, number: int, fields: _Fields) -> Line:
        """Return a line, after `found_in`."""
        if isinstance(fields, str):
            return RejectedLine(number, (fields,))
        reasons: list[str] = []
        user, item = (fields[name].strip() for name in (self.user, self.item))
        for name, text in ((self.user, user), (self.item, item)):
            if not text:
                reasons.append(f"`{name}` must be an id, got ''")
        value = self.reward if isinstance(self.reward, float) else _number(fields[self.reward])
        reward = self._reward(value)
        if reward is None:
            reasons.append(
                f"`{self.reward}` must be {self._range}, got {_cut(fields, self.reward)}"
            )
        unit, per_second = _UNITS[self.unit]
        given = fields[self.time].strip() if self.time else ""
        time = _time(given, per_second) if given else None
        if time is not None and not 0.0 <= time < MAX_TIME:
            reasons.append(
                f"`{self.time}` must be ISO 8601 or {unit} since 1970, before 2106, got "
                f"{_cut(fields, self.time)}"
            )
        if reasons or reward is None:
            return RejectedLine(number, tuple(reasons))
        return PastInteraction(number, user, item, reward, time, _key(item, value, time))

    @property
    def _range(self) -> str:
        return "a number from 0 to 1" if self.threshold is None else "a finite number"

    def _reward(self, value: float) -> float | None:
        if self.threshold is not None and isfinite(value):
            return 1.0 if value > self.threshold else 0.0
        return value if self.threshold is None and 0.0 <= value <= 1.0 else None


def read_interactions(
    path: PathLike,
    columns: InteractionColumns | None = None,
    *,
    names: Sequence[str] | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Iterator[tuple[list[Line], int]]:
    """Yield the lines of a table in chunks, each with the bytes read so far.

    Memory does not depend on the size of the file. A line that is broken does not end the reading.

    Parameters
    ----------
    path
        A CSV, TSV or Parquet file, recognised by its suffix; `separator` reads other text files.
    names
        The columns of a text file without a header.
    """
    file, wanted = as_path(path), columns or InteractionColumns()
    ending = file.suffix.lower()
    if separator is None and ending in PARQUET:
        return _parquet_chunks(str(file), wanted)
    between = SEPARATORS.get(ending) if separator is None else separator
    if between is None or len(between) != 1 or between in '"\r\n':
        raise InputError(
            "`separator` must be one character, and is needed unless `path` ends in .csv, .tsv or "
            f".parquet, got {between!r} for {file}"
        )
    return _text_chunks(str(file), wanted, names, between, encoding)


def _text_chunks(
    where: str,
    columns: InteractionColumns,
    names: Sequence[str] | None,
    separator: str,
    encoding: str,
) -> Iterator[tuple[list[Line], int]]:
    try:
        with open(where, "rb") as raw:
            # Bytes that are not text become characters that no id may have.
            text = io.TextIOWrapper(raw, encoding, "surrogateescape", newline="")
            records = csv_records(csv.reader(text, delimiter=separator, strict=True))
            header = list(names) if names is not None else _header(records, where)
            found = columns.found_in(header, where)
            while chunk := list(islice(records, CHUNK)):
                yield [found.parse(at, _named(header, one)) for at, one in chunk], raw.tell()
    except OSError as error:
        raise DataError(f"{where}: cannot be read: {error.strerror}") from None
    except LookupError:
        raise InputError(f"`encoding` must be one that Python knows, got {encoding!r}") from None


def _header(records: Iterator[tuple[int, list[str] | csv.Error]], where: str) -> list[str]:
    number, fields = next(records, (1, None))
    if fields is None:
        raise DataError(f"{where}:{number}: the file is empty")
    if isinstance(fields, csv.Error):
        raise DataError(f"{where}:{number}: the line is broken: {fields}")
    return [name.strip().removeprefix("\ufeff") for name in fields]


def _named(header: Sequence[str], fields: list[str] | csv.Error) -> _Fields:
    if isinstance(fields, csv.Error):
        return f"the line is broken: {fields}"
    if len(fields) != len(header):
        return f"the line must have {len(header)} fields, got {len(fields)}"
    return dict(zip(header, fields, strict=True))


def _parquet_chunks(where: str, columns: InteractionColumns) -> Iterator[tuple[list[Line], int]]:
    check_polars()
    import polars as pl

    broken = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
    try:
        table = pl.scan_parquet(where)
        header = table.collect_schema().names()
        found, start = columns.found_in(header, where), 0
        while True:
            part = table.slice(start, CHUNK).select(pl.all().cast(pl.String)).collect()
            if not part.height:
                return
            rows = part.fill_null("").iter_rows(named=True)
            yield [found.parse(start + at, row) for at, row in enumerate(rows, start=1)], start
            start += part.height
    except broken as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{where}: not a complete Parquet file: {reason}") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _time(text: str, per_second: float) -> float:
    """Return seconds since 1970, nan for a text that is no time."""
    number = _number(text)
    if isfinite(number):
        return number / per_second
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return float("nan")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _key(item: str, value: float, time: float | None) -> str:
    text = f"{item}\x1f{value!r}\x1f{time!r}"
    return f"import:{blake2b(text.encode('utf-8', 'surrogateescape'), digest_size=12).hexdigest()}"


def _cut(fields: Mapping[str, str], name: object) -> str:
    text = fields.get(str(name), "")
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
