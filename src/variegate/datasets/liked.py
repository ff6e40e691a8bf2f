"""From rows of who rated what to the pairs that are liked."""

from typing import TYPE_CHECKING, Any

import numpy as np

from variegate.arrays import IndexArray
from variegate.datasets.dataset import Dataset
from variegate.datasets.items import ItemTable
from variegate.datasets.rows import Rows
from variegate.errors import DataError, InputError

if TYPE_CHECKING:
    import polars as pl


def check_above(above: Any) -> float:
    """Return `above` as a finite number, or raise InputError."""
    try:
        number = float(above)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if isinstance(above, (str, bytes)) or not np.isfinite(number):
        raise InputError(f"`above` must be a finite number, got {above!r}")
    return number


def liked_dataset(
    name: str,
    rows: Rows,
    columns: tuple[str, str, str | None],
    *,
    above: float,
    about: ItemTable | None = None,
) -> Dataset:
    """Return the pairs of `rows` whose rating is greater than `above`.

    `columns` are those of the user, the item and the rating; without a rating every row is
    liked. A pair that comes more than once counts once, as liked if any of its ratings is.
    Users and items are numbered in order of first use; those without a like are left out.
    The first column of lists that `about` has, or else of labels, holds the categories.
    """
    user, item, rating = columns
    user_column, item_column = rows.ids(user), rows.ids(item)
    if rating is not None:
        liked = rows.ratings(rating) > above
        if not liked.any():
            raise DataError(f"{rows.where}: no rating is above {above:g}")
        user_column, item_column = user_column.filter(liked), item_column.filter(liked)
    user_ids, users = _numbered(user_column)
    item_ids, items = _numbered(item_column)
    kept = _first_of_each(users, items, len(item_ids))
    table = ItemTable(item_ids, item_ids) if about is None else about.aligned(item_ids)
    category_column = next(iter([*table.lists, *table.categories]), "categories")
    return Dataset(name, user_ids, item_ids, users[kept], items[kept], table, category_column)


def _numbered(column: "pl.Series") -> tuple[tuple[str, ...], IndexArray]:
    """Return the distinct values in order of first use, and the place of each in them."""
    import polars as pl

    distinct = column.unique(maintain_order=True)
    places = column.cast(pl.Enum(distinct)).to_physical().to_numpy()
    return tuple(distinct.to_list()), places.astype(np.intp)


def _first_of_each(users: IndexArray, items: IndexArray, item_count: int) -> IndexArray:
    """Return the positions at which a pair comes for the first time, in their order."""
    _, first = np.unique(users * item_count + items, return_index=True)
    return np.sort(first)
