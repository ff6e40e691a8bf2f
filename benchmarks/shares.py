"""Where the time of a list goes: parts timed on their own, each alternating with the whole."""

from collections.abc import Callable, Mapping
from typing import Final

from benchmarks.markdown import duration, table, three_digits
from benchmarks.results import Comparison, Part, Shape
from benchmarks.timing import alternated, compared

#: The task of the rows that are parts of a whole.
SHARE: Final = "share"
#: A part with this name is the unit of the column "passes".
UNIT: Final = "one pass over the catalogue"


def divide(
    part: Part, whole: str, calls: Mapping[str, Callable[[], object]], shape: Shape, budget: float
) -> None:
    """Time `calls`, the first of which is the whole, and keep each beside the whole."""
    times = alternated(calls, budget=budget, least=3)
    first = next(iter(calls))
    for name in calls:
        part.comparisons.append(compared(whole, name, shape, times[first], times[name], task=SHARE))


def shares_table(part: Part) -> list[str]:
    """Return a table of all parts, and a sentence on the largest part of each whole."""
    groups: dict[tuple[str, Shape], list[Comparison]] = {}
    for row in part.of_task(SHARE):
        groups.setdefault((row.other, row.shape), []).append(row)
    rows, sentences = [], []
    for (whole, shape), found in groups.items():
        parts = [row for row in found[1:] if row.job != UNIT]
        passes = [row.ours for row in found if row.job == UNIT]
        for row in found:
            count = three_digits(row.ours / passes[0]) if passes else ""
            share = f"{100.0 / row.ratio:.0f}%"
            rows.append([whole, f"{shape.items:,}", row.job, duration(row.ours), share, count])
        most = max(parts, key=lambda row: row.ours)
        sentences.append(
            f"{whole}, {shape.items:,} items: {100.0 / most.ratio:.0f}% is {most.job}."
        )
    if not rows:
        return []
    header = ["whole", "items", "part", "takes", "share", "passes"]
    return [*table(header, rows, left=3), " ".join(sentences), ""]
