"""What the environments share: an action is a list, the answer is a click or none for each."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_count
from variegate.errors import InputError, StateError
from variegate.model.catalogue import Catalogue

#: What an agent is told, an array by each name; see `ListEnvironment`.
Observation: TypeAlias = dict[str, Any]
#: An agent's list: rows of the catalogue, (K,)
Action: TypeAlias = NDArray[np.int64]


class ListEnvironment(gymnasium.Env[Observation, Action]):
    """Shows lists of `k` of L items to a user, `rounds` times.

    An action is a list of rows of the catalogue, from the top down. Any will do, but a row
    that stands higher up in the list already, or that may not be shown (any more), leaves
    its position empty: the user sees the list without it, and it earns nothing. So agents
    that sample their actions can play, and those that repeat themselves lose by it.

    An observation holds the ``features`` of the items, (L, d); which rows may be shown, as
    ``candidates``, (L,); and the last list: what was ``shown``, (K,), with L for an empty
    position, and the ``clicks``, (K,). The reward is the number of clicks.

    Parameters
    ----------
    items
        L, the number of items.
    features
        d, the number of features.
    largest
        No feature is larger than this, nor smaller than its negative.
    k
        Items in a list.
    rounds
        Lists after which an episode is truncated.
    """

    #: The items of this episode; a new one can have others
    catalogue: Catalogue

    def __init__(self, items: int, features: int, largest: float, *, k: int, rounds: int) -> None:
        self.k = check_count(k, items, of="the items")
        self.rounds = check_count(rounds, 10**9, name="rounds", of="the most that make sense")
        self.action_space = spaces.MultiDiscrete([items] * self.k)
        self.observation_space = spaces.Dict(
            {
                "features": spaces.Box(-largest, largest, (items, features), np.float64),
                "candidates": spaces.MultiBinary(items),
                "shown": spaces.MultiDiscrete([items + 1] * self.k),
                "clicks": spaces.MultiBinary(self.k),
            }
        )
        #: Which rows may be shown, (L,)
        self.candidates: MaskArray = np.ones(items, dtype=bool)
        self._left = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin anew; with a seed, everything that follows is the same again."""
        super().reset(seed=seed)
        info = self._begin(options or {})
        self._left = self.rounds
        nothing = np.full(self.k, len(self.candidates))
        return self._observed(nothing, np.zeros(self.k)), info

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Show a list; give what the user made of it."""
        if not self._left:
            raise StateError("the episode is over, or was never begun: call reset first")
        shown = self._shown(action)
        there = shown < len(self.candidates)
        clicks = np.zeros(self.k)
        clicks[there], info = self._answer(shown[there], there)
        self._left -= 1
        over, out_of_rounds = self._is_over(), not self._left
        if over:
            self._left = 0
        return (
            self._observed(shown, clicks),
            float(clicks.sum()),
            over,
            out_of_rounds,
            {"clicks": clicks, **info},
        )

    @abstractmethod
    def _begin(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Set the catalogue and the candidates of an episode; return what is known of it."""

    @abstractmethod
    def _answer(self, items: IndexArray, there: MaskArray) -> tuple[FloatArray, dict[str, Any]]:
        """Return a click or none for each of the items, which stand where `there` is true."""

    def _is_over(self) -> bool:
        """Return whether no other list can be shown."""
        return False

    def _shown(self, action: ArrayLike) -> IndexArray:
        """Return the rows shown, with L where a position stays empty."""
        rows, items = np.asarray(action), len(self.candidates)
        if rows.shape != (self.k,) or not np.issubdtype(rows.dtype, np.integer):
            raise InputError(
                f"`action` must be {self.k} row numbers, got {rows.dtype} of shape {rows.shape}"
            )
        if rows.min() < 0 or rows.max() >= items:
            raise InputError(f"`action` must hold rows from 0 to {items - 1}, got {rows.tolist()}")
        _rows, first = np.unique(rows, return_index=True)
        new = np.zeros(self.k, dtype=bool)
        new[first] = True
        return np.where(new & self.candidates[rows], rows, items)

    def _observed(self, shown: IndexArray, clicks: FloatArray) -> Observation:
        return {
            "features": np.array(self.catalogue.features),
            "candidates": self.candidates.astype(np.int8),
            "shown": shown.astype(np.int64),
            "clicks": clicks.astype(np.int8),
        }


def largest_feature(catalogue: Catalogue) -> float:
    """Return the largest feature's size; 1, where all are 0 and there is nothing to bound."""
    return float(np.abs(catalogue.features).max()) or 1.0
