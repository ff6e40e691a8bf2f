"""What happened to each user, in order: the lists given, and what was learnt from them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.evaluation.offpolicy.log import SlateLog, SlateTerms
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser, normalising_factors
from variegate.model.slate import Slate, slate_of

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
