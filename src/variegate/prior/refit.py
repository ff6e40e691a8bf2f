"""A prior of features' weights, fitted by EM to what the policies of a service have learnt."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    check_count,
    check_not_negative,
    check_numbers,
    check_positive,
    set_read_only,
)
from variegate.errors import InputError
from variegate.model.ridge import upper_indices
from variegate.prior.prior import Prior

#: EM ends when a step raises the evidence by less than this per user.
MIN_GAIN: Final = 1e-6
#: Aggregates of fewer users than this are not released.
MIN_USERS: Final = 50
#: One user's sum of zeta zeta', sum of w zeta, number of rewards and, if stored, sum of w w.
OneUser: TypeAlias = (
    tuple[ArrayLike, ArrayLike, float] | tuple[ArrayLike, ArrayLike, float, float | None]
)
#: Maximum number of users whose full matrices are in memory at once, and of their entries.
BATCH_USERS: Final = 1024
BATCH_NUMBERS: Final = 2**21


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


class Batch(NamedTuple):
    """The sums of some users."""

    #: Upper triangles of the Gram matrices, (n, p (p + 1) / 2)
    triangles: FloatArray
    #: (n, p)
    responses: FloatArray
    #: Number of rewards of each user, (n,)
    rewards: FloatArray
    #: The sums of their squares, NaN if unknown, (n,)
    squares: FloatArray

    def grams(self) -> FloatArray:
        """Return the Gram matrices, (n, p, p)."""
        size = self.responses.shape[1]
        rows, columns = upper_indices(size)
        grams = np.empty((len(self.responses), size, size))
        grams[:, rows, columns] = self.triangles
        grams[:, columns, rows] = self.triangles
        return grams


class UserSums:
    """The sums of all users with a reward, stored as triangles: half the size of the matrices.

    Parameters
    ----------
    size
        Number of weights p (d + m for LMDH).
    users
        For each user the sum of zeta zeta' (p, p), the sum of w zeta (p,), the number of rewards
        and, if known, the sum of the rewards' squares. Users without rewards are ignored. It is
        iterated once.
    """

    def __init__(self, size: int, users: Iterable[OneUser]) -> None:
        self.size: Final = size
        self.batches: Final = tuple(_batches(size, iter(users)))
        #: Whether the squares of every user's rewards are known
        self.has_squares: Final = not any(np.isnan(b.squares).any() for b in self.batches)

    def __len__(self) -> int:
        return sum(len(batch.responses) for batch in self.batches)

    @property
    def rewards(self) -> float:
        """The number of rewards of all users."""
        return float(sum(batch.rewards.sum() for batch in self.batches))


def fit_prior_from_sums(
    prior: Prior,
    sums: UserSums | Iterable[OneUser],
    *,
    min_users: int = MIN_USERS,
    shrinkage: float = 20.0,
    max_iterations: int = 50,
) -> Prior:
    """Return a prior fitted to the sums that users' policies store.

    The sums do not depend on the prior that the policies started from, so the new prior can
    replace it while they continue. The noise is estimated if the squares of every user's rewards
    are known, and kept otherwise.

    Parameters
    ----------
    prior
        Where the fit starts, and what it is shrunk to if users are few.
    sums
        For each user ``(gram, response, rewards)`` or ``(gram, response, rewards, squares)``, as
        `UserSums` takes them. Users without rewards do not count.
    min_users
        With fewer users it raises InputError, so that no individual can be inferred.
    shrinkage
        The number of pseudo-users that represent `prior`.
    max_iterations
        Maximum number of EM steps.
    """
    check_positive(shrinkage=shrinkage)
    check_count(min_users, 10**9, name="min_users", of="users")
    check_count(max_iterations, 10**6, name="max_iterations", of="steps")
    users = _user_sums(prior, sums)
    if len(users) < min_users:
        raise InputError(
            f"`sums` must be of at least {min_users} users with a reward, so that no individual "
            f"can be inferred, got {len(users)}"
        )
    fit = refit_population(prior, users, shrinkage=shrinkage, max_iterations=max_iterations)
    return replace(
        prior,
        mean=set_read_only(fit.population.mean),
        covariance=set_read_only(fit.population.covariance),
        noise=fit.population.noise,
        users=len(users),
    )


def marginal_likelihood(prior: Prior, sums: UserSums | Iterable[OneUser]) -> float:
    """Return the log marginal likelihood of the rewards, as the mean over users.

    The squares of every user's rewards must be known.
    """
    users = _user_sums(prior, sums)
    if not len(users):
        raise InputError("`sums` must be of at least one user with a reward, got none")
    if not users.has_squares:
        raise InputError("`sums` must hold the squares of the rewards of every user")
    return expected_moments(users, _population(prior)).evidence / len(users)


def refit_population(
    prior: Prior, users: UserSums, *, shrinkage: float, max_iterations: int
) -> Fit:
    """Return the distribution of eta fitted to the users' sums."""
    start = _population(prior)
    of_noise = shrinkage * users.rewards / len(users) if users.has_squares else 0.0
    held = Shrinkage(start, shrinkage, shrinkage, of_noise)
    return maximise_evidence(
        start, lambda now: expected_moments(users, now), held, max_iterations=max_iterations
    )


def expected_moments(users: UserSums, population: Population) -> Moments:
    """Return the expected moments under a population; without squares none of the noise."""
    parts = [_moments_of(batch, population) for batch in users.batches]
    return Moments(
        sum(part.evidence for part in parts),
        len(users),
        np.sum([part.first for part in parts], axis=0),
        np.sum([part.second for part in parts], axis=0),
        sum(part.residual for part in parts) if users.has_squares else 0.0,
        users.rewards if users.has_squares else 0.0,
    )


def _moments_of(batch: Batch, population: Population) -> Moments:
    mean, covariance, noise = population
    grams = batch.grams()
    errors = batch.responses - grams @ mean
    posteriors = np.linalg.inv(grams / noise + np.linalg.inv(covariance))
    apart = (posteriors @ errors[:, :, None])[:, :, 0] / noise
    explained = np.sum(apart * errors, axis=1)
    # Unknown squares shift the evidence equally under every population with the same noise.
    before = np.nan_to_num(batch.squares) - (batch.responses + errors) @ mean
    after = np.sum(apart * (grams @ apart[:, :, None])[:, :, 0], axis=1)
    uncertain = np.sum(grams * posteriors, axis=(1, 2))
    _, volume = np.linalg.slogdet(covariance)
    _, volumes = np.linalg.slogdet(posteriors)
    spread = batch.rewards * np.log(2 * np.pi * noise) + volume - volumes
    return Moments(
        float(-0.5 * np.sum(spread + (before - explained) / noise)),
        len(errors),
        apart.sum(axis=0),
        apart.T @ apart + posteriors.sum(axis=0),
        # Rounding can take the residual of a perfect fit below 0.
        float(np.sum(np.maximum(before - 2 * explained + after, 0.0) + uncertain)),
        float(batch.rewards.sum()),
    )


def _user_sums(prior: Prior, sums: UserSums | Iterable[OneUser]) -> UserSums:
    if not isinstance(sums, UserSums):
        return UserSums(len(prior.mean), sums)
    if sums.size != len(prior.mean):
        raise InputError(f"`sums` must be of {len(prior.mean)} weights, got {sums.size}")
    return sums


def _population(prior: Prior) -> Population:
    return Population(prior.mean, prior.covariance, prior.noise)


def _batches(size: int, users: Iterator[OneUser]) -> Iterator[Batch]:
    start, length = 0, max(1, min(BATCH_USERS, BATCH_NUMBERS // size**2))
    while some := list(islice(users, length)):
        checked = [_checked(start + number, one, size) for number, one in enumerate(some)]
        start += len(some)
        with_rewards = [one for one in checked if one[2] > 0]
        if with_rewards:
            columns = zip(*with_rewards, strict=True)
            yield Batch(*(np.array(column, dtype=np.float64) for column in columns))


def _checked(number: int, one: Any, size: int) -> tuple[FloatArray, FloatArray, float, float]:
    """Return a user's sums, with the triangle of the Gram matrix, or raise InputError."""
    if not isinstance(one, tuple) or len(one) not in (3, 4):
        raise InputError(
            f"`sums` must hold (gram, response, rewards) or (gram, response, rewards, squares) "
            f"of each user, got {type(one).__name__} for user {number}"
        )
    gram = check_numbers(f"sums[{number}].gram", one[0], ndim=2)
    response = check_numbers(f"sums[{number}].response", one[1], ndim=1)
    if gram.shape != (size, size) or response.shape != (size,):
        raise InputError(
            f"`sums` must be of {size} weights, as the prior is, got a gram of shape {gram.shape} "
            f"and a response of shape {response.shape} for user {number}"
        )
    squares = one[3] if len(one) == 4 else None
    check_not_negative(rewards=one[2], squares=0.0 if squares is None else squares)
    return (
        gram[upper_indices(size)],
        response,
        float(one[2]),
        np.nan if squares is None else float(squares),
    )
