"""A prior from what the users of a running service have taught their learners."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    IndexArray,
    check_count,
    check_not_negative,
    check_numbers,
    check_positive,
    set_read_only,
)
from variegate.errors import InputError
from variegate.prior.fit import Belief, Fit, Moments, Shrinkage, maximised
from variegate.prior.prior import Prior

#: Fewer users than this are not told of in aggregate.
LEAST_USERS: Final = 50
#: One user's sum of zeta zeta', of w zeta, number of rewards and, where kept, sum of w w.
OneUser: TypeAlias = (
    tuple[ArrayLike, ArrayLike, float] | tuple[ArrayLike, ArrayLike, float, float | None]
)

#: Users whose matrices are whole in memory at once, and their numbers; the fewer counts.
TOGETHER: Final = 1024
TOGETHER_NUMBERS: Final = 2**21


class Batch(NamedTuple):
    """The sums of some users."""

    #: Upper triangles of the Gram matrices, (n, p (p + 1) / 2)
    triangles: FloatArray
    #: (n, p)
    responses: FloatArray
    #: How many rewards each user gave, (n,)
    rewards: FloatArray
    #: The sums of their squares, NaN where they are not known, (n,)
    squares: FloatArray

    def grams(self) -> FloatArray:
        """Return the Gram matrices, (n, p, p)."""
        size = self.responses.shape[1]
        rows, columns = _upper(size)
        grams = np.empty((len(self.responses), size, size))
        grams[:, rows, columns] = self.triangles
        grams[:, columns, rows] = self.triangles
        return grams


class UserSums:
    """The sums of all users who gave a reward: half as large as their matrices.

    Parameters
    ----------
    size
        Number of weights p (d + m for LMDH).
    users
        One after another, the sum of zeta zeta' (p, p), the sum of w zeta (p,), how many rewards
        they are of and, if known, the sum of the rewards' squares. Users without any reward are
        left out. It is gone through once.
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
        """How many rewards all users gave."""
        return float(sum(batch.rewards.sum() for batch in self.batches))


def fit_prior_from_sums(
    prior: Prior,
    sums: UserSums | Iterable[OneUser],
    *,
    least_users: int = LEAST_USERS,
    shrinkage: float = 20.0,
    iterations: int = 50,
) -> Prior:
    """Return a prior fitted anew to the sums that users' learners keep.

    The sums do not hang on the prior that the learners started from, so the new one can take its
    place while they go on. The noise is estimated if the squares of every user's rewards are
    known, and stays as it is if not.

    Parameters
    ----------
    prior
        Where the fit starts, and what it is drawn to where users are few.
    sums
        For each user ``(gram, response, rewards)`` or ``(gram, response, rewards, squares)``, as
        `UserSums` takes them. Users without a reward do not count.
    least_users
        With fewer users there is no fit, so that no one is shown.
    shrinkage
        How many pseudo-users speak for `prior`.
    iterations
        Steps of expectation maximisation, at most.
    """
    check_positive(shrinkage=shrinkage)
    check_count(least_users, 10**9, name="least_users", of="users")
    check_count(iterations, 10**6, name="iterations", of="steps")
    users = _user_sums(prior, sums)
    if len(users) < least_users:
        raise InputError(
            f"`sums` must be of at least {least_users} users with a reward, so that no one is "
            f"shown, got {len(users)}"
        )
    found = refitted(prior, users, shrinkage=shrinkage, iterations=iterations).belief
    return replace(
        prior,
        mean=set_read_only(found.mean),
        covariance=set_read_only(found.covariance),
        noise=found.noise,
        users=len(users),
    )


def marginal_likelihood(prior: Prior, sums: UserSums | Iterable[OneUser]) -> float:
    """Return the log of the likelihood of the rewards, eta integrated out, for a mean user.

    The squares of the rewards must be known of every user.
    """
    users = _user_sums(prior, sums)
    if not len(users):
        raise InputError("`sums` must be of at least one user with a reward, got none")
    if not users.has_squares:
        raise InputError("`sums` must hold the squares of the rewards of every user")
    return expected(users, _belief(prior)).evidence / len(users)


def refitted(prior: Prior, users: UserSums, *, shrinkage: float, iterations: int) -> Fit:
    """Return the fit of eta's spread to the users' sums."""
    belief = _belief(prior)
    of_noise = shrinkage * users.rewards / len(users) if users.has_squares else 0.0
    held = Shrinkage(belief, shrinkage, shrinkage, of_noise)
    return maximised(belief, lambda now: expected(users, now), held, iterations=iterations)


def expected(users: UserSums, belief: Belief) -> Moments:
    """Return what the users' sums say under a belief; nothing of the noise without squares."""
    parts = [_of_batch(batch, belief) for batch in users.batches]
    return Moments(
        sum(part.evidence for part in parts),
        len(users),
        np.sum([part.first for part in parts], axis=0),
        np.sum([part.second for part in parts], axis=0),
        sum(part.residual for part in parts) if users.has_squares else 0.0,
        users.rewards if users.has_squares else 0.0,
    )


def _of_batch(batch: Batch, belief: Belief) -> Moments:
    mean, covariance, noise = belief
    grams = batch.grams()
    errors = batch.responses - grams @ mean
    posteriors = np.linalg.inv(grams / noise + np.linalg.inv(covariance))
    apart = (posteriors @ errors[:, :, None])[:, :, 0] / noise
    explained = np.sum(apart * errors, axis=1)
    # Unknown squares shift the evidence by as much under every belief with the same noise.
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
        # Rounding may take what is left of a perfect fit below 0.
        float(np.sum(np.maximum(before - 2 * explained + after, 0.0) + uncertain)),
        float(batch.rewards.sum()),
    )


def _user_sums(prior: Prior, sums: UserSums | Iterable[OneUser]) -> UserSums:
    if not isinstance(sums, UserSums):
        return UserSums(len(prior.mean), sums)
    if sums.size != len(prior.mean):
        raise InputError(f"`sums` must be of {len(prior.mean)} weights, got {sums.size}")
    return sums


def _belief(prior: Prior) -> Belief:
    return Belief(prior.mean, prior.covariance, prior.noise)


def _batches(size: int, users: Iterator[OneUser]) -> Iterator[Batch]:
    place, together = 0, max(1, min(TOGETHER, TOGETHER_NUMBERS // size**2))
    while some := list(islice(users, together)):
        checked = [_checked(place + number, one, size) for number, one in enumerate(some)]
        place += len(some)
        kept = [one for one in checked if one[2] > 0]
        if kept:
            yield Batch(*(np.array(column, dtype=np.float64) for column in zip(*kept, strict=True)))


def _checked(place: int, one: Any, size: int) -> tuple[FloatArray, FloatArray, float, float]:
    """Return a user's sums, the Gram matrix as its triangle, or raise InputError."""
    if not isinstance(one, tuple) or len(one) not in (3, 4):
        raise InputError(
            f"`sums` must hold (gram, response, rewards) or (gram, response, rewards, squares) "
            f"of each user, got {type(one).__name__} for user {place}"
        )
    gram = check_numbers(f"sums[{place}].gram", one[0], ndim=2)
    response = check_numbers(f"sums[{place}].response", one[1], ndim=1)
    if gram.shape != (size, size) or response.shape != (size,):
        raise InputError(
            f"`sums` must be of {size} weights, as the prior is, got a gram of shape {gram.shape} "
            f"and a response of shape {response.shape} for user {place}"
        )
    squares = one[3] if len(one) == 4 else None
    check_not_negative(rewards=one[2], squares=0.0 if squares is None else squares)
    return (
        gram[_upper(size)],
        response,
        float(one[2]),
        np.nan if squares is None else float(squares),
    )


@lru_cache(maxsize=64)
def _upper(size: int) -> tuple[IndexArray, IndexArray]:
    return np.triu_indices(size)
