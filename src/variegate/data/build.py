"""Catalogues from an item table alone, or from a data set and embeddings."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from variegate.arrays import FloatArray, IndexArray, check_choice
from variegate.data.dataset import Dataset
from variegate.data.embeddings import Embeddings
from variegate.errors import InputError, NotFoundError
from variegate.model.catalogue import Catalogue
from variegate.model.distances import (
    Distance,
    angular,
    cosine,
    difference,
    distance_of_values,
    euclidean,
    hamming,
    jaccard,
)
from variegate.model.encoder import ColumnSource, Encoder, content_features
from variegate.model.item_table import ItemTable


def content_catalogue(
    table: ItemTable,
    *,
    columns: Iterable[str] | None = None,
    distances: Iterable[str] | None = None,
) -> Catalogue:
    """Return a catalogue with features and distances computed from the items' columns.

    The distances are "cosine" on all features, and one per column, by its name: Jaccard for a
    list, Hamming for a category, the difference for a number. In the latter an unknown number
    counts as the median, numbers are clipped to the 1st and 99th percentile, and the largest
    difference is 1. An unknown category is a label of its own. Columns of text and columns
    without known values have no distance.

    Parameters
    ----------
    table
        The items; one without any known value raises InputError.
    columns
        The names of the columns to use; all by default, without those of `table.kept`. The others
        are stored as attributes.
    distances
        The names of the distances to use; all by default.

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
    own = _column_distances(table, known)
    possible = {"cosine": cosine(), **{name: h for name, (h, _source) in own.items()}}
    names = list(possible) if distances is None else list(distances)
    chosen = [possible[check_choice("distances", name, possible)] for name in names]
    return Catalogue(
        table.ids,
        content.features,
        chosen,
        table.titles,
        table_attributes(table),
        feature_names=content.names,
        encoder=content.encoder,
        sources={name: own[name][1] for name in names if name in own},
    )


def add_items(
    catalogue: Catalogue, more: ItemTable, *, encoder: Encoder | None = None
) -> Catalogue:
    """Return the catalogue with the items of `more` after its own.

    Features and distances are computed from the columns with the catalogue's encoder. Unknown
    numbers count as the median of the table that the catalogue was built from.

    Parameters
    ----------
    encoder
        For a catalogue without one, such as one from an older file: the encoder that
        `content_features` returned for its table.
    """
    own = catalogue.encoder or encoder
    if own is None:
        raise InputError(f"`encoder` must be given for {catalogue}, which has none of its own")
    attributes = table_attributes(more)
    found = {
        h.name: distance_of_values(h, _values(catalogue, h, more, attributes))
        for h in catalogue.distances
        if not h.on_features and _is_made_from(catalogue, h, attributes)
    }
    return catalogue.with_items(more.ids, own.features(more), found, more.titles, attributes)


def updated_catalogue(catalogue: Catalogue, table: ItemTable) -> Catalogue:
    """Return the catalogue with the items of a newer table, encoded as before.

    Features keep their meaning, so a store that was made for the catalogue can be served with this
    one. Its items come first, those that the table does not have unchanged; then the new ones.
    Columns that the catalogue does not have become attributes.
    """
    encoder = catalogue.encoder
    if encoder is None:
        raise InputError(f"`catalogue` must have an encoder, got {catalogue}, which has none")
    attributes = table_attributes(table)
    missing = sorted(set(encoder.attributes) - attributes.keys())
    if missing:
        raise InputError(
            f"`table` must have the columns {', '.join(missing)}, which features are made from, "
            f"got {', '.join(attributes)}"
        )
    places = catalogue.find_rows(table.ids)
    known, new = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
    own = {name: attributes[name] for name in catalogue.attributes if name in attributes}
    changed = [
        row
        for row in known.tolist()
        if any(own[name][row] != catalogue.attributes[name][places[row]] for name in own)
    ]
    if changed:
        ids = [table.ids[row] for row in changed]
        columns = {name: [column[row] for row in changed] for name, column in own.items()}
        catalogue = catalogue.with_attributes(ids, columns)
    titles = list(catalogue.titles)
    for row in known.tolist():
        titles[places[row]] = table.titles[row]
    catalogue = catalogue.replace(titles=titles)
    if new.size:
        catalogue = add_items(catalogue, table.take(new.tolist()))
    return _with_more_attributes(catalogue, table, attributes)


def _with_more_attributes(
    catalogue: Catalogue, table: ItemTable, attributes: Mapping[str, list[Any]]
) -> Catalogue:
    row_of = {item: row for row, item in enumerate(table.ids)}
    more = {
        name: [column[row_of[item]] if item in row_of else None for item in catalogue.ids]
        for name, column in attributes.items()
        if name not in catalogue.attributes
    }
    return catalogue.replace(attributes={**catalogue.attributes, **more}) if more else catalogue


def table_attributes(table: ItemTable) -> dict[str, list[Any]]:
    """Return every column as JSON values; unknown values are None."""
    return {
        **{name: _plain_numbers(column) for name, column in table.numbers.items()},
        **{name: [label or None for label in c] for name, c in table.categories.items()},
        **{name: [list(labels) for labels in c] for name, c in table.lists.items()},
        **{name: [text or None for text in c] for name, c in table.texts.items()},
        **{name: list(column) for name, column in table.kept.items()},
    }


def _column_distances(
    table: ItemTable, names: Iterable[str]
) -> dict[str, tuple[Distance, ColumnSource]]:
    found: dict[str, tuple[Distance, ColumnSource]] = {}
    for name in names:
        if name == "cosine":
            raise InputError("a column must not be called `cosine`: a distance has that name")
        if name in table.numbers:
            low, high = map(float, np.nanpercentile(table.numbers[name], [1, 99]))
            middle = float(np.nanmedian(table.numbers[name]))
            values = np.clip(_filled(table.numbers[name]), low, high)
            source = ColumnSource(name, "number", middle, low, high)
            found[name] = difference(values, name=name), source
        elif name in table.categories:
            labels = hamming(table.categories[name], name=name)
            found[name] = labels, ColumnSource(name, "category")
        elif name in table.lists:
            found[name] = jaccard(table.lists[name], name=name), ColumnSource(name, "list")
    return found


def _is_made_from(catalogue: Catalogue, h: Distance, columns: Collection[str]) -> bool:
    source = catalogue.sources.get(h.name)
    return any(name in columns for name in (source.attributes if source else (h.name,)))


def _values(
    catalogue: Catalogue, h: Distance, more: ItemTable, attributes: Mapping[str, list[Any]]
) -> list[Any]:
    """Return the new items' values for a distance."""
    source = catalogue.sources.get(h.name)
    if source is None:  # of an older file: the column has the distance's name
        kind = next(kind for kind, names in _kinds(more).items() if h.name in names)
        bounds = float(np.median(h.rows)), float(h.rows.min()), float(h.rows.max())
        source = ColumnSource(h.name, kind, *(bounds if kind == "number" else ()))
    return source.values(len(more), attributes)


def _kinds(table: ItemTable) -> dict[str, Collection[str]]:
    return {"number": table.numbers, "category": table.categories, "list": table.lists}


def _filled(column: FloatArray) -> FloatArray:
    return np.where(np.isnan(column), np.nanmedian(column), column)


def _plain_numbers(column: FloatArray) -> list[int | float | None]:
    """Return years as 1999, not 1999.0, if all numbers of the column are whole."""
    known = column[~np.isnan(column)]
    whole = bool((known == np.round(known)).all())
    return [None if np.isnan(value) else int(value) if whole else float(value) for value in column]


def most_popular(embeddings: Embeddings, dataset: Dataset, count: int | None) -> Embeddings:
    """Return the vectors of the `count` items that most users like, in their order; None: all."""
    if count is None:
        return embeddings
    likes = dataset.popularity[_rows_of(dataset, embeddings.item_ids)]
    # Stable, so that of items with as many likes the first stays.
    return embeddings.take(np.sort(np.argsort(-likes, kind="stable")[:count]))


def rated_catalogue(
    dataset: Dataset, embeddings: Embeddings, *, distances: str | Sequence[str] = ("cosine",)
) -> Catalogue:
    """Return a catalogue of the embeddings' items, with the data set's columns as attributes.

    Unknown values are None. The attribute ``popularity`` is the number of users in `dataset` who
    liked the item: pass the training users' part of the data if the others are test users.

    Parameters
    ----------
    dataset
        Has at least the items of `embeddings`.
    embeddings
        The relevance features; their order is the catalogue's.
    distances
        By name: ``cosine``, ``angular`` and ``euclidean`` on the embeddings; ``genres``, the
        Jaccard distance of the dataset's categories, if it has any; ``years``, the difference
        of the column ``year``, if there is one. An unknown year counts as the median.
    """
    rows = _rows_of(dataset, embeddings.item_ids)
    table = dataset.item_table.take(rows.tolist())
    names = [distances] if isinstance(distances, str) else list(distances)
    makers = _makers(dataset, rows, table)
    for name in names:
        check_choice("distances", name, makers)
    return Catalogue(
        embeddings.item_ids,
        embeddings.vectors,
        [makers[name][0]() for name in names],
        table.titles,
        {**table_attributes(table), "popularity": dataset.popularity[rows].astype(int).tolist()},
        mean_user=embeddings.mean_user,
        feature_scale=embeddings.scale,
        sources={name: source for name in names if (source := makers[name][1]) is not None},
    )


def _rows_of(dataset: Dataset, item_ids: Sequence[str]) -> IndexArray:
    row_of = {item: row for row, item in enumerate(dataset.item_ids)}
    for item in item_ids:
        if item not in row_of:
            raise NotFoundError(
                f"no item {item!r} in `dataset` {dataset.name!r}: "
                "its items must include those of `embeddings`"
            )
    return np.array([row_of[item] for item in item_ids], dtype=np.intp)


def _makers(
    dataset: Dataset, rows: IndexArray, table: ItemTable
) -> dict[str, tuple[Callable[[], Distance], ColumnSource | None]]:
    """Return a maker of each possible distance, and its source attribute."""
    makers: dict[str, tuple[Callable[[], Distance], ColumnSource | None]] = {
        "cosine": (cosine, None),
        "angular": (angular, None),
        "euclidean": (euclidean, None),
    }
    categories, column = [dataset.categories[row] for row in rows], dataset.category_column
    if any(categories):
        source = ColumnSource(column, "list" if column in table.lists else "single")
        makers["genres"] = partial(jaccard, categories, name="genres"), source
    years = table.numbers.get("year")
    if years is not None and not np.isnan(years).all():
        middle = float(np.nanmedian(years))
        filled = np.where(np.isnan(years), middle, years)
        source = ColumnSource("year", "number", middle)
        makers["years"] = partial(difference, filled, name="years"), source
    return makers
