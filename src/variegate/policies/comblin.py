"""CombLinUCB and CombLinTS (Wen, Kveton and Ashkan, ICML 2015): relevance alone.

Their Kalman recursion with prior deviation lambda_p and noise deviation sigma is ridge
regression with lambda = sigma^2 / lambda_p^2, whose covariance is sigma^2 Phi^-1.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    check_not_negative,
    check_positive,
    generator,
)
from variegate.kernels.baselines import Linear, top_list
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.ridge import Ridge
from variegate.model.search import FixedScores, Scorer
from variegate.model.slate import Slate
from variegate.model.utility import Preferences
from variegate.policies.base import Explanation, Policy
from variegate.policies.compiled import bounded, compiled_slate, weighted
from variegate.policies.ridge_policy import (
    PriorLike,
    check_ridge,
    learnt_preferences,
    relevance_prior,
    restore_ridge,
    ridge_arrays,
)


class CombLinUCB(Policy):
    """The `k` items with the highest upper bounds on theta . z; LMDH without distances.

    Parameters
    ----------
    prior_deviation
        lambda_p: how far from 0 each weight may be expected to lie.
    noise_deviation
        sigma: how noisy a reward is.
    exploration
        c: standard deviations added to an item's estimated reward.
    prior
        Where users begin, and how noisy a reward is, in place of the first two: a `Prior` of
        this catalogue, or the path of one.
    """

    name = "comblinucb"

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        prior_deviation: float = 1.0,
        noise_deviation: float = 1.0,
        exploration: float = 1.0,
        normaliser: Normaliser = "growing",
        prior: PriorLike | None = None,
    ) -> None:
        super().__init__(catalogue, normaliser=normaliser)
        check_positive(prior_deviation=prior_deviation, noise_deviation=noise_deviation)
        check_not_negative(exploration=exploration)
        start = relevance_prior(prior, catalogue)
        self._ridge = Ridge(catalogue.d, (noise_deviation / prior_deviation) ** 2, start)
        self.exploration = exploration
        self.noise_deviation = noise_deviation if start is None else self._ridge.deviation

    @property
    def preferences(self) -> Preferences:
        return learnt_preferences(self._ridge, self.catalogue.d, self.catalogue.m)

    def _recommend(self, free: MaskArray, k: int, rng: Any) -> Slate:
        layout = self.catalogue.layout
        if layout is None:
            return super()._recommend(free, k, rng)
        items, scores = top_list(layout, free, k, self._ranking(rng))
        return compiled_slate(self.catalogue, layout, items, scores, self.normaliser)

    def _ranking(self, rng: Any) -> Linear:  # noqa: ARG002
        """Return what the items of the next list are ranked by."""
        return bounded(self._ridge.estimate(), self.exploration * self.noise_deviation)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:  # noqa: ARG002
        mean, bonus = self._mean_and_bonus(self.catalogue.features[rows])
        return FixedScores(mean + bonus)

    def _explain(self, slate: Slate) -> Explanation:
        mean, bonus = self._mean_and_bonus(slate.relevance)
        return Explanation(mean, np.zeros((len(slate), 0)), bonus, ())

    def _mean_and_bonus(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        belief = self._ridge.estimate()
        width = self.exploration * self.noise_deviation
        return z @ belief.mean, width * np.sqrt(belief.variances(z))

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:
        self._ridge.learn(slate.relevance[seen], rewards[seen])

    def _arrays(self) -> Mapping[str, FloatArray]:
        return ridge_arrays(self._ridge)

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        check_ridge(arrays)

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:
        restore_ridge(self._ridge, arrays)


class CombLinTS(CombLinUCB):
    """The `k` best items for weights drawn once a list from what is believed of them.

    Parameters are those of CombLinUCB; `exploration` scales the deviation of the draw.
    """

    name = "comblints"
    draws = True

    def _ranking(self, rng: Any) -> Linear:
        return weighted(self._drawn(rng))

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:  # noqa: ARG002
        return FixedScores(self.catalogue.features[rows] @ self._drawn(rng))

    def _drawn(self, rng: Any) -> FloatArray:
        width = self.exploration * self.noise_deviation
        return self._ridge.estimate().sample(generator(rng), width)

    def _explain(self, slate: Slate) -> Explanation:
        mean, _bonus = self._mean_and_bonus(slate.relevance)
        # What the draw added is not kept, but the scores it led to are.
        return Explanation(mean, np.zeros((len(slate), 0)), slate.scores - mean, ())
