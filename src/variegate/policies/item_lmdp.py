"""LMDP with a prior of items: relevance is learnt per item, from what similar users like."""

from collections.abc import Mapping
from math import inf
from typing import Any, Final, Literal

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import InputError
from variegate.kernels.layout import Layout
from variegate.kernels.lmdh import relevance_list
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Gains, Normaliser, normalising_factors
from variegate.model.search import Scorer
from variegate.model.slate import Slate
from variegate.model.utility import Preferences, UtilityScorer
from variegate.policies.attention import AttentionLike
from variegate.policies.base import Explanation, Policy
from variegate.policies.lmdp import LMDP
from variegate.policies.ridge_policy import (
    NORMAL_95,
    PriorLike,
    item_prior,
    likelihood_of_total,
    normal_preferences,
)
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

    learns_items = True

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
        self._set_options(search, forgetting, attention)
        self._set_floor(None if floor == "auto" else floor, np.zeros(0))
        for name, value, only in (
            ("exploration", exploration, 0.0),
            ("shortlist", shortlist, None),
        ):
            if value != only:
                raise InputError(f"`{name}` must be {only} with a prior of items, got {value!r}")
        self.exploration, self.shortlist = 0.0, None
        self.prior: ItemPrior = item_prior(prior, catalogue)
        self._relative_floor = self.prior.diversity if floor == "auto" else None
        self._keep = float(np.sqrt(forgetting))
        #: Row of the item, scale, gains and reward of each observation, (n, 3 + m)
        self._log = np.zeros((0, 3 + catalogue.m))
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
    def diversity_weights(self) -> FloatArray:
        return self.posterior().beta

    @property
    def prior_preferences(self) -> Preferences:
        return self._beta_preferences(self.prior.posterior(_observations(self._log[:0])))

    def total_diversity_likelihood(self) -> tuple[float, float]:
        if not self.catalogue.m:
            return 0.0, inf
        after, variance = self.posterior(), self.prior.beta_variance.sum()
        precision = 1.0 / after.beta_covariance.sum()
        return likelihood_of_total(after.beta.sum(), precision, 0.0, 1.0 / variance)

    def likely_items(self, n: int = 3) -> tuple[IndexArray, FloatArray, FloatArray]:
        """Return the items whose relevance rose most by what was learnt: rows, rise, deviation."""
        rise = self.posterior().relevance - self.prior.mean
        rows = np.argsort(-rise, kind="stable")[:n]
        rows = rows[rise[rows] > 0.0]
        return rows, rise[rows], self.prior.posterior_deviations(self.observations, rows)

    @property
    def observations(self) -> Observations:
        """The latest items shown to the user, with their rewards."""
        return _observations(self._log)

    def posterior(self) -> Posterior:
        """Return the relevance of every item, and beta, by what is known of the user."""
        if self._known is None:
            self._known = self.prior.posterior(self.observations)
        return self._known

    def _beta_preferences(self, posterior: Posterior) -> Preferences:
        covariance, theta = posterior.beta_covariance, np.zeros(self.catalogue.d)
        mean = np.append(theta, posterior.beta)
        deviations = np.append(theta, np.sqrt(np.diag(covariance)))
        total_variance = float(covariance.sum())
        return normal_preferences(len(theta), mean, deviations, total_variance, NORMAL_95)

    def width(self, k: int) -> float:
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

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        posterior, gains = self.posterior(), Gains(self.catalogue, rows, k, self.normaliser)
        beta = self._adjusted_beta(posterior.beta)
        return UtilityScorer(posterior.relevance[rows], beta, gains)

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:
        positions, scales = self.attention.examined(rewards, seen)
        self._observe(slate, positions, scales, rewards, self._keep)

    def _learn_alone(self, slate: Slate, rewards: FloatArray) -> None:
        self._observe(slate, np.arange(len(slate)), np.ones(len(slate)), rewards, 1.0)

    def _observe(
        self, slate: Slate, seen: IndexArray, scales: FloatArray, rewards: FloatArray, keep: float
    ) -> None:
        """Add observations after those known, which are multiplied by `keep`."""
        gains = scales[:, None] * slate.diversity[seen]
        more = np.column_stack([slate.items[seen], scales, gains, rewards[seen]])
        old = self._log * np.append(1.0, np.full(self._log.shape[1] - 1, keep))
        self._log, self._known = np.concatenate([old, more])[-MAX_OBSERVATIONS:], None

    def _explain(self, slate: Slate) -> Explanation:
        posterior = self.posterior()
        return Explanation(
            relevance=posterior.relevance[slate.items],
            diversity=slate.diversity * self._adjusted_beta(posterior.beta),
            exploration=np.zeros(len(slate)),
            diversity_names=tuple(h.name for h in self.catalogue.distances),
        )

    def _arrays(self) -> Mapping[str, FloatArray]:
        return {"log": self._log}

    def _shapes(self, arrays: Mapping[str, FloatArray]) -> dict[str, tuple[int, ...]]:
        log = arrays.get("log", np.zeros((0, 0)))
        return {"log": (min(len(log), MAX_OBSERVATIONS), 3 + self.catalogue.m)}

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        log = arrays["log"]
        check_item_rows("log", log[:, 0], len(self.catalogue))
        check_interval("log", log[:, [1, -1]])
        check_interval("log", log[:, 2:-1], self.feature_norm(MAX_OBSERVATIONS) * (1 + 1e-9))

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:
        self._log, self._known = np.array(arrays["log"], dtype=np.float64), None


def _observations(log: FloatArray) -> Observations:
    items, scales, gains, rewards = log[:, 0], log[:, 1], log[:, 2:-1], log[:, -1]
    return Observations(items.astype(np.intp), *map(np.ascontiguousarray, (scales, gains, rewards)))
