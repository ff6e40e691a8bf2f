"""DC2B (Liu et al., AAAI 2020): Thompson sampling with a determinantal point process.

A reconstruction: only the abstract of the original was available. Each choice that it leaves
open is an option here, and `label` names the choices.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    as_generator,
    check_choice,
    check_not_negative,
    check_numbers,
    check_positive,
    check_range,
    unit_rows,
)
from variegate.errors import InputError, StateError
from variegate.kernels.baselines import Quality, dc2b_list
from variegate.kernels.layout import Layout, unit_features
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.ridge import MAX_RIDGE, MIN_RIDGE, packed, unpacked
from variegate.model.slate import Slate
from variegate.model.utility import Preferences
from variegate.policies.base import Explanation, Policy
from variegate.policies.dpp import Determinant, similarity_root
from variegate.policies.logistic import Posterior, update_posterior
from variegate.policies.ridge_policy import NORMAL_95

JITTER = 1e-3
#: Multiplied twice by the largest feature that a catalogue accepts, this is still finite.
LARGEST_WEIGHT = 1e50


class DC2B(Policy):
    """Sample the user's weights, then choose by quality and the determinant of similarity.

    Parameters
    ----------
    sharpness
        The paper's alpha = 3: the exponent of the quality q = exp(alpha r), or, with
        `sharpness_of` set to ``posterior``, the scale of the sample.
    sharpness_of
        ``quality`` or ``posterior``.
    prior_precision
        The paper's lambda = 1.
    quality
        r is the sampled theta . z (``identity``) or its ``sigmoid``.
    similarity
        ``shifted`` is (1 + cos) / 2, ``cosine`` the plain cosine.
    intercept
        Whether the click model has one.
    prior_mean
        Prior mean of theta, (d,); by default the catalogue's mean user in the units of its
        features, or 0 if it has none.
    hyperprior
        Shape and rate of a Gamma prior on the prior's precision; none by default.
    beyond_rank
        For lists longer than the rank of Sim: ``fill`` by quality, or add ``jitter`` to Sim.
    """

    name = "dc2b"
    is_stochastic = True

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        sharpness: float = 3.0,
        sharpness_of: Literal["quality", "posterior"] = "quality",
        prior_precision: float = 1.0,
        quality: Literal["identity", "sigmoid"] = "identity",
        similarity: Literal["shifted", "cosine"] = "shifted",
        intercept: bool = False,
        prior_mean: ArrayLike | None = None,
        hyperprior: tuple[float, float] | None = None,
        beyond_rank: Literal["fill", "jitter"] = "fill",
        normaliser: Normaliser = "growing",
    ) -> None:
        super().__init__(catalogue, normaliser=normaliser)
        check_not_negative(sharpness=sharpness)
        check_range("prior_precision", prior_precision, MIN_RIDGE, MAX_RIDGE)
        if hyperprior is not None:
            check_positive(shape=hyperprior[0], rate=hyperprior[1])
        check_choice("sharpness_of", sharpness_of, ("quality", "posterior"))
        check_choice("quality", quality, ("identity", "sigmoid"))
        check_choice("similarity", similarity, ("shifted", "cosine"))
        check_choice("beyond_rank", beyond_rank, ("fill", "jitter"))
        self.sharpness, self.sharpness_of, self.quality = sharpness, sharpness_of, quality
        self.similarity, self.intercept, self.hyperprior = similarity, intercept, hyperprior
        self.beyond_rank = beyond_rank
        self.prior_mean = _checked_prior_mean(catalogue, prior_mean, intercept)
        size = len(self.prior_mean)
        self._prior_precision = float(prior_precision)
        self._curvature: FloatArray = np.zeros((size, size))  # sum of 2 lam(xi) x x'
        self._response: FloatArray = np.zeros(size)  # sum of (y - 1/2) x

    @property
    def label(self) -> str:
        choices = [f"{self.quality} quality", f"{self.similarity} similarity"]
        choices += ["sharp posterior"] * (self.sharpness_of == "posterior")
        choices += ["intercept"] * self.intercept
        choices += ["prior at mean user"] * bool(self.prior_mean.any())
        choices += ["hyperprior"] * (self.hyperprior is not None)
        return f"DC2B (reconstructed: {', '.join(choices)})"

    @property
    def preferences(self) -> Preferences:
        return self._preferences_of(self._posterior())

    @property
    def prior_preferences(self) -> Preferences:
        nothing = np.zeros_like(self._curvature), np.zeros_like(self._response)
        return self._preferences_of(self._posterior_from(*nothing, self._prior_precision))

    def _preferences_of(self, posterior: Posterior) -> Preferences:
        d, m = self.catalogue.d, self.catalogue.m
        theta = posterior.mean[:d]
        # The covariance of a logistic model includes the noise of a reward.
        half = NORMAL_95 * np.sqrt(np.diag(posterior.covariance)[:d])
        interval, zero = np.stack([theta - half, theta + half]), np.zeros(m)
        return Preferences(theta, zero, interval, np.stack([zero, zero]), np.zeros(2))

    def _posterior(self) -> Posterior:
        return self._posterior_from(self._curvature, self._response, self._prior_precision)

    def _posterior_from(
        self, curvature: FloatArray, response: FloatArray, prior: float
    ) -> Posterior:
        start = prior * np.eye(len(self.prior_mean))
        return Posterior(start + curvature, prior * self.prior_mean + response)

    def _compiled_slate(self, layout: Layout, free: MaskArray, k: int, rng: Any) -> Slate:
        theta, d = self._sampled(rng), self.catalogue.d
        intercept = float(theta[d]) if self.intercept else 0.0
        items, scores = dc2b_list(
            layout,
            unit_features(layout, self.catalogue.distances),
            free,
            k,
            Quality(theta[:d], intercept, self._exponent, self.quality == "sigmoid"),
            shifted=self.similarity == "shifted",
            jitter=self._jitter,
        )
        return self._slate_by_loops(layout, items, scores)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Determinant:
        return self._determinant(self.catalogue.features[rows], self._sampled(rng))

    def _sampled(self, rng: Any) -> FloatArray:
        scale = self.sharpness if self.sharpness_of == "posterior" else 1.0
        return self._posterior().sample(as_generator(rng), scale)

    @property
    def _exponent(self) -> float:
        return float(self.sharpness) if self.sharpness_of == "quality" else 1.0

    @property
    def _jitter(self) -> float:
        return JITTER if self.beyond_rank == "jitter" else 0.0

    def _determinant(self, z: FloatArray, theta: FloatArray) -> Determinant:
        root = similarity_root(unit_rows(z), shifted=self.similarity == "shifted")
        return Determinant(self._log_quality(z, theta), root, self._jitter)

    def _log_quality(self, z: FloatArray, theta: FloatArray) -> FloatArray:
        relevance = self._inputs(z) @ theta
        if self.quality == "sigmoid":
            relevance = scipy.special.expit(relevance)
        return relevance * self._exponent

    def _explain(self, slate: Slate) -> Explanation:
        mean = self._posterior().mean
        expected = 2.0 * self._log_quality(slate.relevance, mean)
        scorer = self._determinant(slate.relevance, mean)
        variance = scorer.along(np.arange(len(slate))) - expected
        # The sample is not kept, but the scores that it led to are.
        exploration = slate.scores - expected - variance
        return Explanation(expected, variance[:, None], exploration, ("determinant",))

    def _inputs(self, z: FloatArray) -> FloatArray:
        return np.hstack([z, np.ones((len(z), 1))]) if self.intercept else z

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:
        before = self._posterior()
        after, _xi = update_posterior(before, self._inputs(slate.relevance[seen]), rewards[seen])
        curvature = self._curvature + (after.precision - before.precision)
        response = self._response + (after.information - before.information)
        prior = self._prior_precision
        if self.hyperprior is not None:
            shape, rate = self.hyperprior
            off = after.mean - self.prior_mean
            spread = off @ off + np.trace(after.covariance)
            prior = (shape + 0.5 * len(off)) / (rate + 0.5 * spread)
        try:
            _check_posterior(self._posterior_from(curvature, response, prior))
        except StateError as error:
            raise InputError(f"the features are too large to learn from: {error}") from None
        self._curvature, self._response, self._prior_precision = curvature, response, prior

    def _arrays(self) -> Mapping[str, FloatArray]:
        return {
            "curvature": packed(self._curvature),
            "response": self._response,
            "prior": np.array([self._prior_precision]),
        }

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        prior, curvature = arrays["prior"][0], unpacked(arrays["curvature"], len(self.prior_mean))
        if not MIN_RIDGE <= prior <= MAX_RIDGE:
            raise StateError(f"`prior` must be from {MIN_RIDGE:g} to {MAX_RIDGE:g}, got {prior:g}")
        _check_posterior(self._posterior_from(curvature, arrays["response"], float(prior)))

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:
        curvature = unpacked(arrays["curvature"], len(self.prior_mean))
        prior = float(arrays["prior"][0])
        self._curvature, self._prior_precision = curvature, prior
        self._response = np.array(arrays["response"])


def _checked_prior_mean(
    catalogue: Catalogue, prior_mean: ArrayLike | None, intercept: bool
) -> FloatArray:
    if prior_mean is None:
        known = catalogue.mean_user
        start = np.zeros(catalogue.d) if known is None else known * catalogue.feature_scale
    else:
        start = check_numbers("prior_mean", prior_mean, ndim=1)
        if start.shape != (catalogue.d,):
            raise InputError(f"`prior_mean` must have shape ({catalogue.d},), got {start.shape}")
    return np.append(start, 0.0) if intercept else start


def _check_posterior(posterior: Posterior) -> None:
    """Raise StateError unless weights can be sampled from a posterior and are not too large."""
    try:
        np.linalg.cholesky(posterior.precision)
        largest = np.abs(posterior.mean).max()
        deviation = np.sqrt(np.diag(posterior.covariance).max())
    except np.linalg.LinAlgError:
        raise StateError(
            "`state` must hold a positive definite precision, got one that is not"
        ) from None
    if not max(largest, deviation) <= LARGEST_WEIGHT:
        raise StateError(
            f"`state` must give weights of at most {LARGEST_WEIGHT:g} in size, "
            f"got {largest:g} with a standard deviation of {deviation:g}"
        )
