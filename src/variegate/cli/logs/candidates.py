"""What each list of a log was chosen from, as far as the log tells.

A propensity of `mixed_slate` is ``chance / n``, n being the candidates left, or ``1 - chance``
more where the policy's own choice stands. So the number of candidates can be told from the
propensities, and a set that is put together from the catalogue and the user's memory can be
held against it.

Where the policy itself draws, an item's propensity can be anything in between, which tells no
number: such lists are taken to be chosen from what the user had not been shown.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.cli.logs.stories import Given, Story, TakenBack
from variegate.service.desk.rules import DAY, Rules
from variegate.service.desk.shown import Shown

#: Lists that are asked which chance they were mixed with, and the share that must agree.
ASKED: Final = 1000
AGREEING: Final = 0.02
_CLOSE: Final = 1e-8


@dataclass(frozen=True, eq=False)
class Shelves:
    """The items now: which are not retired, (L,), and how many were there from the beginning."""

    open: MaskArray
    base: int


@dataclass(frozen=True, eq=False)
class Room:
    """What a list was chosen from, (L,), and with which chance it was mixed."""

    free: MaskArray
    chance: float


def remembering(story: Story, rules: Rules) -> Iterator[tuple[Given, IndexArray]]:
    """Give each list of a user with the rows that the service remembered as shown before it."""
    shown = Shown()
    for step in story.steps:
        if isinstance(step, TakenBack):
            shown = shown.without(step.items)
        elif isinstance(step, Given):
            yield step, shown.rows(step.time - rules.memory_days * DAY)
            shown = shown.with_list(step.slate.items, step.time, rules.memory)


def fresh_items(open_: MaskArray, remembered: IndexArray, k: int) -> MaskArray:
    """Return the open items without those remembered; if too few are left, the oldest are back."""
    fresh = open_.copy()
    fresh[remembered] = False
    missing = k - int(np.count_nonzero(fresh))
    if missing > 0:
        back = [row for row in remembered.tolist() if open_[row]]
        fresh[back[:missing]] = True
    return fresh


class Chances:
    """Asks lists which chance they were mixed with."""

    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves
        self._votes: Counter[float] = Counter()
        self._asked = 0

    def ask(self, given: Given, remembered: IndexArray) -> None:
        """Let a list vote; the first few thousand do."""
        if given.propensities is not None and self._asked < ASKED:
            self._asked += 1
            sets = _sets(given, remembered, self._shelves)
            self._votes.update(_fitting(given.propensities, sets))

    def found(self) -> list[float]:
        """Return the chances, the commonest first; none where the log is of another kind."""
        least = max(AGREEING * self._asked, 1)
        return [chance for chance, count in self._votes.most_common() if count >= least]


def room_of(
    given: Given,
    remembered: IndexArray,
    shelves: Shelves,
    chances: Sequence[float],
    *,
    was_drawn: bool = False,
) -> Room | None:
    """Return what a list was chosen from, or None where that cannot be told.

    Items that were retired since are left out, for what is asked is what could be shown now.
    `was_drawn` says that a policy that draws may have made it.
    """
    if given.propensities is None:
        return None
    sets = _sets(given, remembered, shelves)
    for chance in chances:
        count = drawn_from(given.propensities, chance)
        if count is None:
            continue
        for free in sets:
            earlier = _earlier(free, count, shelves.base)
            if earlier is not None and earlier[given.slate.items].all():
                return Room(earlier, chance)
        is_smaller = len(given.slate) <= np.count_nonzero(sets[0]) < count
        if is_smaller and not shelves.open.all():
            return Room(sets[0], chance)
    return _room_of_draw(given, sets, chances) if was_drawn else None


def _room_of_draw(given: Given, sets: Sequence[MaskArray], chances: Sequence[float]) -> Room | None:
    """Return the first set and chance under which a draw could have led to the propensities."""
    if given.propensities is None:
        return None
    for chance in chances:
        for free in sets:
            left = np.count_nonzero(free) - np.arange(len(given.slate))
            if left[-1] > 0 and free[given.slate.items].all():
                own = given.propensities - chance / left
                if (own >= -_CLOSE).all() and (own <= 1.0 - chance + _CLOSE).all():
                    return Room(free, chance)
    return None


def drawn_from(propensities: FloatArray, chance: float) -> int | None:
    """Return how many candidates a list mixed with `chance` had, or None if it was not so mixed."""
    for own in (0.0, 1.0 - chance):
        rest = float(propensities[0]) - own
        if rest > 0.0:
            count = round(chance / rest)
            if _fits(propensities, chance, count):
                return count
    return None


def _sets(given: Given, remembered: IndexArray, shelves: Shelves) -> list[MaskArray]:
    fresh = fresh_items(shelves.open, remembered, len(given.slate))
    return [fresh, shelves.open]


def _earlier(free: MaskArray, count: int, base: int) -> MaskArray | None:
    """Return the first `count` of the items if all others came at run time: they came later."""
    rows = np.flatnonzero(free)
    if len(rows) < count or (rows[count:] < base).any():
        return None
    earlier = np.zeros_like(free)
    earlier[rows[:count]] = True
    return earlier


def _fitting(propensities: FloatArray, sets: Sequence[MaskArray]) -> set[float]:
    """Return the chances with which a list from one of the sets has these propensities."""
    first, found = float(propensities[0]), set()
    for count in {int(np.count_nonzero(free)) for free in sets}:
        for chance in (first * count, (1.0 - first) * count / max(count - 1, 1)):
            if 0.0 < chance <= 1.0 + _CLOSE and _fits(propensities, chance, count):
                found.add(min(round(chance, 12), 1.0))
    return found


def _fits(propensities: FloatArray, chance: float, count: int) -> bool:
    if count < len(propensities):
        return False
    # Number by number: lists are short, and arrays of a few numbers are slow.
    for position, found in enumerate(propensities.tolist()):
        more = found - chance / (count - position)
        if min(abs(more), abs(more - (1.0 - chance))) > _CLOSE * found:
            return False
    return True
