"""LMDH's list against the paper's lines in NumPy, and against the machine's limit."""

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from benchmarks.markdown import duration, table, three_digits, times
from benchmarks.plain_kernel import plain_list
from benchmarks.results import Part, Shape
from benchmarks.shares import UNIT, divide, shares_table
from benchmarks.timing import alternated, compared
from benchmarks.workloads import Sides, catalogue, one_pass, taught
from variegate.kernels import lmdh_list
from variegate.model.gains import normalising_factors

PAPER: Final = "the paper's lines in NumPy"
EXPERT: Final = "the paper's lines by a NumPy expert"
PLAIN: Final = "a plain blocked kernel"
LIMIT: Final = "one pass over the catalogue"

SHAPES: Final = (
    Shape(1_447),
    Shape(3_533),
    Shape(10_000),
    Shape(100_000),
    Shape(1_000_000),
    Shape(10_000, 64),
    Shape(1_000_000, 64),
)
QUICK_SHAPES: Final = (Shape(500), Shape(2_000, 16))

#: The sizes at which the time of a list is divided into its parts.
DIVIDED: Final = (500, 1_447, 3_533, 100_000)
#: The largest shape under other circumstances, with how the sides are made there.
LARGEST: Final = Shape(1_000_000, 64)
SUMMED: Final = "distances summed, not averaged"


def measure(quick: bool) -> Part:
    """Return lists of ten at each shape, and how many passes they cost."""
    part = Part()
    same = 0
    shapes = QUICK_SHAPES if quick else SHAPES
    for shape in shapes:
        sides = taught(catalogue(shape))
        compare(part, sides, shape, 0.2 if quick else 3.0)
        if shape.items in DIVIDED and shape.d == Shape(0).d:
            _divide(part, "A list", sides, shape, 0.2 if quick else 1.0)
        same += _agree(sides, shape.k)
    part.facts["shapes where the list is the paper's, item by item"] = same
    part.facts["shapes"] = len(shapes)
    _circumstances(part, Shape(2_000, 16) if quick else LARGEST, 0.2 if quick else 2.0)
    return part


def compare(
    part: Part, sides: Sides, shape: Shape, budget: float, *, all_sides: bool = True
) -> None:
    """Measure one list on every side, in turns; or on that of the paper and the limit only."""
    k = shape.k
    calls: dict[str, Callable[[], object]] = {
        PAPER: partial(sides.paper_list, k),
        LIMIT: one_pass(sides.catalogue),
    }
    if all_sides:
        calls |= {EXPERT: sides.expert_list(k), PLAIN: plain_list(sides.policy, k)}
    least = 3 if shape.items * shape.d > 10**7 else 5
    ours = partial(sides.policy.recommend, k)
    times = alternated({"ours": ours, **calls}, budget=budget, least=least)
    for other in calls:
        job = "no list: the limit" if other == LIMIT else "the same list"
        part.comparisons.append(compared(other, job, shape, times[other], times["ours"]))


def _divide(part: Part, whole: str, sides: Sides, shape: Shape, budget: float) -> None:
    """Measure which share of a list is the compiled call, and what shorter lists take of it."""
    policy, layout = sides.policy, sides.catalogue.layout
    if layout is None:
        return
    estimate, factors = policy._estimate(), normalising_factors(policy.normaliser, shape.k)
    free = np.ones(shape.items, dtype=np.bool_)
    belief = estimate.mean, estimate.inverse_root, policy.width(shape.k)
    calls: dict[str, Callable[[], object]] = {
        "the whole call of `recommend`": partial(policy.recommend, shape.k),
        "the compiled call": partial(lmdh_list, layout, free, *belief, factors),
    }
    for k in (5, 2, 1):
        first = factors[:k].copy()
        calls[f"the compiled call for the first {k}"] = partial(
            lmdh_list, layout, free, *belief, first
        )
    divide(part, whole, calls | {UNIT: one_pass(sides.catalogue)}, shape, budget)


def _agree(sides: Sides, k: int) -> bool:
    ours, theirs = sides.policy.recommend(k).items, sides.paper_list(k).places
    return bool(np.array_equal(ours, theirs))


def _circumstances(part: Part, shape: Shape, budget: float) -> None:
    """Count the passes where the items, the reading or the user are others."""
    items, clustered = catalogue(shape), catalogue(shape, clusters=200)
    others = {
        "a new user, nothing learnt": taught(items, observations=0),
        SUMMED: taught(items, normaliser="none"),
        "items in 200 clusters": taught(clustered),
    }
    for name, sides in others.items():
        times = alternated(
            {"ours": partial(sides.policy.recommend, shape.k), "pass": one_pass(items)},
            budget=budget,
        )
        part.comparisons.append(
            compared(LIMIT, name, shape, times["pass"], times["ours"], task="circumstance")
        )
        if name == SUMMED:
            _divide(part, f"A list, {name}", sides, shape, budget)


def section(part: Part) -> list[str]:
    """Write LMDH's list beside the paper's lines and the machine's limit."""
    same = part.facts.get("shapes where the list is the paper's, item by item", 0.0)
    return [
        "One list of 10 by LMDH, one cosine distance, after 200 observations: a whole call of",
        "`recommend`, with all its checks. The paper's Algorithm 2 transcribed line by line in",
        "vectorised NumPy (`variegate.kernels.algorithm2`) has learnt the same. *An expert's",
        "lines* are the same in float32, with features and gains joined, one `einsum` a step.",
        "*A plain kernel* (`benchmarks/plain_kernel.py`) is numba without bounds and without a",
        "decision in double precision, and only its compiled call is timed. *One pass* is one",
        "matrix-vector product in float32 over the catalogue; *passes* is how many of them the",
        f"list costs. Our list was that of the paper's lines, item by item, at {same:.0f} of"
        f" {part.facts.get('shapes', 0.0):.0f} sizes.",
        "",
        *lists_table(part),
        *_circumstances_table(part),
        *_shares(part),
    ]


def lists_table(part: Part) -> list[str]:
    """Return a row for each size."""
    columns = {
        EXPERT: "an expert's lines: times as fast",
        PAPER: "the paper's lines: times as fast",
        PLAIN: "a plain kernel: times as fast",
    }
    measured = [other for other in columns if any(part.of(other))]
    header = ["items", "d", "variegate", *(columns[other] for other in measured), "one pass"]
    rows = []
    for ours in part.of(PAPER):
        shape = ours.shape
        others = [part.find(other, shape.items, shape.d) for other in measured]
        limit = part.find(LIMIT, shape.items, shape.d)
        rows.append(
            [
                f"{shape.items:,}",
                str(shape.d),
                duration(ours.ours),
                *(f"{times(row)}, {duration(row.theirs)}" if row else "" for row in others),
                duration(limit.theirs) if limit else "",
                three_digits(1.0 / limit.ratio) if limit else "",
            ]
        )
    return table([*header, "passes"], rows, left=0)


def _circumstances_table(part: Part) -> list[str]:
    rows = [
        [
            row.job,
            f"{row.shape.items:,}",
            str(row.shape.d),
            duration(row.ours),
            three_digits(1.0 / row.ratio),
        ]
        for row in part.of(LIMIT, "circumstance")
    ]
    if not rows:
        return []
    header = ["circumstance", "items", "d", "variegate", "passes"]
    return ["The same list when something else than the size differs:", "", *table(header, rows)]


def _shares(part: Part) -> list[str]:
    lines = [
        "Where the time goes. What `recommend` takes beside the compiled call is Python: checks,",
        "the mask of candidates, the slate with its features. The shorter lists are made by the",
        "same belief. Here lists follow lists; above they take turns with the other sides, whose",
        "arrays displace those of a large catalogue from the caches, so that the same list takes",
        "longer.",
    ]
    found = shares_table(part)
    return ["", *lines, "", *found] if found else []
