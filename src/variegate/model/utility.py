"""The utility F(A) = theta . R(A) + beta . V(A) of a list of items (Eq. 1)."""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray, check_choice, check_numbers
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.model.gains import NORMALISERS, Gains, Normaliser
from variegate.model.search import SEARCHES, Scorer


@dataclass(frozen=True, eq=False)
class Preferences:
    """A user's preferences eta = (theta, beta), with an interval for each weight.

    The interval of a learnt weight is its 95% confidence interval; that of a known weight is the
    weight itself.
    """

    #: theta, (d,)
    relevance: FloatArray
    #: beta, one weight per distance, (m,)
    diversity: FloatArray
    #: Lowest and highest theta, (2, d)
    relevance_interval: FloatArray
    #: Lowest and highest beta, (2, m)
    diversity_interval: FloatArray
    #: Lowest and highest total of beta, (2,). Distances overlap, so the total can be certain where
    #: no single weight is.
    total_diversity_interval: FloatArray

    @property
    def total_diversity(self) -> float:
        """The sum of beta: the weight of diversity by all distances together."""
        return float(self.diversity.sum())


def known_preferences(relevance: ArrayLike, diversity: ArrayLike) -> Preferences:
    """Return preferences that are known exactly."""
    theta = check_numbers("relevance", relevance, ndim=1)
    beta = check_numbers("diversity", diversity, ndim=1)
    total = np.full(2, beta.sum())
    return Preferences(theta, beta, np.stack([theta, theta]), np.stack([beta, beta]), total)


def top_weights(relevance: ArrayLike, names: Sequence[str], n: int = 5) -> list[tuple[str, float]]:
    """Return the `n` largest weights by absolute value with their names, largest first.

    Weights of 0 are left out, so there can be fewer than `n`; ties keep the order of the features.

    Parameters
    ----------
    relevance
        One weight per feature, such as ``policy.preferences.relevance``, (d,).
    names
        The name of each feature, such as ``catalogue.feature_labels``, (d,).

    Examples
    --------
    >>> top_weights([0.1, -0.4, 0.0], ["Comedy", "year", "Drama"])
    [('year', -0.4), ('Comedy', 0.1)]
    """
    weights = check_numbers("relevance", relevance, ndim=1)
    if len(weights) != len(names):
        raise InputError(f"`names` must have {len(weights)} entries, got {len(names)}")
    if n < 0:
        raise InputError(f"`n` must be at least 0, got {n}")
    order = np.argsort(-np.abs(weights), kind="stable")[:n]
    return [(names[place], float(weights[place])) for place in order if weights[place] != 0.0]


def format_weights(weights: Iterable[tuple[str, float]]) -> str:
    """Return the result of `top_weights` as one line.

    Examples
    --------
    >>> format_weights([("Comedy", 0.312), ("year", -0.4)])
    'Comedy +0.31, year -0.40'
    """
    return ", ".join(f"{name} {weight:+.2f}" for name, weight in weights)


class Utility:
    """The utility F(A | eta) of lists of a catalogue, its gains, and the search for the best list.

    Parameters
    ----------
    catalogue
        The items.
    relevance
        theta, (d,).
    diversity
        beta, one weight per distance, (m,).
    normaliser
        How distances are scaled; with ``growing`` the value depends on the order.

    Examples
    --------
    >>> items = Catalogue(list("abc"), [[1.0, 0.0], [0.9, 0.0], [0.0, 0.5]], "cosine")
    >>> taste = Utility(items, relevance=[1.0, 1.0], diversity=[0.5])
    >>> taste.best(2)
    array([0, 2])
    >>> taste.value([0, 2])
    2.0
    """

    def __init__(
        self,
        catalogue: Catalogue,
        relevance: ArrayLike,
        diversity: ArrayLike,
        *,
        normaliser: Normaliser = "none",
    ) -> None:
        self.catalogue = catalogue
        self.preferences = known_preferences(relevance, diversity)
        check_choice("normaliser", normaliser, NORMALISERS)
        self.normaliser: Normaliser = normaliser
        for name, weights, size in (
            ("relevance", self.preferences.relevance, catalogue.d),
            ("diversity", self.preferences.diversity, catalogue.m),
        ):
            if weights.shape != (size,):
                raise InputError(f"`{name}` must have shape ({size},), got {weights.shape}")

    def modular(self, items: ArrayLike) -> FloatArray:
        """Return R(A), the sum of the items' relevance features, (d,) (Eq. 2)."""
        total: FloatArray = self.catalogue.features[np.asarray(items, dtype=np.intp)].sum(axis=0)
        return total

    def dispersion(self, items: ArrayLike) -> FloatArray:
        """Return V(A), each distance summed over the unordered pairs of items, (m,) (Eq. 5)."""
        rows = np.asarray(items, dtype=np.intp)
        return np.array([h.among(rows).matrix().sum() / 2.0 for h in self.catalogue.distances])

    def gains(self, items: ArrayLike) -> FloatArray:
        """Return eta . Delta of each item given those before it, (k,)."""
        rows = np.asarray(items, dtype=np.intp)
        return self.scorer(rows, len(rows)).along(np.arange(len(rows)))

    def value(self, items: ArrayLike) -> float:
        """Return F(A | eta): the sum of the gains (local linearity)."""
        return float(self.gains(items).sum())

    def scorer(self, candidates: IndexArray, k: int) -> "UtilityScorer":
        """Return eta . Delta(a | A) as a score for lists of `k` of the candidates."""
        gains = Gains(self.catalogue, candidates, k, self.normaliser)
        wants = self.preferences
        return UtilityScorer(gains.z @ wants.relevance, wants.diversity, gains)

    def best(
        self, k: int, candidates: ArrayLike | None = None, *, search: str = "greedy"
    ) -> IndexArray:
        """Return the rows of the list of `k` that `search` finds, in order."""
        rows = self.catalogue.candidates(candidates)
        check_choice("search", search, SEARCHES)
        places, _scores = SEARCHES[search](self.scorer(rows, k), k)
        return rows[places]


class UtilityScorer(Scorer):
    """Relevance plus beta . x, which is eta . Delta(a | A): the score whose list value is F.

    Parameters
    ----------
    relevance
        Of each candidate, (n,).
    diversity
        beta, (m,).
    gains
        Of the candidates.
    """

    def __init__(self, relevance: FloatArray, diversity: FloatArray, gains: Gains) -> None:
        self._relevance, self._diversity, self._gains = relevance, diversity, gains

    def __len__(self) -> int:
        return len(self._relevance)

    def scores(self) -> FloatArray:
        """Return eta . Delta of each candidate."""
        scores: FloatArray = self._relevance + self._gains.x @ self._diversity
        return scores

    def take(self, place: int) -> None:
        """Add the candidate at `place` to A."""
        self._gains.take(place)

    def fresh(self) -> "UtilityScorer":
        """Return the scorer with nothing taken."""
        other = copy(self)
        other._gains = self._gains.fresh()
        return other

    def values(self, lists: IndexArray) -> FloatArray:
        """Return F of each list, from the distances of all pairs at once."""
        added = self._gains.of_lists(lists) @ self._diversity
        totals: FloatArray = (self._relevance[lists] + added).sum(axis=1)
        return totals
