"""What a list was given under: kept with the list, so that later settings do not change it.

The keys are part of what is exported and of what off-policy evaluation reads: a key keeps its
meaning for ever. What is as by default is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

from variegate.policies import Dial
from variegate.store import SlateRow

DAY = 86_400.0


@dataclass(frozen=True)
class Rules:
    """What `Settings` say of lists and feedback; the meaning of each is told there."""

    k: int = 10
    max_k: int = 100
    max_candidates: int = 10_000
    memory: int = 1000
    memory_days: float = 30.0
    aggregation: Literal["first", "sum"] = "first"
    wait_seconds: float = DAY
    default_reward: float | None = None
    late: Literal["drop", "learn"] = "drop"
    mix: float = 0.0
    seed: int = 0
    prior_min_users: int = 100
    prior_every_hours: float = 0.0


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings and the request that one list was given under; see docs/http.md.

    Parameters
    ----------
    revision
        The revision of the items; None for a list of a store from before there were terms.
    aggregation, default_reward, late, memory, memory_days, mix
        The settings of these names.
    dial
        The diversity dial of the request.
    candidates, exclude, allow_repeats
        What the request allowed.
    displaced
        Ids and seconds since 1970 of earlier showings that the list took out of the user's
        memory: of items that it showed again, and of the oldest where the memory was full.
    asked
        A hash of the request, where the client named it.
    """

    revision: str | None = None
    aggregation: Literal["first", "sum"] = "first"
    default_reward: float | None = None
    late: Literal["drop", "learn"] = "drop"
    mix: float = 0.0
    dial: Dial | None = None
    candidates: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    allow_repeats: bool = False
    memory: int = 1000
    memory_days: float = 30.0
    displaced: tuple[tuple[str, int], ...] = ()
    asked: str | None = None

    @property
    def closes(self) -> bool:
        """Whether something is learnt when the wait for the list's feedback is over."""
        return self.aggregation == "sum" or self.default_reward is not None

    @property
    def memory_seconds(self) -> float:
        """For how long a showing kept an item out of the list."""
        return self.memory_days * DAY

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold, without what is as by default."""
        kept = {name: value for name in _NAMES if (value := getattr(self, name)) != _DEFAULTS[name]}
        if self.dial is not None:
            kept["dial"] = _plain_dial(self.dial)
        return kept

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> "Terms":
        """Return what `to_dict` gave."""
        values = {name: kept[name] for name in _NAMES if name in kept}
        for name in ("candidates", "exclude"):
            if name in values:
                values[name] = tuple(values[name])
        if "displaced" in values:
            values["displaced"] = tuple((item, second) for item, second in values["displaced"])
        if "dial" in values:
            values["dial"] = Dial(**values["dial"])
        return cls(**values)


_NAMES: Final = tuple(field.name for field in fields(Terms))
_DEFAULTS: Final = {name: getattr(Terms(), name) for name in _NAMES}


def terms_of(row: SlateRow) -> Terms:
    """Return what a list was given under; the defaults for one from before there were terms."""
    return Terms.from_dict(row.terms)


def has_pending_rewards(closed: bool, rewards: list[float | None], taught: list[bool]) -> bool:
    """Tell whether feedback of an open list was acknowledged and has not taught yet."""
    told = zip(rewards, taught, strict=True)
    return not closed and any(reward is not None and not done for reward, done in told)


def _plain_dial(dial: Dial) -> dict[str, Any]:
    parts = {"scale": dial.scale, "floor": dial.floor, "ceiling": dial.ceiling}
    return {name: part for name, part in parts.items() if part is not None}
