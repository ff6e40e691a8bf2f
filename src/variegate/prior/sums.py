"""What users' learners have summed up, many users at a time."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray, check_not_negative, check_numbers
from variegate.errors import InputError

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
