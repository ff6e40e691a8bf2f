"""How the cost of a list grows with the items, the features, its length and the distances."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from benchmarks.markdown import table
from benchmarks.results import Growth, Part, Shape
from benchmarks.timing import alternated
from benchmarks.workloads import catalogue, taught

START: Final = Shape(10_000)
ALONG: Final[Mapping[str, tuple[int, ...]]] = {
    "items": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    "d": (5, 10, 20, 40, 80, 160),
    "k": (1, 2, 5, 10, 20, 50, 100),
    "m": (1, 2, 3, 4, 6, 8),
}
#: What each is called, and its power in the paper's O(LK(d² + m² + md)).
NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "items": ("items, L", "1"),
    "d": ("features, d", "2"),
    "k": ("length of the list, K", "1"),
    "m": ("distances, m", "2"),
}
QUICK_START: Final = Shape(1_000)
QUICK_ALONG: Final[Mapping[str, tuple[int, ...]]] = {"items": (500, 1_000, 2_000), "k": (2, 5, 10)}


def measure(quick: bool) -> Part:
    """Return a growth along each of L, d, K and m, the others as they are in `START`."""
    start, along = (QUICK_START, QUICK_ALONG) if quick else (START, ALONG)
    return Part(growths=[_growth(start, name, values, quick) for name, values in along.items()])


def _growth(start: Shape, name: str, values: tuple[int, ...], quick: bool) -> Growth:
    ours, theirs = [], []
    for value in values:
        shape = replace(start, **{name: value})
        sides = taught(catalogue(shape))
        times = alternated(
            {
                "ours": partial(sides.policy.recommend, shape.k),
                "theirs": partial(sides.paper_list, shape.k),
            },
            budget=0.1 if quick else 0.8,
            least=3,
        )
        ours.append(float(np.median(times["ours"])))
        theirs.append(float(np.median(times["theirs"])))
    points = list(map(float, values))
    return Growth(name, points, theirs, ours, exponent(points, theirs), exponent(points, ours))


def exponent(values: Iterable[float], seconds: Iterable[float]) -> float:
    """Return e of the power law c * value**e that fits best where both axes are logarithmic.

    Examples
    --------
    >>> round(exponent([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    slope, _constant = np.polyfit(np.log(list(values)), np.log(list(seconds)), 1)
    return float(slope)


def section(part: Part) -> list[str]:
    """Write the exponents of the fitted power laws."""
    rows = [
        [
            NAMES[row.along][0],
            f"{row.values[0]:,.0f} to {row.values[-1]:,.0f}",
            f"{row.ours_exponent:.2f}",
            f"{row.theirs_exponent:.2f}",
            NAMES[row.along][1],
        ]
        for row in part.growths
    ]
    return [
        "The exponent e of the power law c · xᵉ that fits the medians best. The paper's cost is",
        "O(LK(d² + m² + md)); a small size is mostly the cost of calling anything, which bends",
        "the fits down.",
        "",
        *table(["along", "from", "variegate", "paper's lines", "in the paper"], rows),
    ]
