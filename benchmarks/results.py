"""What a run of the benchmark measured, as data that JSON can hold."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from variegate.files import atomic_write


@dataclass(frozen=True)
class Shape:
    """How large the task is: items L, features d, list length K, distances m."""

    items: int
    d: int = 10
    k: int = 10
    m: int = 1


@dataclass(frozen=True)
class Comparison:
    """The package and something else, measured in turns. Seconds are medians."""

    #: What the package is held against
    other: str
    #: What that one does, where it is not the same
    job: str
    #: What is timed: a list, learning, a replay, a start
    task: str
    shape: Shape
    theirs: float
    ours: float
    #: The 10% and 90% quantiles of the ratios turn by turn
    low: float
    high: float
    turns: int
    note: str = ""

    @property
    def ratio(self) -> float:
        """How many times as fast the package is."""
        return self.theirs / self.ours


@dataclass(frozen=True)
class Growth:
    """How the cost grows along one of L, d, K and m."""

    along: str
    values: list[float]
    theirs: list[float]
    ours: list[float]
    #: Slopes of the straight lines through the points, both axes logarithmic
    theirs_exponent: float
    ours_exponent: float


@dataclass
class Part:
    """What one part of the benchmark found; `skipped` says what it could not measure, and why."""

    comparisons: list[Comparison] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)
    facts: dict[str, float] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)

    def find(self, other: str, items: int, d: int = 10, task: str = "list") -> Comparison | None:
        """Return the comparison with `other` at this size; None where there is none."""
        for found in self.of(other, task):
            if (found.shape.items, found.shape.d) == (items, d):
                return found
        return None

    def of_task(self, task: str) -> Iterator[Comparison]:
        """Yield the comparisons of a task."""
        return (row for row in self.comparisons if row.task == task)

    def of(self, other: str, task: str = "list") -> Iterator[Comparison]:
        """Yield the comparisons with `other`."""
        return (row for row in self.of_task(task) if row.other == other)


@dataclass
class Results:
    """All parts of one run, with where and of what it was."""

    quick: bool
    machine: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)

    def part(self, name: str) -> Part:
        """Return a part; an empty one where it was not run."""
        return self.parts.get(name, Part())

    def save(self, path: Path, bars: list[dict[str, Any]]) -> None:
        """Write everything as JSON, ratios and the judged `bars` with it."""
        data = asdict(self)
        for name, part in self.parts.items():
            for row, comparison in zip(
                data["parts"][name]["comparisons"], part.comparisons, strict=True
            ):
                row["ratio"] = comparison.ratio
        with atomic_write(path) as file:
            file.write((json.dumps(data | {"bars": bars}, indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: Path) -> "Results":
        """Read what `save` wrote."""
        data = json.loads(path.read_text(encoding="utf-8"))
        parts = {name: part_of(part) for name, part in data["parts"].items()}
        return cls(data["quick"], data["machine"], data["versions"], data["seconds"], parts)


def part_of(data: Mapping[str, Any]) -> Part:
    """Return the part that was written as JSON."""
    comparisons = []
    for row in data["comparisons"]:
        known = {name: value for name, value in row.items() if name != "ratio"}
        comparisons.append(Comparison(**{**known, "shape": Shape(**row["shape"])}))
    growths = [Growth(**growth) for growth in data["growths"]]
    return Part(comparisons, growths, data["facts"], data["skipped"], data["versions"])
