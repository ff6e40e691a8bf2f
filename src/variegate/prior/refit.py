"""A prior of features' weights, fitted by EM to what the policies of a service have learnt."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
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

#: EM ends when a step moves no mean by more than this share of its deviation.
TOLERANCE: Final = 1e-4
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
    target = now = Population(prior.mean, prior.covariance, prior.noise)
    for _ in range(max_iterations):
        before, now = now, em_step(users, now, target, shrinkage)
        if (np.abs(now.mean - before.mean) < TOLERANCE * np.sqrt(np.diag(now.covariance))).all():
            break
    return replace(
        prior,
        mean=set_read_only(now.mean),
        covariance=set_read_only(now.covariance),
        noise=now.noise,
        users=len(users),
    )


def em_step(
    users: UserSums, now: Population, target: Population, pseudo_users: float
) -> Population:
    """Return the population after one step of EM; it is pulled to `target` by pseudo-users."""
    moments = [_moments(batch, now) for batch in users.batches]
    first, second, residual = (sum(part) for part in zip(*moments, strict=True))
    n, apart = len(users), target.mean - now.mean
    shift = (first + pseudo_users * apart) / (n + pseudo_users)
    cross = np.outer(first, shift)
    scatter = second - cross - cross.T + n * np.outer(shift, shift)
    pulled = target.covariance + np.outer(apart - shift, apart - shift)
    covariance = (scatter + pseudo_users * pulled) / (n + pseudo_users)
    noise = now.noise
    if users.has_squares:
        # Each pseudo-user has as many rewards as the mean user.
        errors = residual + pseudo_users * users.rewards / n * target.noise
        noise = float(errors / (users.rewards * (1 + pseudo_users / n)))
    return Population(now.mean + shift, (covariance + covariance.T) / 2, noise)


def _moments(batch: Batch, now: Population) -> tuple[FloatArray, FloatArray, float]:
    """Return expected sums over users: of weights minus the mean, of their squares, of errors."""
    mean, covariance, noise = now
    grams = batch.grams()
    errors = batch.responses - grams @ mean
    posteriors = np.linalg.inv(grams / noise + np.linalg.inv(covariance))
    apart = (posteriors @ errors[:, :, None])[:, :, 0] / noise
    explained = np.sum(apart * errors, axis=1)
    before = np.nan_to_num(batch.squares) - (batch.responses + errors) @ mean
    after = np.sum(apart * (grams @ apart[:, :, None])[:, :, 0], axis=1)
    uncertain = np.sum(grams * posteriors, axis=(1, 2))
    # Rounding can take the residual of a perfect fit below 0.
    residual = np.maximum(before - 2 * explained + after, 0.0) + uncertain
    return apart.sum(axis=0), apart.T @ apart + posteriors.sum(axis=0), float(residual.sum())


def _user_sums(prior: Prior, sums: UserSums | Iterable[OneUser]) -> UserSums:
    if not isinstance(sums, UserSums):
        return UserSums(len(prior.mean), sums)
    if sums.size != len(prior.mean):
        raise InputError(f"`sums` must be of {len(prior.mean)} weights, got {sums.size}")
    return sums


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
