"""One person and one policy, taking turns."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from variegate.arrays import FloatArray, IndexArray, check_count, generator
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.model.slate import Slate
from variegate.policies import Policy


@dataclass(frozen=True, eq=False)
class Turn:
    """A list that was shown, and what the person made of it."""

    slate: Slate
    #: 1 where the person picked, else 0, (K,)
    rewards: FloatArray

    @property
    def hits(self) -> int:
        """How many were picked."""
        return int(self.rewards.sum())

    @property
    def picked(self) -> IndexArray:
        """The rows that were picked, in the order shown."""
        return self.slate.items[self.rewards > 0]


class Session:
    """Lists for one person, each of items not shown before, until there are none left.

    Parameters
    ----------
    policy
        What recommends and learns.
    k
        Items in a list; the last list may be shorter.
    rng
        For policies that draw.

    Examples
    --------
    >>> from variegate.policies import LMDH
    >>> session = Session(LMDH(Catalogue(list("abc"), np.eye(3), "cosine"), ridge=1.0), k=2)
    >>> session.slate().ids
    ('a', 'b')
    >>> session.answer([1]).hits
    1
    >>> session.slate().ids
    ('c',)
    """

    def __init__(self, policy: Policy, *, k: int = 10, rng: Any = None) -> None:
        self.policy = policy
        self.k = check_count(k, len(policy.catalogue), of="the items")
        self.turns: list[Turn] = []
        self._rng = generator(rng)
        self._free = np.ones(len(policy.catalogue), dtype=np.bool_)
        self._slate: Slate | None = None

    @property
    def catalogue(self) -> Catalogue:
        """The items."""
        return self.policy.catalogue

    @property
    def is_over(self) -> bool:
        """Whether every item was shown."""
        return not self._free.any()

    @property
    def hits(self) -> tuple[int, ...]:
        """How many were picked from each list so far."""
        return tuple(turn.hits for turn in self.turns)

    @property
    def picked(self) -> tuple[int, ...]:
        """The rows that were picked so far, in the order shown."""
        return tuple(int(row) for turn in self.turns for row in turn.picked)

    def slate(self) -> Slate:
        """Return the list that waits for an answer; the same one until it is answered."""
        if self.is_over:
            raise InputError(f"every item of {self.catalogue} was shown: start a new session")
        if self._slate is None:
            k = min(self.k, int(self._free.sum()))
            self._slate = self.policy.recommend(k, candidates=self._free, rng=self._rng)
        return self._slate

    def answer(self, picks: Iterable[int]) -> Turn:
        """Learn which positions, from 0, of the list were picked; the next list is another."""
        slate = self.slate()
        rewards = np.zeros(len(slate))
        for pick in picks:
            if not 0 <= pick < len(slate):
                raise InputError(f"`picks` must be from 0 to {len(slate) - 1}, got {pick}")
            rewards[pick] = 1.0
        self.policy.update(slate, rewards)
        self._free[slate.items] = False
        self._slate = None
        self.turns.append(Turn(slate, rewards))
        return self.turns[-1]
