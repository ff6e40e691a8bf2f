"""Attention models: which positions of a list the policy learns from."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, IndexArray, check_numbers, read_only_copy
from variegate.errors import InputError


class Attention(ABC):
    """Turns feedback on a list into observations for the regression."""

    @abstractmethod
    def examined(self, rewards: FloatArray, seen: IndexArray) -> tuple[IndexArray, FloatArray]:
        """Return the positions to learn from, sorted, and the probability that each was examined.

        Parameters
        ----------
        rewards
            Those of the whole list, (K,).
        seen
            The positions reported as seen, sorted.
        """

    def observations(
        self, features: FloatArray, rewards: FloatArray, seen: IndexArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return features (n, p) and rewards (n,) to learn from, of those of the list, (K, p)."""
        positions, probabilities = self.examined(rewards, seen)
        return probabilities[:, None] * features[positions], rewards[positions]


class FullAttention(Attention):
    """Every position that was seen is an observation, as in the paper."""

    def examined(self, rewards: FloatArray, seen: IndexArray) -> tuple[IndexArray, FloatArray]:
        return seen, np.ones(len(seen))

    def observations(
        self, features: FloatArray, rewards: FloatArray, seen: IndexArray
    ) -> tuple[FloatArray, FloatArray]:
        if len(seen) == len(features):  # the usual case, without copies
            return features, rewards
        return features[seen], rewards[seen]


class Cascade(Attention):
    """The user goes down the list and stops at the first click; the rest is not observed."""

    def examined(self, rewards: FloatArray, seen: IndexArray) -> tuple[IndexArray, FloatArray]:
        clicked = np.flatnonzero(rewards[seen] > 0.0)
        positions = seen[: clicked[0] + 1] if len(clicked) else seen
        return positions, np.ones(len(positions))


@dataclass(frozen=True, eq=False)
class PositionBased(Attention):
    """The user examines position i with a known probability e_i.

    E[w] = e_i (eta . zeta), so least squares on e_i zeta estimates the same eta without bias.
    """

    #: (K,)
    probabilities: FloatArray

    def examined(self, rewards: FloatArray, seen: IndexArray) -> tuple[IndexArray, FloatArray]:
        if len(rewards) > len(self.probabilities):
            raise InputError(
                f"`attention` has probabilities for {len(self.probabilities)} positions, and the "
                f"list has {len(rewards)}"
            )
        return seen, self.probabilities[seen]


#: ``"all"``, ``"cascade"``, or the probability that each position is examined.
AttentionLike: TypeAlias = str | Sequence[float] | Attention


def checked_attention(attention: Any) -> Attention:
    """Return the model that an option describes, or raise InputError."""
    if isinstance(attention, Attention):
        return attention
    if isinstance(attention, str):
        named = {"all": FullAttention, "cascade": Cascade}
        if attention not in named:
            raise InputError(
                '`attention` must be "all", "cascade" or a probability for each position, '
                f"got {attention!r}"
            )
        return named[attention]()
    probabilities = check_numbers("attention", attention, ndim=1)
    is_valid = (probabilities > 0.0).all() and (probabilities <= 1.0).all()
    if not (len(probabilities) and is_valid):
        raise InputError(
            "`attention` must hold probabilities above 0 and at most 1, "
            f"got {probabilities.tolist()}"
        )
    return PositionBased(read_only_copy(probabilities))
