"""The interface that every policy implements."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from math import inf, isfinite
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    as_indices,
    check_choice,
    check_count,
    check_numbers,
)
from variegate.errors import InputError, StateError
from variegate.kernels.baselines import Linear, list_gains
from variegate.kernels.layout import Layout
from variegate.model.candidates import Candidates, Offer, offered_candidates
from variegate.model.catalogue import Catalogue
from variegate.model.catalogue_checks import check_rows
from variegate.model.constraints import Constraints
from variegate.model.gains import NORMALISERS, Normaliser, normalising_factors
from variegate.model.search import Scorer, Search, greedy
from variegate.model.slate import Slate, slate_of, slate_with_gains
from variegate.model.utility import Preferences, known_preferences
from variegate.policies.constrained import constrained_slate
from variegate.policies.dial import Dial
from variegate.policies.state import STATE_VERSION, State

#: Why a result can overflow although every input is finite.
TOO_LARGE: Final = "the learnt weights, the features or the options are too large to multiply"
#: Longer values of options are cut in a `repr`.
_REPR_LENGTH: Final = 60


@dataclass(frozen=True, eq=False)
class Explanation:
    """The parts that the score of each item of a slate is the sum of."""

    #: Estimated reward of the item on its own, (K,)
    relevance: FloatArray
    #: What the item adds to the items above it, one column per kind of diversity, (K, kinds)
    diversity: FloatArray
    #: Exploration bonus, (K,)
    exploration: FloatArray
    #: Names of the columns of `diversity`: the distances, or the policy's own measure
    diversity_names: tuple[str, ...]


class _KeepsOptions:
    """Stores the options that a policy was created with, for its `repr`."""

    _options: Mapping[str, Any] = MappingProxyType({})

    # Apart from `Policy`, so that `inspect.signature` finds the policy's `__init__` first.
    def __new__(cls, *_catalogue: Any, **options: Any) -> Self:
        policy = super().__new__(cls._class_for(options))
        if options:
            policy._options = options
        return policy

    @classmethod
    def _class_for(cls, options: Mapping[str, Any]) -> type[Self]:  # noqa: ARG003
        """Return the class of a policy with these options: this class or a subclass."""
        return cls


class Policy(_KeepsOptions, ABC):
    """Recommends to one user from a shared catalogue: `recommend`, then `update`.

    Parameters
    ----------
    catalogue
        The items; shared and never changed.
    normaliser
        How the diversity gains of a slate are scaled: ``none``, ``fixed`` or ``growing``.
    """

    #: Name in the registry and in states.
    name: ClassVar[str]
    #: Whether it samples: two lists can differ although nothing was learnt in between.
    is_stochastic: ClassVar[bool] = False
    #: Whether a state names items by their rows in the catalogue.
    learns_items: ClassVar[bool] = False
    #: Whether `recommend` and `explain` accept a `Dial`.
    takes_dial: ClassVar[bool] = False
    #: Whether `recommend` accepts scores, and candidates of an open catalogue.
    takes_scores: ClassVar[bool] = False

    def __init__(self, catalogue: Catalogue, *, normaliser: Normaliser = "growing") -> None:
        check_choice("normaliser", normaliser, NORMALISERS)
        self.catalogue = catalogue
        self.normaliser: Normaliser = normaliser

    def __repr__(self) -> str:
        parts = [repr(self.catalogue), *option_reprs(self._options)]
        return f"{type(self).__name__}({', '.join(parts)})"

    @property
    def label(self) -> str:
        """Name for tables and plots, with the choices that a reader must know."""
        return type(self).__name__

    @property
    def preferences(self) -> Preferences:
        """Estimates of the user's theta and beta with their intervals.

        They are zero for a policy that learns neither.
        """
        return known_preferences(np.zeros(self.catalogue.d), np.zeros(self.catalogue.m))

    @property
    def diversity_weights(self) -> FloatArray:
        """The beta of `preferences`, (m,); for many users, as it needs no intervals."""
        return self.preferences.diversity

    @property
    def prior_preferences(self) -> Preferences:
        """The preferences that the policy assumes of a user before any feedback."""
        return known_preferences(np.zeros(self.catalogue.d), np.zeros(self.catalogue.m))

    def total_diversity_likelihood(self) -> tuple[float, float]:
        """Return mean and standard deviation of the total of beta by the feedback alone.

        The prior is divided out of the posterior. The deviation is infinite while the feedback
        says nothing about it.
        """
        return 0.0, inf

    @property
    def diversity_floor(self) -> float:
        """Minimum weight of each distance in the next list, whatever was learnt."""
        return 0.0

    def recommend(
        self,
        k: int,
        candidates: ArrayLike | Candidates | None = None,
        exclude: ArrayLike | None = None,
        rng: Any = None,
        *,
        dial: Dial | None = None,
        constraints: Constraints | None = None,
        **offer: Unpack[Offer],
    ) -> Slate:
        """Return a list of `k` items for this user. The policy does not change.

        Parameters
        ----------
        k
            Number of items, from 1 to the number of candidates.
        candidates
            Rows to choose from, or a mask over the catalogue; all by default. For an open
            catalogue, the ids of the request's own items.
        exclude
            Rows, or a mask, that must not be chosen; for an open catalogue, ids.
        rng
            A NumPy generator or a seed, for policies that sample.
        dial
            Changes the learnt weights of the distances for this list; see `takes_dial`.
        constraints
            What the list must meet: at most n items per value of an attribute, at least n that
            meet a condition, items at positions.

        Other Parameters
        ----------------
        scores
            A ranker's score of each candidate, on any scale; see `normalise_scores` and
            `scored_candidates`.
        features, vectors, attributes
            Data of the candidates of an open catalogue; see `own_candidates`.
        """
        given = offer and any(value is not None for value in offer.values())
        if given or self.catalogue.is_open or isinstance(candidates, Candidates):
            offered = self._offered(candidates, exclude, offer)
            count = check_count(k, int(np.count_nonzero(offered.free)))
            policy = self._under_dial(dial)
            if constraints is None:
                return finite_slate(policy._recommend_offered(offered, count, rng))
            return finite_slate(policy._constrained_offered(offered, count, rng, constraints))
        free = self.catalogue.candidate_mask(candidates, exclude)
        is_any = candidates is None and exclude is None
        count = check_count(k, len(free) if is_any else int(np.count_nonzero(free)))
        policy = self._under_dial(dial)
        if constraints is None:
            return finite_slate(policy._recommend(free, count, rng))
        return finite_slate(constrained_slate(policy, free, count, rng, constraints))

    def as_slate(self, items: IndexArray, scores: FloatArray) -> Slate:
        """Return rows of the catalogue, in this order, as a slate that this policy learns from."""
        return self._slate(items, scores)

    def update(self, slate: Slate, rewards: ArrayLike, seen: ArrayLike | None = None) -> None:
        """Learn from the user's feedback on a slate. An error leaves the policy unchanged.

        Parameters
        ----------
        slate
            A result of `recommend`, from this catalogue or a smaller one that it extends.
        rewards
            A number from 0 to 1 for each position.
        seen
            The positions that the user saw, as a mask or as numbers from 0; all by default.
            The policy learns nothing from the others.
        """
        self._check_slate(slate)
        checked = checked_rewards(rewards, len(slate))
        self._learn(slate, checked, seen_positions(seen, len(slate)))

    def learn_relevance(self, items: ArrayLike | Slate, rewards: ArrayLike) -> None:
        """Learn from rewards that items earned outside lists, such as purchases after a search.

        An item alone has no diversity gain: this says what the user likes, and nothing of how
        varied a list they want. `attention` and `forgetting` are about lists: every item counts as
        seen, and nothing is forgotten. An error leaves the policy unchanged.

        Parameters
        ----------
        items
            Rows of the catalogue, one for each reward; or a result of `items_alone`, with the
            features that the items had then.
        rewards
            A number from 0 to 1 for each item.
        """
        slate = items if isinstance(items, Slate) else self.items_alone(items)
        self._check_slate(slate)
        if slate.diversity.any():
            raise InputError(
                "`items` must be rows or a result of `items_alone`, got a list whose items have "
                "diversity gains: `update` learns from a list"
            )
        self._learn_alone(slate, checked_rewards(rewards, len(slate)))

    def items_alone(self, items: ArrayLike) -> Slate:
        """Return rows of the catalogue as a slate in which no item has others above it."""
        rows = check_rows("items", items, len(self.catalogue))
        nothing = np.zeros((len(rows), self.catalogue.m))
        return slate_with_gains(self.catalogue, rows, np.zeros(len(rows)), nothing)

    def explain(self, slate: Slate, *, dial: Dial | None = None) -> Explanation:
        """Return the parts of each item's score, by the current estimates.

        Pass the `dial` that the list was made with.
        """
        self._check_slate(slate)
        policy = self._under_dial(dial)
        with np.errstate(over="ignore", invalid="ignore"):
            explanation = policy._explain(slate)
        for part in (explanation.relevance, explanation.diversity, explanation.exploration):
            if not np.isfinite(part).all():
                raise StateError(
                    f"an explanation must consist of finite numbers, but does not: {TOO_LARGE}"
                )
        return explanation

    def state(self) -> State:
        """Return what was learnt, as data."""
        arrays = {name: np.array(array) for name, array in self._arrays().items()}
        return State(self.name, arrays)

    def drop_estimates(self) -> None:
        """Free the memory of what can be computed again, of a policy that will not be used soon."""

    def restore(self, state: State) -> None:
        """Continue from a result of `state`. An error leaves the policy unchanged."""
        self.check_state(state)
        self._restore(state.arrays)

    def check_state(self, state: State) -> None:
        """Raise StateError unless `restore` accepts the state; nothing changes.

        The state must belong to this policy and catalogue, and its numbers must be ones that
        learning can produce: every list, explanation and estimate from a state that passes is
        finite.
        """
        if state.version != STATE_VERSION:
            raise StateError(
                f"`state` has version {state.version}, and this variegate reads {STATE_VERSION}: "
                "learn it again from the log, or use the variegate that wrote it"
            )
        if state.policy != self.name:
            raise StateError(f"`state` belongs to {state.policy!r}, not to {self.name!r}")
        expected = self._shapes(state.arrays)
        shapes = {name: np.shape(array) for name, array in state.arrays.items()}
        if shapes != expected:
            raise StateError(
                f"`state` must hold arrays {expected} for {self.catalogue}, got {shapes}"
            )
        state.check()
        self._check_arrays(state.arrays)

    def check_takes_scores(self) -> None:
        """Raise InputError unless `recommend` accepts scores and a request's own items."""
        if not self.takes_scores:
            from variegate.policies.registry import policies_with_scores  # it imports this module

            raise InputError(
                f"`candidates` must be rows of a catalogue, without scores, for the policy "
                f"{self.name}: a request's own items and scores need one of "
                f"{', '.join(policies_with_scores())}"
            )

    def _under_dial(self, dial: Dial | None) -> "Policy":
        """Return this policy with a dial applied, for lists and explanations only."""
        if dial is None:
            return self
        if not isinstance(dial, Dial):
            raise InputError(f"`dial` must be a Dial or None, got {dial!r}")
        return self._with_dial(dial)

    def _with_dial(self, dial: Dial) -> "Policy":
        """Return a copy whose weights of the distances are changed by a dial."""
        from variegate.policies.registry import policies_with_dial  # it imports this module

        raise InputError(
            f"`dial` must be None for {self.name}, which does not learn how much diversity a "
            f"user wants: {', '.join(policies_with_dial())} accept one"
        )

    def _recommend(self, free: MaskArray, k: int, rng: Any) -> Slate:
        """Return a list of `k` of the items that are `free`."""
        layout = self.catalogue.layout
        slate = None if layout is None else self._compiled_slate(layout, free, k, rng)
        return self._search_slate(free, k, rng) if slate is None else slate

    def _offered(self, candidates: Any, exclude: Any, offer: Offer) -> Candidates:
        """Return the candidates of a request that has its own items or scores."""
        self.check_takes_scores()
        return offered_candidates(self.catalogue, candidates, exclude, offer)

    def _recommend_offered(self, offered: Candidates, k: int, rng: Any) -> Slate:
        """Return a list of `k` of the candidates that came with the request."""
        slate = self._over(offered)._recommend(offered.free, k, rng)
        return offered.slate(slate.items, slate.scores, slate.diversity)

    def _constrained_offered(
        self, offered: Candidates, k: int, rng: Any, constraints: Constraints
    ) -> Slate:
        """Return the same under constraints."""
        policy = self._over(offered)
        policy.catalogue = offered.catalogue.replace(attributes=offered.attributes)
        slate = constrained_slate(policy, offered.free, k, rng, constraints)
        found = offered.slate(slate.items, slate.scores, slate.diversity)
        return replace(found, relaxed=slate.relaxed)

    def _over(self, offered: Candidates) -> Self:
        """Return a copy over the request's candidates, for lists only."""
        other = copy(self)
        other.catalogue = offered.catalogue
        return other

    def _search_slate(self, free: MaskArray, k: int, rng: Any) -> Slate:
        """Return the list that `_search` finds with `_scorer`: the reference, in NumPy."""
        rows = np.flatnonzero(free)
        with np.errstate(over="ignore", invalid="ignore"):  # `finite_slate` checks the scores
            places, scores = self._search(self._scorer(rows, k, rng), k)
        return self._slate(rows[places], scores)

    def _compiled_slate(self, layout: Layout, free: MaskArray, k: int, rng: Any) -> Slate | None:
        """Return the same list by compiled loops; None, the default, if there are none."""
        return None

    def _candidates(self, free: MaskArray, k: int) -> IndexArray:
        """Return the rows among those `free` that a list of `k` is chosen from, sorted."""
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

    def _slate_by_loops(
        self,
        layout: Layout,
        items: IndexArray,
        scores: FloatArray,
        coverage: FloatArray | None = None,
    ) -> Slate:
        """Return the same slate as `_slate`, with the gains computed by compiled loops."""
        x = list_gains(layout, items, normalising_factors(self.normaliser, len(items)))
        return slate_with_gains(self.catalogue, items, scores, x, coverage)

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:
        """Learn from checked feedback on the positions `seen`; nothing by default."""
        return

    def _learn_alone(self, slate: Slate, rewards: FloatArray) -> None:
        """Learn from checked rewards of items outside lists; by default as from a list."""
        self._learn(slate, rewards, np.arange(len(slate)))

    def _arrays(self) -> Mapping[str, FloatArray]:
        """Return what was learnt, by name; nothing by default."""
        return {}

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:
        """Replace what was learnt by checked arrays."""
        return

    def _shapes(self, arrays: Mapping[str, FloatArray]) -> dict[str, tuple[int, ...]]:
        """Return the shapes that the arrays of a state must have."""
        return {name: array.shape for name, array in self._arrays().items()}

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        """Raise StateError unless finite arrays of the right shapes can have been learnt."""
        return

    def _check_slate(self, slate: Slate) -> None:
        catalogue, k = self.catalogue, len(slate)
        shapes = slate.relevance.shape, slate.diversity.shape
        if shapes != ((k, catalogue.d), (k, catalogue.m)):
            raise InputError(
                f"`slate` must have features ({k}, {catalogue.d}) and ({k}, {catalogue.m}) for "
                f"{catalogue}, got {shapes[0]} and {shapes[1]}: it is from another catalogue"
            )
        if catalogue.is_open:
            return  # the items of a slate are those of its request
        known, size = catalogue.ids, len(catalogue)
        for row, item in zip(slate.items.tolist(), slate.ids, strict=True):
            if not (0 <= row < size and known[row] == item):
                raise InputError(
                    f"`slate` has {item!r} in row {row}, and {catalogue} does not: "
                    "it is from another catalogue"
                )


def finite_slate(slate: Slate) -> Slate:
    """Return the slate if its scores are finite, or raise StateError."""
    if not isfinite(sum(slate.scores.tolist())):  # for so few, faster than NumPy
        raise StateError(f"the scores of a list must be finite numbers, but are not: {TOO_LARGE}")
    return slate


def linear_scores(theta: FloatArray) -> Linear:
    """Return scores that are products of the features with theta."""
    return Linear(np.array(theta), np.zeros((0, 0)), 0.0)


def checked_rewards(rewards: ArrayLike, k: int) -> FloatArray:
    """Return one reward from 0 to 1 for each of `k` positions, or raise InputError."""
    if type(rewards) is np.ndarray and rewards.dtype == np.float64 and rewards.shape == (k,):
        array = rewards  # the usual case: the loop below sees whether it is finite
    else:
        array = check_numbers("rewards", rewards, ndim=1)
    if array.shape != (k,):
        raise InputError(f"`rewards` must have one number for each of {k} items, got {len(array)}")
    for reward in array.tolist():  # for so few, faster than NumPy
        if not 0.0 <= reward <= 1.0:
            check_numbers("rewards", rewards, ndim=1)
            raise InputError(f"`rewards` must lie from 0 to 1, got {reward}")
    return array


def seen_positions(seen: ArrayLike | None, k: int) -> IndexArray:
    """Return the positions that were seen, from a mask or a list of them; None means all."""
    if seen is None:
        return np.arange(k)
    array = as_indices("seen", seen, k, "positions")
    positions = np.unique(array)
    if len(array) and (positions[0] < 0 or positions[-1] >= k or len(positions) < len(array)):
        raise InputError(
            f"`seen` must hold distinct positions from 0 to {k - 1}, got {array.tolist()}"
        )
    return positions


def option_reprs(options: Mapping[str, Any]) -> list[str]:
    """Return options as ``name=value``; long values and arrays are abbreviated."""
    return [f"{name}={_short_repr(value)}" for name, value in options.items()]


def _short_repr(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= _REPR_LENGTH else f"{text[: _REPR_LENGTH - 3]}..."
