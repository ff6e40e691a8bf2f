"""Lists that were shown, how likely they were, and what they earned."""

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

#: Up to here a float is a whole number to the last digit.
LARGEST_ROW: Final = 2.0**53


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
    """n lists of K items as a logging policy showed them; `slate_log` makes one.

    A propensity is the chance with which the logging policy put this item in this position,
    given the items above it: a list's own chance is the product of its propensities. A
    policy that never draws has none, so nothing can be learnt of others from its log.

    A position that the user did not look at earned 0: what is estimated is what a list
    earns, and nobody clicks what they do not see.
    """

    #: Rows of the catalogue, distinct within a list, (n, K)
    items: IndexArray
    #: What each position earned, from 0 to 1, (n, K)
    rewards: FloatArray
    #: Chance of the item given those above it, greater than 0, (n, K)
    propensities: FloatArray
    #: Positions that the user looked at, (n, K)
    seen: MaskArray
    #: Whom each list was shown to; None where that is not known, (n,)
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
        """What each list earned, (n,)."""
        total: FloatArray = self.rewards.sum(axis=1)
        return total

    def _check_values(self) -> None:
        chance = self.propensities
        _check_all(
            (chance > 0) & (chance <= 1), "propensities", "be greater than 0 and at most 1", chance
        )
        _check_all(
            (self.rewards >= 0) & (self.rewards <= 1), "rewards", "lie from 0 to 1", self.rewards
        )
        _check_all(
            self.seen | (self.rewards == 0), "rewards", "be 0 where nothing was seen", self.rewards
        )
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
    """Return the log of these lists, one a row; all positions count as seen, if not given.

    Examples
    --------
    >>> log = slate_log([[2, 0], [1, 2]], rewards=[[1, 0], [0, 0]], propensities=[[0.5, 0.5]] * 2)
    >>> len(log), log.k, log.totals
    (2, 2, array([1., 0.]))
    """
    numbers = check_numbers("items", items, ndim=2)
    if (numbers % 1 != 0).any() or (numbers > LARGEST_ROW).any():
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
        raise InputError(f"`seen` must be a mask, one yes or no a position, got {array.dtype}")
    return array


def _check_all(right: MaskArray, name: str, rule: str, values: FloatArray | IndexArray) -> None:
    wrong = np.argwhere(~right)
    if wrong.size:
        row, position = (int(place) for place in wrong[0])
        raise InputError(
            f"`{name}` must {rule}, got {values[row, position]} in list {row}, position {position}"
        )


#: Why a list cannot be evaluated though it has propensities and feedback: it does not record what
#: it was chosen from; the items of its time are not known; its propensities contradict what it
#: records. And for `pi`: the policy that chose it is not known, or could show too many lists.
Obstacle = Literal["no terms", "no items", "contradiction", "no policy", "too many"]


@dataclass(frozen=True, eq=False)
class LoggedSlate:
    """A list that a user was given.

    A position without a reward was not seen, and earned 0.
    """

    slate: Slate
    #: How the distances in `slate` are scaled
    normaliser: Normaliser
    propensities: FloatArray | None
    #: What each position earned, (K,)
    rewards: FloatArray
    seen: MaskArray
    #: Whether there is any feedback on the list
    answered: bool
    #: The items as they were when the list was given, or as they are now if that is not known
    catalogue: Catalogue
    #: What it was chosen from, or why that is not known
    terms: SlateTerms | Obstacle

    def slate_for(self, normaliser: Normaliser) -> Slate:
        """Return the list with its distances scaled as a policy with this normaliser does."""
        if normaliser == self.normaliser:
            return self.slate
        ours, theirs = (
            normalising_factors(one, len(self.slate)) for one in (self.normaliser, normaliser)
        )
        return replace(self.slate, diversity=self.slate.diversity * (theirs / ours)[:, None])


@dataclass(frozen=True, eq=False)
class Lesson:
    """What was learnt from a list, at some time after it was given."""

    given: LoggedSlate
    rewards: FloatArray
    #: The positions that were learnt from
    seen: IndexArray


Step: TypeAlias = LoggedSlate | Lesson


@dataclass(frozen=True, eq=False)
class UserLog:
    """All that happened to one user, in order."""

    #: None where it is not known whom a list was for
    user: str | None
    steps: tuple[Step, ...]

    def slates(self) -> Iterator[LoggedSlate]:
        """Give the lists in their order."""
        return (step for step in self.steps if isinstance(step, LoggedSlate))


def user_logs(log: SlateLog, catalogue: Catalogue) -> list[UserLog]:
    """Return the lists of a log by user; each list is learnt from before the next is given.

    A list without terms counts as chosen from all items of the catalogue.
    """
    numbers_of: dict[str | int, list[int]] = {}
    for number, user in enumerate(log.users):
        numbers_of.setdefault(number if user is None else user, []).append(number)
    return [_user_log(log, numbers, catalogue) for numbers in numbers_of.values()]


def _terms_of(log: SlateLog, number: int) -> SlateTerms | Obstacle | None:
    terms = log.terms[number] if log.terms else None
    return terms if terms is None or terms.candidates.any() else "no terms"


def _user_log(log: SlateLog, numbers: list[int], catalogue: Catalogue) -> UserLog:
    every = SlateTerms(np.ones(len(catalogue), dtype=np.bool_), is_assumed=True)
    steps: list[Step] = []
    for number in numbers:
        items, seen = log.items[number], log.seen[number]
        given = LoggedSlate(
            slate_of(catalogue, items, np.zeros(len(items)), "none"),
            "none",
            log.propensities[number],
            log.rewards[number],
            seen,
            True,
            catalogue,
            _terms_of(log, number) or every,
        )
        steps += [given, Lesson(given, log.rewards[number], np.flatnonzero(seen))]
    return UserLog(log.users[numbers[0]], tuple(steps))
