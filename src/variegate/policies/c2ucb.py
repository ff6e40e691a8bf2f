"""C2UCB (Qin, Chen and Zhu, SDM 2014): LinUCB scores and an entropy regulariser."""

from collections.abc import Mapping
from copy import copy
from math import e, log, pi, sqrt
from typing import Any, Final, Literal

import numpy as np

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    check_not_negative,
    check_positive,
)
from variegate.kernels.baselines import c2ucb_list
from variegate.kernels.layout import Layout
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.ridge import Ridge, check_squares, unpacked
from variegate.model.search import Scorer
from variegate.model.slate import Slate
from variegate.model.theory import Confidence, check_exploration
from variegate.policies.base import Explanation
from variegate.policies.ridge_policy import RidgePolicy

#: Rewards in [0, 1] are sub-Gaussian with this deviation (Hoeffding's lemma).
SUB_GAUSSIAN: Final = 0.5


class C2UCB(RidgePolicy):
    """Choose by the upper bound on theta . z plus a weighted gain in entropy.

    The entropy is that of the list's ratings under the model r = Z u + noise (Qin and Zhu,
    IJCAI 2013): large for items that point in different directions.

    Parameters
    ----------
    ridge
        The paper's lambda_0.
    exploration
        alpha; a constant, or ``"theory"`` for the radius that grows with the observations.
    entropy_weight
        The paper's lambda.
    noise_deviation
        sigma in the entropy.
    prior_variance
        The variance of u in the entropy.
    condition_on_history
        Whether the entropy is that of ratings given all items seen so far.
    """

    name = "c2ucb"

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        ridge: float = 100.0,
        exploration: float | Literal["theory"] | Confidence = 1.0,
        entropy_weight: float = 0.1,
        noise_deviation: float = 1.0,
        prior_variance: float = 1.0,
        condition_on_history: bool = False,
        normaliser: Normaliser = "growing",
    ) -> None:
        check_positive(ridge=ridge, noise_deviation=noise_deviation, prior_variance=prior_variance)
        check_not_negative(entropy_weight=entropy_weight)
        self.exploration = check_exploration(exploration)
        self.entropy_weight, self.noise_deviation = entropy_weight, noise_deviation
        self.prior_variance, self.condition_on_history = prior_variance, condition_on_history
        super().__init__(catalogue, Ridge(catalogue.d, ridge), normaliser=normaliser)

    def width(self) -> float:
        """Return alpha: as set, or R sqrt(ln(det V / (lambda^d delta^2))) + sqrt(lambda) S."""
        exploration = self.exploration
        if not isinstance(exploration, Confidence):
            return exploration * self._ridge.deviation
        information = self._ridge.log_determinant_ratio() - 2.0 * log(exploration.delta)
        # Rounding can take it below its value without observations.
        radius = SUB_GAUSSIAN * sqrt(max(information, 0.0))
        return radius + sqrt(self._ridge.ridge) * exploration.preference_norm

    def _compiled_slate(self, layout: Layout, free: MaskArray, k: int, rng: Any) -> Slate:
        items, scores = c2ucb_list(
            layout,
            free,
            k,
            self._upper_bounds(self.width()),
            self._empty_list_inverse(),
            self.entropy_weight,
            entropy_of_noise(self.noise_deviation),
        )
        return self._slate_by_loops(layout, items, scores)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        z = self.catalogue.features[rows]
        mean, bonus = self._mean_and_bonus(z, self.width())
        return self._with_entropy(mean + bonus, z)

    def _with_entropy(self, scores: FloatArray, z: FloatArray) -> "EntropyGains":
        return EntropyGains(
            scores, z, self._empty_list_inverse(), self.entropy_weight, self.noise_deviation
        )

    def _empty_list_inverse(self) -> FloatArray:
        """Return the Q of `EntropyGains` for an empty list, (d, d)."""
        identity: FloatArray = np.eye(self.catalogue.d)
        ratio = self.noise_deviation**2 / self.prior_variance
        if not self.condition_on_history:
            return identity / ratio
        return np.linalg.inv(ratio * identity + self._ridge.gram).astype(np.float64, copy=False)

    def _explain(self, slate: Slate) -> Explanation:
        z, order = slate.relevance, np.arange(len(slate))
        mean, bonus = self._mean_and_bonus(z, self.width())
        entropy = self._with_entropy(np.zeros(len(slate)), z).along(order)
        return Explanation(mean, entropy[:, None], bonus, ("entropy",))

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        super()._check_arrays(arrays)
        if self.condition_on_history:
            check_squares("gram", unpacked(arrays["gram"], self.catalogue.d))


def entropy_of_noise(sigma: float) -> float:
    """Return the entropy of Gaussian noise with standard deviation sigma."""
    return 0.5 * log(2.0 * pi * e * sigma**2)


class EntropyGains(Scorer):
    """A fixed score plus the weighted gain 1/2 ln(2 pi e var(x | A)) in the list's entropy.

    var(x | A) = sigma^2 (1 + x' Q x) with Q = (sigma^2 / s^2 I + Z_A' Z_A)^-1, s^2 the prior
    variance. After item p is taken, Q decreases by (Q p)(Q p)' / (1 + p' Q p), so x' Q x of
    every candidate decreases by a square.
    """

    def __init__(
        self, base: FloatArray, z: FloatArray, Q: FloatArray, weight: float, sigma: float
    ) -> None:
        self._base, self._z, self._start = base, z, Q
        self._weight, self._constant = weight, entropy_of_noise(sigma)
        self._Q, self._spread = Q, np.einsum("ni,ni->n", z @ Q, z)
        self._first_spread = self._spread

    def __len__(self) -> int:
        return len(self._base)

    def scores(self) -> FloatArray:
        entropy = self._constant + 0.5 * np.log1p(np.maximum(self._spread, 0.0))
        scores: FloatArray = self._base + self._weight * entropy
        return scores

    def take(self, place: int) -> None:
        direction = self._Q @ self._z[place]
        norm = 1.0 + max(self._z[place] @ direction, 0.0)  # rounding can take it below 0
        self._Q = self._Q - np.outer(direction, direction) / norm
        self._spread = self._spread - (self._z @ direction) ** 2 / norm

    def fresh(self) -> "EntropyGains":
        other = copy(self)
        other._Q, other._spread = self._start, self._first_spread
        return other
