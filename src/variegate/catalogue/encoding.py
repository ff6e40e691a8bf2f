"""Features and distances of items from their attributes, by the catalogue's own encoder."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from variegate.arrays import FloatArray, IndexArray, check_choice
from variegate.catalogue.changes import with_changes
from variegate.catalogue.file import Contents
from variegate.content.attributes import attribute_table
from variegate.distances import distance_of_values
from variegate.errors import InputError


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
