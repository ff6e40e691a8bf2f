"""A catalogue from an item table alone: no ratings, so a new shop can start today."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from variegate.arrays import FloatArray, check_choice
from variegate.catalogue import Catalogue
from variegate.content import Encoder, content_features
from variegate.datasets.items import ItemTable
from variegate.distances import Distance, cosine, difference, hamming, jaccard
from variegate.errors import InputError


def content_catalogue(
    table: ItemTable,
    *,
    columns: Iterable[str] | None = None,
    distances: Iterable[str] | None = None,
) -> Catalogue:
    """Return a catalogue whose features and distances come from the items' columns.

    The distances are "cosine" on all features together, and one a column, by its name: for a
    list the share of labels that two items do not have in common (Jaccard), for a category
    whether the labels differ (Hamming), for a number the difference. A number that is not
    known counts there as the median, one beyond the 1st or the 99th percentile as standing at
    it, and the largest difference is 1. A category that is not known is a label of its own.
    Columns of text and columns of which nothing is known have no distance of their own.

    Parameters
    ----------
    table
        The items; one of which nothing is known is an InputError.
    columns
        The names of the columns to use; all, if not given. The others are still kept as
        attributes.
    distances
        The names of the distances to have; all, if not given.

    Examples
    --------
    >>> shop = ItemTable(
    ...     ("a", "b", "c"),
    ...     ("Axe", "Bow", "Cup"),
    ...     numbers={"price": np.array([30.0, 80.0, np.nan])},
    ...     lists={"tags": (("tool",), ("sport",), ("kitchen", "gift"))},
    ... )
    >>> content_catalogue(shop)
    Catalogue(3 items, 5 features, distances: cosine, price, tags)
    """
    content = content_features(table, columns=columns)
    known = [column.column for column in content.encoder.columns]
    possible = {"cosine": cosine(), **_column_distances(table, known)}
    if distances is None:
        chosen = list(possible.values())
    else:
        chosen = [possible[check_choice("distances", name, possible)] for name in distances]
    return Catalogue(
        table.ids,
        content.features,
        chosen,
        table.titles,
        table_attributes(table),
        feature_names=content.names,
    )


def with_new_items(catalogue: Catalogue, encoder: Encoder, more: ItemTable) -> Catalogue:
    """Return the catalogue with the items of `more` after its own.

    `encoder` is the one that the catalogue's features were made with: `content_features` of
    the same table and columns gives it. Numbers that are not known count as the median of
    those that the catalogue has.
    """
    found = {
        h.name: _new_data(h, more)
        for h in catalogue.distances
        if not h.on_features and h.name in more.columns
    }
    return catalogue.extended(
        more.ids, encoder.features(more), found, more.titles, table_attributes(more)
    )


def table_attributes(table: ItemTable) -> dict[str, list[Any]]:
    """Return every column as values that JSON can hold; what is not known is None."""
    return {
        **{name: _plain_numbers(column) for name, column in table.numbers.items()},
        **{name: [label or None for label in c] for name, c in table.categories.items()},
        **{name: [list(labels) for labels in c] for name, c in table.lists.items()},
        **{name: [text or None for text in c] for name, c in table.texts.items()},
    }


def _column_distances(table: ItemTable, names: Iterable[str]) -> Mapping[str, Distance]:
    found: dict[str, Distance] = {}
    for name in names:
        if name == "cosine":
            raise InputError("a column must not be called `cosine`: a distance has that name")
        if name in table.numbers:
            low, high = np.nanpercentile(table.numbers[name], [1, 99])
            values = np.clip(_filled(table.numbers[name]), low, high)
            found[name] = difference(values, name=name)
        elif name in table.categories:
            found[name] = hamming(table.categories[name], name=name)
        elif name in table.lists:
            found[name] = jaccard(table.lists[name], name=name)
    return found


def _new_data(h: Distance, more: ItemTable) -> Distance:
    """Return the new items' data for the distance of the column that it is named after."""
    if h.name in more.numbers:
        middle = float(np.median(h.rows))
        values = np.where(np.isnan(more.numbers[h.name]), middle, more.numbers[h.name])
        return difference(np.clip(values, h.rows.min(), h.rows.max()), name=h.name)
    if h.name in more.categories:
        return hamming(more.categories[h.name], name=h.name)
    return jaccard(more.lists[h.name], name=h.name)


def _filled(column: FloatArray) -> FloatArray:
    return np.where(np.isnan(column), np.nanmedian(column), column)


def _plain_numbers(column: FloatArray) -> list[int | float | None]:
    """Return years as 1999, not 1999.0, where the whole column is of whole numbers."""
    known = column[~np.isnan(column)]
    whole = bool((known == np.round(known)).all())
    return [None if np.isnan(value) else int(value) if whole else float(value) for value in column]
