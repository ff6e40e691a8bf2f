"""What a user has learnt, worked out anew from the log."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Final

import numpy as np

from variegate.engine.experiment import Experiment
from variegate.engine.packing import unpacked_slate
from variegate.errors import InputError, StateError
from variegate.model.catalogue import Catalogue
from variegate.policies import Policy
from variegate.store import EventRow, Reader, SlateRow, UserRow

#: Events read at a time.
_PAGE: Final = 500


def served_user(
    reader: Reader, user: UserRow, catalogue: Catalogue, experiment: Experiment
) -> tuple[UserRow, Policy]:
    """Return a user under a policy that is served, and that policy with what it has learnt.

    Where the user's own is no longer served, or is one of another kind by now, what was learnt
    is worked out anew from the log.
    """
    if user.policy in experiment.lines:
        try:
            return user, experiment.policy_of(user, catalogue)
        except StateError:
            pass
    name = user.policy if user.policy in experiment.lines else experiment.assigned(user.id)
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
        policy.update(unpacked_slate(row), earned, seen=seen)
    except (InputError, StateError):
        return False
    return True


def lessons(
    reader: Reader, user: str, *, until: float = inf
) -> Iterator[tuple[SlateRow, dict[int, float]]]:
    """Give each slate of a user that taught, with the rewards by position, in order."""
    for page in _pages(reader, user):
        told = [event for event in page if event.body.get("taught") and event.time <= until]
        slates = reader.slates([event.slate_id for event in told if event.slate_id is not None])
        for event in told:
            if event.slate_id in slates:
                rewards = event.body["taught"].items()
                yield slates[event.slate_id], {int(at): float(reward) for at, reward in rewards}


def events_of(reader: Reader, user: str | None) -> Iterator[EventRow]:
    """Give every event of a user, or of all, in order."""
    for page in _pages(reader, user):
        yield from page


def _pages(reader: Reader, user: str | None) -> Iterator[Sequence[EventRow]]:
    after = 0
    while page := reader.events(user=user, after_seq=after, limit=_PAGE):
        yield page
        after = page[-1].seq or 0
