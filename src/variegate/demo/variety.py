"""How varied a person wants it: what their picks show, and what the policy makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.demo.apart import distances_above
from variegate.demo.beliefs import Belief, variety_of
from variegate.demo.session import Session

#: Standard errors from which on a difference of two means is more than luck.
CLEAR: Final = 2.0
#: Fewer picks, or fewer items passed by, are no ground to compare.
FEWEST: Final = 3


class Contrast(Enum):
    """How picks stood to the items above them, beside the items that were passed by."""

    FARTHER = "farther apart"
    CLOSER = "closer together"
    SAME = "much the same"
    UNKNOWN = "too few to say"


@dataclass(frozen=True)
class Variety:
    """One kind of variety: a fact of the picks so far, and a belief.

    They can differ. The belief is a weight of the model, which takes what the items are into
    account and needs many lists; and a picked item may be like those above merely because all
    of them are what the person likes.
    """

    #: The weight of the distance (beta) with its interval
    belief: Belief
    #: Mean distance of the picked items to those above them; nan without any
    picked: float
    #: The same of the items passed by
    passed: float
    contrast: Contrast

    @property
    def name(self) -> str:
        """The distance."""
        return self.belief.name


def varieties(session: Session) -> list[Variety]:
    """Return what is known of the person's wish for variety, one entry a distance."""
    picked, passed = _picked_and_passed(session)
    return [
        Variety(
            belief,
            _mean(picked[:, i]),
            _mean(passed[:, i]),
            contrast(picked[:, i], passed[:, i]),
        )
        for i, belief in enumerate(variety_of(session.policy))
    ]


def contrast(picked: FloatArray, passed: FloatArray) -> Contrast:
    """Return how the first numbers stand to the second, by the standard error of the means."""
    if min(len(picked), len(passed)) < FEWEST:
        return Contrast.UNKNOWN
    error = np.sqrt(picked.var(ddof=1) / len(picked) + passed.var(ddof=1) / len(passed))
    difference = picked.mean() - passed.mean()
    if abs(difference) <= CLEAR * error or difference == 0.0:
        return Contrast.SAME
    return Contrast.FARTHER if difference > 0 else Contrast.CLOSER


def _picked_and_passed(session: Session) -> tuple[FloatArray, FloatArray]:
    """Return the distances to the items above, (n, m), of both; no list's first item has any."""
    picked: list[FloatArray] = [np.zeros((0, session.catalogue.m))]
    passed: list[FloatArray] = [np.zeros((0, session.catalogue.m))]
    for turn in session.turns:
        above, liked = distances_above(session.catalogue, turn.slate.items)[1:], turn.rewards[1:]
        picked.append(above[liked > 0])
        passed.append(above[liked == 0])
    return np.vstack(picked), np.vstack(passed)


def _mean(numbers: FloatArray | Sequence[float]) -> float:
    return float(np.mean(numbers)) if len(numbers) else float("nan")
