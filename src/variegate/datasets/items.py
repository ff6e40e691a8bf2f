"""What is known of items besides who liked them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import InputError


@dataclass(frozen=True, eq=False)
class ItemTable:
    """Items with columns of four kinds, each by its name.

    A value that is not known is nan in `numbers`, "" in `categories` and `texts`, and no
    label at all in `lists`.
    """

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    #: Years, prices: a number an item, (L,)
    numbers: Mapping[str, FloatArray] = field(default_factory=dict)
    #: Country, brand: a label an item
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Genres, tags: any number of labels an item
    lists: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    #: Descriptions: free text
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, column in {"titles": self.titles, **self.columns}.items():
            if len(column) != len(self.ids):
                raise InputError(
                    f"column `{name}` must have {len(self.ids)} values, got {len(column)}"
                )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Every column by its name."""
        return {**self.numbers, **self.categories, **self.lists, **self.texts}  # type: ignore[dict-item]

    def taken(self, rows: Sequence[int]) -> "ItemTable":
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
        )
