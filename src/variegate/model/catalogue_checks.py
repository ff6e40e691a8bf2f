"""Checks of what a catalogue is made of: ids, features, distances, rows."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray, as_indices, check_numbers, read_only_copy
from variegate.errors import InputError
from variegate.model.distances import FORMULAS, Distance

#: Squares of larger numbers, summed, overflow.
LARGEST_FEATURE: Final = 1e100
#: What a user learns grows with the square of their number: 1 MB with so many.
MAX_FEATURES: Final = 512


def check_features(features: ArrayLike, items: int) -> FloatArray:
    """Return the features, one row for each of `items`, read-only, or raise InputError."""
    array = check_numbers("features", features, ndim=2)
    if array.shape[0] != items or array.shape[1] < 1:
        raise InputError(
            f"`features` must have {items} rows (one for each id) and at least 1 column, "
            f"got shape {array.shape}"
        )
    width = array.shape[1]
    if width > MAX_FEATURES:
        raise InputError(
            f"`features` must have at most {MAX_FEATURES} columns, got {width}: what each user "
            f"learns would take {4e-6 * width * (width + 3):.1f} MB, and a list seconds. Long "
            "vectors serve the distances: `vector_catalogue` (`variegate build vectors --features "
            "pca:16`) makes a few features of them; or give features of your own, and "
            "`distances=cosine(vectors)`"
        )
    largest = float(np.abs(array).max(initial=0.0))
    if largest > LARGEST_FEATURE:
        raise InputError(
            f"`features` must be at most {LARGEST_FEATURE:g} in size, got {largest:g}: learning "
            "squares them, so scale them down"
        )
    return read_only_copy(array)


def check_distances(
    distances: str | Distance | Sequence[str | Distance], features: FloatArray
) -> tuple[Distance, ...]:
    """Return the distances with data for every row of `features`, or raise InputError."""
    if isinstance(distances, (str, Distance)):
        distances = [distances]
    bound = tuple(_as_distance(h).bound_to(features) for h in distances)
    for h in bound:
        if len(h) != len(features):
            raise InputError(
                f"distance `{h.name}` must have data for {len(features)} items, got {len(h)}"
            )
    names = [h.name for h in bound]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"`distances` must have distinct names, got {name!r} twice")
    return bound


def _as_distance(h: str | Distance) -> Distance:
    if isinstance(h, Distance):
        return h
    if h in ("cosine", "angular", "euclidean"):
        return Distance(FORMULAS[h], h)
    raise InputError(
        f"`distances` by name can be cosine, angular or euclidean, got {h!r}: "
        "the others need data, see variegate.model.distances"
    )


def check_rows(name: str, rows: ArrayLike, items: int) -> IndexArray:
    """Return the row numbers of a list or a mask, or raise InputError."""
    hint = ": catalogue.rows(ids) returns the row numbers of ids"
    array = as_indices(name, rows, items, "row numbers", hint)
    outside = array[(array < 0) | (array >= items)]
    if outside.size:
        raise InputError(f"`{name}` must hold rows from 0 to {items - 1}, got {int(outside[0])}")
    return array


def check_ids(ids: Iterable[object], *, is_open: bool = False) -> tuple[str, ...]:
    """Return the ids as distinct texts: at least one, and none for an open catalogue."""
    texts = as_texts(ids)
    if is_open and texts:
        raise InputError(
            f"`ids` must be empty for an open catalogue, got {len(texts)}: its items come with "
            "each request, as `candidates`"
        )
    if not (texts or is_open):
        raise InputError("`ids` must name at least one item, got none")
    seen: set[str] = set()
    for text in texts:
        if text in seen:
            raise InputError(f"`ids` must be distinct, got {text!r} twice")
        if not text:
            raise InputError("`ids` must not be empty text, got ''")
        seen.add(text)
    return texts


def as_texts(values: Iterable[object], name: str = "ids") -> tuple[str, ...]:
    """Return each value as text; a single text, which would be split into letters, is an error."""
    if isinstance(values, str):
        raise InputError(f"`{name}` must be one {name[:-1]} for each item, got the text {values!r}")
    # Not with `map`: other threads could not run until it has converted all of them.
    return tuple([str(value) for value in values])
