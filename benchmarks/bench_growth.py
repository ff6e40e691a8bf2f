"""How the cost of a list grows with the items, the features, its length and the distances."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from benchmarks.bench_lists import PAPER
from benchmarks.markdown import duration, table, three_digits
from benchmarks.results import Comparison, Growth, Part, Shape
from benchmarks.shares import SHARE
from benchmarks.timing import alternated, compared
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
    part = Part(growths=[_growth(start, name, values, quick) for name, values in along.items()])
    for m in (1, 2) if quick else (1, 2, 4, 8):
        _without_distances(part, replace(start, m=m), 0.1 if quick else 0.8)
    return part


def _without_distances(part: Part, shape: Shape, budget: float) -> None:
    """Measure a list of 1, which needs no distance, and a list of 10, on both sides."""
    sides = taught(catalogue(shape))
    for k in (1, shape.k):
        times = alternated(
            {"ours": partial(sides.policy.recommend, k), "theirs": partial(sides.paper_list, k)},
            budget=budget,
            least=3,
        )
        job = f"a list of {k}"
        row = compared(PAPER, job, shape, times["theirs"], times["ours"], task=SHARE)
        part.comparisons.append(row)


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
        *_distances_table(part),
    ]


def _distances_table(part: Part) -> list[str]:
    """Write which part of a list does not depend on the number of distances, on both sides."""
    ones, tens = list(part.of_task(SHARE))[::2], list(part.of_task(SHARE))[1::2]
    if not tens:
        return []
    rows = [
        [str(ten.shape.m), *map(duration, (one.ours, ten.ours, one.theirs, ten.theirs))]
        for one, ten in zip(ones, tens, strict=True)
    ]
    header = ["distances", "variegate, 1 item", "10 items", "paper's lines, 1 item", "10 items"]
    least, most, fixed = tens[0], tens[-1], _fixed(ones[0], tens[0])
    return [
        "Where the growth with the distances comes from. The first item of a list needs no",
        "distance. The paper's lines do that work again at every position: ten lists of one are"
        f" {100.0 * fixed:.0f}% of their list with {least.shape.m} distance;",
        "variegate scores most items once. With"
        f" {most.shape.m} distances its list takes {three_digits(most.ours / least.ours)} times as",
        f"long, that of the paper's lines {three_digits(most.theirs / least.theirs)} times, and"
        f" is then {three_digits(most.ratio)} times as fast.",
        "",
        *table(header, rows),
    ]


def _fixed(one: Comparison, ten: Comparison) -> float:
    """Return the share of the paper's list that ten lists of one item take, at most all."""
    return min(ten.shape.k * one.theirs / ten.theirs, 1.0)
