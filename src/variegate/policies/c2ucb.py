"""C2UCB (Qin, Chen and Zhu, SDM 2014): LinUCB scores and an entropy regulariser."""

from collections.abc import Mapping
from copy import copy
from math import e, log, pi, sqrt
from typing import Any, Literal

import numpy as np

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    check_not_negative,
    check_positive,
)
from variegate.kernels.baselines import entropy_list
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.ridge import Ridge, check_squares, unpacked
from variegate.model.search import Scorer
from variegate.model.slate import Slate
from variegate.model.theory import Confidence, checked_exploration
from variegate.model.utility import Preferences
from variegate.policies.base import Explanation, Policy
from variegate.policies.compiled import bounded, compiled_slate
from variegate.policies.ridge_policy import (
    PriorLike,
    check_ridge,
    learnt_preferences,
    relevance_prior,
    restore_ridge,
    ridge_arrays,
)

#: Rewards in [0, 1] are sub-Gaussian with this deviation (Hoeffding's lemma).
SUB_GAUSSIAN = 0.5


class C2UCB(Policy):
    """Pick by the upper bound on theta . z plus a weighted gain in entropy.

    The entropy is that of the list's ratings under the model r = Z u + noise (Qin and Zhu,
    IJCAI 2013): large for items that point in different directions.

    Parameters
    ----------
    ridge
        The paper's lambda_0.
    exploration
        alpha; a constant, or ``"theory"`` for the radius that grows with what was learnt.
    entropy_weight
        The paper's lambda.
    noise_deviation
        sigma, inside the entropy.
    prior_variance
        The variance of u, inside the entropy.
    condition_on_history
        Whether the entropy is that of ratings given all items seen so far.
    prior
        Where users begin, in place of `ridge`: a `Prior` of this catalogue, or the path of one.
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
        prior: PriorLike | None = None,
    ) -> None:
        super().__init__(catalogue, normaliser=normaliser)
        check_positive(ridge=ridge, noise_deviation=noise_deviation, prior_variance=prior_variance)
        check_not_negative(entropy_weight=entropy_weight)
        self.exploration = checked_exploration(exploration)
        self.entropy_weight, self.noise_deviation = entropy_weight, noise_deviation
        self.prior_variance, self.condition_on_history = prior_variance, condition_on_history
        start = relevance_prior(prior, catalogue, exploration)
        self._ridge = Ridge(catalogue.d, ridge, start)

    @property
    def preferences(self) -> Preferences:
        return learnt_preferences(self._ridge, self.catalogue.d, self.catalogue.m)

    def width(self) -> float:
        """Return alpha: as set, or R sqrt(ln(det V / (lambda^d delta^2))) + sqrt(lambda) S."""
        wish = self.exploration
        if not isinstance(wish, Confidence):
            return wish * self._ridge.deviation
        learnt = self._ridge.log_determinant_ratio() - 2.0 * log(wish.delta)
        # Rounding can dip below what nothing learnt gives.
        return (
            SUB_GAUSSIAN * sqrt(max(learnt, 0.0)) + sqrt(self._ridge.ridge) * wish.preference_norm
        )

    def _recommend(self, free: MaskArray, k: int, rng: Any) -> Slate:
        layout = self.catalogue.layout
        if layout is None:
            return super()._recommend(free, k, rng)
        belief = bounded(self._ridge.estimate(), self.width())
        constant = entropy_of_noise(self.noise_deviation)
        items, scores = entropy_list(
            layout, free, k, belief, self._nothing_taken(), self.entropy_weight, constant
        )
        return compiled_slate(self.catalogue, layout, items, scores, self.normaliser)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:  # noqa: ARG002
        z = self.catalogue.features[rows]
        mean, bonus = self._mean_and_bonus(z)
        return self._with_entropy(mean + bonus, z)

    def _with_entropy(self, scores: FloatArray, z: FloatArray) -> "EntropyGains":
        return EntropyGains(
            scores, z, self._nothing_taken(), self.entropy_weight, self.noise_deviation
        )

    def _nothing_taken(self) -> FloatArray:
        """Return the Q of the entropy that `EntropyGains` starts from, (d, d)."""
        first: FloatArray = np.eye(self.catalogue.d)
        ratio = self.noise_deviation**2 / self.prior_variance
        if not self.condition_on_history:
            return first / ratio
        return np.linalg.inv(ratio * first + self._ridge.gram).astype(np.float64, copy=False)

    def _explain(self, slate: Slate) -> Explanation:
        z, order = slate.relevance, np.arange(len(slate))
        mean, bonus = self._mean_and_bonus(z)
        entropy = self._with_entropy(np.zeros(len(slate)), z).along(order)
        return Explanation(mean, entropy[:, None], bonus, ("entropy",))

    def _mean_and_bonus(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        belief = self._ridge.estimate()
        return z @ belief.mean, self.width() * np.sqrt(belief.variances(z))

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:
        self._ridge.learn(slate.relevance[seen], rewards[seen])

    def _arrays(self) -> Mapping[str, FloatArray]:
        return ridge_arrays(self._ridge)

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        check_ridge(arrays)
        if self.condition_on_history:
            check_squares("gram", unpacked(arrays["gram"], self.catalogue.d))

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:
        restore_ridge(self._ridge, arrays)


def entropy_of_noise(sigma: float) -> float:
    """Return the entropy of a rating that only noise of deviation sigma is unknown of."""
    return 0.5 * log(2.0 * pi * e * sigma**2)


class EntropyGains(Scorer):
    """A fixed score plus the weighted gain 1/2 ln(2 pi e var(x | A)) in the list's entropy.

    var(x | A) = sigma^2 (1 + x' Q x) with Q = (sigma^2 / s^2 I + Z_A' Z_A)^-1, s^2 the prior
    variance; after p is taken, Q loses (Q p)(Q p)' / (1 + p' Q p), so that x' Q x of every
    candidate loses a square.
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
        norm = 1.0 + max(self._z[place] @ direction, 0.0)  # rounding can dip below 0
        self._Q = self._Q - np.outer(direction, direction) / norm
        self._spread = self._spread - (self._z @ direction) ** 2 / norm

    def fresh(self) -> "EntropyGains":
        other = copy(self)
        other._Q, other._spread = self._start, self._first_spread
        return other
