"""What training users like, summed up."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray
from variegate.errors import InputError
from variegate.model.catalogue_checks import selected_rows
from variegate.prior.shrinking import Belief, Moments


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


def liked_rows(likes: Iterable[ArrayLike], items: int) -> list[IndexArray]:
    """Return the rows that each user likes, sorted, but for users who like none."""
    if isinstance(likes, str) or not isinstance(likes, Iterable):
        raise InputError(f"`likes` must hold the rows that each user likes, got {likes!r}")
    rows = [np.unique(selected_rows("likes", liked, items)) for liked in likes]
    rows = [liked for liked in rows if len(liked)]
    if not rows:
        raise InputError("`likes` must hold at least one user who likes an item, got none")
    return rows


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
