"""A prior from the likes of training users."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_positive
from variegate.model.catalogue import Catalogue
from variegate.prior.features import POPULARITY, liked_rows
from variegate.prior.prior import Prior

#: EM takes at most so many steps. Each costs as much for one user as for a million.
ITERATIONS: Final = 500
#: How many pseudo-users hold the mean at 0.
HELD_MEAN: Final = 1.0
#: The share of the rewards' variance that tastes explain, as the pseudo-users have it.
EXPLAINED: Final = 0.15
#: A feature smaller than the others by this factor counts as if it were not there.
LEAST_SIZE: Final = 1e-6
#: Chosen on training users alone, by `variegate tune`; docs/beyond.md tells how.
NOISE_FACTOR: Final = 6.0
BETA: Final = 0.5
BETA_VARIANCE: Final = 0.05
#: What `default_prior` believes of variety, and of the weight of popularity.
GUESSED_BETA: Final = 0.35
POPULAR: Final = 0.1
#: EM ends when a step raises the evidence by less than this for each user.
LEAST_GAIN: Final = 1e-6


def fit_prior(
    catalogue: Catalogue,
    likes: Iterable[ArrayLike],
    *,
    shrinkage: float = 3.0,
    noise_factor: float = NOISE_FACTOR,
    beta: ArrayLike | None = None,
    beta_variance: ArrayLike = BETA_VARIANCE,
) -> Prior:
    """Return the prior under which the likes of training users are likeliest.

    Every item that a user does not like counts as a reward of 0. The mean and the covariance of
    theta and the noise maximise the likelihood with theta integrated out (by expectation
    maximisation), given a few pseudo-users with small, independent tastes.

    Parameters
    ----------
    likes
        For each training user the rows of the items liked, or a mask of them. A user without
        likes says nothing and is left out.
    shrinkage
        How many pseudo-users there are. They decide where users are few or a feature is rare.
        3 was best or near it on held-out training users, for five of them and more.
    noise_factor
        The noise is multiplied by it: most items are easily told to be unliked, and lists show
        the others.
    beta, beta_variance
        The belief in beta, of which likes without lists say nothing; see `Prior.with_beta`. By
        default the distances share 0.5.

    Examples
    --------
    >>> shop = Catalogue(["tea", "rum", "ale"], [[1, 0], [0, 1], [0, 1]], "cosine",
    ...                  feature_names=["mild", "strong"])
    >>> prior = fit_prior(shop, [[1, 2], [1], [0, 1, 2], [2]])
    >>> prior
    Prior(2 features, 1 distances, of 4 users)
    >>> bool(prior.mean[1] > prior.mean[0])
    True
    """
    check_positive(shrinkage=shrinkage, noise_factor=noise_factor)
    # In units of their own size: what the pseudo-users think does not hang on the units.
    scales = _sizes(catalogue.features)
    sums = like_sums(catalogue.features / scales, likes)
    found = fitted(sums, shrinkage=shrinkage).belief
    theta = Prior(
        np.append(found.mean / scales, np.zeros(catalogue.m)),
        _block(found.covariance / scales[:, None] / scales, catalogue.m),
        noise_factor * found.noise,
        catalogue.feature_names,
        tuple(h.name for h in catalogue.distances),
        sums.users,
    )
    return theta.with_beta(_shared(beta, catalogue.m, BETA), beta_variance)


def default_prior(
    catalogue: Catalogue,
    *,
    variance: float = 0.02,
    noise: float = 0.25,
    beta: ArrayLike | None = None,
    beta_variance: ArrayLike = BETA_VARIANCE,
) -> Prior:
    """Return a prior for a catalogue without training users.

    Parameters
    ----------
    variance
        Of each feature's weight. Their means are 0, but a feature "popularity" is liked a bit.
    noise
        The variance of a reward around what the model says; that of a tossed coin is 0.25.
    beta, beta_variance
        As for `fit_prior`, but the distances share 0.35.
    """
    check_positive(variance=variance, noise=noise)
    mean = [POPULAR if name == POPULARITY else 0.0 for name in catalogue.feature_names]
    theta = Prior(
        np.append(mean, np.zeros(catalogue.m)),
        _block(variance * np.eye(catalogue.d), catalogue.m),
        noise,
        catalogue.feature_names,
        tuple(h.name for h in catalogue.distances),
    )
    return theta.with_beta(_shared(beta, catalogue.m, GUESSED_BETA), beta_variance)


def _shared(beta: ArrayLike | None, m: int, whole: float) -> ArrayLike:
    return whole / max(m, 1) if beta is None else beta


def _sizes(features: FloatArray) -> FloatArray:
    """Return the root mean square of each feature over the items that have it, (d,)."""
    largest = np.abs(features).max(axis=0)
    shrunk = features / np.where(largest > 0, largest, 1.0)  # squares that floats can hold
    having = np.maximum(np.count_nonzero(features, axis=0), 1)
    sizes = largest * np.sqrt((shrunk**2).sum(axis=0) / having)
    # A feature that no item has is as large as the others are.
    usual = float(np.median(sizes[sizes > 0])) if sizes.any() else 1.0
    return np.maximum(np.where(sizes > 0, sizes, usual), LEAST_SIZE * usual)


def _block(theta: FloatArray, m: int) -> FloatArray:
    """Return theta's covariance with room for `m` independent weights after it."""
    size = len(theta)
    covariance = np.eye(size + m)
    covariance[:size, :size] = theta
    return covariance


class Belief(NamedTuple):
    """Users' weights ~ N(mean, covariance), and the variance of a reward around them."""

    mean: FloatArray
    covariance: FloatArray
    noise: float


class Moments(NamedTuple):
    """What the users' data say under a belief, summed over users."""

    #: The log of the data's marginal likelihood
    evidence: float
    users: int
    #: Of the users' weights less the belief's mean, (p,), and of their squares, (p, p)
    first: FloatArray
    second: FloatArray
    #: Squared errors of the rewards, and how many rewards they are of
    residual: float
    rewards: float


class Fit(NamedTuple):
    """Where EM ended, and the penalised evidence before each step and at the end."""

    belief: Belief
    evidence: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """Pseudo-users who stand for what is believed without data, as conjugate priors do."""

    target: Belief
    #: How many pseudo-users speak for the target's mean, for its covariance, and how many
    #: pseudo-rewards for its noise
    of_mean: float
    of_covariance: float
    of_noise: float

    def updated(self, belief: Belief, moments: Moments) -> Belief:
        """Return the belief that maximises the expected log likelihood and the penalty."""
        apart = self.target.mean - belief.mean
        shift = (moments.first + self.of_mean * apart) / (moments.users + self.of_mean)
        cross = np.outer(moments.first, shift)
        scatter = moments.second - cross - cross.T + moments.users * np.outer(shift, shift)
        pulled = self.of_mean * np.outer(apart - shift, apart - shift)
        held = self.of_covariance * self.target.covariance
        covariance = (scatter + pulled + held) / (moments.users + self.of_covariance)
        errors = moments.residual + self.of_noise * self.target.noise
        counted = moments.rewards + self.of_noise
        noise = errors / counted if counted > 0 else belief.noise
        return Belief(belief.mean + shift, (covariance + covariance.T) / 2, float(noise))

    def penalty(self, belief: Belief) -> float:
        """Return the log density of a belief under the pseudo-users, up to a constant."""
        _, volume = np.linalg.slogdet(belief.covariance)
        apart = belief.mean - self.target.mean
        spread = self.of_covariance * self.target.covariance + self.of_mean * np.outer(apart, apart)
        far = float(np.trace(np.linalg.solve(belief.covariance, spread)))
        noisy = np.log(belief.noise) + self.target.noise / belief.noise
        return -0.5 * float(self.of_covariance * volume + far + self.of_noise * noisy)


def maximised(
    start: Belief,
    expectation: Callable[[Belief], Moments],
    shrinkage: Shrinkage,
    *,
    iterations: int,
) -> Fit:
    """Return the belief that EM climbs to from `start`: each step raises the evidence."""
    belief, history = start, list[float]()
    for _ in range(iterations):
        moments = expectation(belief)
        history.append(moments.evidence + shrinkage.penalty(belief))
        if len(history) > 1 and history[-1] - history[-2] < LEAST_GAIN * moments.users:
            return Fit(belief, tuple(history))
        belief = shrinkage.updated(belief, moments)
    history.append(expectation(belief).evidence + shrinkage.penalty(belief))
    return Fit(belief, tuple(history))


@dataclass(frozen=True, eq=False)
class LikeSums:
    """All that EM needs of users who each judged every item."""

    users: int
    items: int
    #: How many likes all users have
    likes: float
    #: Sum of z z' over the items, the same for every user, (d, d)
    gram: FloatArray
    #: The mean over users of the sums of liked items' features, (d,), and their scatter, (d, d)
    response: FloatArray
    scatter: FloatArray

    def moments(self, belief: Belief) -> Moments:
        """Return what the users' likes say under a belief about theta."""
        mean, covariance, noise = belief
        precision = np.linalg.inv(covariance)
        posterior = np.linalg.inv(self.gram / noise + precision)
        gain = posterior / noise
        apart = self.response - self.gram @ mean
        errors = self.scatter + self.users * np.outer(apart, apart)
        second = gain @ errors @ gain.T
        known = self.gram @ mean
        before = self.likes + self.users * float(mean @ known - 2 * mean @ self.response)
        uncertain = self.users * float(np.sum(self.gram * posterior))
        residual = before - 2 * float(np.sum(gain * errors)) + float(np.sum(self.gram * second))
        _, narrowed = np.linalg.slogdet(np.eye(len(mean)) + covariance @ self.gram / noise)
        spread = self.items * np.log(2 * np.pi * noise) + narrowed
        explained = float(np.sum(gain * errors)) / noise
        evidence = -0.5 * (self.users * spread + before / noise - explained)
        return Moments(
            float(evidence),
            self.users,
            self.users * (gain @ apart),
            second + self.users * posterior,
            residual + uncertain,
            float(self.users * self.items),
        )


def like_sums(features: FloatArray, likes: Iterable[ArrayLike]) -> LikeSums:
    """Return the sums over users of what they like, or raise InputError."""
    rows = liked_rows(likes, len(features))
    responses = np.array([features[liked].sum(axis=0) for liked in rows])
    response = responses.mean(axis=0)
    apart = responses - response
    return LikeSums(
        len(rows),
        len(features),
        float(sum(map(len, rows))),
        features.T @ features,
        response,
        apart.T @ apart,
    )


def fitted(sums: LikeSums, *, shrinkage: float, iterations: int = ITERATIONS) -> Fit:
    """Return the fit of theta's spread to the likes, in the units of `sums`."""
    d = len(sums.response)
    share = sums.likes / (sums.users * sums.items)
    # Where everything is liked by all, rewards have no variance to start from.
    noise = max(share * (1 - share), share / 1000)
    target = Belief(np.zeros(d), EXPLAINED * noise / d * np.eye(d), noise)
    held = Shrinkage(target, HELD_MEAN, shrinkage, shrinkage * sums.items)
    return maximised(target, sums.moments, held, iterations=iterations)
