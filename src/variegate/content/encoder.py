"""From an item table to features, and from further items to the same features."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, TypeAlias

import numpy as np

from variegate.arrays import (
    FloatArray,
    MaskArray,
    check_choice,
    check_count,
    check_not_negative,
    frozen,
)
from variegate.content.columns import LabelColumn, NumberColumn
from variegate.content.text import TextColumn
from variegate.datasets.items import ItemTable
from variegate.errors import InputError

#: One column of a table, with what was learnt of it.
EncodedColumn: TypeAlias = NumberColumn | LabelColumn | TextColumn


@dataclass(frozen=True, eq=False)
class Encoder:
    """How items become features: learnt from one table, good for further items.

    `variegate.content.storage` keeps it as JSON; the same table and options also give the
    same encoder again.
    """

    columns: tuple[EncodedColumn, ...]
    #: The length of each column's part of a full feature vector
    shares: tuple[float, ...]
    #: Columns of labels such as "1990s", and the attribute whose number each is made from
    decades: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """What each feature means, (d,).

        The labels of a list stand alone ("Comedy") unless another feature has that name; those
        of a category come after the column ("country: France").
        """
        short = [name for column in self.columns for name in _short_names(column)]
        long = [name for column in self.columns for name in column.names]
        counts = Counter(short)
        return tuple(s if counts[s] == 1 else name for s, name in zip(short, long, strict=True))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attribute that each column is made from, in the columns' order."""
        return tuple(self.decades.get(one.column, one.column) for one in self.columns)

    @property
    def places(self) -> tuple[slice, ...]:
        """Where each column's features stand in a vector, in the columns' order."""
        ends = np.cumsum([len(column.names) for column in self.columns]).tolist()
        return tuple(slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True))

    def features(self, table: ItemTable) -> FloatArray:
        """Return the items' features, (L, d), none longer than 1.

        Columns that the table lacks count as not known. An item of which nothing is known, or
        nothing that this encoder has a feature for, is an InputError.
        """
        features, known = self.encoded(table)
        _check_known(table, known)
        return features

    def encoded(self, table: ItemTable) -> tuple[FloatArray, MaskArray]:
        """Return the same features, and of which items anything is known, (L,)."""
        blocks, known = [], np.zeros(len(table), dtype=np.bool_)
        for column, share in zip(self.columns, self.shares, strict=True):
            values = _columns_of_kind(table, column.kind).get(column.column)
            if values is None:
                blocks.append(np.zeros((len(table), len(column.names))))
                continue
            block = column.block(values)
            blocks.append(share * block)
            known |= column.known(values, block)
        return frozen(np.hstack(blocks)), known


@dataclass(frozen=True, eq=False)
class Content:
    """Features from content, with what each means and how further items get theirs."""

    #: One row an item, (L, d)
    features: FloatArray
    #: What each feature means, (d,)
    names: tuple[str, ...]
    encoder: Encoder


def content_features(
    table: ItemTable,
    *,
    columns: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    text_dimensions: int = 16,
    most_labels: int = 50,
) -> Content:
    """Return features of the items made from their columns alone.

    Each column becomes a part of the vector that is no longer than 1: labels have a feature
    each, a number its place in [-1, 1], text its directions of meaning. The parts are scaled
    so that a whole vector is no longer than 1 and every column can move an estimate by as much
    as any other, whether it has two labels or fifty: under a ridge prior what a column can
    say grows with the length of its part. A column of which nothing is known is left out.

    Parameters
    ----------
    table
        The items.
    columns
        The names of the columns to use; all, if not given.
    weights
        How much a column counts beside the others, by its name; 1, if not given.
    text_dimensions
        How many directions of meaning a column of text gets.
    most_labels
        How many labels of a column get a feature; items with none of them have "other".

    Examples
    --------
    >>> films = ItemTable(
    ...     ("a", "b"), ("Alien", "Amélie"), lists={"genres": (("Horror", "Sci-Fi"), ("Romance",))}
    ... )
    >>> content_features(films).names
    ('Horror', 'Romance', 'Sci-Fi')
    """
    check_count(text_dimensions, 1000, name="text_dimensions", of="the most that make sense")
    check_count(most_labels, 100_000, name="most_labels", of="the most that make sense")
    used = _used_columns(table, columns)
    wanted = _wanted_weights(used, weights or {})
    fitted = {
        name: column
        for name in used
        if wanted[name] > 0
        and (column := _fitted(table, name, text_dimensions, most_labels)) is not None
    }
    if not fitted:
        raise InputError(f"`table` must have a column with known values, got {list(used)}")
    whole = sqrt(sum(wanted[name] ** 2 for name in fitted))
    encoder = Encoder(tuple(fitted.values()), tuple(wanted[name] / whole for name in fitted))
    return Content(encoder.features(table), encoder.names, encoder)


def _used_columns(table: ItemTable, columns: Iterable[str] | None) -> tuple[str, ...]:
    if isinstance(columns, str):
        raise InputError(f"`columns` must be a list of names, got the text {columns!r}")
    if columns is None:
        return tuple(table.columns)
    return tuple(dict.fromkeys(check_choice("columns", name, table.columns) for name in columns))


def _wanted_weights(used: tuple[str, ...], weights: Mapping[str, float]) -> dict[str, float]:
    for name, weight in weights.items():
        check_choice("weights", name, used)
        check_not_negative(**{f"weights[{name!r}]": weight})
    return {name: float(weights.get(name, 1.0)) for name in used}


def _fitted(
    table: ItemTable, name: str, text_dimensions: int, most_labels: int
) -> EncodedColumn | None:
    if name in table.numbers:
        return NumberColumn.fitted(name, table.numbers[name])
    if name in table.categories:
        return LabelColumn.fitted("category", name, table.categories[name], most_labels)
    if name in table.lists:
        return LabelColumn.fitted("list", name, table.lists[name], most_labels)
    return TextColumn.fitted(name, table.texts[name], text_dimensions)


def _columns_of_kind(table: ItemTable, kind: str) -> Mapping[str, Any]:
    kinds: dict[str, Mapping[str, Any]] = {
        "number": table.numbers,
        "category": table.categories,
        "list": table.lists,
        "text": table.texts,
    }
    return kinds[kind]


def _short_names(column: EncodedColumn) -> tuple[str, ...]:
    if isinstance(column, LabelColumn) and column.kind == "list":
        return (*column.labels, *column.names[len(column.labels) :])
    return column.names


def _check_known(table: ItemTable, known: MaskArray) -> None:
    empty = np.flatnonzero(~known)
    if empty.size:
        row = int(empty[0])
        raise InputError(
            f"`table` must have a known value for every item, got item {table.ids[row]!r} "
            f"(row {row}) with no features ({empty.size} in all): leave it out of the table"
        )
