"""Gains of the candidates given the items taken so far (Eq. 4, 7 and 8)."""

from copy import copy
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from variegate.arrays import FloatArray, IndexArray, read_only_copy
from variegate.model.catalogue import Catalogue

#: How the sum of distances to the items above is scaled; see `normalising_factor`.
Normaliser: TypeAlias = Literal["none", "fixed", "growing", "mean"]
NORMALISERS: Final[tuple[str, ...]] = get_args(Normaliser)
#: Those by which the value of a list depends on the order of its items.
ORDERED: Final = ("growing", "mean")


def normalising_factor(normaliser: Normaliser, position: int, k: int) -> float:
    """Return the factor of the distances of the item at `position` (from 1) in a list of `k`.

    The paper's experiments divide the distance by the number of pairs in the list without
    defining which list: ``fixed`` takes the whole list of `k`, ``growing`` the list up to this
    position, ``none`` does not scale the distance (Eq. 5 as printed). ``mean`` is not the paper's:
    the mean distance to the items above.

    Examples
    --------
    >>> [normalising_factor("growing", position, 3) for position in (1, 2, 3)]
    [1.0, 1.0, 0.3333333333333333]
    >>> [normalising_factor("mean", position, 3) for position in (1, 2, 3)]
    [1.0, 1.0, 0.5]
    """
    if normaliser == "mean":
        return 1.0 / max(position - 1, 1)
    length = {"none": 0, "fixed": k, "growing": position}[normaliser]
    return 2.0 / (length * (length - 1)) if length > 1 else 1.0


@lru_cache(maxsize=256)
def normalising_factors(normaliser: Normaliser, k: int) -> FloatArray:
    """Return the factor of every position of a list of `k`, read-only, (k,)."""
    return read_only_copy(
        np.array([normalising_factor(normaliser, position, k) for position in range(1, k + 1)])
    )


class Gains:
    """Delta(a | A) for every candidate a, updated as A grows from the empty list.

    The relevance gains `z` (n, d) never change: R is modular. The diversity gains `x`
    (n, m) start at zero and grow by one distance with every item taken.
    """

    def __init__(
        self, catalogue: Catalogue, candidates: IndexArray, k: int, normaliser: Normaliser
    ) -> None:
        self.z: Final = catalogue.features[candidates]
        self._distances = [h.among(candidates) for h in catalogue.distances]
        self._sums = np.zeros((len(candidates), catalogue.m))
        self.taken = 0
        self._k, self._normaliser = k, normaliser

    @property
    def x(self) -> FloatArray:
        """The diversity gains, given the items taken so far, (n, m)."""
        factor = normalising_factor(self._normaliser, self.taken + 1, self._k)
        return self._sums if factor == 1.0 else self._sums * factor

    def take(self, place: int) -> None:
        """Add the candidate at `place` to A."""
        self.taken += 1
        for column, h in enumerate(self._distances):
            self._sums[:, column] += h.from_item(place)

    def fresh(self) -> "Gains":
        """Return the gains of the same candidates before any pick."""
        other = copy(self)
        other._sums, other.taken = np.zeros_like(self._sums), 0
        return other

    def of_lists(self, lists: IndexArray) -> FloatArray:
        """Return x of every position of every list of places, one list per row, (s, k, m).

        It computes the distances of all pairs: for at most a few thousand candidates.
        """
        k = lists.shape[1]
        gains = np.zeros((*lists.shape, len(self._distances)))
        for position in range(1, k):
            factor = normalising_factor(self._normaliser, position + 1, k)
            here, above = lists[:, position, None], lists[:, :position]
            for column, pairs in enumerate(self._pairs):
                gains[:, position, column] = pairs[here, above].sum(axis=1) * factor
        return gains

    @cached_property
    def _pairs(self) -> list[FloatArray]:
        return [h.matrix() for h in self._distances]
