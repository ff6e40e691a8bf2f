"""The Linear Modular Dispersion Hybrid policy (Algorithm 2)."""

from collections.abc import Mapping
from copy import copy
from typing import Any, Literal

import numpy as np

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    check_choice,
    check_fraction,
    check_positive,
)
from variegate.errors import StateError
from variegate.kernels import lmdh_list, upper_bounds
from variegate.kernels.layout import Layout
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Gains, Normaliser, normalising_factors
from variegate.model.ridge import MOST_OBSERVATIONS, Estimate, Ridge
from variegate.model.search import SEARCHES, Scorer, Search
from variegate.model.shortlist import Shortlist, checked_shortlist, layout_of_rows
from variegate.model.slate import Slate
from variegate.model.theory import Confidence, checked_exploration, confidence_width
from variegate.model.utility import Preferences
from variegate.policies.attention import AttentionLike, checked_attention
from variegate.policies.base import Explanation, Policy
from variegate.policies.dial import Dial
from variegate.policies.floor import FloorLike, checked_floor, floor_shares
from variegate.policies.ridge_policy import (
    PriorLike,
    check_ridge,
    checked_prior,
    learnt_preferences,
    restore_ridge,
    ridge_arrays,
)


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
    prior
        Where users begin, in place of `ridge`: a `Prior` of this catalogue, or the path of one.
        Then `exploration` counts standard deviations of what is believed under its noise.
    floor
        The least that beta counts for: a number, or a `Floor` that rises while the user is
        learnt. The distances share it as they share the prior's beta, and evenly without one.
        A dial has the last word.
    forgetting
        What each list still counts for when the next is learnt; 1 forgets nothing.
    attention
        Where users look: ``"all"``, ``"cascade"`` (down to the first click), or the chance
        that each position is looked at.

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
        prior: PriorLike | None = None,
        floor: FloorLike | None = None,
        forgetting: float = 1.0,
        attention: AttentionLike = "all",
    ) -> None:
        super().__init__(catalogue, normaliser=normaliser)
        check_positive(ridge=ridge, forgetting=forgetting)
        check_fraction(forgetting=forgetting)
        self.exploration = checked_exploration(exploration)
        self.prior = checked_prior(prior, catalogue, exploration)
        self.floor, self.attention = checked_floor(floor), checked_attention(attention)
        self._shares = floor_shares(catalogue.m, self.prior)
        self.search = check_choice("search", search, SEARCHES)
        self.shortlist = checked_shortlist(shortlist, catalogue)
        size = catalogue.d + catalogue.m
        self._ridge = Ridge(size, ridge, self.prior, forgetting=forgetting)
        self._observations = 0.0
        self._dial: Dial | None = None

    @property
    def label(self) -> str:
        name = "LMDH" if self.prior is None else "LMDH with a prior"
        return f"{name} (greedy, α = 0)" if self.exploration == 0.0 else name

    @property
    def preferences(self) -> Preferences:
        return learnt_preferences(self._ridge, self.catalogue.d, self.catalogue.m)

    @property
    def diversity_floor(self) -> float:
        if self.floor is None or not self.catalogue.m:
            return 0.0
        return self.floor.at(self._observations) / self.catalogue.m

    def width(self, k: int) -> float:
        """Return alpha for the next list of `k`: what was set, or what Lemma 2 asks for."""
        if not isinstance(self.exploration, Confidence):
            return self.exploration * self._ridge.deviation
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

    def _with_dial(self, dial: Dial) -> "LMDH":
        other = copy(self)
        other._dial = dial
        return other

    def _belief(self) -> Estimate:
        """Return what lists are made by: what was learnt, under the floor and a dial."""
        learnt = self._ridge.estimate()
        if self.floor is None and self._dial is None:
            return learnt
        return Estimate(self._weighed(learnt.mean), learnt.inverse_root)

    def _weighed(self, weights: FloatArray) -> FloatArray:
        """Return the weights with beta no lower than the floor, and as a dial wants it."""
        weighed = weights.copy()
        beta = weighed[self.catalogue.d :]
        if self.floor is not None and len(beta):
            np.maximum(beta, self.floor.at(self._observations) * self._shares, out=beta)
        if self._dial is not None:
            beta[:] = self._dial.applied(beta, [h.name for h in self.catalogue.distances])
        return weighed

    def _recommend(self, free: MaskArray, k: int, rng: Any) -> Slate:
        if self.shortlist is None:
            found = self._greedy_list(self.catalogue.layout, free, k)
            return super()._recommend(free, k, rng) if found is None else self._slate_of(*found)
        rows = self._choices(free, k)
        all_rows = np.ones(len(rows), dtype=np.bool_)
        found = self._greedy_list(layout_of_rows(self.catalogue, rows), all_rows, k)
        if found is None:
            chosen = np.zeros_like(free)
            chosen[rows] = True
            return super()._recommend(chosen, k, rng)
        places, scores, x = found
        return self._slate_of(rows[places], scores, x)

    def _choices(self, free: MaskArray, k: int) -> IndexArray:
        if self.shortlist is None:
            return super()._choices(free, k)
        factors = normalising_factors(self.normaliser, k)
        return self.shortlist.candidates(self._belief(), self.width(k), factors, free)

    def _greedy_list(
        self, layout: Layout | None, free: MaskArray, k: int
    ) -> tuple[IndexArray, FloatArray, FloatArray] | None:
        """Return rows, scores and x by compiled loops; None where the reference must search."""
        if self.search != "greedy" or layout is None:
            return None
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
        taught, answers = self.attention.taught(features, rewards, seen)
        self._ridge.learn(taught, answers)
        self._observations += len(answers)

    def _explain(self, slate: Slate) -> Explanation:
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

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        check_ridge(arrays)
        seen = float(arrays["seen"][0])
        if not 0.0 <= seen <= MOST_OBSERVATIONS:
            raise StateError(f"`seen` must be from 0 to {MOST_OBSERVATIONS:g}, got {seen:g}")

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
