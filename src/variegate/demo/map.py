"""A map of the catalogue in two dimensions."""

from collections import Counter
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.engine.catalogue import CatalogueSnapshot, plain_attributes
from variegate.model.catalogue import Catalogue

#: Items on the map, at most.
MAX_ITEMS: Final = 5000
#: Named groups, at most.
MAX_GROUPS: Final = 8
OTHERS: Final = "other"


def map_view(snapshot: CatalogueSnapshot) -> dict[str, Any]:
    """Return the places of the items that are not retired; evenly sampled if they are many.

    The places are the first two principal components of the standardised features: similar items
    are close together.
    """
    catalogue = snapshot.catalogue
    rows = sample_evenly(np.flatnonzero(snapshot.active), MAX_ITEMS)
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


def sample_evenly(rows: IndexArray, max_rows: int) -> IndexArray:
    """Return at most `max_rows` of the rows, with the same step between them."""
    if len(rows) <= max_rows:
        return rows
    return rows[np.linspace(0, len(rows) - 1, max_rows).astype(np.intp)]


def _components(features: FloatArray) -> tuple[FloatArray, float]:
    """Return two coordinates for each item, from -1 to 1, and the share of the variance in them."""
    deviations = features.std(axis=0)
    varied = deviations > 1e-12
    table = (features[:, varied] - features[:, varied].mean(axis=0)) / deviations[varied]
    if table.shape[1] == 0:
        return np.zeros((len(features), 2)), 1.0
    variances, directions = np.linalg.eigh(table.T @ table / len(table))
    first = directions[:, ::-1][:, :2]
    # The sign of a component is arbitrary: the largest weight is made positive.
    first = first * np.sign(first[np.abs(first).argmax(axis=0), np.arange(first.shape[1])])
    places = np.zeros((len(table), 2))
    places[:, : first.shape[1]] = table @ first
    share = float(variances[::-1][:2].sum() / variances.sum())
    low, high = places.min(axis=0), places.max(axis=0)
    return (2.0 * places - low - high) / np.maximum(high - low, 1e-12), min(share, 1.0)


def _grouped(catalogue: Catalogue, rows: IndexArray) -> tuple[list[str], list[int]]:
    """Return the names of the groups, the largest first, and the group of each item."""
    labels = _labels(catalogue, rows)
    known = [name for name, _ in Counter(filter(None, labels)).most_common(MAX_GROUPS)]
    place = {name: index for index, name in enumerate(known)}
    group = [place.get(label, len(known)) for label in labels]
    return ([*known, OTHERS] if len(known) in group else known), group


def _labels(catalogue: Catalogue, rows: IndexArray) -> list[str]:
    """Return a label for each item: its first value of the first attribute that groups the items.

    Such an attribute has texts, or lists of them, that repeat: a description does not.
    """
    details = [plain_attributes(catalogue, int(row)) for row in rows]
    for name in catalogue.attributes:
        labels = [_label(one[name]) for one in details]
        known = [label for label in labels if label]
        if known and 2 * len(set(known)) <= len(known):
            return labels
    return [""] * len(rows)


def _label(value: Any) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    return value if isinstance(value, str) else ""
