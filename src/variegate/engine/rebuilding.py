"""Every user's state from the log, held against what is kept."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.engine.alone import Done
from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.experiment import Experiment
from variegate.engine.packing import current_time
from variegate.engine.relearning import lessons, relearnt
from variegate.errors import StateError
from variegate.model.catalogue import Catalogue
from variegate.policies import Policy, State
from variegate.store import Batch, Reader, Store, UserRow

#: Two states that differ by more than this are not the same.
TOLERANCE: Final = 1e-9
_PAGE: Final = 100


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
        wrong_sums = reader.wrong_sums(current_time() if now is None else now)
    return Check(count, tuple(wrong), largest, wrong_sums)


def each_user(reader: Reader) -> Iterator[UserRow]:
    """Give every user by id."""
    after: str | None = None
    while page := reader.all_users(after, _PAGE):
        yield from page
        after = page[-1].id


def from_log(reader: Reader, row: UserRow, catalogue: Catalogue, experiment: Experiment) -> Policy:
    """Return the user's policy as the log has it."""
    return relearnt(reader, row.id, experiment.new_policy(served(row, experiment), catalogue))


def served(row: UserRow, experiment: Experiment) -> str:
    """Return the user's policy, or the one they would get if theirs is no longer served."""
    return row.policy if row.policy in experiment.lines else experiment.assigned(row.id)


def _difference(
    reader: Reader, row: UserRow, catalogue: Catalogue, experiment: Experiment
) -> float:
    """Return by how much the user's state is not what the log says."""
    if row.policy not in experiment.lines:
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
