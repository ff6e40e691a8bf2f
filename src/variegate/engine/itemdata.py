"""The data of single items as requests and the store have them: plain values by name."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray, check_numbers
from variegate.errors import InputError
from variegate.kernels.layout import LARGEST
from variegate.model.catalogue import Catalogue
from variegate.model.distances import Distance, distance_of_values
from variegate.store import ItemRow

#: Labels of one item for one distance: each new one is a column for all items.
MOST_LABELS: Final = 1000


def item_values(catalogue: Catalogue, row: int) -> dict[str, Any]:
    """Return all that is known of an item, as `item_data` would take it."""
    return {
        "title": catalogue.titles[row],
        "attributes": plain_attributes(catalogue, row),
        "features": catalogue.features[row].tolist(),
        "distances": {h.name: _value(h, row) for h in catalogue.distances if not h.on_features},
    }


def plain_attributes(catalogue: Catalogue, row: int) -> dict[str, Any]:
    """Return an item's attributes as JSON can hold them."""
    return {name: _plain(column[row]) for name, column in catalogue.attributes.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def _value(h: Distance, row: int) -> Any:
    data = h.rows[row]
    if h.formula.name == "jaccard":
        return [h.labels[i] for i in np.flatnonzero(data)]
    if h.formula.name == "hamming":
        return h.labels[int(data[0])]
    return float(data[0]) if h.formula.name == "difference" else data.tolist()


def item_data(catalogue: Catalogue, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new or changed item's data, checked against the catalogue, as the store keeps it."""
    data = {**request, "features": _vector(catalogue, request.get("features"))}
    own = [h.name for h in catalogue.distances if not h.on_features]
    _check_names("attributes", data, list(catalogue.attributes))
    _check_names("distances", data, own)
    _check_size("features", np.array(data["features"]))
    for name, h in _distances(catalogue, [ItemRow(0, "?", False, data)]).items():
        _check_size(f"distances.{name}", h.rows)
        if len(h.labels) > MOST_LABELS:
            raise InputError(
                f"`distances.{name}` must be at most {MOST_LABELS} labels, got {len(h.labels)}"
            )
    return data


def with_attributes_of_known(
    catalogue: Catalogue, row: int, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a known item's data with what is given, and with what its attributes come to.

    Features and distances that are given win over those that are made from attributes.
    """
    known, changed = item_values(catalogue, row), given.get("attributes", {})
    _check_names("attributes", given, list(catalogue.attributes))
    attributes = {**known["attributes"], **changed}
    columns = {name: [value] for name, value in attributes.items()}
    data = {**known, **given, "attributes": attributes}
    if "features" not in given:
        before = catalogue.features[[row]]
        made = catalogue.encoded_features(
            [catalogue.ids[row]], columns, changed=changed, before=before
        )
        data["features"] = (before if made is None else made)[0].tolist()
    made_distances = catalogue.encoded_distances(1, columns, changed=changed)
    distances = {name: values[0] for name, values in made_distances.items()}
    data["distances"] = {**known["distances"], **distances, **given.get("distances", {})}
    return data


def with_attributes_of_new(
    catalogue: Catalogue, item: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a new item's data, with what its attributes come to where that is not given.

    Without an encoder, a distance is made only from an attribute that is named: what is not known
    of the item must be given.
    """
    _check_names("attributes", given, list(catalogue.attributes))
    attributes, data = given.get("attributes", {}), dict(given)
    columns = {name: [value] for name, value in attributes.items()}
    if "features" not in given:
        made = catalogue.encoded_features([item], columns) if attributes else None
        if made is None:
            raise _features_missing(catalogue, item)
        data["features"] = made[0].tolist()
    is_encoded = catalogue.encoder is not None and bool(attributes)
    made_distances = catalogue.encoded_distances(
        1, columns, changed=None if is_encoded else set(attributes)
    )
    distances = {name: values[0] for name, values in made_distances.items()}
    data["distances"] = {**distances, **given.get("distances", {})}
    return data


def _features_missing(catalogue: Catalogue, item: str) -> InputError:
    encoder = catalogue.encoder
    if encoder is None:
        why = "this catalogue has no encoder that makes them from attributes"
    elif len(encoder.names) < catalogue.d:
        why = f"{catalogue.d - len(encoder.names)} of them are not made from attributes"
    else:
        why = f"or else `attributes`: {', '.join(dict.fromkeys(encoder.attributes))}"
    return InputError(f"`features` must be given for the new item {item!r}: {why}")


def _check_size(field: str, numbers: FloatArray) -> None:
    """Raise InputError for a number with which nobody's lists would be compiled any more."""
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest > LARGEST:
        raise InputError(
            f"`{field}` must be numbers of at most {LARGEST:g} in size, got {largest:g}"
        )


def _check_names(part: str, data: Mapping[str, Any], known: Sequence[str]) -> None:
    unknown = sorted(set(data.get(part) or {}) - set(known))
    if unknown:
        raise InputError(f"`{part}` must be among {sorted(known)}, got {unknown[0]!r}")


def _vector(catalogue: Catalogue, features: Any) -> list[float]:
    if isinstance(features, Mapping):
        _check_names("features", {"features": features}, catalogue.feature_names)
        features = [features.get(name, 0.0) for name in catalogue.feature_names]
    vector = check_numbers("features", features, ndim=1)
    if len(vector) != catalogue.d:
        raise InputError(
            f"`features` must be {catalogue.d} numbers, or numbers by the features' names, "
            f"got {len(vector)}"
        )
    numbers: list[float] = vector.tolist()
    return numbers


def columns_of(
    catalogue: Catalogue, rows: Sequence[ItemRow], *, new_items: bool
) -> tuple[list[str], FloatArray, dict[str, Distance], list[str], dict[str, list[Any]]]:
    """Return ids, features, distances, titles and attributes as the catalogue takes them."""
    data = [row.data or {} for row in rows]
    titles = [str(d.get("title") or row.id) for d, row in zip(data, rows, strict=True)]
    known = catalogue.attributes
    places = [None] * len(rows) if new_items else catalogue.rows([row.id for row in rows]).tolist()
    attributes = {
        name: [
            (d.get("attributes") or {}).get(name, None if at is None else known[name][at])
            for d, at in zip(data, places, strict=True)
        ]
        for name in known
    }
    features = np.array([d["features"] for d in data], dtype=np.float64)
    return [row.id for row in rows], features, _distances(catalogue, rows), titles, attributes


def _distances(catalogue: Catalogue, rows: Sequence[ItemRow]) -> dict[str, Distance]:
    found = {}
    for h in catalogue.distances:
        if h.on_features:
            continue
        given = [(row.data or {}).get("distances") or {} for row in rows]
        for values in given:
            if h.name not in values:
                raise InputError(f"`distances` must have a value for {h.name!r}")
        found[h.name] = distance_of_values(h, [values[h.name] for values in given])
    return found
