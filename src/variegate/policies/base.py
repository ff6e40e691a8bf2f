"""What every policy promises."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    check_choice,
    check_count,
    check_numbers,
)
from variegate.errors import InputError, StateError
from variegate.model.catalogue import Catalogue
from variegate.model.gains import NORMALISERS, Normaliser
from variegate.model.search import Scorer, Search, greedy
from variegate.model.slate import Slate, slate_of
from variegate.model.utility import Preferences, known_preferences
from variegate.policies.dial import Dial
from variegate.policies.state import STATE_VERSION, State

#: Why a result can be no number, though all that it is made from are.
TOO_LARGE: Final = "what was learnt, the features or the options are too large to multiply"


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why each item of a slate is there: the parts that its score is the sum of."""

    #: What the item is worth by itself, (K,)
    relevance: FloatArray
    #: What it adds to the items above, a column for each kind of diversity, (K, kinds)
    diversity: FloatArray
    #: What it got because too little is known of it, (K,)
    exploration: FloatArray
    #: What the columns of `diversity` are: the distances, or the policy's own measure
    diversity_names: tuple[str, ...]


class Policy(ABC):
    """One user's recommender over a shared catalogue: `recommend`, then `update`.

    Parameters
    ----------
    catalogue
        The items; shared, never changed.
    normaliser
        How the diversity gains of a slate are scaled: ``none``, ``fixed`` or ``growing``.
    """

    #: Name in the registry and in states.
    name: ClassVar[str]
    #: Whether it draws: then two lists may differ though nothing was learnt in between.
    draws: ClassVar[bool] = False
    #: Whether lists and explanations can be had under a `Dial`.
    takes_dial: ClassVar[bool] = False

    def __init__(self, catalogue: Catalogue, *, normaliser: Normaliser = "growing") -> None:
        check_choice("normaliser", normaliser, NORMALISERS)
        self.catalogue = catalogue
        self.normaliser: Normaliser = normaliser

    @property
    def label(self) -> str:
        """What tables and plots call it, with the choices that a reader must know of."""
        return type(self).__name__

    @property
    def preferences(self) -> Preferences:
        """What it believes of the user: theta, beta and their intervals.

        A policy that learns neither says zero.
        """
        return known_preferences(np.zeros(self.catalogue.d), np.zeros(self.catalogue.m))

    @property
    def diversity_floor(self) -> float:
        """The least that each distance counts for in the next list, whatever was learnt."""
        return 0.0

    def recommend(
        self,
        k: int,
        candidates: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
        rng: Any = None,
        *,
        dial: Dial | None = None,
    ) -> Slate:
        """Return a list of `k` items for this user. Nothing is learnt from that.

        Parameters
        ----------
        k
            How many, from 1 to the number of candidates.
        candidates
            Rows to choose from, or a mask over the catalogue; all, if not given.
        exclude
            Rows, or a mask, that must not be chosen.
        rng
            A NumPy generator or a seed, for policies that draw.
        dial
            How varied this list shall be, beside what was learnt; see `takes_dial`.
        """
        free = self.catalogue.candidate_mask(candidates, exclude)
        count = check_count(k, int(np.count_nonzero(free)))
        policy = self if dial is None else self._under(dial)
        return finite_slate(policy._recommend(free, count, rng))

    def as_slate(self, items: IndexArray, scores: FloatArray) -> Slate:
        """Return rows of the catalogue, in their order, as a list that this policy learns from."""
        return self._slate(items, scores)

    def update(self, slate: Slate, rewards: ArrayLike, seen: ArrayLike | None = None) -> None:
        """Learn from what the user made of a slate; after an error nothing has changed.

        Parameters
        ----------
        slate
            What `recommend` gave, of this catalogue or a smaller one it grew from.
        rewards
            A number from 0 to 1 for each position.
        seen
            The positions that the user looked at, as a mask or by number (from 0); all, if
            not given. The others teach nothing.
        """
        self._check_slate(slate)
        earned = checked_rewards(rewards, len(slate))
        self._learn(slate, earned, seen_positions(seen, len(slate)))

    def explain(self, slate: Slate, *, dial: Dial | None = None) -> Explanation:
        """Return the parts of each item's score, by what the policy believes now.

        `dial` is the one that the list was made under.
        """
        self._check_slate(slate)
        policy = self if dial is None else self._under(dial)
        with np.errstate(over="ignore", invalid="ignore"):
            found = policy._explain(slate)
        for part in (found.relevance, found.diversity, found.exploration):
            if not np.isfinite(part).all():
                raise StateError(
                    f"an explanation must have finite numbers, and has not: {TOO_LARGE}"
                )
        return found

    def state(self) -> State:
        """Return what was learnt, as data."""
        arrays = {name: np.array(array) for name, array in self._arrays().items()}
        return State(self.name, arrays)

    def restore(self, state: State) -> None:
        """Go on from a state that `state` gave; after an error nothing has changed."""
        self.check_state(state)
        self._restore(state.arrays)

    def check_state(self, state: State) -> None:
        """Raise StateError unless `restore` takes the state; nothing is changed.

        It must be one of this policy and catalogue, and its numbers such as learning gives: any
        list, explanation and preference from a state that passes is finite.
        """
        if state.version != STATE_VERSION:
            raise StateError(
                f"`state` has version {state.version}, and this variegate reads {STATE_VERSION}: "
                "learn it anew from the log, or use the variegate that wrote it"
            )
        if state.policy != self.name:
            raise StateError(f"`state` is one of {state.policy!r}, not of {self.name!r}")
        expected = self._shapes(state.arrays)
        found = {name: np.shape(array) for name, array in state.arrays.items()}
        if found != expected:
            raise StateError(
                f"`state` must hold arrays {expected} for {self.catalogue}, got {found}"
            )
        state.check()
        self._check_arrays(state.arrays)

    def _under(self, dial: Dial) -> "Policy":
        """Return this policy under a dial, for lists and explanations only."""
        if not isinstance(dial, Dial):
            raise InputError(f"`dial` must be a Dial or None, got {dial!r}")
        return self._with_dial(dial)

    def _with_dial(self, dial: Dial) -> "Policy":  # noqa: ARG002
        """Return a policy that believes what a dial makes of this one's beliefs."""
        from variegate.policies.registry import policies_with_dial  # it imports this module

        raise InputError(
            f"`dial` must be None for {self.name}, which does not learn how varied a list shall "
            f"be: {', '.join(policies_with_dial())} take one"
        )

    def _recommend(self, free: MaskArray, k: int, rng: Any) -> Slate:
        """Return a list of `k` of the items that are `free`."""
        rows = np.flatnonzero(free)
        with np.errstate(over="ignore", invalid="ignore"):  # `finite_slate` sees it in the scores
            places, scores = self._search(self._scorer(rows, k, rng), k)
        return self._slate(rows[places], scores)

    def _choices(self, free: MaskArray, k: int) -> IndexArray:  # noqa: ARG002
        """Return the rows of those `free` that a list of `k` is chosen from, sorted."""
        return np.flatnonzero(free)

    @abstractmethod
    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        """Return how the candidates are scored for a list of `k`."""

    @abstractmethod
    def _explain(self, slate: Slate) -> Explanation:
        """Return the parts of the scores of a checked slate."""

    @property
    def _search(self) -> Search:
        return greedy

    def _slate(self, items: IndexArray, scores: FloatArray) -> Slate:
        return slate_of(self.catalogue, items, scores, self.normaliser)

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:  # noqa: ARG002
        """Take in checked feedback on the positions `seen`; by default, learn nothing."""
        return

    def _arrays(self) -> Mapping[str, FloatArray]:
        """Return what was learnt, by name; by default, nothing."""
        return {}

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:  # noqa: ARG002
        """Take checked arrays in place of what was learnt."""
        return

    def _shapes(self, arrays: Mapping[str, FloatArray]) -> dict[str, tuple[int, ...]]:  # noqa: ARG002
        """Return the shapes that the arrays of a state must have."""
        return {name: array.shape for name, array in self._arrays().items()}

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:  # noqa: ARG002
        """Raise StateError unless finite arrays of the right shapes can have been learnt."""
        return

    def _check_slate(self, slate: Slate) -> None:
        catalogue, k = self.catalogue, len(slate)
        shapes = slate.relevance.shape, slate.diversity.shape
        if shapes != ((k, catalogue.d), (k, catalogue.m)):
            raise InputError(
                f"`slate` must have features ({k}, {catalogue.d}) and ({k}, {catalogue.m}) for "
                f"{catalogue}, got {shapes[0]} and {shapes[1]}: it is of another catalogue"
            )
        known, size = catalogue.ids, len(catalogue)
        for row, item in zip(slate.items.tolist(), slate.ids, strict=True):
            if not (0 <= row < size and known[row] == item):
                raise InputError(
                    f"`slate` has {item!r} in row {row}, and {catalogue} does not: "
                    "it is of another catalogue"
                )


def finite_slate(slate: Slate) -> Slate:
    """Return the slate if its scores are numbers, or raise StateError."""
    if not all(map(isfinite, slate.scores.tolist())):  # of so few, quicker than NumPy
        raise StateError(f"the scores of a list must be finite numbers, and are not: {TOO_LARGE}")
    return slate


def checked_rewards(rewards: ArrayLike, k: int) -> FloatArray:
    """Return one reward from 0 to 1 for each of `k` positions, or raise InputError."""
    if type(rewards) is np.ndarray and rewards.dtype == np.float64 and rewards.shape == (k,):
        array = rewards  # what programs send: whether it is finite is seen below
    else:
        array = check_numbers("rewards", rewards, ndim=1)
    if array.shape != (k,):
        raise InputError(f"`rewards` must have one number for each of {k} items, got {len(array)}")
    for reward in array.tolist():  # of so few, quicker than NumPy
        if not 0.0 <= reward <= 1.0:
            check_numbers("rewards", rewards, ndim=1)
            raise InputError(f"`rewards` must lie from 0 to 1, got {reward}")
    return array


def seen_positions(seen: ArrayLike | None, k: int) -> IndexArray:
    """Return the positions that were seen, from a mask or a list of them; None means all."""
    if seen is None:
        return np.arange(k)
    array = np.asarray(seen)
    if array.dtype == np.bool_:
        if array.shape != (k,):
            raise InputError(f"`seen` as a mask must have shape ({k},), got {array.shape}")
        return np.flatnonzero(array)
    if array.size == 0:
        return np.empty(0, dtype=np.intp)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(
            f"`seen` must be a mask or a list of positions, got {array.dtype} of shape "
            f"{array.shape}"
        )
    positions = np.unique(array)
    if positions[0] < 0 or positions[-1] >= k or len(positions) < len(array):
        raise InputError(
            f"`seen` must hold distinct positions from 0 to {k - 1}, got {array.tolist()}"
        )
    return positions.astype(np.intp)
