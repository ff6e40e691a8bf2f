"""Catalogues with items, features or attributes added or changed: methods of `Catalogue`."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray, check_choice, check_numbers, set_read_only
from variegate.errors import InputError
from variegate.model.catalogue_checks import as_texts
from variegate.model.distances import Distance, distance_of_values
from variegate.model.encoder import VectorSource, attribute_table
from variegate.model.neighbours import reference_rows, similar_items

if TYPE_CHECKING:
    from variegate.model.catalogue import Catalogue


def with_items(
    old: "Catalogue",
    ids: tuple[str, ...],
    features: ArrayLike,
    distances: Mapping[str, Distance],
    titles: Iterable[str] | None,
    attributes: Mapping[str, Sequence[Any]],
) -> "Catalogue":
    """Return the catalogue with more items after the old ones."""
    rows = _check_columns(features, old)
    made = old.replace(
        ids=old.ids + ids,
        features=set_read_only(np.vstack([old.features, rows])),
        distances=tuple(_extended(h, rows, distances) for h in old.distances),
        titles=old.titles + (ids if titles is None else as_texts(titles, "titles")),
        attributes={
            name: (*column, *attributes.get(name, [None] * len(ids)))
            for name, column in old.attributes.items()
        },
    )
    return made.reuse_index(old, np.arange(len(old), len(made)))


def with_changes(
    old: "Catalogue",
    items: IndexArray,
    features: ArrayLike,
    distances: Mapping[str, Distance],
    titles: Iterable[str] | None,
    attributes: Mapping[str, Sequence[Any]],
) -> "Catalogue":
    """Return the catalogue with new data at the rows `items`."""
    if len(np.unique(items)) < len(items):
        twice = next(row for row in items if np.count_nonzero(items == row) > 1)
        raise InputError(f"`ids` must be distinct, got {old.ids[twice]!r} twice")
    rows = _check_columns(features, old)
    if len(rows) != len(items):
        raise InputError(f"`features` must have {len(items)} rows, got {len(rows)}")
    for name in distances:
        check_choice("distances", name, [h.name for h in old.distances])
    for name in attributes:
        check_choice("attributes", name, old.attributes)
    table = old.features.copy()
    table[items] = rows
    made = old.replace(
        features=set_read_only(table),
        distances=tuple(_changed(h, items, rows, distances) for h in old.distances),
        titles=old.titles if titles is None else _put("titles", old.titles, items, titles, str),
        attributes={
            name: _put(f"attributes[{name!r}]", column, items, attributes[name])
            if name in attributes
            else column
            for name, column in old.attributes.items()
        },
    )
    return made.reuse_index(old, items)


def with_features(old: "Catalogue", columns: Mapping[str, ArrayLike]) -> "Catalogue":
    """Return the catalogue with more features."""
    more = {}
    for name, values in columns.items():
        column = more[str(name)] = check_numbers(str(name), values, ndim=1)
        if len(column) != len(old.ids):
            raise InputError(f"`{name}` must have {len(old.ids)} values, got {len(column)}")
        if name in old.feature_names:
            raise InputError(f"`columns` must have new names, got {name!r}, a feature already")
    encoder, sources = old.encoder, dict(old.sources)
    if encoder is not None:
        sources |= {h.name: VectorSource(encoder) for h in old.distances if h.on_features}
    made = old.replace(
        features=set_read_only(np.column_stack([old.features, *more.values()])),
        # They keep their data: a wider vector would change the angles.
        distances=tuple(replace(h, on_features=False) for h in old.distances),
        feature_names=(*old.feature_names, *more),
        mean_user=None if old.mean_user is None else np.append(old.mean_user, np.zeros(len(more))),
        sources=sources,
    )
    return made.reuse_index(old, np.arange(0))


def _check_columns(features: ArrayLike, old: "Catalogue") -> FloatArray:
    rows, d = check_numbers("features", features, ndim=2), old.features.shape[1]
    if rows.shape[1] != d:
        raise InputError(f"`features` must have {d} columns, got {rows.shape[1]}")
    return rows


def _extended(h: Distance, rows: FloatArray, given: Mapping[str, Distance]) -> Distance:
    if h.name in given:
        return h.with_items(given[h.name])
    if h.on_features:
        return h.with_items(_of_features(h, rows))
    raise InputError(
        f"`distances` must have the new items' data for {h.name!r}, got {sorted(given)}"
    )


def _changed(
    h: Distance, items: IndexArray, rows: FloatArray, given: Mapping[str, Distance]
) -> Distance:
    if not h.on_features:
        return h.with_changes(items, given[h.name]) if h.name in given else h
    if h.name in given:
        raise InputError(f"distance `{h.name}` is computed on the features and takes no data")
    return h.with_changes(items, _of_features(h, rows))


def _of_features(h: Distance, rows: FloatArray) -> Distance:
    """Return the distance with the features of some items as its data."""
    return Distance(h.formula, h.name).bound_to(rows)


def _put(
    name: str,
    column: tuple[Any, ...],
    items: IndexArray,
    values: Iterable[Any],
    kind: type[Any] | None = None,
) -> tuple[Any, ...]:
    """Return the column with `values`, converted to `kind`, at the rows `items`."""
    changed, new = list(column), list(values)
    if len(new) != len(items):
        raise InputError(f"`{name}` must have {len(items)} entries, got {len(new)}")
    for row, value in zip(items.tolist(), new, strict=True):
        changed[row] = value if kind is None else kind(value)
    return tuple(changed)


def encoded_distances(
    catalogue: "Catalogue",
    items: int,
    attributes: Mapping[str, Sequence[Any]],
    changed: Collection[str] | None,
) -> dict[str, list[Any]]:
    """Return the values of distances encoded from attributes."""
    return {
        name: source.values(items, attributes)
        for name, source in catalogue.sources.items()
        if changed is None or not set(changed).isdisjoint(source.attributes)
    }


def with_attributes(
    old: "Catalogue", ids: Sequence[str], attributes: Mapping[str, Sequence[Any]]
) -> "Catalogue":
    """Return the catalogue with new attributes of the items `ids`."""
    items = old.rows(ids)
    for name, column in attributes.items():
        check_choice("attributes", name, old.attributes)
        if len(column) != len(ids):
            raise InputError(
                f"`attributes[{name!r}]` must have {len(ids)} entries, got {len(column)}"
            )
    rows = items.tolist()
    merged = {
        name: attributes.get(name, [column[row] for row in rows])
        for name, column in old.attributes.items()
    }
    before = old.features[items]
    made = encoded_features(old, ids, merged, set(attributes), before)
    values = encoded_distances(old, len(ids), merged, set(attributes))
    by_name = {h.name: h for h in old.distances}
    data = {name: distance_of_values(by_name[name], values[name]) for name in values}
    return with_changes(old, items, before if made is None else made, data, None, attributes)


def encoded_features(
    catalogue: "Catalogue",
    ids: Sequence[str],
    attributes: Mapping[str, Sequence[Any]],
    changed: Collection[str] | None,
    before: FloatArray | None,
) -> FloatArray | None:
    """Return the features encoded from attributes."""
    encoder = catalogue.encoder
    if encoder is None:
        return None
    if changed is not None and set(changed).isdisjoint(encoder.attributes):
        return before
    made, known = encoder.encoded(attribute_table(encoder, ids, attributes))
    if not known.all():
        raise InputError(
            f"`attributes` must have a known value for item {ids[int(known.argmin())]!r} in one "
            f"of those that features are made from: {', '.join(dict.fromkeys(encoder.attributes))}"
        )
    if before is None:
        return _with_predicted(catalogue, made)
    features = np.array(before)
    for name, place in zip(encoder.attributes, encoder.places, strict=True):
        if changed is None or name in changed:
            features[:, place] = made[:, place]
    return features


def _with_predicted(catalogue: "Catalogue", made: FloatArray) -> FloatArray:
    """Return encoded features with those that are not encoded, such as popularity, after them.

    These are predicted from the items whose encoded features are most similar.
    """
    width, known = made.shape[1], catalogue.features
    if width == known.shape[1]:
        return made
    searched = reference_rows(len(known))
    rows, weights = similar_items(known[searched, :width], made)
    others = known[searched[rows], width:]
    return np.hstack([made, np.einsum("nk,nkf->nf", weights, others)])
