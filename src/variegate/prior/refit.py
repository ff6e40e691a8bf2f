"""A prior of features' weights, fitted by EM to what the policies of a service have learnt."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_count, check_numbers, check_positive, set_read_only
from variegate.errors import InputError
from variegate.model.ridge import upper_indices
from variegate.prior.prior import Prior

#: EM ends when a step moves no mean by more than this share of its deviation.
TOLERANCE: Final = 1e-4
#: Aggregates of fewer users than this are not released.
MIN_USERS: Final = 50
#: Maximum number of users whose full matrices are in memory at once, and of their entries.
BATCH_USERS: Final = 1024
BATCH_NUMBERS: Final = 2**21


class Population(NamedTuple):
    """Users' weights ~ N(mean, covariance), and the variance of a reward around the model."""

    mean: FloatArray
    covariance: FloatArray
    noise: float


class Batch(NamedTuple):
    """The sums of some users."""

    #: Upper triangles of the Gram matrices: half their size, (n, p (p + 1) / 2)
    triangles: FloatArray
    #: (n, p)
    responses: FloatArray

    def grams(self) -> FloatArray:
        """Return the Gram matrices, (n, p, p)."""
        size = self.responses.shape[1]
        rows, columns = upper_indices(size)
        grams = np.empty((len(self.responses), size, size))
        grams[:, rows, columns] = self.triangles
        grams[:, columns, rows] = self.triangles
        return grams


def fit_prior_from_sums(
    prior: Prior,
    sums: Iterable[tuple[ArrayLike, ArrayLike]],
    *,
    min_users: int = MIN_USERS,
    shrinkage: float = 20.0,
    max_iterations: int = 50,
) -> Prior:
    """Return a prior fitted to the sums that users' policies store.

    The sums do not depend on the prior that the policies started from, so the new prior can
    replace it while they continue. The noise is that of `prior`.

    Parameters
    ----------
    prior
        Where the fit starts, and what it is shrunk to if users are few.
    sums
        For each user the sum of zeta zeta' (p, p) and the sum of w zeta (p,). Users who have
        observed nothing do not count.
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
    batches = tuple(batches_of(len(prior.mean), iter(sums)))
    users = sum(len(batch.responses) for batch in batches)
    if users < min_users:
        raise InputError(
            f"`sums` must be of at least {min_users} users with a reward, so that no individual "
            f"can be inferred, got {users}"
        )
    target = now = Population(prior.mean, prior.covariance, prior.noise)
    for _ in range(max_iterations):
        before, now = now, em_step(batches, now, target, shrinkage)
        if (np.abs(now.mean - before.mean) < TOLERANCE * np.sqrt(np.diag(now.covariance))).all():
            break
    mean, covariance = set_read_only(now.mean), set_read_only(now.covariance)
    return replace(prior, mean=mean, covariance=covariance, users=users)


def em_step(
    batches: Sequence[Batch], now: Population, target: Population, pseudo_users: float
) -> Population:
    """Return the population after one step of EM; it is pulled to `target` by pseudo-users."""
    moments = [_moments(batch, now) for batch in batches]
    first, second = (sum(part) for part in zip(*moments, strict=True))
    n, apart = sum(len(batch.responses) for batch in batches), target.mean - now.mean
    shift = (first + pseudo_users * apart) / (n + pseudo_users)
    cross = np.outer(first, shift)
    scatter = second - cross - cross.T + n * np.outer(shift, shift)
    pulled = target.covariance + np.outer(apart - shift, apart - shift)
    covariance = (scatter + pseudo_users * pulled) / (n + pseudo_users)
    return Population(now.mean + shift, (covariance + covariance.T) / 2, now.noise)


def _moments(batch: Batch, now: Population) -> tuple[FloatArray, FloatArray]:
    """Return expected sums over users: of their weights minus the mean, and of the squares."""
    grams = batch.grams()
    errors = batch.responses - grams @ now.mean
    posteriors = np.linalg.inv(grams / now.noise + np.linalg.inv(now.covariance))
    apart = (posteriors @ errors[:, :, None])[:, :, 0] / now.noise
    return apart.sum(axis=0), apart.T @ apart + posteriors.sum(axis=0)


def batches_of(size: int, users: Iterator[Any]) -> Iterator[Batch]:
    """Yield the sums of users with an observation, or raise InputError."""
    start, length = 0, max(1, min(BATCH_USERS, BATCH_NUMBERS // size**2))
    while some := list(islice(users, length)):
        checked = [_checked(start + number, one, size) for number, one in enumerate(some)]
        start += len(some)
        taught = [one for one in checked if one[0].any()]
        if taught:
            yield Batch(*(np.array(column) for column in zip(*taught, strict=True)))


def _checked(number: int, one: Any, size: int) -> tuple[FloatArray, FloatArray]:
    """Return the triangle of a user's Gram matrix, and the response."""
    if not isinstance(one, tuple) or len(one) != 2:
        raise InputError(
            "`sums` must hold (gram, response) of each user, got "
            f"{type(one).__name__} for user {number}"
        )
    gram = check_numbers(f"sums[{number}].gram", one[0], ndim=2)
    response = check_numbers(f"sums[{number}].response", one[1], ndim=1)
    if gram.shape != (size, size) or response.shape != (size,):
        raise InputError(
            f"`sums` must be of {size} weights, as the prior is, got a gram of shape {gram.shape} "
            f"and a response of shape {response.shape} for user {number}"
        )
    return gram[upper_indices(size)], response
