"""A prior fitted to the likes of training users, by expectation maximisation."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_positive
from variegate.model.catalogue import Catalogue
from variegate.prior.features import liked_rows
from variegate.prior.prior import Prior

#: Maximum number of EM steps. A step costs the same for one user as for a million.
MAX_ITERATIONS: Final = 500
#: EM ends when a step raises the evidence by less than this per user.
MIN_GAIN: Final = 1e-6
#: Number of pseudo-users that keep the mean at 0.
PSEUDO_USERS_OF_MEAN: Final = 1.0
#: Share of the variance of rewards that theta explains for the pseudo-users.
EXPLAINED: Final = 0.15
#: A feature smaller than the others by this factor is treated as absent.
MIN_SIZE: Final = 1e-6
#: Chosen on training users only, by `variegate tune`; see docs/beyond.md.
NOISE_FACTOR: Final = 6.0
BETA: Final = 0.5
BETA_VARIANCE: Final = 0.05


def fit_prior(
    catalogue: Catalogue,
    likes: Iterable[ArrayLike],
    *,
    shrinkage: float = 3.0,
    noise_factor: float = NOISE_FACTOR,
    beta: ArrayLike | None = None,
    beta_variance: ArrayLike = BETA_VARIANCE,
) -> Prior:
    """Return the prior that maximises the marginal likelihood of training users' likes.

    Every item that a user does not like counts as a reward of 0. The mean and the covariance of
    theta and the noise maximise the likelihood with theta integrated out, by expectation
    maximisation, with a few pseudo-users of small, independent weights as regularisation.

    Parameters
    ----------
    likes
        For each training user the rows of the items liked, or a mask of them. Users without
        likes are ignored.
    shrinkage
        The number of pseudo-users. They matter if users are few or a feature is rare. 3 was
        best or close to it on held-out training users, with five users and more.
    noise_factor
        Multiplies the noise: most items are easily predicted to be unliked, and lists show the
        others.
    beta, beta_variance
        Mean and variance of beta, about which likes without lists say nothing; see
        `Prior.with_beta`. By default the distances share a mean of 0.5.

    Examples
    --------
    >>> shop = Catalogue(["tea", "rum", "ale"], [[1, 0], [0, 1], [0, 1]], "cosine",
    ...                  feature_names=["mild", "strong"])
    >>> prior = fit_prior(shop, [[1, 2], [1], [0, 1, 2], [2]])
    >>> prior
    Prior(2 features, 1 distances, fitted to 4 users)
    >>> bool(prior.mean[1] > prior.mean[0])
    True
    """
    check_positive(shrinkage=shrinkage, noise_factor=noise_factor)
    # In units of their own size: the regularisation does not depend on the units of features.
    scales = _feature_sizes(catalogue.features)
    sums = like_sums(catalogue.features / scales, likes)
    population = fit_population(sums, shrinkage=shrinkage).population
    theta = Prior(
        np.append(population.mean / scales, np.zeros(catalogue.m)),
        _with_unit_block(population.covariance / scales[:, None] / scales, catalogue.m),
        noise_factor * population.noise,
        catalogue.feature_names,
        tuple(h.name for h in catalogue.distances),
        sums.users,
    )
    return theta.with_beta(BETA / max(catalogue.m, 1) if beta is None else beta, beta_variance)


def _feature_sizes(features: FloatArray) -> FloatArray:
    """Return the root mean square of each feature over the items that have it, (d,)."""
    largest = np.abs(features).max(axis=0)
    scaled = features / np.where(largest > 0, largest, 1.0)  # whose squares are finite
    having = np.maximum(np.count_nonzero(features, axis=0), 1)
    sizes = largest * np.sqrt((scaled**2).sum(axis=0) / having)
    # A feature that no item has gets the median size.
    median = float(np.median(sizes[sizes > 0])) if sizes.any() else 1.0
    return np.maximum(np.where(sizes > 0, sizes, median), MIN_SIZE * median)


def _with_unit_block(theta: FloatArray, m: int) -> FloatArray:
    """Return theta's covariance extended by `m` independent weights of variance 1."""
    size = len(theta)
    covariance = np.eye(size + m)
    covariance[:size, :size] = theta
    return covariance


class Population(NamedTuple):
    """Users' weights ~ N(mean, covariance), and the variance of a reward around the model."""

    mean: FloatArray
    covariance: FloatArray
    noise: float


class Moments(NamedTuple):
    """Expected sufficient statistics of the users' data under a population, summed over users."""

    #: The log of the data's marginal likelihood
    evidence: float
    users: int
    #: Of the users' weights minus the population's mean, (p,), and of their squares, (p, p)
    first: FloatArray
    second: FloatArray
    #: Squared errors of the rewards, and the number of rewards
    residual: float
    rewards: float


class Fit(NamedTuple):
    """The result of EM, and the penalised evidence before each step and at the end."""

    population: Population
    evidence: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """Regularisation towards a target by pseudo-users, as by a conjugate prior."""

    target: Population
    #: Number of pseudo-users for the target's mean and for its covariance, and number of
    #: pseudo-rewards for its noise
    of_mean: float
    of_covariance: float
    of_noise: float

    def updated(self, population: Population, moments: Moments) -> Population:
        """Return the population that maximises the penalised expected log likelihood."""
        apart = self.target.mean - population.mean
        shift = (moments.first + self.of_mean * apart) / (moments.users + self.of_mean)
        cross = np.outer(moments.first, shift)
        scatter = moments.second - cross - cross.T + moments.users * np.outer(shift, shift)
        pulled = self.of_mean * np.outer(apart - shift, apart - shift)
        held = self.of_covariance * self.target.covariance
        covariance = (scatter + pulled + held) / (moments.users + self.of_covariance)
        errors = moments.residual + self.of_noise * self.target.noise
        counted = moments.rewards + self.of_noise
        noise = errors / counted if counted > 0 else population.noise
        return Population(population.mean + shift, (covariance + covariance.T) / 2, float(noise))

    def penalty(self, population: Population) -> float:
        """Return the log density of a population under the pseudo-users, up to a constant."""
        _, volume = np.linalg.slogdet(population.covariance)
        apart = population.mean - self.target.mean
        spread = self.of_covariance * self.target.covariance + self.of_mean * np.outer(apart, apart)
        far = float(np.trace(np.linalg.solve(population.covariance, spread)))
        noisy = np.log(population.noise) + self.target.noise / population.noise
        return -0.5 * float(self.of_covariance * volume + far + self.of_noise * noisy)


def maximise_evidence(
    start: Population,
    expectation: Callable[[Population], Moments],
    shrinkage: Shrinkage,
    *,
    max_iterations: int,
) -> Fit:
    """Return the population that EM reaches from `start`: each step raises the evidence."""
    population, history = start, list[float]()
    for _ in range(max_iterations):
        moments = expectation(population)
        history.append(moments.evidence + shrinkage.penalty(population))
        if len(history) > 1 and history[-1] - history[-2] < MIN_GAIN * moments.users:
            return Fit(population, tuple(history))
        population = shrinkage.updated(population, moments)
    history.append(expectation(population).evidence + shrinkage.penalty(population))
    return Fit(population, tuple(history))


@dataclass(frozen=True, eq=False)
class LikeSums:
    """The sums that EM needs over users, each of whom judged every item."""

    users: int
    items: int
    #: Number of likes of all users
    likes: float
    #: Sum of z z' over the items, the same for every user, (d, d)
    gram: FloatArray
    #: The mean over users of the sums of liked items' features, (d,), and their scatter, (d, d)
    response: FloatArray
    scatter: FloatArray

    def moments(self, population: Population) -> Moments:
        """Return the expected moments of the likes under a population of theta."""
        mean, covariance, noise = population
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
    """Return the sums over users of the features that they like, or raise InputError."""
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


def fit_population(
    sums: LikeSums, *, shrinkage: float, max_iterations: int = MAX_ITERATIONS
) -> Fit:
    """Return the distribution of theta fitted to the likes, in the units of `sums`."""
    d = len(sums.response)
    share = sums.likes / (sums.users * sums.items)
    # If all users like everything, the rewards have no variance to start from.
    noise = max(share * (1 - share), share / 1000)
    target = Population(np.zeros(d), EXPLAINED * noise / d * np.eye(d), noise)
    held = Shrinkage(target, PSEUDO_USERS_OF_MEAN, shrinkage, shrinkage * sums.items)
    return maximise_evidence(target, sums.moments, held, max_iterations=max_iterations)
