"""What was learnt, said in words."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import check_numbers
from variegate.errors import InputError


def in_words(relevance: ArrayLike, names: Sequence[str], n: int = 5) -> list[tuple[str, float]]:
    """Return the `n` strongest weights with their features' names, strongest first.

    A weight of 0 says nothing and is left out, so that there can be fewer; of two that are
    equally strong the first feature comes first.

    Parameters
    ----------
    relevance
        A weight a feature, such as ``policy.preferences.relevance``, (d,).
    names
        What each feature means, such as ``catalogue.feature_names``, (d,).

    Examples
    --------
    >>> in_words([0.1, -0.4, 0.0], ["Comedy", "year", "Drama"])
    [('year', -0.4), ('Comedy', 0.1)]
    """
    weights = check_numbers("relevance", relevance, ndim=1)
    if len(weights) != len(names):
        raise InputError(f"`names` must have {len(weights)} entries, got {len(names)}")
    if n < 0:
        raise InputError(f"`n` must be at least 0, got {n}")
    order = np.argsort(-np.abs(weights), kind="stable")[:n]
    return [(names[place], float(weights[place])) for place in order if weights[place] != 0.0]


def said(strongest: Iterable[tuple[str, float]]) -> str:
    """Return what `in_words` gave as one line.

    Examples
    --------
    >>> said([("Comedy", 0.312), ("year", -0.4)])
    'Comedy +0.31, year -0.40'
    """
    return ", ".join(f"{name} {weight:+.2f}" for name, weight in strongest)
