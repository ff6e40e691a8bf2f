"""Data sets and item tables from CSV, TSV and Parquet files."""

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np

from variegate.arrays import check_choice
from variegate.data.dataset import Dataset, check_threshold, implicit_feedback
from variegate.data.table_reader import Rows, read_table
from variegate.errors import DataError, InputError
from variegate.files import PathLike, as_path
from variegate.model.item_table import ItemTable


class ItemColumns(TypedDict, total=False):
    """Which columns of an item table are read, and as what."""

    #: The title; an item without one has its id instead
    title: str | None
    #: Free text
    texts: Sequence[str]
    #: One number per item
    numbers: Sequence[str]
    #: One label per item
    categories: Sequence[str]
    #: Any number of labels per item
    lists: Sequence[str]
    #: Returned with an item, and no feature is made from it; numbers if all values are
    kept: Sequence[str]
    #: The separator between two labels, "|" by default
    list_separator: str
    #: Values that mean "unknown", only "" by default
    missing: Sequence[str]


def load_items(
    path: PathLike,
    *,
    item: str = "item",
    encoding: str = "utf-8",
    separator: str | None = None,
    **columns: Unpack[ItemColumns],
) -> ItemTable:
    """Read an item table: the content of a catalogue, without ratings.

    Parameters
    ----------
    path
        A CSV, TSV or Parquet file, recognised by its suffix; `separator` reads other text files.
    item
        The column of ids. A duplicate id raises DataError with its line.
    columns
        `title`, `texts`, `numbers`, `categories`, `lists`, `kept`, each by column name;
        `list_separator` ("|") and `missing` ([""]) control how values are read. Columns that
        are not named are left out.
    """
    wanted = [item, *wanted_columns(columns)]
    rows = read_table(path, wanted, encoding=encoding, separator=separator)
    return items_from(rows, item, columns)


def wanted_columns(columns: ItemColumns) -> list[str]:
    """Return the names of all columns to read, or raise InputError if an option is invalid."""
    for option in columns:
        check_choice("columns", option, ItemColumns.__annotations__)
    if not isinstance(columns.get("list_separator", "|"), str) or not columns.get(
        "list_separator", "|"
    ):
        raise InputError(f"`list_separator` must be text, got {columns['list_separator']!r}")
    _names("missing", columns.get("missing", ()))
    named: list[str] = []
    for kind in ("texts", "numbers", "categories", "lists", "kept"):
        named += _names(kind, columns.get(kind, ()))
    twice = {name for name in named if named.count(name) > 1}
    if twice:
        raise InputError(f"a column must be of one kind, got {min(twice)!r} twice")
    title = columns.get("title")
    return named if title is None else [title, *named]


def items_from(rows: Rows, item: str, columns: ItemColumns) -> ItemTable:
    """Return the item table of rows that were read with their `wanted_columns`."""
    ids = rows.ids(item).to_list()
    _check_distinct(ids, rows, item)
    missing = set(columns.get("missing", [""]))
    title = columns.get("title")
    titles = ids if title is None else _known(rows, title, missing)
    list_separator = columns.get("list_separator", "|")
    return ItemTable(
        tuple(ids),
        tuple(called or own_id for called, own_id in zip(titles, ids, strict=True)),
        {name: rows.numbers(name, missing={"", *missing}) for name in columns.get("numbers", ())},
        {name: tuple(_known(rows, name, missing)) for name in columns.get("categories", ())},
        {
            name: tuple(
                tuple(label for label in labels if label not in missing)
                for labels in rows.lists(name, list_separator)
            )
            for name in columns.get("lists", ())
        },
        {name: tuple(_known(rows, name, missing)) for name in columns.get("texts", ())},
        {name: _as_they_are(_known(rows, name, missing)) for name in columns.get("kept", ())},
    )


def _as_they_are(texts: Sequence[str]) -> tuple[str | int | float | None, ...]:
    """Return a column as numbers if every known value is one, else as text."""
    try:
        numbers = [float(text) for text in texts if text]
    except ValueError:
        return tuple(text or None for text in texts)
    if not np.isfinite(numbers).all():
        return tuple(text or None for text in texts)
    whole = all(number.is_integer() and abs(number) < 2**53 for number in numbers)
    return tuple((int(float(text)) if whole else float(text)) if text else None for text in texts)


def _known(rows: Rows, name: str, missing: set[str]) -> list[str]:
    stripped = (text.strip() for text in rows.text(name).to_list())
    return ["" if text in missing else text for text in stripped]


def _names(option: str, names: Any) -> list[str]:
    given = None if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    if given is None or not all(isinstance(name, str) for name in given):
        raise InputError(f"`{option}` must be a list of texts, got {names!r}")
    return given


def _check_distinct(ids: list[str], rows: Rows, item: str) -> None:
    seen: dict[str, int] = {}
    for row, own_id in enumerate(ids):
        if own_id in seen:
            raise DataError(
                f"{rows.place(row)}: column `{item}` must hold each id once, "
                f"got {own_id!r} again, first at {rows.place(seen[own_id])}"
            )
        seen[own_id] = row


def load_table(
    path: PathLike,
    *,
    user: str = "user",
    item: str = "item",
    rating: str | None = None,
    threshold: float | None = None,
    items: PathLike | ItemTable | None = None,
    items_id: str | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    **columns: Unpack[ItemColumns],
) -> Dataset:
    """Read implicit feedback (user, item) or ratings from a CSV, TSV or Parquet file.

    Parameters
    ----------
    user, item
        The columns of ids.
    rating, threshold
        The column of ratings; those greater than `threshold` are likes. Without these two
        options every row is a like. A pair that occurs more than once counts once.
    items
        An item table or its file; items that are not in it have their id as title.
        `items_id` is its column of ids, by default the same as `item`.
    columns
        The columns of the item table, as for `load_items`. The first of `lists` (or else of
        `categories`) holds the categories.
    """
    checked = _check_rating(rating, threshold)
    table = _item_table(items, items_id or item, encoding, columns)
    wanted = [column for column in (user, item, rating) if column is not None]
    rows = read_table(path, wanted, encoding=encoding, separator=separator)
    name = as_path(path).stem
    return implicit_feedback(name, rows, (user, item, rating), threshold=checked, item_table=table)


def _check_rating(rating: str | None, threshold: float | None) -> float:
    if (rating is None) != (threshold is None):
        raise InputError("`rating` and `threshold` must be given together, or neither")
    return 0.0 if threshold is None else check_threshold(threshold)


def _item_table(items: Any, items_id: str, encoding: str, columns: ItemColumns) -> ItemTable | None:
    if items is not None and not isinstance(items, ItemTable):
        return load_items(items, item=items_id, encoding=encoding, **columns)
    if columns:
        got = "None" if items is None else "an ItemTable"
        raise InputError(
            f"`{next(iter(columns))}` needs `items`, the path of an item table, got {got}"
        )
    return items
