"""What happened to each user, in order: lists, what was learnt from them, lists taken back."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias, cast

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.catalogue import Catalogue
from variegate.evaluation.offpolicy import SlateLog, read_log
from variegate.gains import NORMALISERS, Normaliser, normalising_factors
from variegate.service.desk.listing import normalising_weights
from variegate.service.desk.packing import unpacked_slate
from variegate.service.desk.rebuilding import each_user
from variegate.service.desk.relearning import events_of
from variegate.slate import Slate, slate_of
from variegate.store import EventRow, Reader, SlateRow

_PAGE: Final = 200


@dataclass(frozen=True, eq=False)
class Given:
    """A list that a user was given.

    A position that nothing is known of was not seen, and earned 0.
    """

    slate: Slate
    #: How the distances in `slate` are scaled
    normaliser: Normaliser
    time: float
    propensities: FloatArray | None
    rewards: FloatArray
    seen: MaskArray
    #: Whether anything is known of what the user made of it
    answered: bool

    def slate_for(self, normaliser: Normaliser) -> Slate:
        """Return the list as a policy with this scale of distances would have given it."""
        if normaliser == self.normaliser:
            return self.slate
        ours, theirs = (
            normalising_factors(one, len(self.slate)) for one in (self.normaliser, normaliser)
        )
        return replace(self.slate, diversity=self.slate.diversity * (theirs / ours)[:, None])


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a list taught, at some time after it was given."""

    given: Given
    rewards: FloatArray
    #: Positions that taught
    seen: IndexArray


@dataclass(frozen=True, eq=False)
class TakenBack:
    """A list that was taken back, so that its items count as not shown."""

    items: IndexArray


Step: TypeAlias = Given | Lesson | TakenBack


@dataclass(frozen=True, eq=False)
class Story:
    """All steps of one user, in order."""

    #: None where nobody knows whom a list was for
    user: str | None
    steps: tuple[Step, ...]


def stories_of_store(reader: Reader) -> Iterator[Story]:
    """Give every user's story, by id."""
    for user in each_user(reader):
        rows = _slates(reader, user.id)
        places = {row.id: place for place, row in enumerate(rows)}
        lists = [_given(row) for row in rows]
        steps: list[tuple[tuple[float, int, int], Step]] = [
            ((one.time, place, 0), one) for place, one in enumerate(lists)
        ]
        for event in events_of(reader, user.id):
            if event.slate_id in places:
                steps += _steps_of(event, places, lists)
        yield Story(user.id, tuple(step for _when, step in sorted(steps, key=lambda one: one[0])))


def stories_of_file(path: str | Path, catalogue: Catalogue, k: int | None) -> Iterator[Story]:
    """Give the stories of a log of JSON lines, where each list taught before the next."""
    log = read_log(path, catalogue, k=k)
    whose: dict[str | int, list[int]] = {}
    for number, user in enumerate(log.users):
        whose.setdefault(number if user is None else user, []).append(number)
    return (_story_of_log(log, numbers, catalogue) for numbers in whose.values())


def _slates(reader: Reader, user: str) -> list[SlateRow]:
    pages: list[list[SlateRow]] = []
    before: str | None = None
    while page := reader.history(user, _PAGE, before):
        pages.append(page)
        before = page[-1].id
    return list(chain.from_iterable(pages))[::-1]


def _steps_of(
    event: EventRow, places: dict[str, int], lists: list[Given]
) -> list[tuple[tuple[float, int, int], Step]]:
    """Return what an event did, with what sorts it among the others."""
    place = places[event.slate_id or ""]
    given = lists[place]
    if event.kind == "withdraw":
        by = places.get(str(event.body.get("instead")), place)
        return [((event.time, by, -1), TakenBack(given.slate.items))]
    taught = event.body.get("taught") or {}
    if not taught:
        return []
    rewards, seen = np.zeros(len(given.slate)), np.array(sorted(map(int, taught)), dtype=np.intp)
    rewards[seen] = [float(taught[str(at)]) for at in seen]
    # At one moment, what came of lists of before goes before the lists of now.
    when = (event.time, place if given.time == event.time else -1, 1)
    return [(when, Lesson(given, rewards, seen))]


def _given(row: SlateRow) -> Given:
    slate = unpacked_slate(row)
    seen = np.array([reward is not None for reward in row.rewards])
    return Given(
        slate,
        _normaliser_of(row, slate),
        row.created,
        None if row.propensities is None else np.array(row.propensities),
        np.array([reward or 0.0 for reward in row.rewards]),
        seen,
        row.answered,
    )


def _normaliser_of(row: SlateRow, slate: Slate) -> Normaliser:
    """Return the scale with which the list's distances come to the spread that was kept."""
    for name in NORMALISERS if row.k > 1 else ():
        normaliser = cast("Normaliser", name)
        means = normalising_weights(normaliser, row.k) @ slate.diversity
        if np.abs(means - list(row.spread.values())).max(initial=0.0) < 1e-9:
            return normaliser
    return "growing"


def _story_of_log(log: SlateLog, numbers: list[int], catalogue: Catalogue) -> Story:
    steps: list[Step] = []
    for number in numbers:
        items, seen = log.items[number], log.seen[number]
        slate = slate_of(catalogue, items, np.zeros(len(items)), "none")
        given = Given(
            slate,
            "none",
            float(number),
            log.propensities[number],
            log.rewards[number],
            seen,
            answered=True,
        )
        steps += [given, Lesson(given, log.rewards[number], np.flatnonzero(seen))]
    return Story(log.users[numbers[0]], tuple(steps))
