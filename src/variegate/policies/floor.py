"""The least variety that an operator promises, whatever was learnt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, check_not_negative, check_positive, sealed
from variegate.errors import InputError
from variegate.prior import Prior


@dataclass(frozen=True)
class Floor:
    """The least that beta counts for in a list, beside what was learnt of it.

    It can rise while a user is learnt: a first list is for everybody, and it is the lists
    after it that narrow to what was clicked.

    Examples
    --------
    >>> floor = Floor(opening=0.2, full=0.8, half=50)
    >>> floor.at(0), floor.at(50)
    (0.2, 0.5)
    """

    #: Before anything was seen
    opening: float
    #: What it rises to
    full: float
    #: Positions seen until half of the rise is done
    half: float = 50.0

    def __post_init__(self) -> None:
        check_not_negative(opening=self.opening, full=self.full)
        check_positive(half=self.half)

    def at(self, seen: float) -> float:
        """Return the floor once so many positions were seen."""
        return self.opening + (self.full - self.opening) * seen / (seen + self.half)


#: A constant, the numbers of a `Floor` in their order, or a `Floor`.
FloorLike: TypeAlias = float | Sequence[float] | Floor


def checked_floor(floor: Any) -> Floor | None:
    """Return what an option says, or raise InputError."""
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
    """Return what part of the floor each distance has: as the prior's beta is shared, or even."""
    wanted = np.ones(distances) if prior is None else np.maximum(prior.mean[prior.d :], 0.0)
    if not wanted.any():
        wanted = np.ones(distances)
    return sealed(wanted / wanted.sum()) if distances else wanted
