"""Every user's state from the log, held against what is kept."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from variegate.catalogue import Catalogue
from variegate.policies import Policy, State
from variegate.service.desk.alone import Done
from variegate.service.desk.arms import Arms
from variegate.service.desk.relearning import relearnt
from variegate.service.desk.shelf import Shelf
from variegate.store import Batch, Reader, Store, UserRow

#: Two states that differ by more than this are not the same.
TOLERANCE: Final = 1e-9
_PAGE: Final = 100


@dataclass(frozen=True)
class Check:
    """What became of a comparison of all users."""

    users: int
    #: The users whose state is not what the log says
    wrong: tuple[str, ...]
    #: The largest difference of any number
    largest: float


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """Replace one user's state by what the log says."""

    user: str
    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, settler: Any) -> Done:
        """Keep the state anew, unless the user is gone."""
        for row in batch.lock_users([self.user]).values():
            catalogue = settler.shelf.as_of(batch).catalogue
            policy = from_log(batch, row, catalogue, settler.arms)
            state = policy.state().to_bytes()
            batch.save_users([row._replace(state=state, policy=served(row, settler.arms))])
        return Done({})


def checked(
    store: Store, shelf: Shelf, arms: Arms, progress: Callable[[int], None] = lambda _done: None
) -> Check:
    """Compare every user's state with what the log says; nothing is changed."""
    wrong: list[str] = []
    largest, count = 0.0, 0
    with store.reading() as reader:
        catalogue = shelf.as_of(reader).catalogue
        for row in each_user(reader):
            difference = _difference(reader, row, catalogue, arms)
            largest = max(largest, difference)
            if difference > TOLERANCE:
                wrong.append(row.id)
            count += 1
            progress(count)
    return Check(count, tuple(wrong), largest)


def each_user(reader: Reader) -> Iterator[UserRow]:
    """Give every user by id."""
    after: str | None = None
    while page := reader.all_users(after, _PAGE):
        yield from page
        after = page[-1].id


def from_log(reader: Reader, row: UserRow, catalogue: Catalogue, arms: Arms) -> Policy:
    """Return the user's policy as the log has it."""
    return relearnt(reader, row.id, arms.new_policy(served(row, arms), catalogue))


def served(row: UserRow, arms: Arms) -> str:
    """Return the user's policy, or the one they would get if theirs is no longer served."""
    return row.policy if row.policy in arms.lines else arms.assigned(row.id)


def _difference(reader: Reader, row: UserRow, catalogue: Catalogue, arms: Arms) -> float:
    told = from_log(reader, row, catalogue, arms).state()
    blank = arms.new_policy(served(row, arms), catalogue).state()
    kept = blank if row.state is None else State.from_bytes(row.state)
    if kept.policy != told.policy or kept.arrays.keys() != told.arrays.keys():
        return np.inf
    return max(
        (
            float(np.abs(kept.arrays[name] - told.arrays[name]).max(initial=0.0))
            for name in told.arrays
        ),
        default=0.0,
    )
