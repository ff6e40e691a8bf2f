"""How slates are given and feedback is taken: the rules of the service, and the terms of one slate.

The terms are stored with the slate, so that changed settings do not change it. Their keys are part
of the export format and are read by off-policy evaluation: a key never changes its meaning.
Default values are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from variegate.model.constraints import Constraints, Relaxed
from variegate.policies import Dial
from variegate.schemas import Id, Where
from variegate.store import SlateRow

DAY = 86_400.0

Fraction: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Positive: TypeAlias = Annotated[float, Field(gt=0)]
#: An item, and the second since 1970 at which it was shown, which is stored with 32 bits
ShownItem: TypeAlias = tuple[Id, Annotated[int, Field(ge=0, lt=2**32)]]


class Rules(BaseModel):
    """The settings of slates, feedback and priors, which all replicas share."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)

    seed: int = Field(
        default=0,
        ge=0,
        description="Seed of the split and of random choices: same seed, same choices.",
    )
    k: int = Field(default=10, ge=1, description="Items in a list, if a request sets no `k`.")
    max_k: int = Field(
        default=100, ge=1, le=10_000, description="Largest `k` that a request may ask for."
    )
    max_candidates: int = Field(
        default=10_000, ge=1, description="Maximum number of candidates in a request."
    )
    memory: int = Field(
        default=1000,
        ge=0,
        le=100_000,
        description="Recently shown items per user that are not shown again; 0: all may repeat.",
    )
    memory_days: Positive = Field(
        default=30.0, description="Days after which an item may be shown again."
    )
    aggregation: Literal["first", "sum"] = Field(
        default="first",
        description="Repeated feedback on an item: the first counts, or the sum, at most 1.",
    )
    wait_seconds: Positive = Field(
        default=DAY, description="Seconds to wait for feedback on a list."
    )
    default_reward: Fraction | None = Field(
        default=None,
        description="Reward of items without feedback when the wait is over. Not set: nothing is "
        "learnt from them.",
    )
    late: Literal["drop", "learn"] = Field(
        default="drop",
        description="Whether to drop or to learn feedback after the wait is over.",
    )
    mix: Fraction = Field(
        default=0.0,
        description="Share of lists with random items, whose propensities are logged for "
        "off-policy estimates.",
    )
    prior_min_users: int = Field(
        default=100,
        ge=10,
        description="Minimum number of users that a prior is fitted to, so that it reveals no "
        "single user.",
    )
    prior_every_hours: Annotated[float, Field(ge=0)] = Field(
        default=0.0,
        description="Hours between two fits of the prior of new users; 0: only by command.",
    )


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings and the request that a slate was given under; see docs/reference/http.md.

    An import checks the ranges of the fields; here they are not checked.

    Parameters
    ----------
    revision
        The revision of the items; None for slates of stores that did not have terms yet.
    aggregation, default_reward, late, memory, memory_days, mix
        The settings of these names.
    dial
        The diversity dial of the request.
    candidates, exclude, where, allow_repeats
        What the request allowed; of the ids, those that were known.
    constraints, relaxed
        The constraints of the request, and those that could not be met.
    offered, notes
        Whether the request brought its items or their scores, which are not stored; and what
        the response said about them.
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
    where: Where | None = None
    constraints: Constraints | None = None
    relaxed: tuple[Relaxed, ...] = ()
    offered: bool = False
    notes: tuple[Annotated[str, Field(max_length=1000)], ...] = ()
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

    @classmethod
    def of_rules(cls, rules: Rules, revision: str) -> "Terms":
        """Return the terms of a request that asks for nothing special."""
        return cls(
            revision=revision,
            aggregation=rules.aggregation,
            default_reward=rules.default_reward,
            late=rules.late,
            memory=rules.memory,
            memory_days=rules.memory_days,
        )

    def with_values(self, values: Mapping[str, Any]) -> "Terms":
        """Return these terms with others' values; themselves if these are all defaults."""
        special = {name: value for name, value in values.items() if value != _DEFAULTS[name]}
        return replace(self, **special) if special else self

    def to_dict(self) -> dict[str, Any]:
        """Return the terms as JSON can hold them, without default values."""
        terms = {
            name: value for name in _NAMES if (value := getattr(self, name)) != _DEFAULTS[name]
        }
        if self.dial is not None:
            terms["dial"] = _plain_dial(self.dial)
        if self.constraints is not None:
            terms["constraints"] = self.constraints.to_dict()
        return terms

    @classmethod
    def from_dict(cls, terms: Mapping[str, Any]) -> "Terms":
        """Return the terms that `to_dict` wrote."""
        values = {name: terms[name] for name in _NAMES if name in terms}
        for name in ("candidates", "exclude", "notes"):
            if name in values:
                values[name] = tuple(values[name])
        if "displaced" in values:
            values["displaced"] = tuple((item, second) for item, second in values["displaced"])
        if "constraints" in values:
            values["constraints"] = Constraints.from_dict(values["constraints"])
        if "relaxed" in values:
            values["relaxed"] = tuple(Relaxed(*one) for one in values["relaxed"])
        if "dial" in values:
            values["dial"] = Dial(**values["dial"])
        return cls(**values)


_NAMES: Final = tuple(field.name for field in fields(Terms))
_DEFAULTS: Final = {name: getattr(Terms(), name) for name in _NAMES}


def terms_of(row: SlateRow) -> Terms:
    """Return the terms of a slate; the defaults if it was stored without any."""
    return Terms.from_dict(row.terms)


def term_of(row: SlateRow, name: str) -> Any:
    """Return one of a slate's terms, one that JSON holds as it is; faster than `terms_of`."""
    return row.terms.get(name, _DEFAULTS[name])


def has_pending_rewards(closed: bool, rewards: list[float | None], taught: list[bool]) -> bool:
    """Return whether feedback of an open slate was acknowledged and is not learnt yet."""
    pairs = zip(rewards, taught, strict=True)
    return not closed and any(reward is not None and not done for reward, done in pairs)


def _plain_dial(dial: Dial) -> dict[str, Any]:
    parts = {"scale": dial.scale, "floor": dial.floor, "ceiling": dial.ceiling}
    return {name: part for name, part in parts.items() if part is not None}
