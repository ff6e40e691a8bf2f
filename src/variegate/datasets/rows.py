"""Columns of a table, checked where they are read."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import polars as pl

#: So many column names are listed in an error
_LISTED = 30


@dataclass(frozen=True, eq=False)
class Rows:
    """The wanted columns of one table."""

    #: The file, as errors name it
    where: str
    frame: "pl.DataFrame"
    #: Says where a row stands, as errors begin: `path:line`
    place: Callable[[int], str]

    def __len__(self) -> int:
        return self.frame.height

    def ids(self, name: str) -> "pl.Series":
        """Return a column of ids as text, or raise DataError at the first that is empty."""
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
        """Return a column as text, "" where there is nothing."""
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
        """Return a column of ratings, or raise DataError at the first that is no number."""
        numbers = self.numbers(name, missing=())
        nowhere = np.flatnonzero(np.isnan(numbers))
        if nowhere.size:
            self._raise_no_number(name, int(nowhere[0]))
        return numbers

    def numbers(self, name: str, *, missing: Collection[str]) -> FloatArray:
        """Return a column of finite numbers, nan where one of `missing` or nan stands."""
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
    """Raise MissingExtraError where polars, which reads tables, is not installed."""
    try:
        import polars  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "tables are read with polars, which is not installed: pip install 'variegate[data]'"
        ) from None


def check_columns(where: str, known: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise DataError unless each of the `wanted` columns is there, and once."""
    for name in wanted:
        if name not in known:
            near = get_close_matches(str(name), known, n=1, cutoff=0.5)
            hint = f": did you mean {near[0]!r}?" if near else ""
            more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
            listed = ", ".join(map(repr, known[:_LISTED]))
            raise DataError(f"{where}: no column {name!r} among {listed}{more}{hint}")
        if known.count(name) > 1:
            raise DataError(f"{where}: column {name!r} is there {known.count(name)} times")


def _first(mask: "pl.Series") -> int:
    return int(mask.arg_true()[0])


def _distinct(labels: Sequence[str | None]) -> tuple[str, ...]:
    stripped = (label.strip() for label in labels if label)
    return tuple(dict.fromkeys(label for label in stripped if label))
