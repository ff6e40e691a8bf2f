"""Learn users from the log: one at a time, to check or rebuild all, or for another catalogue."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.engine.catalogue import (
    TURN,
    LiveCatalogue,
    StoreCatalogue,
    check_not_relearning,
    join_new_items,
    known_catalogue,
)
from variegate.engine.codecs import SeenItems, pack_slate, slate_rows, unpack_slate
from variegate.engine.experiment import Experiment
from variegate.engine.queue import Done
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

#: Events read at a time.
_EVENT_PAGE: Final = 500


def served_user(
    reader: Reader, user: UserRow, catalogue: Catalogue, experiment: Experiment
) -> tuple[UserRow, Policy]:
    """Return a user under a policy that is served, and that policy with what it has learnt.

    Where the user's own is no longer served, or is one of another kind by now, what was learnt
    is worked out anew from the log.
    """
    if user.policy in experiment.specs:
        try:
            return user, experiment.policy_of(user, catalogue)
        except StateError:
            pass
    name = user.policy if user.policy in experiment.specs else experiment.assign(user.id)
    policy = relearnt(reader, user.id, experiment.new_policy(name, catalogue))
    return user._replace(policy=name, state=policy.state().to_bytes()), policy


def relearnt(reader: Reader, user: str, policy: Policy) -> Policy:
    """Teach a new policy all that the log says was learnt, in the same order; return it."""
    for row, rewards in lessons(reader, user):
        learnt(policy, row, rewards)
    return policy


def learnt(policy: Policy, row: SlateRow, rewards: dict[int, float]) -> bool:
    """Teach rewards by position; return False, with nothing changed, where it cannot learn so.

    A policy that a user was moved to may not know what to make of a list that another gave.
    """
    earned = np.array([rewards.get(place, 0.0) for place in range(row.k)])
    seen = None if len(rewards) == row.k else sorted(rewards)
    try:
        policy.update(unpack_slate(row), earned, seen=seen)
    except (InputError, StateError):
        return False
    return True


def lessons(
    reader: Reader, user: str, *, until: float = inf
) -> Iterator[tuple[SlateRow, dict[int, float]]]:
    """Give each slate of a user that taught, with the rewards by position, in order."""
    for page in _event_pages(reader, user):
        told = [event for event in page if event.body.get("taught") and event.time <= until]
        slates = reader.slates([event.slate_id for event in told if event.slate_id is not None])
        for event in told:
            if event.slate_id in slates:
                rewards = event.body["taught"].items()
                yield slates[event.slate_id], {int(at): float(reward) for at, reward in rewards}


def events_of(reader: Reader, user: str | None) -> Iterator[EventRow]:
    """Give every event of a user, or of all, in order."""
    for page in _event_pages(reader, user):
        yield from page


def _event_pages(reader: Reader, user: str | None) -> Iterator[Sequence[EventRow]]:
    after = 0
    while page := reader.events(user=user, after_seq=after, limit=_EVENT_PAGE):
        yield page
        after = page[-1].seq or 0


#: Two states that differ by more than this are not the same.
TOLERANCE: Final = 1e-9
_USER_PAGE: Final = 100


@dataclass(frozen=True)
class Check:
    """What became of a comparison of all users."""

    users: int
    #: The users whose state is not what the log says, or whose log says something twice
    wrong: tuple[str, ...]
    #: The largest difference of any number
    largest: float
    #: The running sums that are not what the lists and events say
    wrong_sums: int


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """Replace one user's state by what the log says."""

    user: str
    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> Done:
        """Keep the state anew, unless the user is gone."""
        for row in batch.lock_users([self.user]).values():
            catalogue = executor.live.as_of(batch).catalogue
            policy = from_log(batch, row, catalogue, executor.experiment)
            state = policy.state().to_bytes()
            batch.save_users([row._replace(state=state, policy=served(row, executor.experiment))])
        return Done({})


@dataclass(frozen=True, slots=True)
class Recounting:
    """Count the running sums from the lists and events again."""

    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> Done:
        """Replace them all; nobody else can write meanwhile."""
        batch.recount_sums(executor.now(batch))
        return Done({})


def checked(
    store: Store,
    live: LiveCatalogue,
    experiment: Experiment,
    progress: Callable[[int], None] = lambda _done: None,
    *,
    now: float | None = None,
) -> Check:
    """Compare every user's state with what the log says, and the sums; nothing is changed."""
    wrong: list[str] = []
    largest, count = 0.0, 0
    with store.reading() as reader:
        catalogue = live.as_of(reader).catalogue
        for row in each_user(reader):
            difference = _difference(reader, row, catalogue, experiment)
            largest = max(largest, difference)
            if difference > TOLERANCE:
                wrong.append(row.id)
            count += 1
            progress(count)
        wrong_sums = reader.wrong_sums(time.time() if now is None else now)
    return Check(count, tuple(wrong), largest, wrong_sums)


def each_user(reader: Reader) -> Iterator[UserRow]:
    """Give every user by id."""
    after: str | None = None
    while page := reader.all_users(after, _USER_PAGE):
        yield from page
        after = page[-1].id


def from_log(reader: Reader, row: UserRow, catalogue: Catalogue, experiment: Experiment) -> Policy:
    """Return the user's policy as the log has it."""
    return relearnt(reader, row.id, experiment.new_policy(served(row, experiment), catalogue))


def served(row: UserRow, experiment: Experiment) -> str:
    """Return the user's policy, or the one they would get if theirs is no longer served."""
    return row.policy if row.policy in experiment.specs else experiment.assign(row.id)


def _difference(
    reader: Reader, row: UserRow, catalogue: Catalogue, experiment: Experiment
) -> float:
    """Return by how much the user's state is not what the log says."""
    if row.policy not in experiment.specs:
        return 0.0  # it will be learnt anew from the log
    if _taught_twice(reader, row.id):
        return np.inf
    blank = experiment.new_policy(row.policy, catalogue)
    try:
        kept = blank.state() if row.state is None else State.from_bytes(row.state)
    except StateError:
        return np.inf
    told = relearnt(reader, row.id, blank).state()
    if kept.policy != told.policy or kept.arrays.keys() != told.arrays.keys():
        return np.inf
    return max((_apart(kept.arrays[name], told.arrays[name]) for name in told.arrays), default=0.0)


def _apart(ours: FloatArray, theirs: FloatArray) -> float:
    if ours.size == theirs.size == 0:
        return 0.0
    if ours.shape != theirs.shape:
        return np.inf
    largest = float(np.abs(ours - theirs).max())
    return np.inf if np.isnan(largest) else largest


def _taught_twice(reader: Reader, user: str) -> bool:
    seen: set[tuple[str, int]] = set()
    for slate, rewards in lessons(reader, user):
        places = {(slate.id, place) for place in rewards}
        if places & seen:
            return True
        seen |= places
    return False


#: Users in a transaction, and lists of one that are read at a time.
_USERS: Final = 20
_LISTS: Final = 200


@dataclass(frozen=True)
class Relearning:
    """How far it has come.

    Parameters
    ----------
    after
        The last user who is done; they go by their ids.
    lists, dropped
        Lists whose features were worked out again, and those that hold an item that is gone and
        teach nothing any more.
    """

    after: str | None = None
    users: int = 0
    lists: int = 0
    dropped: int = 0


def relearn(
    store: Store, catalogue: Catalogue, experiment: Experiment, progress: Callable[[int], None]
) -> Relearning:
    """Let the store be of this catalogue, and learn every user again from the log.

    Users are done one by one, each wholly or not at all. Until all are, the store serves nobody;
    where this was stopped, it goes on when it is called again with the same catalogue.
    """
    with store.batch() as batch:
        done = _begun(batch, catalogue)
    makers = {name: experiment.new_policy(name, catalogue) for name in experiment.names}
    while True:
        with store.reading() as reader:
            ids = [row.id for row in reader.all_users(done.after, _USERS)]
        if not ids:
            break
        with store.batch() as batch:
            for row in batch.lock_users(ids).values():
                own = experiment.new_policy(served(row, experiment), catalogue)
                done = _with_user(
                    batch, row._replace(policy=served(row, experiment)), own, makers, done
                )
            done = replace(done, after=ids[-1])
            _note(batch, catalogue, done)
        progress(done.users)
    with store.batch() as batch:
        batch.set_meta(RELEARNING, "")
        batch.count_change()
    return done


def accept(store: Store, catalogue: Catalogue) -> bool:
    """Let the store be of this catalogue with all that was learnt; return whether it was not.

    Raises DataError unless items, names and shapes are those of the catalogue that it is of.
    """
    with store.batch() as batch:
        check_not_relearning(batch, DataError)
        batch.set_meta(TURN, "")
        known = known_catalogue(batch, catalogue)
        if known is None:
            raise DataError("the store is of no catalogue yet: serve it with this one")
        if known.latest == catalogue.fingerprint:
            return False
        before = known.latest if len(catalogue) >= known.latest.items else known.base
        now = catalogue.fingerprint_of_first(min(before.items, len(catalogue)))
        if not before.means_the_same(now):
            raise DataError(
                f"{catalogue} cannot be accepted for the store: "
                f"{'; '.join(before.differences(now))}. Accepting needs the same items, names of "
                "features and kinds of distances: use --relearn"
            )
        base = catalogue.fingerprint_of_first(known.base.items)
        later = StoreCatalogue(base, catalogue.fingerprint)
        batch.set_meta(CATALOGUE, later.to_json())
        join_new_items(batch, catalogue, later)
        batch.count_change()
        # Lists of before were chosen from items with other data.
        batch.restart_item_history()
    return True


def _begun(batch: Batch, catalogue: Catalogue) -> Relearning:
    """Put down that users are learnt again, or return how far that has come for this catalogue."""
    batch.set_meta(TURN, "")
    mark = json.loads(batch.meta(RELEARNING) or "{}")
    if mark and Fingerprint.from_json(mark.pop("catalogue")) == catalogue.fingerprint:
        return Relearning(**mark)
    retired = [row.id for row in batch.items() if row.retired]
    rows = catalogue.rows_or_none(retired)
    # Data that items were given at run time are of the other catalogue, and so are the items.
    batch.replace_items(
        [
            ItemRow(row, item, True, None)
            for item, row in zip(retired, rows.tolist(), strict=True)
            if row >= 0
        ]
    )
    for prior in batch.priors().values():
        if prior.data is not None:
            batch.save_prior(prior._replace(data=None, users=0, fitted=0.0))
    known = StoreCatalogue(catalogue.fingerprint, catalogue.fingerprint)
    batch.set_meta(CATALOGUE, known.to_json())
    _note(batch, catalogue, Relearning())
    return Relearning()


def _note(batch: Batch, catalogue: Catalogue, done: Relearning) -> None:
    mark: dict[str, Any] = {**vars(done), "catalogue": catalogue.fingerprint.to_json()}
    batch.set_meta(RELEARNING, json.dumps(mark))


def _with_user(
    batch: Batch, user: UserRow, own: Policy, makers: Mapping[str, Policy], done: Relearning
) -> Relearning:
    """Learn one user again, from lists with the new features; return how far that makes it.

    `own` is the user's policy, new; `makers` make the lists of each policy.
    """
    ids: dict[int, str] = {}
    lists = dropped = 0
    for page in _slate_pages(batch, user.id):
        remade = [_remade(row, makers.get(row.policy, own)) for row in page]
        for row in page:
            ids |= zip(slate_rows(row).tolist(), row.items, strict=True)
        batch.remake_slates([row for row, _ in remade])
        lists += sum(is_whole for _, is_whole in remade)
        dropped += sum(not is_whole for _, is_whole in remade)
    state = relearnt(batch, user.id, own).state().to_bytes()
    shown = _moved(user.shown, ids, own.catalogue)
    batch.save_users([user._replace(state=state, shown=shown)])
    return replace(
        done, users=done.users + 1, lists=done.lists + lists, dropped=done.dropped + dropped
    )


def _remade(row: SlateRow, policy: Policy) -> tuple[SlateRow, bool]:
    """Return a list as the policy's catalogue has it, and whether that has all of its items.

    What it was chosen from is not known any more, so its propensities go.
    """
    rows = policy.catalogue.rows_or_none(row.items)
    try:
        scores = unpack_slate(row).scores
    except StateError:  # an item of it was gone before
        scores = np.zeros(row.k)
    if (rows >= 0).all():
        slate = policy.as_slate(rows, scores)
        return row._replace(features=pack_slate(slate), propensities=None), True
    nothing = np.zeros((row.k, 0))
    slate = Slate(rows, row.items, nothing, nothing, scores, nothing)
    return row._replace(features=pack_slate(slate), propensities=None, closed=True), False


def _moved(shown: bytes, ids: dict[int, str], catalogue: Catalogue) -> bytes:
    """Return what a user was shown, by the rows that the items have now; without those gone."""
    times = [(ids[row], second) for row, second in SeenItems(shown).entries() if row in ids]
    rows = catalogue.rows_or_none(item for item, _ in times).tolist()
    moved = [(row, second) for row, (_, second) in zip(rows, times, strict=True) if row >= 0]
    return SeenItems.from_entries(moved).to_bytes()


def _slate_pages(reader: Reader, user: str) -> Iterator[list[SlateRow]]:
    before: str | None = None
    while page := reader.history(user, _LISTS, before):
        yield page
        before = page[-1].id
