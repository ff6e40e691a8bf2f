"""A distance's data from plain values, such as JSON has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from variegate.arrays import frozen
from variegate.distances.distance import Distance
from variegate.distances.makers import difference, hamming, jaccard
from variegate.errors import InputError

#: Larger numbers cannot be squared and summed; see `Catalogue`.
LARGEST: Final = 1e100


def distance_of_values(like: Distance, values: Sequence[Any]) -> Distance:
    """Return a distance of the kind of `like` over new items, one plain value an item.

    It is what `Catalogue.extended` and `Catalogue.changed` take. Labels may be new.

    Parameters
    ----------
    like
        A distance of the catalogue, with data of its own.
    values
        For each item: Jaccard a list of labels, Hamming a label, difference a number, and
        cosine, angular, Euclidean and custom distances a list of numbers. Labels are text or
        numbers.

    Examples
    --------
    >>> genres = jaccard([["drama"], ["drama", "war"]], name="genres")
    >>> new = distance_of_values(genres, [["war", "anime"]])
    >>> genres.extended(new).labels
    ('drama', 'war', 'anime')
    """
    if like.on_features:
        raise InputError(f"distance `{like.name}` is worked out on the features and takes no data")
    if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence):
        raise InputError(f"`values` must be a list with a value for each item, got {values!r}")
    kind = _KINDS.get(like.formula.name, _VECTOR)
    for place, value in enumerate(values):
        if not kind.fits(value, like):
            raise InputError(
                f"distance `{like.name}` must have {kind.wanted(like)} for each item, "
                f"got {_shown(value)} for item {place}"
            )
    made = kind.make(values, like)
    return replace(made, name=like.name, scale=like.scale)


class _Kind(NamedTuple):
    """How values of one kind are looked at, spoken of and turned into a distance."""

    fits: Callable[[Any, Distance], bool]
    wanted: Callable[[Distance], str]
    make: Callable[[Sequence[Any], Distance], Distance]


def _is_number(value: Any) -> bool:
    is_real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_real and -LARGEST <= value <= LARGEST


def _is_label(value: Any) -> bool:
    return isinstance(value, str) or _is_number(value)


def _is_list_of(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, (list, tuple, set, frozenset)) and all(map(fits, value))


def _is_vector(value: Any, like: Distance) -> bool:
    is_ordered = isinstance(value, (list, tuple)) and len(value) == like.rows.shape[1]
    return is_ordered and all(map(_is_number, value))


def _of_vectors(values: Sequence[Any], like: Distance) -> Distance:
    rows = np.array(values, dtype=np.float64).reshape(len(values), like.rows.shape[1])
    return replace(like, data=frozen(like.formula.prepare(rows)))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


_VECTOR: Final = _Kind(
    _is_vector, lambda like: f"a list of {like.rows.shape[1]} numbers", _of_vectors
)
#: The others have vectors.
_KINDS: Final[Mapping[str, _Kind]] = MappingProxyType(
    {
        "jaccard": _Kind(
            lambda value, _like: _is_list_of(value, _is_label),
            lambda _like: "a list of labels",
            lambda values, _like: jaccard(values),
        ),
        "hamming": _Kind(
            lambda value, _like: _is_label(value),
            lambda _like: "a label",
            lambda values, _like: hamming(values),
        ),
        "difference": _Kind(
            lambda value, _like: _is_number(value),
            lambda _like: "a number",
            lambda values, like: difference(values, scale=like.scale),
        ),
    }
)
