"""A prior of features' weights, fitted by EM to what the policies of a service have learnt."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_count, check_positive
from variegate.errors import InputError
from variegate.model.ridge import packed, unpacked
from variegate.prior.prior import Prior, check_shape

#: EM ends when a step moves no mean by more than this share of its deviation.
TOLERANCE: Final = 1e-4
#: Aggregates of fewer users than this are not released.
MIN_USERS: Final = 50
#: Maximum number of users whose full matrices are in memory at once, and of their entries.
BATCH_USERS: Final = 1024
BATCH_NUMBERS: Final = 2**21


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
    taught = [_checked(number, one, len(prior.mean)) for number, one in enumerate(sums)]
    taught = [one for one in taught if one[0].any()]
    if len(taught) < min_users:
        raise InputError(
            f"`sums` must be of at least {min_users} users with a reward, so that no individual "
            f"can be inferred, got {len(taught)}"
        )
    now = prior
    for _ in range(max_iterations):
        before, now = now, em_step(taught, now, prior, shrinkage)
        if (np.abs(now.mean - before.mean) < TOLERANCE * np.sqrt(np.diag(now.covariance))).all():
            break
    return replace(now, users=len(taught))


def em_step(
    users: Sequence[tuple[FloatArray, FloatArray]], now: Prior, target: Prior, pseudo_users: float
) -> Prior:
    """Return the prior after one step of EM; it is pulled to `target` by pseudo-users.

    `users` are triangles of Gram matrices, as those take half the memory, and responses.
    """
    first, second = np.zeros_like(now.mean), np.zeros_like(now.covariance)
    length = max(1, min(BATCH_USERS, BATCH_NUMBERS // now.covariance.size))
    for start in range(0, len(users), length):
        triangles, responses = map(np.array, zip(*users[start : start + length], strict=True))
        some_first, some_second = _moments(unpacked(triangles, len(now.mean)), responses, now)
        first, second = first + some_first, second + some_second
    n, apart = len(users), target.mean - now.mean
    shift = (first + pseudo_users * apart) / (n + pseudo_users)
    cross = np.outer(first, shift)
    scatter = second - cross - cross.T + n * np.outer(shift, shift)
    pulled = target.covariance + np.outer(apart - shift, apart - shift)
    covariance = (scatter + pseudo_users * pulled) / (n + pseudo_users)
    return replace(now, mean=now.mean + shift, covariance=(covariance + covariance.T) / 2)


def _moments(grams: FloatArray, responses: FloatArray, now: Prior) -> tuple[FloatArray, FloatArray]:
    """Return expected sums over users: of their weights minus the mean, and of the squares."""
    errors = responses - grams @ now.mean
    posteriors = np.linalg.inv(grams / now.noise + np.linalg.inv(now.covariance))
    apart = (posteriors @ errors[:, :, None])[:, :, 0] / now.noise
    return apart.sum(axis=0), apart.T @ apart + posteriors.sum(axis=0)


def _checked(number: int, one: Any, size: int) -> tuple[FloatArray, FloatArray]:
    """Return the triangle of a user's Gram matrix, and the response."""
    if not isinstance(one, tuple) or len(one) != 2:
        raise InputError(
            "`sums` must hold (gram, response) of each user, got "
            f"{type(one).__name__} for user {number}"
        )
    gram = check_shape(f"sums[{number}].gram", one[0], (size, size))
    return packed(gram), check_shape(f"sums[{number}].response", one[1], (size,))
