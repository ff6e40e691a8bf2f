"""What a catalogue holds once items were added or changed."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray, check_choice, check_numbers, set_read_only
from variegate.errors import InputError
from variegate.model.catalogue_checks import id_texts
from variegate.model.catalogue_file import Contents
from variegate.model.distances import Distance, distance_of_values
from variegate.model.encoder import VectorSource, attribute_table


def with_items(
    old: Contents,
    ids: Iterable[object],
    features: ArrayLike,
    distances: Mapping[str, Distance],
    titles: Iterable[str] | None,
    attributes: Mapping[str, Sequence[Any]],
) -> Contents:
    """Return the contents with more items after the old ones; see `Catalogue.extended`."""
    new_ids = id_texts(ids)
    rows = _checked_features(features, old)
    return replace(
        old,
        ids=old.ids + new_ids,
        features=set_read_only(np.vstack([old.features, rows])),
        distances=tuple(_extended(h, rows, distances) for h in old.distances),
        titles=old.titles + (new_ids if titles is None else tuple(map(str, titles))),
        attributes={
            name: (*column, *attributes.get(name, [None] * len(new_ids)))
            for name, column in old.attributes.items()
        },
    )


def first_of(old: Contents, items: int) -> Contents:
    """Return the contents of the first `items`; see `Catalogue.first`."""
    return replace(
        old,
        ids=old.ids[:items],
        features=old.features[:items],
        distances=tuple(replace(h, data=h.rows[:items]) for h in old.distances),
        titles=old.titles[:items],
        attributes={name: column[:items] for name, column in old.attributes.items()},
    )


def with_changes(
    old: Contents,
    items: IndexArray,
    features: ArrayLike,
    distances: Mapping[str, Distance],
    titles: Iterable[str] | None,
    attributes: Mapping[str, Sequence[Any]],
) -> Contents:
    """Return the contents with other data at the rows `items`; see `Catalogue.changed`."""
    if len(np.unique(items)) < len(items):
        twice = next(row for row in items if np.count_nonzero(items == row) > 1)
        raise InputError(f"`ids` must be distinct, got {old.ids[twice]!r} twice")
    rows = _checked_features(features, old)
    if len(rows) != len(items):
        raise InputError(f"`features` must have {len(items)} rows, got {len(rows)}")
    for name in distances:
        check_choice("distances", name, [h.name for h in old.distances])
    for name in attributes:
        check_choice("attributes", name, old.attributes)
    table = old.features.copy()
    table[items] = rows
    return replace(
        old,
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


def with_columns(old: Contents, columns: Mapping[str, ArrayLike]) -> Contents:
    """Return the contents with more features; see `Catalogue.with_features`."""
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
    return replace(
        old,
        features=set_read_only(np.column_stack([old.features, *more.values()])),
        # They go on with the data that they have: a wider vector would turn their angles.
        distances=tuple(replace(h, on_features=False) for h in old.distances),
        feature_names=(*old.feature_names, *more),
        mean_user=None if old.mean_user is None else np.append(old.mean_user, np.zeros(len(more))),
        sources=sources,
    )


def _checked_features(features: ArrayLike, old: Contents) -> FloatArray:
    rows, d = check_numbers("features", features, ndim=2), old.features.shape[1]
    if rows.shape[1] != d:
        raise InputError(f"`features` must have {d} columns, got {rows.shape[1]}")
    return rows


def _extended(h: Distance, rows: FloatArray, given: Mapping[str, Distance]) -> Distance:
    if h.name in given:
        return h.extended(given[h.name])
    if h.on_features:
        return h.extended(_of_features(h, rows))
    raise InputError(
        f"`distances` must have the new items' data for {h.name!r}, got {sorted(given)}"
    )


def _changed(
    h: Distance, items: IndexArray, rows: FloatArray, given: Mapping[str, Distance]
) -> Distance:
    if not h.on_features:
        return h.changed(items, given[h.name]) if h.name in given else h
    if h.name in given:
        raise InputError(f"distance `{h.name}` is worked out on the features and takes no data")
    return h.changed(items, _of_features(h, rows))


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
    """Return the column with `values`, made a `kind` of, at the rows `items`."""
    changed, new = list(column), list(values)
    if len(new) != len(items):
        raise InputError(f"`{name}` must have {len(items)} entries, got {len(new)}")
    for row, value in zip(items.tolist(), new, strict=True):
        changed[row] = value if kind is None else kind(value)
    return tuple(changed)


# Features and distances of items from their attributes, by the catalogue's own encoder.


def encoded_distances(
    contents: Contents,
    items: int,
    attributes: Mapping[str, Sequence[Any]],
    changed: Collection[str] | None,
) -> dict[str, list[Any]]:
    """Return what attributes come to; see `Catalogue.encoded_distances`."""
    return {
        name: source.values(items, attributes)
        for name, source in contents.sources.items()
        if changed is None or not set(changed).isdisjoint(source.attributes)
    }


def with_attributes(
    old: Contents,
    ids: Sequence[str],
    items: IndexArray,
    attributes: Mapping[str, Sequence[Any]],
) -> Contents:
    """Return the contents with other attributes; see `Catalogue.with_attributes`."""
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


def check_encoding(contents: Contents) -> None:
    """Raise InputError where an encoder or a source does not fit the features and distances."""
    encoder, names = contents.encoder, contents.feature_names
    if encoder is not None and encoder.names != names[: len(encoder.names)]:
        raise InputError(
            f"`encoder` must give the features {list(names)[:5]} (the first of {len(names)}), "
            f"got {list(encoder.names)[:5]} (of {len(encoder.names)})"
        )
    own = [h.name for h in contents.distances if not h.on_features]
    for name in contents.sources:
        check_choice("sources", name, own)


def encoded_features(
    contents: Contents,
    ids: Sequence[str],
    attributes: Mapping[str, Sequence[Any]],
    changed: Collection[str] | None,
    before: FloatArray | None,
) -> FloatArray | None:
    """Return what attributes come to; see `Catalogue.encoded_features`."""
    encoder = contents.encoder
    if encoder is None:
        return None
    if changed is not None and set(changed).isdisjoint(encoder.attributes):
        return before
    made, known = encoder.encoded(attribute_table(encoder, ids, attributes))
    if not known.all():
        raise InputError(
            f"`attributes` must leave something known of item {ids[int(known.argmin())]!r} that "
            f"features are made from: {', '.join(dict.fromkeys(encoder.attributes))}"
        )
    if before is None:
        return made if made.shape[1] == contents.features.shape[1] else None
    features = np.array(before)
    for name, place in zip(encoder.attributes, encoder.places, strict=True):
        if changed is None or name in changed:
            features[:, place] = made[:, place]
    return features
