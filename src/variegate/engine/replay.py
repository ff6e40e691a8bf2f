"""Replay the log: learn a user's state again, check or rebuild all, move to another catalogue."""

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any, ClassVar, Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.engine.catalogue import (
    LiveCatalogue,
    StoreCatalogue,
    add_file_items,
    check_not_relearning,
    lock_items,
    read_or_migrate,
)
from variegate.engine.codecs import (
    INTERACTION,
    SeenItems,
    interaction_features,
    interaction_rows,
    interaction_slate,
    pack_slate,
    slate_rows,
    unpack_slate,
)
from variegate.engine.experiment import Experiment
from variegate.engine.queue import CommandResult
from variegate.errors import DataError, InputError, StateError
from variegate.model.catalogue import Catalogue
from variegate.model.fingerprint import Fingerprint
from variegate.model.slate import Slate
from variegate.policies import Policy, State
from variegate.store import (
    CATALOGUE,
    RELEARNING,
    Batch,
    EventRow,
    ItemRow,
    Reader,
    SlateRow,
    Store,
    UserRow,
)

#: Two states that differ by more than this are not the same.
TOLERANCE: Final = 1e-9
#: Rows read at a time
_EVENT_PAGE: Final = 500
_USER_PAGE: Final = 100
_SLATE_PAGE: Final = 20
#: Users relearnt in one transaction, and lists of one that are read at a time
_RELEARN_USERS: Final = 20
_RELEARN_SLATES: Final = 200

_log = logging.getLogger(__name__)


def iter_users(reader: Reader) -> Iterator[UserRow]:
    """Yield every user, by id."""
    after: str | None = None
    while page := reader.all_users(after, _USER_PAGE):
        yield from page
        after = page[-1].id


def iter_slates(reader: Reader, user: str) -> Iterator[SlateRow]:
    """Yield every list of a user, the oldest first."""
    after = ""
    while page := reader.user_slates(user, after, _SLATE_PAGE):
        yield from page
        after = page[-1].id


def iter_events(reader: Reader, user: str | None) -> Iterator[EventRow]:
    """Yield every event of a user, or of all, in order."""
    for page in _event_pages(reader, user):
        yield from page


def _event_pages(reader: Reader, user: str | None) -> Iterator[Sequence[EventRow]]:
    after = 0
    while page := reader.events(user=user, after_seq=after, limit=_EVENT_PAGE):
        yield page
        after = page[-1].seq or 0


def lessons(
    reader: Reader, user: str, *, until: float = inf
) -> Iterator[tuple[SlateRow | EventRow, dict[int, float]]]:
    """Yield each list and interaction that a user learnt from, with the rewards by position."""
    for page in _event_pages(reader, user):
        events = [event for event in page if event.time <= until]
        slates = reader.slates(
            [event.slate_id for event in events if event.slate_id and event.body.get("taught")]
        )
        yield from lessons_of(events, slates)


def lessons_of(
    events: Iterable[EventRow], slates: Mapping[str, SlateRow]
) -> Iterator[tuple[SlateRow | EventRow, dict[int, float]]]:
    """Yield each list and interaction that these events taught, with the rewards by position."""
    for event in events:
        if event.kind == INTERACTION:
            yield event, dict(enumerate(map(float, event.body["rewards"].values())))
        elif event.slate_id is not None and event.slate_id in slates:
            rewards = event.body.get("taught", {}).items()
            if rewards:
                yield slates[event.slate_id], {int(at): float(one) for at, one in rewards}


def teach(
    policy: Policy,
    row: SlateRow | EventRow,
    rewards: Mapping[int, float],
    slate: Slate | None = None,
) -> bool:
    """Update a policy with rewards by position; return False, unchanged, if it cannot learn them.

    A policy that a user was moved to may not be able to learn from the list of another.

    Parameters
    ----------
    slate
        What `unpack_slate` would return, if that is known.
    """
    try:
        if isinstance(row, EventRow):
            policy.learn_relevance(interaction_slate(row), [*rewards.values()])
            return True
        values = np.array([rewards.get(place, 0.0) for place in range(row.k)])
        seen = None if len(rewards) == row.k else sorted(rewards)
        policy.update(unpack_slate(row) if slate is None else slate, values, seen=seen)
    except (InputError, StateError):
        return False
    return True


def replay_user(reader: Reader, user: str, policy: Policy) -> Policy:
    """Teach a new policy all lessons of the log, in their order; return it."""
    start_at_checkpoint(policy, user, reader.checkpoint_state(user))
    for row, rewards in lessons(reader, user):
        teach(policy, row, rewards)
    return policy


def start_at_checkpoint(policy: Policy, user: str, state: bytes | None) -> None:
    """Let a new policy start with what the part of the log taught that was removed.

    A policy of another kind than the one that learnt it starts without.
    """
    if state is not None:
        try:
            policy.restore(State.from_bytes(state))
        except StateError as error:
            _log.warning("the checkpoint of user %r cannot be used: %s", user, error)


def policy_name(row: UserRow, experiment: Experiment) -> str:
    """Return the user's policy, or the one they would get if theirs is no longer served."""
    return row.policy if row.policy in experiment.specs else experiment.assign(row.id)


def restore_user(
    reader: Reader, user: UserRow, catalogue: Catalogue, experiment: Experiment
) -> tuple[UserRow, Policy]:
    """Return a user under a policy that is served, and that policy with its state.

    If the user's own is no longer served, or is of another kind by now, the state is relearnt
    from the log.
    """
    if user.policy in experiment.specs:
        try:
            return user, experiment.policy_of(user, catalogue)
        except StateError:
            pass
    name = policy_name(user, experiment)
    policy = replay_user(reader, user.id, experiment.new_policy(name, catalogue))
    return user._replace(policy=name, state=policy.state().to_bytes()), policy


@dataclass(frozen=True)
class StateCheck:
    """The result of comparing the states of all users with the log."""

    users: int
    #: Users whose state differs from the log, or whose log has a lesson twice
    wrong: tuple[str, ...]
    #: The largest difference of any number
    largest: float
    #: The running sums that differ from the lists and events
    wrong_sums: int


def check_states(
    store: Store,
    live: LiveCatalogue,
    experiment: Experiment,
    progress: Callable[[int], None] = lambda _done: None,
    *,
    now: float | None = None,
) -> StateCheck:
    """Compare every user's state, and the running sums, with the log; change nothing."""
    wrong: list[str] = []
    largest, count = 0.0, 0
    with store.reading() as reader:
        catalogue = live.as_of(reader).catalogue
        for row in iter_users(reader):
            difference = state_difference(reader, row, catalogue, experiment)
            largest = max(largest, difference)
            if difference > TOLERANCE:
                wrong.append(row.id)
            count += 1
            progress(count)
        wrong_sums = reader.count_wrong_sums(time.time() if now is None else now)
    return StateCheck(count, tuple(wrong), largest, wrong_sums)


def state_difference(
    reader: Reader, row: UserRow, catalogue: Catalogue, experiment: Experiment
) -> float:
    """Return the largest difference between the user's state and the log."""
    if row.policy not in experiment.specs:
        return 0.0  # it will be relearnt from the log
    if _has_lesson_twice(reader, row.id):
        return np.inf
    blank = experiment.new_policy(row.policy, catalogue)
    try:
        stored = blank.state() if row.state is None else State.from_bytes(row.state)
    except StateError:
        return np.inf
    replayed = replay_user(reader, row.id, blank).state()
    if stored.policy != replayed.policy or stored.arrays.keys() != replayed.arrays.keys():
        return np.inf
    pairs = ((stored.arrays[name], replayed.arrays[name]) for name in replayed.arrays)
    return max((_largest_difference(*pair) for pair in pairs), default=0.0)


def _largest_difference(ours: FloatArray, theirs: FloatArray) -> float:
    if ours.size == theirs.size == 0:
        return 0.0
    if ours.shape != theirs.shape:
        return np.inf
    largest = float(np.abs(ours - theirs).max())
    return np.inf if np.isnan(largest) else largest


def _has_lesson_twice(reader: Reader, user: str) -> bool:
    seen: set[tuple[str, int]] = set()
    for slate, rewards in lessons(reader, user):
        if isinstance(slate, EventRow):
            continue  # the store has each of its keys once
        places = {(slate.id, place) for place in rewards}
        if places & seen:
            return True
        seen |= places
    return False


@dataclass(frozen=True, slots=True)
class RebuildUser:
    """Replace one user's state by the one that the log gives."""

    user: str
    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> CommandResult:
        """Store the state, unless the user is gone."""
        for row in batch.lock_users([self.user]).values():
            catalogue = executor.live.as_of(batch).catalogue
            name = policy_name(row, executor.experiment)
            policy = replay_user(batch, row.id, executor.experiment.new_policy(name, catalogue))
            batch.save_users([row._replace(state=policy.state().to_bytes(), policy=name)])
        return CommandResult({})


@dataclass(frozen=True, slots=True)
class RecountSums:
    """Recompute the running sums from the lists and events."""

    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> CommandResult:
        """Replace them all; no other transaction can write meanwhile."""
        batch.recompute_sums(executor.now(batch))
        return CommandResult({})


@dataclass(frozen=True)
class RelearnProgress:
    """The progress of `relearn`.

    Parameters
    ----------
    after
        The id of the last user who is done; users are processed by id.
    lists, dropped
        Lists whose features were recomputed, and those with an item that is gone or with the
        scores of a request, from which nothing is learnt any more.
    """

    after: str | None = None
    users: int = 0
    lists: int = 0
    dropped: int = 0


def relearn(
    store: Store, catalogue: Catalogue, experiment: Experiment, progress: Callable[[int], None]
) -> RelearnProgress:
    """Bind the store to another catalogue, and relearn every user from the log.

    Each user is processed in one transaction. Until all are done, the store serves nobody; a run
    that was stopped continues when it is called again with the same catalogue.
    """
    with store.batch() as batch:
        done = _begin_relearning(batch, catalogue)
    makers = {name: experiment.new_policy(name, catalogue) for name in experiment.names}
    while True:
        with store.reading() as reader:
            ids = [row.id for row in reader.all_users(done.after, _RELEARN_USERS)]
        if not ids:
            break
        with store.batch() as batch:
            for row in batch.lock_users(ids).values():
                name = policy_name(row, experiment)
                policy = experiment.new_policy(name, catalogue)
                done = _relearn_user(batch, row._replace(policy=name), policy, makers, done)
            done = replace(done, after=ids[-1])
            _save_progress(batch, catalogue, done)
        progress(done.users)
    with store.batch() as batch:
        batch.set_meta(RELEARNING, "")
        batch.increment_items_revision()
    return done


def accept(store: Store, catalogue: Catalogue) -> bool:
    """Bind the store to another catalogue and keep all states; return whether it was another.

    Raises DataError unless items, names and shapes are those of the store's catalogue.
    """
    with store.batch() as batch:
        check_not_relearning(batch, DataError)
        lock_items(batch)
        known = read_or_migrate(batch, catalogue)
        if known is None:
            raise DataError("the store has no catalogue yet: serve it with this one")
        if known.latest == catalogue.fingerprint:
            return False
        before, now = known.fingerprints(catalogue)
        if not before.means_the_same(now):
            raise DataError(
                f"{catalogue} cannot be accepted for the store: "
                f"{'; '.join(before.differences(now))}. Accepting needs the same items, names of "
                "features and kinds of distances: use --relearn"
            )
        base = catalogue.fingerprint_of_first(known.base.items)
        later = StoreCatalogue(base, catalogue.fingerprint)
        batch.set_meta(CATALOGUE, later.to_json())
        add_file_items(batch, catalogue, later)
        batch.increment_items_revision()
        # Earlier lists were chosen from items with other data.
        batch.restart_item_history()
    return True


def _begin_relearning(batch: Batch, catalogue: Catalogue) -> RelearnProgress:
    """Mark the store as being relearnt, or return the progress so far for this catalogue."""
    lock_items(batch)
    mark = json.loads(batch.meta(RELEARNING) or "{}")
    if mark and Fingerprint.from_json(mark.pop("catalogue")) == catalogue.fingerprint:
        return RelearnProgress(**mark)
    retired = [row.id for row in batch.items() if row.retired]
    rows = catalogue.find_rows(retired).tolist()
    # Items, and data of items, that were added at run time belong to the old catalogue.
    batch.replace_items(
        [
            ItemRow(row, item, True, None)
            for item, row in zip(retired, rows, strict=True)
            if row >= 0
        ]
    )
    for prior in batch.priors().values():
        if prior.data is not None:
            batch.save_prior(prior._replace(data=None, users=0, fitted=0.0))
    known = StoreCatalogue(catalogue.fingerprint, catalogue.fingerprint)
    batch.set_meta(CATALOGUE, known.to_json())
    _save_progress(batch, catalogue, RelearnProgress())
    return RelearnProgress()


def _save_progress(batch: Batch, catalogue: Catalogue, done: RelearnProgress) -> None:
    mark = {**asdict(done), "catalogue": catalogue.fingerprint.to_json()}
    batch.set_meta(RELEARNING, json.dumps(mark))


def _relearn_user(
    batch: Batch,
    user: UserRow,
    policy: Policy,
    makers: Mapping[str, Policy],
    done: RelearnProgress,
) -> RelearnProgress:
    """Relearn one user from lists with new features; return the progress after that.

    `policy` is the user's own, new; `makers` make the lists of each policy.
    """
    ids: dict[int, str] = {}
    lists, dropped, after = done.lists, done.dropped, ""
    while page := batch.user_slates(user.id, after, _RELEARN_SLATES):
        remade = [_remake_slate(row, makers.get(row.policy, policy)) for row in page]
        for row in page:
            ids |= zip(slate_rows(row).tolist(), row.items, strict=True)
        batch.update_features([row for row, _ in remade])
        whole = sum(is_whole for _, is_whole in remade)
        lists, dropped, after = lists + whole, dropped + len(page) - whole, page[-1].id
    for events in _event_pages(batch, user.id):
        outside = [event for event in events if event.kind == INTERACTION]
        batch.update_events([_remake_interaction(event, policy) for event in outside])
        for event in outside:
            ids |= zip(interaction_rows(event).tolist(), event.body["rewards"], strict=True)
    batch.clear_checkpoint_state(user.id)  # it was learnt from other features
    state = replay_user(batch, user.id, policy).state().to_bytes()
    shown = _move_shown(user.shown, ids, policy.catalogue)
    consumed = _move_shown(user.consumed or b"", ids, policy.catalogue)
    batch.save_users([user._replace(state=state, shown=shown, consumed=consumed or None)])
    return replace(done, users=done.users + 1, lists=lists, dropped=dropped)


def _remake_slate(row: SlateRow, policy: Policy) -> tuple[SlateRow, bool]:
    """Return a list with the features of the policy's catalogue, and whether all items exist.

    The candidates that it was chosen from are no longer known, so its propensities are dropped.
    """
    rows = policy.catalogue.find_rows(row.items)
    try:
        scores = unpack_slate(row).scores
    except StateError:  # one of its items was gone before
        scores = np.zeros(row.k)
    # The scores that a request brought are not stored, and are no features of another catalogue.
    if (rows >= 0).all() and not row.terms.get("offered"):
        slate = policy.as_slate(rows, scores)
        return row._replace(features=pack_slate(slate), propensities=None), True
    features = pack_slate(_without_features(rows, row.items, scores))
    return row._replace(features=features, propensities=None, closed=True), False


def _remake_interaction(event: EventRow, policy: Policy) -> EventRow:
    """Return an interaction with the features of the policy's catalogue, if all items exist."""
    items = tuple(event.body["rewards"])
    rows = policy.catalogue.find_rows(items)
    if (rows >= 0).all():
        slate = policy.items_alone(rows)
    else:
        slate = _without_features(rows, items, np.zeros(len(items)))
    return event._replace(body=event.body | {"features": interaction_features(slate)})


def _without_features(rows: IndexArray, items: tuple[str, ...], scores: FloatArray) -> Slate:
    nothing = np.zeros((len(items), 0))
    return Slate(rows, items, nothing, nothing, scores, nothing)


def _move_shown(shown: bytes, ids: Mapping[int, str], catalogue: Catalogue) -> bytes:
    """Return the items shown to a user by their new rows, without those that are gone."""
    times = [(ids[row], second) for row, second in SeenItems(shown).entries() if row in ids]
    rows = catalogue.find_rows(item for item, _ in times).tolist()
    moved = [(row, second) for row, (_, second) in zip(rows, times, strict=True) if row >= 0]
    return SeenItems.from_entries(moved).to_bytes()
