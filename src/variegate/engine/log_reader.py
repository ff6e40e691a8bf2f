"""The log of a service for off-policy evaluation: each list with what it was chosen from."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeAlias, cast

import numpy as np

from variegate.arrays import IndexArray, MaskArray
from variegate.engine.catalogue import CatalogueSnapshot, LiveCatalogue
from variegate.engine.codecs import (
    INTERACTION,
    SeenItems,
    has_features,
    hidden_rows,
    interaction_rows,
    interaction_slate,
    slate_rows,
    unpack_slate,
)
from variegate.engine.executor import Executor
from variegate.engine.recommend import normalising_weights
from variegate.engine.replay import iter_events, iter_slates, iter_users
from variegate.engine.selection import allowed_items, without_seen
from variegate.engine.terms import Terms, terms_of
from variegate.errors import InputError, NotFoundError, StateError
from variegate.evaluation.offpolicy import (
    LoggedSlate,
    LogSource,
    PolicyUpdate,
    RelevanceUpdate,
    SlateTerms,
    UserLog,
)
from variegate.evaluation.offpolicy.logs import Step
from variegate.model.gains import NORMALISERS, Normaliser
from variegate.model.slate import Slate
from variegate.policies import parse_policy
from variegate.store import ITEMS_HISTORY, ITEMS_REVISION, EventRow, Reader, SlateRow

#: Catalogues of earlier revisions that are kept at once.
_STOCKS: Final = 100

#: Time, the place of a list among the user's, and what comes first at the same place
_When: TypeAlias = tuple[float, int, int]


def log_source(executor: Executor, name: str) -> LogSource:
    """Return the log of a service; `name` is what messages call it."""

    def logs() -> Iterator[UserLog]:
        with executor.store.reading() as reader:
            items = _ItemHistory(reader, executor.live)
            for user in iter_users(reader):
                yield _user_log(reader, user.id, items)

    lines = executor.experiment.specs
    return LogSource(name, logs, {arm: parse_policy(line) for arm, line in lines.items()})


class _ItemHistory:
    """The items as of any revision that the store knows."""

    def __init__(self, reader: Reader, live: LiveCatalogue) -> None:
        self.now: Final = live.as_of(reader)
        self._first = int(reader.meta(ITEMS_HISTORY) or 0)
        self._last = int(reader.meta(ITEMS_REVISION) or 0)
        self._changes = reader.item_revisions()

        @lru_cache(maxsize=_STOCKS)
        def built(revision: int) -> CatalogueSnapshot:
            return live.build(reader, str(revision), reader.items_at(revision))

        self._built = built

    def at(self, revision: str | None) -> CatalogueSnapshot | None:
        """Return the items as of a revision, or None where they are not known."""
        if revision is None or not self._first <= int(revision) <= self._last:
            return None
        # Between two changes of items the revision also counts changes of priors.
        place = bisect_right(self._changes, int(revision))
        return self._built(self._changes[place - 1] if place else 0)


def _user_log(reader: Reader, user: str, items: _ItemHistory) -> UserLog:
    rows = list(iter_slates(reader, user))
    places = {row.id: place for place, row in enumerate(rows)}
    steps: list[tuple[_When, SlateRow | EventRow]] = [
        ((row.created, place, 0), row) for place, row in enumerate(rows)
    ]
    steps += [
        (_when(event, places, rows), event)
        for event in iter_events(reader, user)
        if event.kind == INTERACTION or event.slate_id in places
    ]
    lists: dict[str, LoggedSlate] = {}
    found: list[Step] = []
    memory = _Memory()
    for _, step in sorted(steps, key=lambda one: one[0]):
        if isinstance(step, SlateRow):
            if has_features(step):
                lists[step.id] = _logged(step, items, memory)
                found.append(lists[step.id])
            shown = slate_rows(step)
            memory.add(step, shown[shown >= 0])
        elif step.kind == INTERACTION:
            memory.use(step)
            found += _relevance_update(step, items)
        elif step.kind == "withdraw":
            memory.withdraw(str(step.slate_id))
        elif step.body.get("taught") and step.slate_id in lists:
            found.append(_policy_update(lists[str(step.slate_id)], step))
    return UserLog(user, tuple(found))


def _when(event: EventRow, places: dict[str, int], rows: Sequence[SlateRow]) -> _When:
    """Return what sorts an event among the lists."""
    if event.kind == INTERACTION:
        return event.time, event.body["slates"] - 1, 1
    place = places[str(event.slate_id)]
    # Where clocks are apart, feedback can be older than its list.
    time = max(event.time, rows[place].created)
    if event.kind == "withdraw":
        # The list is withdrawn before the one that replaces it is chosen.
        return time, places.get(str(event.body.get("instead")), place), -1
    # At one time, feedback on earlier lists comes before the lists of that time.
    return time, place if rows[place].created == time else -1, 1


class _Memory:
    """What a user was shown, as the service remembered it."""

    def __init__(self) -> None:
        self.shown, self.used = SeenItems(), SeenItems()
        self._lists: dict[str, tuple[IndexArray, float, int]] = {}

    def add(self, row: SlateRow, items: IndexArray) -> None:
        """Add a list, with the length of the memory that it was given under."""
        one = self._lists[row.id] = items, row.created, terms_of(row).memory
        self.shown = self.shown.add(*one)[0]

    def use(self, event: EventRow) -> None:
        """Add the items of an interaction, unless they may be recommended at once."""
        if not event.body["allow_repeats"]:
            rows = interaction_rows(event)
            self.used = self.used.add(rows[rows >= 0], event.time, event.body["memory"])[0]

    def withdraw(self, slate: str) -> None:
        """Take a list out, as if it had not been given."""
        self._lists.pop(slate, None)
        self.shown = SeenItems()
        for one in self._lists.values():
            self.shown = self.shown.add(*one)[0]


def _logged(row: SlateRow, items: _ItemHistory, memory: _Memory) -> LoggedSlate:
    slate, terms = unpack_slate(row), terms_of(row)
    snapshot = _fitting(items.at(terms.revision), slate, terms)
    given = LoggedSlate(
        slate,
        _normaliser_of(row, slate),
        None if row.propensities is None else np.array(row.propensities),
        np.array([reward or 0.0 for reward in row.rewards]),
        np.array([reward is not None for reward in row.rewards]),
        row.answered,
        (snapshot or items.now).catalogue,
        "no terms" if terms.revision is None else "no items",
        terms.constraints is not None or terms.offered,
    )
    if snapshot is None:
        return given
    since = row.created - terms.memory_seconds
    remembered = hidden_rows(memory.shown.rows(since), memory.used.rows(since))
    # With clocks apart, a list of a later revision can be the earlier one.
    remembered = remembered[remembered < len(snapshot.active)]
    free = _candidates(snapshot, terms, remembered, len(slate))
    return replace(given, terms=SlateTerms(free, terms.mix, terms.dial, row.policy))


def _fitting(
    snapshot: CatalogueSnapshot | None, slate: Slate, terms: Terms
) -> CatalogueSnapshot | None:
    """Return the items if they have all that a list names: it may have been imported."""
    if snapshot is None:
        return None
    try:
        snapshot.catalogue.rows([*slate.ids, *(terms.candidates or ()), *terms.exclude])
        if terms.where is not None:
            snapshot.catalogue.where(terms.where)
    except (InputError, NotFoundError):
        return None
    return snapshot


def _candidates(snapshot: CatalogueSnapshot, terms: Terms, seen: IndexArray, k: int) -> MaskArray:
    """Return what a list of `k` could be chosen from, (L,)."""
    rows = snapshot.catalogue.rows
    candidates = None if terms.candidates is None else rows(terms.candidates)
    allowed = allowed_items(snapshot, candidates, rows(terms.exclude), terms.where)
    return allowed if terms.allow_repeats else without_seen(allowed, seen, k)[0]


def _policy_update(given: LoggedSlate, event: EventRow) -> PolicyUpdate:
    rewards = np.zeros(len(given.slate))
    taught = {int(place): float(reward) for place, reward in event.body["taught"].items()}
    seen = np.array(sorted(taught), dtype=np.intp)
    rewards[seen] = [taught[place] for place in seen.tolist()]
    return PolicyUpdate(given, rewards, seen)


def _relevance_update(event: EventRow, items: _ItemHistory) -> list[RelevanceUpdate]:
    """Return what was learnt from an interaction; nothing if an item of it was removed."""
    try:
        slate = interaction_slate(event)
    except StateError:
        return []
    rewards = np.array([*event.body["rewards"].values()], dtype=np.float64)
    snapshot = items.at(event.body["revision"])
    if snapshot is None or slate.items.max() >= len(snapshot.catalogue):
        snapshot = items.now
    return [RelevanceUpdate(slate, rewards, snapshot.catalogue)]


def _normaliser_of(row: SlateRow, slate: Slate) -> Normaliser:
    """Return the scale with which the list's distances give the mean distance in the row."""
    # After another catalogue was taken the row still has the distances that were shown.
    is_same = len(row.diversity) == slate.diversity.shape[1]
    for name in NORMALISERS if row.k > 1 and is_same else ():
        normaliser = cast("Normaliser", name)
        means = normalising_weights(normaliser, row.k) @ slate.diversity
        if np.abs(means - list(row.diversity.values())).max(initial=0.0) < 1e-9:
            return normaliser
    return "growing"
