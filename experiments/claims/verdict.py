"""A claim, its evidence, and the verdict on it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from experiments.results import Results


class Status(StrEnum):
    """The possible verdicts."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    NOT_MEASURED = "not measured"

    @classmethod
    def of(cls, holds: bool, *, in_part: bool = False) -> "Status":
        """Return the status of something that holds, or holds in part, or does not hold."""
        if holds:
            return cls.HOLDS
        return cls.IN_PART if in_part else cls.FAILS


@dataclass(frozen=True)
class Evidence:
    """One part of a claim: on one data set, for one setting, against one method."""

    where: str
    status: Status
    finding: str
    #: The numbers of the finding, as JSON values
    numbers: Mapping[str, Any] = field(default_factory=dict)


def not_measured(where: str) -> Evidence:
    """Return the evidence of what was not measured."""
    return Evidence(where, Status.NOT_MEASURED, "not measured")


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, and what was measured."""

    status: Status
    measured: str
    evidence: tuple[Evidence, ...] = ()

    @classmethod
    def of(cls, parts: Iterable[Evidence]) -> "Verdict":
        """Return the verdict over all parts.

        It holds if every measured part holds, does not hold if none does even in part, and
        holds in part otherwise.
        """
        evidence = tuple(parts)
        text = "; ".join(f"{part.where}: {part.finding}" for part in evidence)
        return cls(join_statuses(part.status for part in evidence), text or "nothing", evidence)


def join_statuses(statuses: Iterable[Status]) -> Status:
    """Return the status of a claim whose parts have these."""
    measured = {status for status in statuses if status is not Status.NOT_MEASURED}
    if not measured:
        return Status.NOT_MEASURED
    return measured.pop() if len(measured) == 1 else Status.IN_PART


#: From the results and the spec of the judged method to a verdict.
Rule: TypeAlias = Callable[[Results, str], Verdict]


@dataclass(frozen=True)
class Claim:
    """A claim about a method, and how it is judged."""

    name: str
    says: str
    #: Where the paper says it
    place: str
    #: How it is judged, in words
    rule: str
    judge: Rule
    #: Whether the reading of the normaliser may change it
    by_reading: bool = False
