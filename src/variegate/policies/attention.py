"""Which positions of a list a user looked at, where only the clicks are known."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, IndexArray, check_numbers, frozen
from variegate.errors import InputError


class Attention(ABC):
    """How observations are weighed by what is known of where users look."""

    @abstractmethod
    def taught(
        self, features: FloatArray, rewards: FloatArray, seen: IndexArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the rows to learn from, of a whole list and the positions said to be seen."""


class FullAttention(Attention):
    """Every position that was seen teaches, as in the paper."""

    def taught(
        self, features: FloatArray, rewards: FloatArray, seen: IndexArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the rows seen."""
        if len(seen) == len(features):
            return features, rewards
        return features[seen], rewards[seen]


class Cascade(Attention):
    """The user goes down the list and stops at the first click: what follows teaches nothing."""

    def taught(
        self, features: FloatArray, rewards: FloatArray, seen: IndexArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the rows down to the first click, all of them where there is none."""
        clicked = np.flatnonzero(rewards[seen] > 0.0)
        looked = seen[: clicked[0] + 1] if len(clicked) else seen
        return features[looked], rewards[looked]


@dataclass(frozen=True, eq=False)
class PositionBased(Attention):
    """Position i is looked at with a known chance e_i: clicks there are e_i times as likely.

    E[w] = e_i (eta . zeta): least squares on e_i zeta estimates the same eta without a bias.
    """

    chances: FloatArray

    def taught(
        self, features: FloatArray, rewards: FloatArray, seen: IndexArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the rows seen, each times its chance."""
        if len(features) > len(self.chances):
            raise InputError(
                f"`attention` has chances for {len(self.chances)} positions, and the list has "
                f"{len(features)}"
            )
        return self.chances[seen, None] * features[seen], rewards[seen]


#: ``"all"``, ``"cascade"``, or the chance that each position is looked at.
AttentionLike: TypeAlias = str | Sequence[float] | Attention


def checked_attention(attention: Any) -> Attention:
    """Return what an option says, or raise InputError."""
    if isinstance(attention, Attention):
        return attention
    if isinstance(attention, str):
        named = {"all": FullAttention, "cascade": Cascade}
        if attention not in named:
            raise InputError(
                '`attention` must be "all", "cascade" or a chance for each position, '
                f"got {attention!r}"
            )
        return named[attention]()
    chances = check_numbers("attention", attention, ndim=1)
    if not (len(chances) and (chances > 0.0).all() and (chances <= 1.0).all()):
        raise InputError(
            f"`attention` must have chances above 0, at most 1, got {chances.tolist()}"
        )
    return PositionBased(frozen(chances))
