"""A store that goes over to another catalogue: every user is learnt again from the log."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from variegate.engine.experiment import Experiment
from variegate.engine.known_catalogue import (
    TURN,
    StoreCatalogue,
    check_not_relearning,
    join_new_items,
    known_catalogue,
)
from variegate.engine.packing import packed_slate, rows_of, unpacked_slate
from variegate.engine.rebuilding import served
from variegate.engine.relearning import relearnt
from variegate.engine.shown import SeenItems
from variegate.errors import DataError, StateError
from variegate.model.catalogue import Catalogue
from variegate.model.fingerprint import Fingerprint
from variegate.model.slate import Slate
from variegate.policies import Policy
from variegate.store import CATALOGUE, RELEARNING, Batch, ItemRow, Reader, SlateRow, Store, UserRow

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
    for page in _pages(batch, user.id):
        remade = [_remade(row, makers.get(row.policy, own)) for row in page]
        for row in page:
            ids |= zip(rows_of(row).tolist(), row.items, strict=True)
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
        scores = unpacked_slate(row).scores
    except StateError:  # an item of it was gone before
        scores = np.zeros(row.k)
    if (rows >= 0).all():
        slate = policy.as_slate(rows, scores)
        return row._replace(features=packed_slate(slate), propensities=None), True
    nothing = np.zeros((row.k, 0))
    slate = Slate(rows, row.items, nothing, nothing, scores, nothing)
    return row._replace(features=packed_slate(slate), propensities=None, closed=True), False


def _moved(shown: bytes, ids: dict[int, str], catalogue: Catalogue) -> bytes:
    """Return what a user was shown, by the rows that the items have now; without those gone."""
    times = [(ids[row], second) for row, second in SeenItems(shown).times() if row in ids]
    rows = catalogue.rows_or_none(item for item, _ in times).tolist()
    moved = [(row, second) for row, (_, second) in zip(rows, times, strict=True) if row >= 0]
    return SeenItems.of_times(moved).to_bytes()


def _pages(reader: Reader, user: str) -> Iterator[list[SlateRow]]:
    before: str | None = None
    while page := reader.history(user, _LISTS, before):
        yield page
        before = page[-1].id
