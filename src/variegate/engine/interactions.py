"""Interactions outside lists, such as purchases: they teach relevance, each exactly once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from variegate.arrays import IndexArray
from variegate.engine.codecs import INTERACTION, SeenItems, format_value, interaction_features
from variegate.engine.unit_of_work import UnitOfWork
from variegate.errors import ConflictError, InputError, NotFoundError
from variegate.model.slate import Slate
from variegate.store import EventRow

#: Times are seconds since 1970, up to the year 2106.
MAX_TIME: Final = 2.0**32
#: Unknown items that a message names, at most
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Interaction:
    """Rewards that a user gave to items outside a list.

    Parameters
    ----------
    rewards
        From 0 to 1, by the item's id.
    event
        The client's id, which makes it idempotent; without one, each call is another interaction.
    time
        When it happened, in seconds since 1970; stored, and not learnt from.
    allow_repeats
        Whether the items may be recommended at once. By default they count as seen when the
        interaction arrives.
    """

    rewards: Mapping[str, float]
    event: str | None = None
    time: float | None = None
    allow_repeats: bool = False


@dataclass(frozen=True, slots=True)
class LearnInteractions:
    """Teach a user, who need not exist yet, all of some interactions or none."""

    user: str
    interactions: tuple[Interaction, ...]

    @property
    def requests(self) -> list[str]:
        """The idempotency keys."""
        return [one.event for one in self.interactions if one.event is not None]

    def apply(self, uow: UnitOfWork) -> dict[str, Any]:
        """Learn what is new, store it, and return the answer; a repeated one is not learnt."""
        new: dict[str | int, tuple[Interaction, Slate]] = {}
        for number, one in enumerate(self.interactions):
            known = None if one.event is None else uow.event_for_request(self.user, one.event)
            if known is not None:
                _check_same(one, known)
            elif one.event is None or one.event not in new:
                new[one.event or number] = one, uow.policy(self.user).items_alone(_rows(uow, one))
        if new:
            uow.learn_alone(
                self.user, [(slate, [*one.rewards.values()]) for one, slate in new.values()]
            )
        for one, slate in new.values():
            self._store(uow, one, slate)
        learnt = dict.fromkeys(item for one in self.interactions for item in one.rewards)
        return {"user": self.user, "learnt": list(learnt), "new": len(new)}

    def _store(self, uow: UnitOfWork, one: Interaction, slate: Slate) -> None:
        row, memory = uow.user(self.user), uow.rules.memory
        if not one.allow_repeats:
            seen, _displaced = SeenItems(row.consumed or b"").add(slate.items, uow.now, memory)
            row = row._replace(consumed=seen.to_bytes())
        body = {
            "rewards": {item: float(reward) for item, reward in one.rewards.items()},
            "time": one.time,
            "allow_repeats": one.allow_repeats,
            "memory": memory,
            "revision": uow.snapshot.revision,
            # Which lists came before it, for evaluations of the log: times can be equal.
            "slates": row.slates,
            "features": interaction_features(slate),
        }
        uow.add_event(row, EventRow(None, uow.now, self.user, None, INTERACTION, body, one.event))


def check_interaction(one: Interaction) -> None:
    """Raise InputError for rewards or a time out of range, naming all of them."""
    problems = [
        f"`rewards` must be from 0 to 1, got {format_value(reward)} for {item!r}"
        for item, reward in one.rewards.items()
        if not 0.0 <= reward <= 1.0
    ]
    if not one.rewards:
        problems.append("`rewards` must name at least one item, got none")
    if one.time is not None and not 0.0 <= one.time < MAX_TIME:
        problems.append(
            "`time` must be in seconds since 1970, from 0 to 4294967295, got "
            f"{format_value(one.time)}"
        )
    if problems:
        raise InputError("; ".join(problems))


def _rows(uow: UnitOfWork, one: Interaction) -> IndexArray:
    if uow.snapshot.catalogue.is_open:
        raise InputError(
            "`rewards` must be of items in a catalogue: the catalogue is open, so that nothing is "
            "known of items outside lists"
        )
    rows = uow.snapshot.catalogue.find_rows(one.rewards)
    unknown = [item for item, row in zip(one.rewards, rows.tolist(), strict=True) if row < 0]
    if unknown:
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        raise NotFoundError(f"`rewards`: no item {', '.join(map(repr, unknown[:_NAMED]))}{more}")
    return rows


def _check_same(one: Interaction, known: EventRow) -> None:
    before = Interaction(
        known.body["rewards"], one.event, known.body["time"], known.body["allow_repeats"]
    )
    if one != before:
        raise ConflictError(
            f"`event` {one.event!r} was used for another interaction of user {known.user_id!r}: "
            "use a new id for each"
        )
