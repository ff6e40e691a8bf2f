"""The Linear Modular Dispersion Hybrid policy (Algorithm 2)."""

from collections.abc import Mapping
from copy import copy
from typing import Any, Final, Literal, Self, TypedDict

import numpy as np

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    check_choice,
    check_fraction,
    check_not_negative,
    check_positive,
    set_read_only,
)
from variegate.errors import StateError
from variegate.kernels import lmdh_list, upper_bounds
from variegate.kernels.layout import Layout
from variegate.kernels.vectors import vector_list
from variegate.model.candidates import Candidates
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Gains, Normaliser, normalising_factors
from variegate.model.ridge import MAX_OBSERVATIONS, Estimate, Ridge
from variegate.model.search import SEARCHES, Scorer, Search
from variegate.model.shortlist import Shortlist, check_shortlist, layout_of_rows
from variegate.model.slate import Slate, slate_with_gains
from variegate.model.theory import Confidence, check_exploration, confidence_width
from variegate.policies.attention import AttentionLike, checked_attention
from variegate.policies.base import Explanation
from variegate.policies.dial import Dial
from variegate.policies.ridge_policy import (
    LARGEST_DEVIATION,
    NORMAL_95,
    PriorLike,
    RidgePolicy,
    checked_prior,
    likelihood_of_total,
)
from variegate.prior import PriorFile

#: Variance, over users, of the share of items that they pick whatever these are.
PICKS_VARIANCE: Final = 0.0625
#: Items that `constant_direction` looks at, at most, and what makes its weights unique.
N_ITEMS: Final = 2000
SHRINKAGE: Final = 1e-3
#: About the normalised score of an item that a ranker would show.
TOP_SCORE: Final = 0.7


class ListOptions(TypedDict, total=False):
    """Options that LMDH, LMDP and LMDT have in common; see `LMDH`."""

    normaliser: Normaliser
    search: str
    shortlist: Shortlist | None
    forgetting: float
    attention: AttentionLike


class LMDH(RidgePolicy):
    """Learn how much one user cares about relevance and about diversity, optimistically.

    Parameters
    ----------
    catalogue
        The items, with d relevance features and m distances.
    ridge
        Strength of the assumption that all weights are 0 (lambda).
    exploration
        Standard deviations added to an item's estimated reward (alpha); 0 does not explore.
        ``"theory"`` is the width of Lemma 2, `Confidence(...)` the same with other settings.
    normaliser
        How distances are scaled: ``growing`` matches the paper's results on real data,
        ``none`` those of its simulation.
    search
        ``greedy`` as in the paper, ``non-oblivious``, ``local`` or ``exhaustive``.
    shortlist
        For 100,000 items and more: the list is chosen from the candidates that it finds.
    prior
        Replaces `ridge`: a `Prior` of this catalogue, or the path of one. `exploration` then
        counts standard deviations of the posterior under the prior's noise.
    floor
        Minimum of beta, which the operator guarantees whatever was learnt. The distances share it
        in proportion to the prior's beta, and equally without a prior. A dial overrides it.
    forgetting
        Factor that past observations are multiplied by at each update; 1 forgets nothing.
    attention
        Which positions users look at: ``"all"``, ``"cascade"`` (down to the first click), or
        the probability for each position.

    Examples
    --------
    >>> items = Catalogue(list("abc"), np.eye(3), "cosine")
    >>> policy = LMDH(items, ridge=1.0)
    >>> policy
    LMDH(Catalogue(3 items, 3 features, distances: cosine), ridge=1.0)
    >>> slate = policy.recommend(2)
    >>> policy.update(slate, rewards=[0, 1])
    >>> policy.recommend(1).ids
    ('b',)
    """

    name = "lmdh"
    takes_dial = True
    takes_scores = True

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
        floor: float | None = None,
        forgetting: float = 1.0,
        attention: AttentionLike = "all",
    ) -> None:
        check_positive(ridge=ridge)
        self.exploration = check_exploration(exploration)
        known = checked_prior(prior, catalogue, exploration)
        self.prior: PriorFile | None = known
        regression = Ridge(catalogue.d + catalogue.m, ridge, known, forgetting=forgetting)
        super().__init__(catalogue, regression, normaliser=normaliser)
        self._set_options(search, forgetting, attention)
        self._set_floor(floor, np.zeros(0) if known is None else known.mean[known.d :])
        self.shortlist = check_shortlist(shortlist, catalogue)
        self._observations = 0.0

    def _set_options(self, search: str, forgetting: float, attention: AttentionLike) -> None:
        check_positive(forgetting=forgetting)
        check_fraction(forgetting=forgetting)
        self.search = check_choice("search", search, SEARCHES)
        self.attention = checked_attention(attention)
        self._dial: Dial | None = None

    def _set_floor(self, floor: float | None, beta: FloatArray) -> None:
        """Divide a floor among the distances in proportion to `beta`, equally without any."""
        if floor is not None:
            check_not_negative(floor=floor)
        shares = np.maximum(beta, 0.0) if (beta > 0.0).any() else np.ones(self.catalogue.m)
        self.floor = floor
        self._floors = set_read_only((floor or 0.0) * shares / (shares.sum() or 1.0))

    @property
    def label(self) -> str:
        name = "LMDH" if self.prior is None else "LMDH with a prior"
        return f"{name} (greedy, α = 0)" if self.exploration == 0.0 else name

    @property
    def diversity_floor(self) -> float:
        floors = self._min_beta()
        return 0.0 if floors is None else float(floors.sum()) / max(self.catalogue.m, 1)

    def total_diversity_likelihood(self) -> tuple[float, float]:
        d, m, before = self.catalogue.d, self.catalogue.m, self.prior_preferences
        noise = (LARGEST_DEVIATION if self.prior is None else self._ridge.deviation) ** 2
        # Some users pick more than others, which is no preference for variety: beside the first,
        # all items of a list have a distance to those above them.
        direction = np.append(constant_direction(self.catalogue), np.zeros(m))
        with np.errstate(all="ignore"):
            mean, covariance = self._ridge.widened(direction, PICKS_VARIANCE / noise)
            low, high = before.total_diversity_interval
            prior_precision = (2.0 * NORMAL_95 / (high - low)) ** 2
            precision = 1.0 / (noise * covariance[d:, d:].sum())
            return likelihood_of_total(
                mean[d:].sum(), precision, before.total_diversity, prior_precision
            )

    def width(self, k: int) -> float:
        """Return alpha for the next list of `k`: as set, or by Lemma 2."""
        exploration = self.exploration
        if not isinstance(exploration, Confidence):
            return exploration * self._ridge.deviation
        given = exploration.observations
        return confidence_width(
            self.catalogue.d + self.catalogue.m,
            self._observations if given is None else given,
            ridge=self._ridge.ridge,
            delta=exploration.delta,
            preference_norm=exploration.preference_norm,
            feature_norm=self.feature_norm(k),
        )

    def feature_norm(self, k: int) -> float:
        """Return a bound on the length of zeta = (z, x) in a list of `k`; 1 if all are 0."""
        # No x exceeds the largest distance times the number of items above, scaled.
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

    def _estimate(self) -> Estimate:
        """Return the weights that lists are made with: the learnt ones after floor and dial."""
        learnt = self._ridge.estimate()
        if self.floor is None and self._dial is None:
            return learnt
        return Estimate(self._adjusted(learnt.mean), learnt.inverse_root)

    def _min_beta(self) -> FloatArray | None:
        """Return the minimum of each weight of a distance, (m,); None without a floor."""
        return None if self.floor is None else self._floors

    def _adjusted(self, weights: FloatArray) -> FloatArray:
        """Return the weights with beta after floor and dial."""
        adjusted, d = weights.copy(), self.catalogue.d
        adjusted[d:] = self._adjusted_beta(adjusted[d:])
        return adjusted

    def _adjusted_beta(self, beta: FloatArray) -> FloatArray:
        """Return beta raised to the floor, then changed by the dial."""
        floors = self._min_beta()
        if floors is not None:
            beta = np.maximum(beta, floors)
        if self._dial is not None:
            beta = self._dial.applied(beta, [h.name for h in self.catalogue.distances])
        return beta

    def _recommend(self, free: MaskArray, k: int, rng: Any) -> Slate:
        if self.shortlist is None:
            return super()._recommend(free, k, rng)
        rows = self._candidates(free, k)
        all_rows = np.ones(len(rows), dtype=np.bool_)
        found = self._compiled_list(layout_of_rows(self.catalogue, rows), all_rows, k)
        if found is None:
            chosen = np.zeros_like(free)
            chosen[rows] = True
            return self._search_slate(chosen, k, rng)
        places, scores, x = found
        return slate_with_gains(self.catalogue, rows[places], scores, x)

    def _recommend_offered(self, offered: Candidates, k: int, rng: Any) -> Slate:
        found = self._list_from_vectors(offered, k)
        if found is None:
            return super()._recommend_offered(offered, k, rng)
        return offered.slate(*found)

    def _list_from_vectors(
        self, offered: Candidates, k: int
    ) -> tuple[IndexArray, FloatArray, FloatArray] | None:
        """Return places, scores and x from the request's vectors; None if only `_over` can."""
        vectors = offered.vectors
        if vectors is None or self.search != "greedy" or isinstance(self.exploration, Confidence):
            return None
        estimate, factors = self._estimate(), normalising_factors(self.normaliser, k)
        return vector_list(
            offered.features,
            vectors,
            offered.free,
            estimate.mean,
            estimate.inverse_root,
            self.width(k),
            factors,
        )

    def _over(self, offered: Candidates) -> Self:
        other = super()._over(offered)
        other.shortlist = None  # it is of the whole catalogue
        return other

    def _compiled_slate(self, layout: Layout, free: MaskArray, k: int, rng: Any) -> Slate | None:
        found = self._compiled_list(layout, free, k)
        return None if found is None else slate_with_gains(self.catalogue, *found)

    def _compiled_list(
        self, layout: Layout | None, free: MaskArray, k: int
    ) -> tuple[IndexArray, FloatArray, FloatArray] | None:
        """Return rows, scores and x by compiled loops; None if only the reference can search."""
        if self.search != "greedy" or layout is None:
            return None
        estimate, factors = self._estimate(), normalising_factors(self.normaliser, k)
        return lmdh_list(layout, free, estimate.mean, estimate.inverse_root, self.width(k), factors)

    def _candidates(self, free: MaskArray, k: int) -> IndexArray:
        if self.shortlist is None:
            return super()._candidates(free, k)
        factors = normalising_factors(self.normaliser, k)
        return self.shortlist.candidates(self._estimate(), self.width(k), factors, free)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        gains = Gains(self.catalogue, rows, k, self.normaliser)
        return UpperBounds(gains, self._estimate(), self.width(k))

    def _regressors(self, slate: Slate) -> FloatArray:
        return np.concatenate([slate.relevance, slate.diversity], axis=1)

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:
        features, answers = self.attention.observations(self._regressors(slate), rewards, seen)
        self._ridge.learn(features, answers)
        self._observations += len(answers)

    def _learn_alone(self, slate: Slate, rewards: FloatArray) -> None:
        self._ridge.learn(self._regressors(slate), rewards, forgetting=1.0)
        self._observations += len(rewards)

    def _explain(self, slate: Slate) -> Explanation:
        estimate, d = self._estimate(), self.catalogue.d
        deviations = np.sqrt(estimate.variances(self._regressors(slate)))
        return Explanation(
            relevance=slate.relevance @ estimate.mean[:d],
            diversity=slate.diversity * estimate.mean[d:],
            exploration=self.width(len(slate)) * deviations,
            diversity_names=tuple(h.name for h in self.catalogue.distances),
        )

    def _arrays(self) -> Mapping[str, FloatArray]:
        return {**super()._arrays(), "seen": np.array([self._observations])}

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        super()._check_arrays(arrays)
        seen = float(arrays["seen"][0])
        if not 0.0 <= seen <= MAX_OBSERVATIONS:
            raise StateError(f"`seen` must be from 0 to {MAX_OBSERVATIONS:g}, got {seen:g}")

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:
        super()._restore(arrays)
        self._observations = float(arrays["seen"][0])


def constant_direction(catalogue: Catalogue) -> FloatArray:
    """Return weights of the features that give every item a relevance near 1, as far as any do."""
    if catalogue.is_open:
        return np.where(np.arange(catalogue.d) == catalogue.score_column, 1.0 / TOP_SCORE, 0.0)
    rows = np.unique(np.linspace(0, len(catalogue) - 1, N_ITEMS).astype(np.intp))
    z = catalogue.features[rows]
    scale = float(np.abs(z).max(initial=0.0)) or 1.0
    z = z / scale
    gram = z.T @ z / len(z) + SHRINKAGE * np.eye(catalogue.d)
    direction: FloatArray = np.linalg.solve(gram, z.mean(axis=0)) / scale
    return direction


class UpperBounds(Scorer):
    """Lines 8 to 10: an upper confidence bound on the reward of each candidate."""

    def __init__(self, gains: Gains, estimate: Estimate, exploration: float) -> None:
        z, d = gains.z, gains.z.shape[1]
        P = estimate.covariance
        # z does not change while the list grows, so its part of line 9 is computed once.
        self._mean_z = z @ estimate.mean[:d]
        self._variance_z = np.einsum("ni,ni->n", z @ P[:d, :d], z)
        self._cross = z @ P[:d, d:]
        self._beta, self._C = estimate.mean[d:], np.ascontiguousarray(P[d:, d:])
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
