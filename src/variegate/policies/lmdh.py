"""The Linear Modular Dispersion Hybrid policy (Algorithm 2)."""

from collections.abc import Mapping
from copy import copy
from typing import Any, Literal

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_choice, check_positive
from variegate.catalogue import Catalogue
from variegate.gains import Gains, Normaliser, normalising_factors
from variegate.kernels import lmdh_list, upper_bounds
from variegate.kernels.layout import Layout
from variegate.policies.base import Explanation, Policy
from variegate.policies.dial import Dial
from variegate.policies.linear import learnt_preferences, restore_ridge, ridge_arrays
from variegate.ridge import Estimate, Ridge
from variegate.search import SEARCHES, Scorer, Search
from variegate.shortlist import Shortlist, checked_shortlist, layout_of_rows
from variegate.slate import Slate
from variegate.theory import Confidence, checked_exploration, confidence_width
from variegate.utility import Preferences


class LMDH(Policy):
    """Learn how much one user cares for relevance and for diversity, optimistically.

    Parameters
    ----------
    catalogue
        The items, with d relevance features and m distances.
    ridge
        Weight of the prior that the user cares for nothing (lambda).
    exploration
        Standard deviations added to an item's estimated reward (alpha); 0 never explores.
        ``"theory"`` takes what Lemma 2 asks for, `Confidence(...)` that with other settings.
    normaliser
        How distances are scaled; ``growing`` is what fits the paper's results on real data,
        ``none`` what fits its simulation.
    search
        ``greedy`` as in the paper, ``non-oblivious``, ``local`` or ``exhaustive``.
    shortlist
        For 100,000 items and more: the list is chosen among the candidates that it finds.

    Examples
    --------
    >>> items = Catalogue(list("abc"), np.eye(3), "cosine")
    >>> policy = LMDH(items, ridge=1.0)
    >>> slate = policy.recommend(2)
    >>> policy.update(slate, rewards=[0, 1])
    >>> policy.recommend(1).ids
    ('b',)
    """

    name = "lmdh"
    takes_dial = True

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        ridge: float = 50.0,
        exploration: float | Literal["theory"] | Confidence = 1.0,
        normaliser: Normaliser = "growing",
        search: str = "greedy",
        shortlist: Shortlist | None = None,
    ) -> None:
        super().__init__(catalogue, normaliser=normaliser)
        check_positive(ridge=ridge)
        self.exploration = checked_exploration(exploration)
        self.search = check_choice("search", search, SEARCHES)
        self.shortlist = checked_shortlist(shortlist, catalogue)
        self._ridge = Ridge(catalogue.d + catalogue.m, ridge)
        self._observations = 0.0
        self._dial: Dial | None = None

    @property
    def label(self) -> str:
        if self.exploration == 0.0:
            return "LMDH (greedy, α = 0)"
        return "LMDH"

    @property
    def preferences(self) -> Preferences:
        return learnt_preferences(self._ridge.estimate(), self.catalogue.d, self.catalogue.m)

    def width(self, k: int) -> float:
        """Return alpha for the next list of `k`: what was set, or what Lemma 2 asks for."""
        if not isinstance(self.exploration, Confidence):
            return self.exploration
        wish = self.exploration
        return confidence_width(
            self.catalogue.d + self.catalogue.m,
            self._observations if wish.observations is None else wish.observations,
            ridge=self._ridge.ridge,
            delta=wish.delta,
            preference_norm=wish.preference_norm,
            feature_norm=self.feature_norm(k),
        )

    def feature_norm(self, k: int) -> float:
        """Return a bound on the length of zeta = (z, x) in a list of `k`; 1 where all are 0."""
        # No x is larger than the largest distance times the items above, scaled.
        above = float(np.max(np.arange(k) * normalising_factors(self.normaliser, k)))
        gains = [above * h.largest for h in self.catalogue.distances]
        return float(np.linalg.norm([self.catalogue.largest_norm, *gains])) or 1.0

    @property
    def _search(self) -> Search:
        return SEARCHES[self.search]

    def _dialled(self, dial: Dial) -> "LMDH":
        other = copy(self)
        other._dial = dial
        return other

    def _belief(self) -> Estimate:
        """Return what lists are made by: what was learnt, or what a dial makes of it."""
        learnt, d = self._ridge.estimate(), self.catalogue.d
        if self._dial is None:
            return learnt
        names = [h.name for h in self.catalogue.distances]
        beta = self._dial.applied(learnt.mean[d:], names)
        return Estimate(np.concatenate([learnt.mean[:d], beta]), learnt.inverse_root)

    def _listed(self, free: MaskArray, k: int, rng: Any) -> Slate:
        if self.shortlist is None:
            if self.search != "greedy" or self.catalogue.layout is None:
                return super()._listed(free, k, rng)
            return self._slate_of(*self._greedy_list(self.catalogue.layout, free, k))
        rows = self._choices(free, k)
        layout = layout_of_rows(self.catalogue, rows)
        if self.search != "greedy" or layout is None:
            chosen = np.zeros_like(free)
            chosen[rows] = True
            return super()._listed(chosen, k, rng)
        places, scores, x = self._greedy_list(layout, np.ones(len(rows), dtype=np.bool_), k)
        return self._slate_of(rows[places], scores, x)

    def _choices(self, free: MaskArray, k: int) -> IndexArray:
        if self.shortlist is None:
            return super()._choices(free, k)
        factors = normalising_factors(self.normaliser, k)
        return self.shortlist.candidates(self._belief(), self.width(k), factors, free)

    def _greedy_list(
        self, layout: Layout, free: MaskArray, k: int
    ) -> tuple[IndexArray, FloatArray, FloatArray]:
        belief, factors = self._belief(), normalising_factors(self.normaliser, k)
        return lmdh_list(layout, free, belief.mean, belief.inverse_root, self.width(k), factors)

    def _slate_of(self, items: IndexArray, scores: FloatArray, x: FloatArray) -> Slate:
        known = self.catalogue.ids
        ids = tuple([known[item] for item in items.tolist()])
        none = np.zeros((len(items), 0))
        return Slate(items, ids, self.catalogue.features[items], x, scores, none)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:  # noqa: ARG002
        gains = Gains(self.catalogue, rows, k, self.normaliser)
        return UpperBounds(gains, self._belief(), self.width(k))

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:
        features = np.concatenate([slate.relevance, slate.diversity], axis=1)
        if len(seen) < len(slate):
            features, rewards = features[seen], rewards[seen]
        self._ridge.learn(features, rewards)
        self._observations += len(seen)

    def _explained(self, slate: Slate) -> Explanation:
        belief, d = self._belief(), self.catalogue.d
        features = np.hstack([slate.relevance, slate.diversity])
        return Explanation(
            relevance=slate.relevance @ belief.mean[:d],
            diversity=slate.diversity * belief.mean[d:],
            exploration=self.width(len(slate)) * np.sqrt(belief.variances(features)),
            diversity_names=tuple(h.name for h in self.catalogue.distances),
        )

    def _arrays(self) -> Mapping[str, FloatArray]:
        return {**ridge_arrays(self._ridge), "seen": np.array([self._observations])}

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:
        restore_ridge(self._ridge, arrays)
        self._observations = float(arrays["seen"][0])


class UpperBounds(Scorer):
    """Lines 8 to 10: the highest reward that each candidate could plausibly earn."""

    def __init__(self, gains: Gains, belief: Estimate, exploration: float) -> None:
        z, d = gains.z, gains.z.shape[1]
        P = belief.covariance
        # z stays as it is while the list grows, so its share of line 9 is worked out once.
        self._mean_z = z @ belief.mean[:d]
        self._variance_z = np.einsum("ni,ni->n", z @ P[:d, :d], z)
        self._cross = z @ P[:d, d:]
        self._beta, self._C = belief.mean[d:], np.ascontiguousarray(P[d:, d:])
        self._gains, self._exploration = gains, float(exploration)

    def __len__(self) -> int:
        return len(self._mean_z)

    def scores(self) -> FloatArray:
        return self._bounds(slice(None), self._gains.x)

    def take(self, place: int) -> None:
        self._gains.take(place)

    def fresh(self) -> "UpperBounds":
        other = copy(self)
        other._gains = self._gains.fresh()
        return other

    def values(self, lists: IndexArray) -> FloatArray:
        gains = self._gains.of_lists(lists)
        bounds = self._bounds(lists.ravel(), gains.reshape(lists.size, gains.shape[-1]))
        totals: FloatArray = bounds.reshape(lists.shape).sum(axis=1)
        return totals

    def _bounds(self, places: IndexArray | slice, x: FloatArray) -> FloatArray:
        return upper_bounds(
            self._mean_z[places],
            self._variance_z[places],
            self._cross[places],
            self._beta,
            self._C,
            x,
            self._exploration,
        )
