"""The catalogue in two dimensions, so that variety is something one sees."""

from collections import Counter
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.engine.catalogue import CatalogueSnapshot, plain_attributes
from variegate.model.catalogue import Catalogue

#: Items on the map, at most.
MOST_ITEMS: Final = 5000
#: Groups with a name of their own, at most.
MOST_GROUPS: Final = 8
OTHERS: Final = "other"


def map_view(snapshot: CatalogueSnapshot) -> dict[str, Any]:
    """Return the items that are not retired, evenly sampled where they are many.

    Two items that are alike lie close together: the places are the first two principal components
    of the features, each feature scaled to the same spread.
    """
    catalogue = snapshot.catalogue
    rows = evenly(np.flatnonzero(snapshot.active), MOST_ITEMS)
    places, explained = _components(catalogue.features[rows])
    groups, group = _grouped(catalogue, rows)
    return {
        "ids": [catalogue.ids[row] for row in rows],
        "titles": [catalogue.titles[row] for row in rows],
        "x": np.round(places[:, 0], 5).tolist(),
        "y": np.round(places[:, 1], 5).tolist(),
        "group": group,
        "groups": groups,
        "explained": explained,
    }


def evenly(rows: IndexArray, most: int) -> IndexArray:
    """Return at most `most` of the rows, with the same step between them."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]


def _components(features: FloatArray) -> tuple[FloatArray, float]:
    """Return two coordinates for each item, from -1 to 1, and the share of the variance in them."""
    spread = features.std(axis=0)
    told = spread > 1e-12
    table = (features[:, told] - features[:, told].mean(axis=0)) / spread[told]
    if table.shape[1] == 0:
        return np.zeros((len(features), 2)), 1.0
    variances, directions = np.linalg.eigh(table.T @ table / len(table))
    first = directions[:, ::-1][:, :2]
    # A direction is as good as its opposite: the largest weight is made positive.
    first = first * np.sign(first[np.abs(first).argmax(axis=0), np.arange(first.shape[1])])
    places = np.zeros((len(table), 2))
    places[:, : first.shape[1]] = table @ first
    share = float(variances[::-1][:2].sum() / variances.sum())
    low, high = places.min(axis=0), places.max(axis=0)
    return (2.0 * places - low - high) / np.maximum(high - low, 1e-12), min(share, 1.0)


def _grouped(catalogue: Catalogue, rows: IndexArray) -> tuple[list[str], list[int]]:
    """Return the names of the groups, the largest first, and each item's."""
    labels = _labels(catalogue, rows)
    known = [name for name, _ in Counter(filter(None, labels)).most_common(MOST_GROUPS)]
    place = {name: index for index, name in enumerate(known)}
    group = [place.get(label, len(known)) for label in labels]
    return ([*known, OTHERS] if len(known) in group else known), group


def _labels(catalogue: Catalogue, rows: IndexArray) -> list[str]:
    """Return a label for each item: the first of the first attribute that groups the items.

    That is one of texts or of lists, in which values come again: a description would not do.
    """
    details = [plain_attributes(catalogue, int(row)) for row in rows]
    for name in catalogue.attributes:
        labels = [_label(one[name]) for one in details]
        told = [label for label in labels if label]
        if told and 2 * len(set(told)) <= len(told):
            return labels
    return [""] * len(rows)


def _label(value: Any) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    return value if isinstance(value, str) else ""
