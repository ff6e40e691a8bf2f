"""Distances from the data that people have: vectors, numbers, labels, sets of labels."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import check_numbers, check_positive, frozen
from variegate.distances.distance import Distance
from variegate.distances.formulas import FORMULAS, Between, Formula
from variegate.errors import InputError


def cosine(data: ArrayLike | None = None, *, name: str = "cosine") -> Distance:
    """Return 1 - cos of the angle between two items' vectors, from 0 to 2.

    Not a metric. A zero vector has no direction: its cosine with any other item is 0.

    Examples
    --------
    >>> cosine([[1, 0], [0, 2], [3, 0]]).matrix()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    return _on_vectors("cosine", data, name)


def angular(data: ArrayLike | None = None, *, name: str = "angular") -> Distance:
    """Return the angle between two items' vectors as a share of the half circle, 0 to 1."""
    return _on_vectors("angular", data, name)


def euclidean(
    data: ArrayLike | None = None, *, scale: float = 1.0, name: str = "euclidean"
) -> Distance:
    """Return the length of the difference of two items' vectors, divided by `scale`."""
    check_positive(scale=scale)
    return replace(_on_vectors("euclidean", data, name), scale=float(scale))


def difference(
    values: ArrayLike, *, scale: float | None = None, name: str = "difference"
) -> Distance:
    """Return the absolute difference of two items' numbers (years, prices), over `scale`.

    Without `scale` the spread of `values` is taken, so that the farthest pair is 1 apart; the
    scale then stays, also when items are added outside the spread.

    Examples
    --------
    >>> difference([1990, 2000, 2010]).matrix()[0]
    array([0. , 0.5, 1. ])
    """
    column = check_numbers("values", values, ndim=1).reshape(-1, 1)
    if scale is None:
        scale = float(np.ptp(column)) if len(column) else 1.0
        scale = scale or 1.0
    check_positive(scale=scale)
    return Distance(FORMULAS["difference"], name, frozen(column), float(scale))


def hamming(values: Sequence[str], *, name: str = "hamming") -> Distance:
    """Return 1 where two items' labels (country, brand) differ and 0 where they agree.

    Examples
    --------
    >>> hamming(["fr", "jp", "fr"]).matrix()[0]
    array([0., 1., 0.])
    """
    labels, codes = _coded(_texts("values", values))
    column = np.array([[codes[str(value)]] for value in values], dtype=np.float64).reshape(-1, 1)
    return Distance(FORMULAS["hamming"], name, frozen(column), labels=labels)


def jaccard(sets: Sequence[Iterable[str]], *, name: str = "jaccard") -> Distance:
    """Return 1 - |a & b| / |a | b| of two items' sets of labels (genres, tags); a metric.

    Two items without any label are 0 apart.

    Examples
    --------
    >>> jaccard([{"drama"}, {"drama", "war"}, {"comedy"}]).matrix()[0]
    array([0. , 0.5, 1. ])
    """
    members = [_texts(f"sets[{row}]", labels) for row, labels in enumerate(sets)]
    labels, codes = _coded(label for member in members for label in member)
    table = np.zeros((len(members), len(labels)))
    for row, member in enumerate(members):
        table[row, [codes[label] for label in member]] = 1.0
    return Distance(FORMULAS["jaccard"], name, frozen(table), labels=labels)


def custom(
    between: Between,
    data: ArrayLike | None = None,
    *,
    name: str,
    largest: float,
    is_metric: bool = False,
) -> Distance:
    """Return your own distance: `between(point, points)` gives (n,) from (w,) and (n, w).

    A saved catalogue keeps its data and name but not the function: `Catalogue.load` asks for it.
    """
    check_positive(largest=largest)
    formula = Formula("custom", is_metric, np.asarray, between, float(largest))
    rows = None if data is None else frozen(check_numbers("data", data, ndim=2))
    return Distance(formula, name, rows)


def _on_vectors(kind: str, data: ArrayLike | None, name: str) -> Distance:
    formula = FORMULAS[kind]
    if data is None:
        return Distance(formula, name)
    rows = formula.prepare(check_numbers("data", data, ndim=2))
    return Distance(formula, name, frozen(rows))


def _texts(name: str, values: Iterable[str]) -> list[str]:
    if isinstance(values, str):
        raise InputError(f"`{name}` must be a collection of labels, got the text {values!r}")
    return [str(value) for value in values]


def _coded(values: Iterable[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    labels = tuple(sorted(set(values)))
    return labels, {label: code for code, label in enumerate(labels)}
