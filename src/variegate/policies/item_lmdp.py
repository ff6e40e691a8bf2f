"""LMDP with a prior of items: relevance is learnt per item, from what similar users like."""

from collections.abc import Mapping
from math import inf, isfinite, sqrt
from typing import Any, Final, Literal

import numpy as np

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    check_choice,
    check_fraction,
    check_positive,
)
from variegate.errors import InputError
from variegate.kernels.layout import Layout
from variegate.kernels.lmdh import relevance_list
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Gains, Normaliser, normalising_factors
from variegate.model.search import SEARCHES, Scorer
from variegate.model.slate import Slate
from variegate.model.utility import Preferences, UtilityScorer
from variegate.policies.attention import AttentionLike, checked_attention
from variegate.policies.base import Explanation, Policy
from variegate.policies.lmdh import ROUNDING
from variegate.policies.lmdp import LMDP
from variegate.policies.ridge_policy import NORMAL_95, PriorLike, read_prior
from variegate.policies.state import check_interval, check_item_rows
from variegate.prior import ItemPrior, Observations, Posterior

#: A user's latest observations that are kept: the cost of a list grows with their number.
MAX_OBSERVATIONS: Final = 500


class ItemLMDP(LMDP):
    """LMDP with a prior of items: ``LMDP(catalogue, prior=fit_prior(...))`` makes one.

    How relevant the items are to a user is a Gaussian over all items, conditioned on the rewards
    of those shown. The features of the items are not used; their distances are. The state is the
    log of the latest 500 items shown: 24 bytes each, and 8 more per distance.

    Parameters
    ----------
    prior
        An `ItemPrior`, or the path of one.
    floor
        Minimum of beta. By default the prior's `diversity` times the mean relevance of the ten
        best items that were not observed: it falls as a user has seen what they like, so that
        diversity costs the same share of the relevance in every list. A number is constant, as
        for LMDH; None is no floor.
    normaliser
        By default the diversity gain of an item is its mean distance to the items above.
    search, attention, forgetting
        As for LMDH.
    exploration, shortlist
        Not available: 0 and None.
    """

    takes_scores = False

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        prior: PriorLike,
        exploration: float = 0.0,
        floor: float | Literal["auto"] | None = "auto",
        normaliser: Normaliser = "mean",
        search: str = "greedy",
        shortlist: None = None,
        forgetting: float = 1.0,
        attention: AttentionLike = "all",
    ) -> None:
        # Not LMDH's: there are no weights of features to learn.
        Policy.__init__(self, catalogue, normaliser=normaliser)
        check_positive(forgetting=forgetting)
        check_fraction(forgetting=forgetting)
        for name, value, only in (
            ("exploration", exploration, 0.0),
            ("shortlist", shortlist, None),
        ):
            if value != only:
                raise InputError(f"`{name}` must be {only} with a prior of items, got {value!r}")
        found = read_prior(prior)
        if not isinstance(found, ItemPrior):
            raise InputError(f"`prior` must be a prior of items, got {found}")
        self.prior: ItemPrior = found.for_catalogue(catalogue)
        self._relative_floor = found.diversity if floor == "auto" else None
        self._set_floor(None if floor == "auto" else floor, np.zeros(0))
        self.search = check_choice("search", search, SEARCHES)
        self.attention = checked_attention(attention)
        self.exploration, self.shortlist, self._dial = 0.0, None, None
        self._keep = float(np.sqrt(forgetting))
        self._seen = _no_observations(catalogue.m)
        self._known: Posterior | None = None

    def drop_estimates(self) -> None:
        self._known = None

    @property
    def label(self) -> str:
        return "LMDP"

    @property
    def preferences(self) -> Preferences:
        """Estimates of beta with their intervals; theta is 0: features are not used."""
        return self._beta_preferences(self.posterior())

    @property
    def prior_preferences(self) -> Preferences:
        nothing = _no_observations(self.catalogue.m)
        return self._beta_preferences(self.prior.posterior(nothing, len(self.catalogue)))

    def total_diversity_likelihood(self) -> tuple[float, float]:
        after, before = self.posterior(), self.prior
        if not self.catalogue.m:
            return 0.0, inf
        precision = 1.0 / after.beta_covariance.sum()
        added = precision - 1.0 / before.beta_variance.sum()
        if not (isfinite(added) and added > ROUNDING * precision):
            return 0.0, inf
        return float(precision * after.beta.sum() / added), float(1.0 / sqrt(added))

    def likely_items(self, n: int = 3) -> tuple[IndexArray, FloatArray, FloatArray]:
        """Return the items whose relevance rose most by what was learnt: rows, rise, deviation."""
        rise = self.posterior().relevance - self.prior.mean(len(self.catalogue))
        rows = np.argsort(-rise, kind="stable")[:n]
        rows = rows[rise[rows] > 0.0]
        size = len(self.catalogue)
        return rows, rise[rows], self.prior.posterior_deviations(self._seen, rows, size)

    @property
    def observations(self) -> Observations:
        """The latest items shown to the user, with their rewards."""
        return self._seen

    def posterior(self) -> Posterior:
        """Return the relevance of every item, and beta, by what is known of the user."""
        if self._known is None:
            self._known = self.prior.posterior(self._seen, len(self.catalogue))
        return self._known

    def _beta_preferences(self, posterior: Posterior) -> Preferences:
        theta, covariance = np.zeros(self.catalogue.d), posterior.beta_covariance
        half = NORMAL_95 * np.sqrt(np.diag(covariance))
        total_half = NORMAL_95 * np.sqrt(max(float(covariance.sum()), 0.0))
        return Preferences(
            theta,
            posterior.beta,
            np.stack([theta, theta]),
            np.stack([posterior.beta - half, posterior.beta + half]),
            posterior.beta.sum() + np.array([-total_half, total_half]),
        )

    def width(self, k: int) -> float:  # noqa: ARG002
        """Return 0: it does not explore."""
        return 0.0

    def _min_beta(self) -> FloatArray | None:
        if self._relative_floor is None:
            return super()._min_beta()
        total = self._relative_floor * self.posterior().attainable
        return np.full(self.catalogue.m, total / max(self.catalogue.m, 1))

    def _compiled_list(
        self, layout: Layout | None, free: MaskArray, k: int
    ) -> tuple[IndexArray, FloatArray, FloatArray] | None:
        if self.search != "greedy" or layout is None:
            return None
        posterior, factors = self.posterior(), normalising_factors(self.normaliser, k)
        beta = self._adjusted_beta(posterior.beta)
        return relevance_list(layout, free, posterior.relevance, beta, factors)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:  # noqa: ARG002
        posterior, gains = self.posterior(), Gains(self.catalogue, rows, k, self.normaliser)
        beta = self._adjusted_beta(posterior.beta)
        return UtilityScorer(posterior.relevance[rows], beta, gains)

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:
        positions, scales = self.attention.examined(rewards, seen)
        gains = scales[:, None] * slate.diversity[positions]
        more = Observations(slate.items[positions], scales, gains, rewards[positions])
        self._observe(more, self._keep)

    def _learn_alone(self, slate: Slate, rewards: FloatArray) -> None:
        scales = np.ones(len(slate))
        self._observe(Observations(slate.items, scales, slate.diversity, rewards), 1.0)

    def _observe(self, more: Observations, keep: float) -> None:
        """Add observations after those known, which are multiplied by `keep`."""
        old = self._seen
        if keep != 1.0:
            old = Observations(old.items, *(keep * part for part in old[1:]))
        joined = (
            np.concatenate(parts)[-MAX_OBSERVATIONS:] for parts in zip(old, more, strict=True)
        )
        self._seen, self._known = Observations(*joined), None

    def _explain(self, slate: Slate) -> Explanation:
        posterior = self.posterior()
        return Explanation(
            relevance=posterior.relevance[slate.items],
            diversity=slate.diversity * self._adjusted_beta(posterior.beta),
            exploration=np.zeros(len(slate)),
            diversity_names=tuple(h.name for h in self.catalogue.distances),
        )

    def _arrays(self) -> Mapping[str, FloatArray]:
        return {"log": np.column_stack(self._seen).astype(np.float64)}

    def _shapes(self, arrays: Mapping[str, FloatArray]) -> dict[str, tuple[int, ...]]:
        log = arrays.get("log", np.zeros((0, 0)))
        return {"log": (min(len(log), MAX_OBSERVATIONS), 3 + self.catalogue.m)}

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        items, scales, gains, rewards = _columns(arrays["log"])
        check_item_rows("log", items, len(self.catalogue))
        check_interval("log", scales)
        check_interval("log", rewards)
        check_interval("log", gains, self.feature_norm(MAX_OBSERVATIONS) * (1 + 1e-9))

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:
        items, scales, gains, rewards = (np.array(part) for part in _columns(arrays["log"]))
        self._seen = Observations(items.astype(np.intp), scales, gains, rewards)
        self._known = None


def _no_observations(m: int) -> Observations:
    return Observations(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros((0, m)), np.zeros(0))


def _columns(log: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return items, scales, gains and rewards from the array of a state."""
    return log[:, 0], log[:, 1], log[:, 2:-1], log[:, -1]
