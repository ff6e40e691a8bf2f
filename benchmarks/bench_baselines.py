"""Every policy's own list against the greedy search over NumPy scores that defines it."""

from typing import Final

import numpy as np

from benchmarks.markdown import duration, table, times
from benchmarks.results import Part, Shape
from benchmarks.timing import alternated, compared
from benchmarks.workloads import catalogue
from variegate.model.catalogue import Catalogue
from variegate.policies import POLICIES, Policy, make_policy

#: The job of a policy that has no loops of its own.
NONE: Final = "no loops of its own"
SAME: Final = "the same list"
OTHER: Final = "another list"

SHAPE: Final = Shape(3_533)


def measure(quick: bool) -> Part:
    """Return each policy's list of ten after the same 200 observations."""
    shape = Shape(500) if quick else SHAPE
    items = catalogue(shape)
    part = Part()
    for name in POLICIES:
        _compare(part, name, _taught(name, items), shape, 0.1 if quick else 1.5)
    return part


def _compare(part: Part, name: str, policy: Policy, shape: Shape, budget: float) -> None:
    free, k = np.ones(shape.items, dtype=np.bool_), shape.k
    times = alternated(
        {
            "ours": lambda: policy._recommend(free, k, 0),
            "reference": lambda: policy._search_slate(free, k, 0),
        },
        budget=budget,
    )
    ours, reference = policy._recommend(free, k, 0), policy._search_slate(free, k, 0)
    job = SAME if np.array_equal(ours.items, reference.items) else OTHER
    if type(policy)._compiled_slate is Policy._compiled_slate:
        job = NONE
    part.comparisons.append(compared(name, job, shape, times["reference"], times["ours"]))


def _taught(name: str, items: Catalogue) -> Policy:
    rng = np.random.default_rng(1)
    policy = make_policy(name, items)
    shown: list[int] = []
    for turn in range(20):
        slate = policy.recommend(10, exclude=shown, rng=turn)
        policy.update(slate, (rng.random(10) < 0.4).astype(np.float64))
        shown.extend(slate.items.tolist())
    return policy


def section(part: Part) -> list[str]:
    """Write each policy's list beside its reference."""
    return [
        "Each policy's own list of 10 against the greedy search over its NumPy scores, which is",
        "what its loops are tested against; after 200 observations.",
        "",
        *table(
            ["policy", "variegate", "its reference", "times as fast", "list"],
            [
                [
                    f"`{row.other}`",
                    duration(row.ours),
                    duration(row.theirs),
                    "" if row.job == NONE else times(row),
                    row.job if row.job in (NONE, OTHER) else "the same",
                ]
                for row in part.comparisons
            ],
        ),
    ]
