"""Likes from any table."""

from typing import Any, Unpack

from variegate.datasets.dataset import Dataset
from variegate.datasets.item_file import ItemColumns, load_items
from variegate.datasets.items import ItemTable
from variegate.datasets.liked import check_above, liked_dataset
from variegate.datasets.sources import PathLike, as_path
from variegate.datasets.table_file import read_table
from variegate.errors import InputError


def load_table(
    path: PathLike,
    *,
    user: str = "user",
    item: str = "item",
    rating: str | None = None,
    above: float | None = None,
    items: PathLike | ItemTable | None = None,
    items_id: str | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    **columns: Unpack[ItemColumns],
) -> Dataset:
    """Read who liked what from a CSV, TSV or Parquet file.

    Parameters
    ----------
    user, item
        The columns of ids.
    rating, above
        The column of ratings, of which those greater than `above` are liked. Without them
        every row is a like; a pair that comes again counts once.
    items
        An item table or its file; items that are not in it keep their id as title.
        `items_id` is its column of ids, if it is not called as `item` says.
    columns
        The columns of the item table, as `load_items` takes them. The first of `lists`
        (or else of `categories`) is taken for the categories.
    """
    least = _least(rating, above)
    about = _about(items, items_id or item, encoding, columns)
    wanted = [column for column in (user, item, rating) if column is not None]
    rows = read_table(path, wanted, encoding=encoding, separator=separator)
    name = as_path(path).stem
    return liked_dataset(name, rows, (user, item, rating), above=least, about=about)


def _least(rating: str | None, above: float | None) -> float:
    if (rating is None) != (above is None):
        raise InputError("`rating` and `above` must be given together, or neither")
    return 0.0 if above is None else check_above(above)


def _about(items: Any, items_id: str, encoding: str, columns: ItemColumns) -> ItemTable | None:
    if items is not None and not isinstance(items, ItemTable):
        return load_items(items, item=items_id, encoding=encoding, **columns)
    if columns:
        got = "None" if items is None else "a table that is read already"
        raise InputError(
            f"`{next(iter(columns))}` needs `items`, the path of an item table, got {got}"
        )
    return items
