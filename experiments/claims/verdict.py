"""A claim, and what the numbers say of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from experiments.results import Results


class Status(StrEnum):
    """What can come of a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Evidence:
    """One part of a claim: on one data set, for one setting, against one method."""

    where: str
    status: Status
    finding: str
    #: The numbers that the finding tells, as JSON can say them
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What was measured of a claim, and whether it holds."""

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
        told = "; ".join(f"{part.where}: {part.finding}" for part in evidence)
        return cls(joined(part.status for part in evidence), told or "nothing", evidence)


def joined(statuses: Iterable[Status]) -> Status:
    """Return the status of a claim whose parts have these."""
    measured = {status for status in statuses if status is not Status.NOT_MEASURED}
    if not measured:
        return Status.NOT_MEASURED
    return measured.pop() if len(measured) == 1 else Status.IN_PART


#: From what was measured and the spec of our method to a verdict.
Judge: TypeAlias = Callable[[Results, str], Verdict]


@dataclass(frozen=True)
class Claim:
    """Something that the paper says of its method, and how it is judged."""

    name: str
    says: str
    #: Where the paper says it
    place: str
    #: How it is judged
    rule: str
    judge: Judge
    #: Whether the reading of the normaliser may change it
    by_reading: bool = False
