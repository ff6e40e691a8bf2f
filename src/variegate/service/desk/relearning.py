"""What a user has learnt, worked out anew from the log."""

from collections.abc import Iterator
from typing import Final

from variegate.policies import Policy
from variegate.service.desk.packing import unpacked_slate
from variegate.store import EventRow, Reader

#: Events read at a time.
_PAGE: Final = 500


def relearnt(reader: Reader, user: str, policy: Policy) -> Policy:
    """Teach a new policy all that the log says was learnt, in the same order; return it."""
    for event, rewards in lessons(reader, user):
        assert event.slate_id is not None  # noqa: S101  lessons are always of a slate
        slate = unpacked_slate(reader.slates([event.slate_id])[event.slate_id])
        earned = [rewards.get(place, 0.0) for place in range(len(slate))]
        policy.update(slate, earned, seen=sorted(rewards))
    return policy


def lessons(reader: Reader, user: str) -> Iterator[tuple[EventRow, dict[int, float]]]:
    """Give each event of a user that taught, with the rewards by position, in order."""
    for event in events_of(reader, user):
        if event.body.get("taught"):
            yield event, {int(at): float(reward) for at, reward in event.body["taught"].items()}


def events_of(reader: Reader, user: str | None) -> Iterator[EventRow]:
    """Give every event of a user, or of all, in order."""
    after = 0
    while page := reader.events(user=user, after_seq=after, limit=_PAGE):
        yield from page
        after = page[-1].seq or 0
