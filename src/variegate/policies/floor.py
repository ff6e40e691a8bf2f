"""A minimum of diversity that an operator guarantees, whatever was learnt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, check_not_negative, check_positive, set_read_only
from variegate.errors import InputError
from variegate.prior import Prior


@dataclass(frozen=True)
class Floor:
    """The minimum of beta that lists are made with.

    It can rise with the observations: the first list suits everyone, and later lists are the
    ones that narrow to what was clicked.

    Examples
    --------
    >>> floor = Floor(opening=0.2, full=0.8, half=50)
    >>> floor.at(0), floor.at(50)
    (0.2, 0.5)
    """

    #: Before the first observation
    opening: float
    #: The limit that it rises to
    full: float
    #: Positions seen until half of the rise is reached
    half: float = 50.0

    def __post_init__(self) -> None:
        check_not_negative(opening=self.opening, full=self.full)
        check_positive(half=self.half)

    def at(self, seen: float) -> float:
        """Return the floor after so many positions were seen."""
        return self.opening + (self.full - self.opening) * seen / (seen + self.half)


#: A constant, the numbers of a `Floor` in their order, or a `Floor`.
FloorLike: TypeAlias = float | Sequence[float] | Floor


def checked_floor(floor: Any) -> Floor | None:
    """Return the floor that an option describes, or raise InputError."""
    if floor is None or isinstance(floor, Floor):
        return floor
    if isinstance(floor, (list, tuple)):
        if len(floor) in (2, 3):
            return Floor(*floor)
    elif isinstance(floor, (int, float)) and not isinstance(floor, bool):
        return Floor(float(floor), float(floor))
    raise InputError(
        f"`floor` must be a number, [opening, full] or [opening, full, half], got {floor!r}"
    )


def floor_shares(distances: int, prior: Prior | None) -> FloatArray:
    """Return each distance's share of the floor: that of the prior's beta, or equal shares."""
    beta = np.ones(distances) if prior is None else np.maximum(prior.mean[prior.d :], 0.0)
    if not beta.any():
        beta = np.ones(distances)
    return set_read_only(beta / beta.sum()) if distances else beta
