"""Catalogues of vectors: few features to learn from, and distances on all of each vector."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray, check_choice
from variegate.data.embeddings import Embeddings, normalise_vectors
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.model.distances import angular, cosine, euclidean
from variegate.model.scores import SCORE

#: Principal components that become features by default.
COMPONENTS: Final = 16
#: More features make lists and states too slow and large: a state has about d^2 / 2 numbers.
MAX_FEATURES: Final = 128
_DISTANCES: Final = {"cosine": cosine, "angular": angular, "euclidean": euclidean}


def vector_catalogue(
    embeddings: Embeddings,
    *,
    features: str = f"pca:{COMPONENTS}",
    distances: Sequence[str] = ("cosine",),
    titles: Sequence[str] | None = None,
    attributes: Mapping[str, Sequence[Any]] | None = None,
) -> Catalogue:
    """Return a catalogue of items with vectors.

    Parameters
    ----------
    embeddings
        Vectors with their ids; see `make_embeddings`.
    features
        What is learnt from: ``pca:N``, the first N principal components of the vectors (the
        vectors themselves, if they have no more numbers than that); ``all``, each number of a
        vector, at most 128; ``none``, nothing but the scores of requests, as feature ``score``.
    distances
        "cosine", "angular" or "euclidean", on all of each vector.
    titles, attributes
        As for `Catalogue`.

    Examples
    --------
    >>> from variegate.data import make_embeddings
    >>> vectors = np.random.default_rng(0).normal(size=(40, 768))
    >>> vector_catalogue(make_embeddings(range(40), vectors))
    Catalogue(40 items, 16 features, distances: cosine)
    """
    vectors = embeddings.vectors
    for name in distances:
        check_choice("distances", name, _DISTANCES)
    count = _number_of_features(features, vectors.shape[1])
    given: dict[str, Any] = {
        "features": vectors,
        "distances": distances,
        "mean_user": embeddings.mean_user,
        "feature_scale": embeddings.scale,
    }
    if count < vectors.shape[1]:
        given["distances"] = [_DISTANCES[name](vectors) for name in distances]
        given |= _few_features(embeddings, count)
    return Catalogue(embeddings.item_ids, titles=titles, attributes=attributes, **given)


def _few_features(embeddings: Embeddings, count: int) -> dict[str, Any]:
    """Return the arguments of a catalogue with `count` principal components, or with scores."""
    if not count:
        return {
            "features": np.zeros((len(embeddings.item_ids), 1)),
            "feature_names": (SCORE,),
            "mean_user": None,
            "feature_scale": 1.0,
        }
    columns, directions = _components(embeddings.vectors, count)
    columns, scale = normalise_vectors(columns)
    mean_user = embeddings.mean_user
    return {
        "features": columns,
        "mean_user": None if mean_user is None else directions @ mean_user,
        "feature_scale": scale * embeddings.scale,
    }


def _number_of_features(features: str, width: int) -> int:
    """Return how many features vectors of a width get, or raise InputError."""
    kind, _colon, text = features.partition(":")
    if features == "none":
        return 0
    if features == "all":
        if width > MAX_FEATURES:
            size = 8 * width * (width + 3) / 2 / 1e6
            raise InputError(
                f"`features` must not be 'all' for vectors of {width} numbers: what each user "
                f"learns would take {size:.1f} MB, and a list seconds. At most {MAX_FEATURES} can "
                "be features. 'pca:16' learns from 16 principal components, 'none' from the scores "
                "of requests alone, and distances use all numbers in any case"
            )
        return width
    count = int(text) if kind == "pca" and text.isdecimal() else 0
    if not 1 <= count <= MAX_FEATURES:
        raise InputError(
            f"`features` must be 'none', 'all' or 'pca:N' with N from 1 to {MAX_FEATURES}, got "
            f"{features!r}"
        )
    return min(count, width)


def _components(vectors: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the first principal components, (n, count), and their directions, (count, w)."""
    centred = vectors - vectors.mean(axis=0)
    # Of w x w numbers, which are few however many items there are. Largest values come last.
    _values, found = np.linalg.eigh(centred.T @ centred)
    directions = found[:, : -count - 1 : -1].T
    # A direction and its opposite are the same component: the largest number is positive.
    largest = np.abs(directions).argmax(axis=1)
    directions *= np.sign(directions[np.arange(count), largest])[:, None]
    return centred @ directions.T, directions
