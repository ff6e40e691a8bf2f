"""Embeddings: one vector per item, their normalisation and file format."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    IndexArray,
    check_choice,
    check_numbers,
    check_positive,
    read_only_copy,
)
from variegate.errors import DataError, InputError
from variegate.files import FileFormat, atomic_write

#: The methods of `normalise_vectors`; the first is the default.
NORMALISATIONS: Final = ("global", "min-max", "row", "none")


def normalise_vectors(vectors: ArrayLike, how: str = "global") -> tuple[FloatArray, float]:
    """Return the scaled vectors, and the number they were divided by.

    Parameters
    ----------
    vectors
        One row per item, (n, d).
    how
        ``global`` divides all by the largest absolute value, the only method that keeps angles and
        the ranking by any user vector. ``min-max`` scales each column to [-1, 1]. ``row`` scales
        each row to length 1. ``none`` changes nothing.

    Returns
    -------
    The vectors, and the divisor of ``global``; 1 for the other methods. A matrix of zeros, a zero
    row and a constant column (``min-max``) become zeros.

    Examples
    --------
    >>> normalise_vectors([[4.0, 2.0], [0.0, -1.0]])
    (array([[ 1.  ,  0.5 ],
           [ 0.  , -0.25]]), 4.0)
    """
    array = check_numbers("vectors", vectors, ndim=2)
    check_choice("normalise", how, NORMALISATIONS)
    if how == "none" or not array.any():
        return array.copy(), 1.0
    if how == "min-max":
        return _scale_columns(array), 1.0
    if how == "row":
        return _scale_rows(array), 1.0
    scale = float(np.abs(array).max())
    return array / scale, scale


def _scale_columns(array: FloatArray) -> FloatArray:
    moderate = _scale_moderately(array, axis=0)
    lowest = moderate.min(axis=0)
    spread = moderate.max(axis=0) - lowest
    varied = spread > 0
    stretched: FloatArray = 2 * (moderate - lowest) / np.where(varied, spread, 1.0) - 1
    return np.where(varied, stretched, 0.0)


def _scale_rows(array: FloatArray) -> FloatArray:
    moderate = _scale_moderately(array, axis=1)
    lengths = np.linalg.norm(moderate, axis=1, keepdims=True)
    unit: FloatArray = moderate / np.where(lengths > 0, lengths, 1.0)
    return unit


def _scale_moderately(array: FloatArray, *, axis: int) -> FloatArray:
    # Squares and ranges of very large or very small numbers would overflow or underflow.
    largest = np.abs(array).max(axis=axis, keepdims=True)
    scaled: FloatArray = array / np.where(largest > 0, largest, 1.0)
    return scaled


FORMAT: Final = FileFormat("embeddings", 1, "train them again or use the version that wrote them")


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Items with one vector each; immutable."""

    item_ids: tuple[str, ...]
    #: One row per item, normalised, (n, d)
    vectors: FloatArray
    #: The mean of the training users' vectors as they were learnt, (d,); None without users
    mean_user: FloatArray | None = None
    #: The number that `vectors` were divided by after `mean_user` was learnt
    scale: float = 1.0
    #: How they were made, as JSON values
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        vectors = check_numbers("vectors", self.vectors, ndim=2)
        object.__setattr__(self, "item_ids", _distinct_texts(self.item_ids))
        if vectors.shape[0] != len(self.item_ids) or vectors.shape[1] < 1:
            raise InputError(
                f"`vectors` must have {len(self.item_ids)} rows (one for each id) and at least "
                f"1 column, got shape {vectors.shape}"
            )
        if not vectors.any():
            raise InputError("`vectors` must differ from zero, got only zeros")
        check_positive(scale=self.scale)
        object.__setattr__(self, "vectors", read_only_copy(vectors))
        object.__setattr__(self, "settings", MappingProxyType(_plain(self.settings)))
        if self.mean_user is not None:
            mean_user = check_numbers("mean_user", self.mean_user, ndim=1)
            if len(mean_user) != self.d:
                raise InputError(f"`mean_user` must have {self.d} entries, got {len(mean_user)}")
            object.__setattr__(self, "mean_user", read_only_copy(mean_user))

    def __len__(self) -> int:
        return len(self.item_ids)

    def __repr__(self) -> str:
        return f"Embeddings({len(self)} items, {self.d} dimensions)"

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return int(self.vectors.shape[1])

    def take(self, rows: IndexArray) -> "Embeddings":
        """Return the vectors of the items at `rows`, in their order."""
        ids = tuple(self.item_ids[row] for row in rows)
        return replace(self, item_ids=ids, vectors=self.vectors[rows])

    def save(self, path: str | Path) -> None:
        """Write the embeddings to `path` atomically: arrays and JSON, no pickle."""
        arrays = {"vectors": self.vectors}
        if self.mean_user is not None:
            arrays["mean_user"] = self.mean_user
        header = {"item_ids": self.item_ids, "scale": self.scale, "settings": dict(self.settings)}
        with atomic_write(path) as file:
            FORMAT.write(file, header, arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Embeddings":
        """Read embeddings that `save` wrote."""
        with FORMAT.open(path) as (header, arrays):
            vectors, mean_user = arrays["vectors"], arrays.get("mean_user")
        try:
            ids, scale, settings = header["item_ids"], header["scale"], header["settings"]
            return cls(tuple(ids), vectors, mean_user, scale, settings)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}: not a complete embeddings file: {error}") from None


def make_embeddings(
    ids: Iterable[object],
    matrix: ArrayLike,
    *,
    normalise: str = "global",
    mean_user: ArrayLike | None = None,
) -> Embeddings:
    """Return vectors from another source (implicit, a text encoder) as embeddings.

    Parameters
    ----------
    ids
        One distinct id per item; they are converted to text.
    matrix
        One row per item, (n, d).
    normalise
        As for `normalise_vectors`.
    mean_user
        The mean of the users' vectors that belong to `matrix`, in its units, (d,).

    Examples
    --------
    >>> vectors = make_embeddings([7, 9], [[3.0, 0.0], [0.0, -6.0]])
    >>> vectors
    Embeddings(2 items, 2 dimensions)
    >>> vectors.vectors
    array([[ 0.5,  0. ],
           [ 0. , -1. ]])
    """
    if isinstance(ids, str):
        raise InputError(f"`ids` must be one id for each item, got the text {ids!r}")
    vectors, scale = normalise_vectors(matrix, normalise)
    user = None if mean_user is None else check_numbers("mean_user", mean_user, ndim=1)
    settings = {"method": "given", "normalise": normalise}
    return Embeddings(tuple(map(str, ids)), vectors, user, scale, settings)


def _distinct_texts(ids: Iterable[object]) -> tuple[str, ...]:
    texts = tuple(map(str, ids))
    if not texts:
        raise InputError("`ids` must name at least one item, got none")
    seen: set[str] = set()
    for text in texts:
        if not text:
            raise InputError("`ids` must not be empty text, got ''")
        if text in seen:
            raise InputError(f"`ids` must be distinct, got {text!r} twice")
        seen.add(text)
    return texts


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(settings), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(f"`settings` must be text, numbers, lists or None: {error}") from None
    return plain
