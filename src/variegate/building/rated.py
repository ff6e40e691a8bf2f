"""A catalogue of what people rated, on embeddings of their likes."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from variegate.arrays import IndexArray, check_choice
from variegate.building.content import table_attributes
from variegate.catalogue import Catalogue
from variegate.content import ColumnSource
from variegate.datasets import Dataset
from variegate.datasets.items import ItemTable
from variegate.distances import Distance, angular, cosine, difference, euclidean, jaccard
from variegate.embeddings import Embeddings
from variegate.errors import NotFoundError


def rated_catalogue(
    dataset: Dataset, embeddings: Embeddings, *, distances: str | Sequence[str] = ("cosine",)
) -> Catalogue:
    """Return a catalogue of the embeddings' items, with what the dataset says of them.

    Every column of the item table becomes an attribute (None where a value is not known), and
    so does ``popularity``, the number of users in `dataset` who liked the item: give the
    training users' part of the data where the others are to be tested on.

    Parameters
    ----------
    dataset
        Has at least the items of `embeddings`.
    embeddings
        The relevance features; their order is the catalogue's.
    distances
        By name: ``cosine``, ``angular`` and ``euclidean`` on the embeddings; ``genres``, the
        Jaccard distance of the dataset's categories, if it has any; ``years``, the difference
        of the column ``year``, if there is one. An item whose year is not known is given the
        median year there, so that it is far from nothing for that alone.
    """
    rows = _rows_of(dataset, embeddings.item_ids)
    about = dataset.about.taken(rows.tolist())
    names = [distances] if isinstance(distances, str) else list(distances)
    makers = _makers(dataset, rows, about)
    for name in names:
        check_choice("distances", name, makers)
    return Catalogue(
        embeddings.item_ids,
        embeddings.vectors,
        [makers[name][0]() for name in names],
        about.titles,
        {**table_attributes(about), "popularity": dataset.popularity[rows].astype(int).tolist()},
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
    dataset: Dataset, rows: IndexArray, about: ItemTable
) -> dict[str, tuple[Callable[[], Distance], ColumnSource | None]]:
    """Return what makes each distance that there can be, and which attribute it is made from."""
    makers: dict[str, tuple[Callable[[], Distance], ColumnSource | None]] = {
        "cosine": (cosine, None),
        "angular": (angular, None),
        "euclidean": (euclidean, None),
    }
    categories, column = [dataset.categories[row] for row in rows], dataset.category_column
    if any(categories):
        source = ColumnSource(column, "list" if column in about.lists else "single")
        makers["genres"] = partial(jaccard, categories, name="genres"), source
    years = about.numbers.get("year")
    if years is not None and not np.isnan(years).all():
        middle = float(np.nanmedian(years))
        filled = np.where(np.isnan(years), middle, years)
        source = ColumnSource("year", "number", middle)
        makers["years"] = partial(difference, filled, name="years"), source
    return makers
