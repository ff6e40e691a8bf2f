"""Logs of shown lists: as arrays for the estimators, and user by user for policies that learn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_numbers
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser, normalising_factors
from variegate.model.slate import Slate, slate_of
from variegate.policies import Dial

#: Up to here every whole number is a float.
MAX_ROW: Final = 2.0**53

#: Why a list cannot be evaluated though it has propensities and feedback: it does not record what
#: it was chosen from; the items of its time are not known; its propensities contradict what it
#: records. And for `pi`: the policy that chose it is not known, or could show too many lists.
SkipReason = Literal["no terms", "no items", "contradiction", "no policy", "too many"]


@dataclass(frozen=True, eq=False)
class SlateTerms:
    """What one list was chosen from, and how."""

    #: The items that could be chosen, (L,)
    candidates: MaskArray
    #: The probability with which each position took a random candidate; None if not known
    mix: float | None = None
    #: The dial that the request set
    dial: Dial | None = None
    #: The name of the policy that chose the list; None if not known
    policy: str | None = None
    #: Whether the candidates are not recorded, and all items of the catalogue are assumed
    is_assumed: bool = False


@dataclass(frozen=True, eq=False)
class SlateLog:
    """n lists of K items that a logging policy showed; `slate_log` makes one.

    A propensity is the probability with which the logging policy put this item in this position,
    given the items above it: the probability of a list is the product of its propensities. A
    deterministic policy has none, so its log says nothing about other policies.

    The reward of a position that the user did not look at is 0: estimates are about the rewards
    of whole lists, and nobody clicks what they do not see.
    """

    #: Rows of the catalogue, distinct within a list, (n, K)
    items: IndexArray
    #: The reward of each position, from 0 to 1, (n, K)
    rewards: FloatArray
    #: Probability of the item given those above it, greater than 0, (n, K)
    propensities: FloatArray
    #: Positions that the user looked at, (n, K)
    seen: MaskArray
    #: The user of each list, None if not known, (n,)
    users: tuple[str | None, ...]
    #: What each list was chosen from; None where the log does not record it, (n,)
    terms: tuple[SlateTerms | None, ...] = ()

    def __post_init__(self) -> None:
        shape = self.items.shape
        if self.items.ndim != 2 or 0 in shape:
            raise InputError(f"`items` must be at least one list of one item, got shape {shape}")
        for name in ("rewards", "propensities", "seen"):
            found = getattr(self, name).shape
            if found != shape:
                raise InputError(f"`{name}` must have shape {shape} as the items, got {found}")
        for name in ("users", "terms"):
            found = len(getattr(self, name))
            if found != shape[0] and (name, found) != ("terms", 0):
                raise InputError(f"`{name}` must have {shape[0]} entries, got {found}")
        self._check_values()

    def __len__(self) -> int:
        return len(self.items)

    @property
    def k(self) -> int:
        """The number of positions."""
        return int(self.items.shape[1])

    @property
    def totals(self) -> FloatArray:
        """The total reward of each list, (n,)."""
        total: FloatArray = self.rewards.sum(axis=1)
        return total

    def _check_values(self) -> None:
        propensities, rewards = self.propensities, self.rewards
        is_probability = (propensities > 0) & (propensities <= 1)
        _check_all(is_probability, "propensities", "be greater than 0 and at most 1", propensities)
        _check_all((rewards >= 0) & (rewards <= 1), "rewards", "lie from 0 to 1", rewards)
        _check_all(self.seen | (rewards == 0), "rewards", "be 0 where nothing was seen", rewards)
        _check_all(self.items >= 0, "items", "be rows from 0", self.items)
        ordered = np.sort(self.items, axis=1)
        repeats = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if repeats.size:
            row = int(repeats[0])
            raise InputError(
                f"`items` must be distinct within a list, got {self.items[row].tolist()} in list "
                f"{row}"
            )


def slate_log(
    items: ArrayLike,
    rewards: ArrayLike,
    propensities: ArrayLike,
    *,
    seen: ArrayLike | None = None,
    users: Sequence[str | None] | None = None,
    terms: Sequence[SlateTerms | None] = (),
) -> SlateLog:
    """Return the log of these lists, one per row; by default all positions are seen.

    Examples
    --------
    >>> log = slate_log([[2, 0], [1, 2]], rewards=[[1, 0], [0, 0]], propensities=[[0.5, 0.5]] * 2)
    >>> len(log), log.k, log.totals
    (2, 2, array([1., 0.]))
    """
    numbers = check_numbers("items", items, ndim=2)
    if (numbers % 1 != 0).any() or (numbers > MAX_ROW).any():
        raise InputError("`items` must hold row numbers: catalogue.rows(ids) turns ids into them")
    rows = numbers.astype(np.intp)
    return SlateLog(
        rows,
        check_numbers("rewards", rewards, ndim=2),
        check_numbers("propensities", propensities, ndim=2),
        np.ones(rows.shape, dtype=bool) if seen is None else _as_mask(seen),
        (None,) * len(rows) if users is None else tuple(users),
        tuple(terms),
    )


def _as_mask(seen: ArrayLike) -> MaskArray:
    array = np.asarray(seen)
    if array.dtype != np.bool_:
        raise InputError(f"`seen` must be a mask with one boolean per position, got {array.dtype}")
    return array


def _check_all(right: MaskArray, name: str, rule: str, values: FloatArray | IndexArray) -> None:
    wrong = np.argwhere(~right)
    if wrong.size:
        row, position = (int(place) for place in wrong[0])
        raise InputError(
            f"`{name}` must {rule}, got {values[row, position]} in list {row}, position {position}"
        )


@dataclass(frozen=True, eq=False)
class LoggedSlate:
    """A list that was shown to a user.

    A position without feedback was not seen, and its reward is 0.
    """

    slate: Slate
    #: How the distances in `slate` are scaled
    normaliser: Normaliser
    propensities: FloatArray | None
    #: The reward of each position, (K,)
    rewards: FloatArray
    seen: MaskArray
    #: Whether there is any feedback on the list
    has_feedback: bool
    #: The items as of the time of the list, or as of now if that is not known
    catalogue: Catalogue
    #: What it was chosen from, or why that is not known
    terms: SlateTerms | SkipReason
    #: Whether it was made under constraints, or with scores or items of the request: such lists
    #: have no propensities
    is_constrained: bool = False

    def slate_for(self, normaliser: Normaliser) -> Slate:
        """Return the list with its distances scaled as a policy with this normaliser does."""
        if normaliser == self.normaliser:
            return self.slate
        ours, theirs = (
            normalising_factors(one, len(self.slate)) for one in (self.normaliser, normaliser)
        )
        return replace(self.slate, diversity=self.slate.diversity * (theirs / ours)[:, None])


@dataclass(frozen=True, eq=False)
class PolicyUpdate:
    """Feedback on a list that was learnt from, at some time after the list was shown."""

    logged: LoggedSlate
    rewards: FloatArray
    #: The positions that were learnt from
    seen: IndexArray


@dataclass(frozen=True, eq=False)
class RelevanceUpdate:
    """Rewards of items outside lists that were learnt from; see `Policy.learn_relevance`."""

    slate: Slate
    rewards: FloatArray
    #: The items as of that time, or as of now if that is not known
    catalogue: Catalogue


Step: TypeAlias = LoggedSlate | PolicyUpdate | RelevanceUpdate


@dataclass(frozen=True, eq=False)
class UserLog:
    """The lists and updates of one user, in order."""

    #: None if not known
    user: str | None
    steps: tuple[Step, ...]

    def slates(self) -> Iterator[LoggedSlate]:
        """Yield the lists in their order."""
        return (step for step in self.steps if isinstance(step, LoggedSlate))


def user_logs(log: SlateLog, catalogue: Catalogue) -> list[UserLog]:
    """Return the lists of a log by user; each list is learnt from before the next is shown.

    A list without terms counts as chosen from all items of the catalogue.
    """
    numbers_of: dict[str | int, list[int]] = {}
    for number, user in enumerate(log.users):
        numbers_of.setdefault(number if user is None else user, []).append(number)
    return [_user_log(log, numbers, catalogue) for numbers in numbers_of.values()]


def _user_log(log: SlateLog, numbers: list[int], catalogue: Catalogue) -> UserLog:
    all_items = SlateTerms(np.ones(len(catalogue), dtype=np.bool_), is_assumed=True)
    steps: list[Step] = []
    for number in numbers:
        items, seen = log.items[number], log.seen[number]
        logged = LoggedSlate(
            slate_of(catalogue, items, np.zeros(len(items)), "none"),
            "none",
            log.propensities[number],
            log.rewards[number],
            seen,
            True,
            catalogue,
            _terms_of(log, number) or all_items,
        )
        steps += [logged, PolicyUpdate(logged, log.rewards[number], np.flatnonzero(seen))]
    return UserLog(log.users[numbers[0]], tuple(steps))


def _terms_of(log: SlateLog, number: int) -> SlateTerms | SkipReason | None:
    terms = log.terms[number] if log.terms else None
    return terms if terms is None or terms.candidates.any() else "no terms"
