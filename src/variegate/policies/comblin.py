"""CombLinUCB and CombLinTS (Wen, Kveton and Ashkan, ICML 2015): relevance only.

Their Kalman recursion with prior deviation lambda_p and noise deviation sigma is ridge
regression with lambda = sigma^2 / lambda_p^2, whose covariance is sigma^2 Phi^-1.
"""

from typing import Any

import numpy as np

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    as_generator,
    check_not_negative,
    check_positive,
)
from variegate.kernels.baselines import Linear, top_list
from variegate.kernels.layout import Layout
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.ridge import Ridge
from variegate.model.search import FixedScores, Scorer
from variegate.model.slate import Slate
from variegate.policies.base import Explanation, linear_scores
from variegate.policies.ridge_policy import RidgePolicy


class CombLinUCB(RidgePolicy):
    """The `k` items with the highest upper bounds on theta . z; LMDH without distances.

    Parameters
    ----------
    prior_deviation
        lambda_p: the expected distance of each weight from 0.
    noise_deviation
        sigma: the standard deviation of a reward.
    exploration
        c: standard deviations added to an item's estimated reward.
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
    ) -> None:
        check_positive(prior_deviation=prior_deviation, noise_deviation=noise_deviation)
        check_not_negative(exploration=exploration)
        regression = Ridge(catalogue.d, (noise_deviation / prior_deviation) ** 2)
        super().__init__(catalogue, regression, normaliser=normaliser)
        self.exploration = exploration
        self.noise_deviation = noise_deviation

    @property
    def _width(self) -> float:
        return self.exploration * self.noise_deviation

    def _compiled_slate(self, layout: Layout, free: MaskArray, k: int, rng: Any) -> Slate:
        items, scores = top_list(layout, free, k, self._ranking(rng))
        return self._slate_by_loops(layout, items, scores)

    def _ranking(self, rng: Any) -> Linear:
        """Return the scores that the items of the next list are ranked by."""
        return self._upper_bounds(self._width)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        mean, bonus = self._mean_and_bonus(self.catalogue.features[rows], self._width)
        return FixedScores(mean + bonus)

    def _explain(self, slate: Slate) -> Explanation:
        mean, bonus = self._mean_and_bonus(slate.relevance, self._width)
        return Explanation(mean, np.zeros((len(slate), 0)), bonus, ())


class CombLinTS(CombLinUCB):
    """The `k` best items for weights sampled once per list from the posterior.

    The parameters are those of CombLinUCB; `exploration` scales the deviation of the sample.
    """

    name = "comblints"
    is_stochastic = True

    def _ranking(self, rng: Any) -> Linear:
        return linear_scores(self._sampled(rng))

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        return FixedScores(self.catalogue.features[rows] @ self._sampled(rng))

    def _sampled(self, rng: Any) -> FloatArray:
        return self._ridge.estimate().sample(as_generator(rng), self._width)

    def _explain(self, slate: Slate) -> Explanation:
        mean = slate.relevance @ self._ridge.estimate().mean
        # The sample is not kept, but the scores that it led to are.
        return Explanation(mean, np.zeros((len(slate), 0)), slate.scores - mean, ())
