"""Item tables: titles, numbers, labels and texts of items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import InputError


@dataclass(frozen=True, eq=False)
class ItemTable:
    """Items with named columns of four kinds, and columns that are only stored.

    An unknown value is nan in `numbers`, "" in `categories` and `texts`, an empty tuple in `lists`,
    and None in `kept`.
    """

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    #: One number per item (year, price), (L,)
    numbers: Mapping[str, FloatArray] = field(default_factory=dict)
    #: One label per item (country, brand)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Any number of labels per item (genres, tags)
    lists: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    #: Free text (descriptions)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: What is returned with an item and no feature is made from (an image, the stock)
    kept: Mapping[str, tuple[str | int | float | None, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, column in {"titles": self.titles, **self.columns, **self.kept}.items():
            if len(column) != len(self.ids):
                raise InputError(
                    f"column `{name}` must have {len(self.ids)} values, got {len(column)}"
                )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """All columns that features can be made from, by name."""
        return {**self.numbers, **self.categories, **self.lists, **self.texts}  # type: ignore[dict-item]

    def align(self, ids: Sequence[str]) -> "ItemTable":
        """Return the items with `ids`, in their order; an unknown one has only its id as title."""
        row_of = {own_id: row for row, own_id in enumerate(self.ids)}
        # Row -1 of a column with a blank at its end is that blank.
        rows = [row_of.get(own_id, -1) for own_id in ids]

        def picked(column: Sequence[Any], blank: Any) -> tuple[Any, ...]:
            longer = (*column, blank)
            return tuple(longer[row] for row in rows)

        return ItemTable(
            tuple(ids),
            tuple(self.titles[row] if row >= 0 else ids[place] for place, row in enumerate(rows)),
            {name: np.append(column, np.nan)[rows] for name, column in self.numbers.items()},
            {name: picked(column, "") for name, column in self.categories.items()},
            {name: picked(column, ()) for name, column in self.lists.items()},
            {name: picked(column, "") for name, column in self.texts.items()},
            {name: picked(column, None) for name, column in self.kept.items()},
        )

    def take(self, rows: Sequence[int]) -> "ItemTable":
        """Return the items at `rows`, in their order."""
        return ItemTable(
            tuple(self.ids[row] for row in rows),
            tuple(self.titles[row] for row in rows),
            {
                name: column[np.asarray(rows, dtype=np.intp)]
                for name, column in self.numbers.items()
            },
            {name: tuple(column[row] for row in rows) for name, column in self.categories.items()},
            {name: tuple(column[row] for row in rows) for name, column in self.lists.items()},
            {name: tuple(column[row] for row in rows) for name, column in self.texts.items()},
            {name: tuple(column[row] for row in rows) for name, column in self.kept.items()},
        )
