"""Implicit feedback: users, items, and which user liked which item."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.data.table_reader import Rows
from variegate.errors import DataError, InputError
from variegate.model.item_table import ItemTable

if TYPE_CHECKING:
    import polars as pl


class Counts(NamedTuple):
    """A row of the paper's Table 1."""

    users: int
    items: int
    interactions: int
    categories: int

    @property
    def density(self) -> float:
        """The share of all pairs of a user and an item that are liked."""
        return self.interactions / max(self.users * self.items, 1)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Users, items, and the pairs of a user and an item that the user liked.

    Ids are text; `users` and `items` are row numbers, one of each for every pair. `item_table`
    has a row for each of `item_ids`, in their order.
    """

    name: str
    user_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    #: Row of the user in each pair, (n,)
    users: IndexArray
    #: Row of the item in each pair, (n,)
    items: IndexArray
    item_table: ItemTable
    #: The column of `item_table.lists`, or else of `item_table.categories`, with the categories
    category_column: str = "categories"

    def __post_init__(self) -> None:
        if len(self.users) != len(self.items):
            raise InputError(
                f"`users` and `items` must be pairs, got {len(self.users)} and {len(self.items)}"
            )
        if self.item_table.ids != self.item_ids:
            raise InputError("`item_table` must have the items of `item_ids`, in their order")

    def __len__(self) -> int:
        return len(self.users)

    @property
    def titles(self) -> tuple[str, ...]:
        """The title of each item."""
        return self.item_table.titles

    @property
    def categories(self) -> tuple[tuple[str, ...], ...]:
        """The categories of each item; empty if the data have none."""
        lists = self.item_table.lists.get(self.category_column)
        if lists is not None:
            return lists
        labels = self.item_table.categories.get(self.category_column, ("",) * len(self.item_ids))
        return tuple((label,) if label else () for label in labels)

    @property
    def category_names(self) -> tuple[str, ...]:
        """The distinct categories, sorted."""
        return tuple(sorted({name for names in self.categories for name in names}))

    @property
    def counts(self) -> Counts:
        """The numbers of users, items, likes and categories."""
        return Counts(len(self.user_ids), len(self.item_ids), len(self), len(self.category_names))

    @property
    def density(self) -> float:
        """The share of all pairs of a user and an item that are liked."""
        return self.counts.density

    @property
    def popularity(self) -> FloatArray:
        """The number of users who liked each item, (items,)."""
        return np.bincount(self.items, minlength=len(self.item_ids)).astype(np.float64)

    def of_users(self, rows: IndexArray) -> "Dataset":
        """Return the pairs of some users, renumbered in their order; all items are kept."""
        number = np.full(len(self.user_ids), -1, dtype=np.intp)
        number[rows] = np.arange(len(rows))
        kept = number[self.users] >= 0
        return replace(
            self,
            user_ids=tuple(self.user_ids[row] for row in rows),
            users=number[self.users[kept]],
            items=self.items[kept],
        )


def implicit_feedback(
    name: str,
    rows: Rows,
    columns: tuple[str, str, str | None],
    *,
    threshold: float,
    item_table: ItemTable | None = None,
) -> Dataset:
    """Return the pairs of `rows` whose rating is greater than `threshold`.

    `columns` are those of the user, the item and the rating; without a rating every row is a
    like. A pair that occurs more than once counts once, as liked if any of its ratings is.
    Users and items are numbered in order of first use; those without a like are left out.
    The first column of lists in `item_table`, or else of labels, holds the categories.
    """
    user, item, rating = columns
    user_column, item_column = rows.ids(user), rows.ids(item)
    if rating is not None:
        liked = rows.ratings(rating) > threshold
        if not liked.any():
            raise DataError(f"{rows.where}: no rating is above {threshold:g}")
        user_column, item_column = user_column.filter(liked), item_column.filter(liked)
    user_ids, users = _numbered(user_column)
    item_ids, items = _numbered(item_column)
    kept = _first_of_each(users, items, len(item_ids))
    table = ItemTable(item_ids, item_ids) if item_table is None else item_table.align(item_ids)
    category_column = next(iter([*table.lists, *table.categories]), "categories")
    return Dataset(name, user_ids, item_ids, users[kept], items[kept], table, category_column)


def check_threshold(threshold: Any) -> float:
    """Return `threshold` as a finite number, or raise InputError."""
    try:
        number = float(threshold)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if isinstance(threshold, (str, bytes)) or not np.isfinite(number):
        raise InputError(f"`threshold` must be a finite number, got {threshold!r}")
    return number


def _numbered(column: "pl.Series") -> tuple[tuple[str, ...], IndexArray]:
    """Return the distinct values in order of first use, and the number of each row's value."""
    import polars as pl

    distinct = column.unique(maintain_order=True)
    numbers = column.cast(pl.Enum(distinct)).to_physical().to_numpy()
    return tuple(distinct.to_list()), numbers.astype(np.intp)


def _first_of_each(users: IndexArray, items: IndexArray, item_count: int) -> IndexArray:
    """Return the positions at which a pair occurs for the first time, in order."""
    _, first = np.unique(users * item_count + items, return_index=True)
    return np.sort(first)
