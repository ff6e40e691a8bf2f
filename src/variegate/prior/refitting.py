"""A prior from what the users of a running service have taught their learners."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import numpy as np

from variegate.arrays import check_count, check_positive, sealed
from variegate.errors import InputError
from variegate.prior.prior import Prior
from variegate.prior.shrinking import Belief, Fit, Moments, Shrinkage, maximised
from variegate.prior.sums import Batch, OneUser, UserSums

#: Fewer users than this are not told of in aggregate.
LEAST_USERS: Final = 50


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
        mean=sealed(found.mean),
        covariance=sealed(found.covariance),
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
