"""How slates are given and feedback is taken: the rules of the service, and the terms of one slate.

The terms are stored with the slate, so that changed settings do not change it. Their keys are part
of the export format and are read by off-policy evaluation: a key never changes its meaning.
Default values are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import ConfigDict, Field

from variegate.policies import Dial
from variegate.schemas import Id
from variegate.store import SlateRow

DAY = 86_400.0

Fraction: TypeAlias = Annotated[float, Field(ge=0, le=1)]
#: An item, and the second since 1970 at which it was shown, which is stored with 32 bits
ShownItem: TypeAlias = tuple[Id, Annotated[int, Field(ge=0, lt=2**32)]]


@dataclass(frozen=True)
class Rules:
    """The settings of slates, feedback and priors; `Settings` documents each of them."""

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
    """The settings and the request that a slate was given under; see docs/http.md.

    An import checks the ranges of the fields; here they are not checked.

    Parameters
    ----------
    revision
        The revision of the items; None for slates of stores that did not have terms yet.
    aggregation, default_reward, late, memory, memory_days, mix
        The settings of these names.
    dial
        The diversity dial of the request.
    candidates, exclude, allow_repeats
        The constraints of the request.
    displaced
        Ids and seconds since 1970 of the entries that the slate removed from the user's seen
        items: of items that it repeated, and the oldest ones beyond `memory`.
    asked
        A hash of the request, where it had an idempotency key.
    """

    revision: Annotated[str, Field(pattern=r"^\d{1,18}$")] | None = None
    aggregation: Literal["first", "sum"] = "first"
    default_reward: Fraction | None = None
    late: Literal["drop", "learn"] = "drop"
    mix: Fraction = 0.0
    dial: Dial | None = None
    candidates: tuple[Id, ...] | None = None
    exclude: tuple[Id, ...] = ()
    allow_repeats: bool = False
    memory: Annotated[int, Field(ge=0, lt=2**53)] = 1000
    memory_days: Annotated[float, Field(ge=0, le=1e9)] = 30.0
    displaced: tuple[ShownItem, ...] = ()
    asked: Id | None = None

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False
    )

    @property
    def closes(self) -> bool:
        """Whether something is learnt when the slate closes."""
        return self.aggregation == "sum" or self.default_reward is not None

    @property
    def memory_seconds(self) -> float:
        """How long a shown item is not repeated."""
        return self.memory_days * DAY

    def to_dict(self) -> dict[str, Any]:
        """Return the terms as JSON can hold them, without default values."""
        terms = {
            name: value for name in _NAMES if (value := getattr(self, name)) != _DEFAULTS[name]
        }
        if self.dial is not None:
            terms["dial"] = _plain_dial(self.dial)
        return terms

    @classmethod
    def from_dict(cls, terms: Mapping[str, Any]) -> "Terms":
        """Return the terms that `to_dict` wrote."""
        values = {name: terms[name] for name in _NAMES if name in terms}
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
    """Return the terms of a slate; the defaults if it was stored without any."""
    return Terms.from_dict(row.terms)


def has_pending_rewards(closed: bool, rewards: list[float | None], taught: list[bool]) -> bool:
    """Return whether feedback of an open slate was acknowledged and is not learnt yet."""
    pairs = zip(rewards, taught, strict=True)
    return not closed and any(reward is not None and not done for reward, done in pairs)


def _plain_dial(dial: Dial) -> dict[str, Any]:
    parts = {"scale": dial.scale, "floor": dial.floor, "ceiling": dial.ceiling}
    return {name: part for name, part in parts.items() if part is not None}
