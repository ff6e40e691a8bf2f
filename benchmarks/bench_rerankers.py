"""pyversity's strategies, which learn nothing, beside LMDH's list and `variegate.diversify`."""

from importlib.metadata import version
from typing import Final

import numpy as np

from benchmarks.markdown import duration, table, times
from benchmarks.results import Part, Shape
from benchmarks.timing import alternated, compared
from benchmarks.workloads import catalogue, taught
from variegate import diversify

STRATEGIES: Final = ("mmr", "msd", "dpp")
SHAPES: Final = (Shape(3_533), Shape(10_000))
#: What the package is asked for: LMDH's list, or the re-ranking of given scores.
RERANK: Final = "rerank"


def measure(quick: bool) -> Part:
    """Return lists of ten by each strategy, scores given."""
    part = Part()
    try:
        part.versions["pyversity"] = version("pyversity")
    except ModuleNotFoundError:
        part.skipped.append("pyversity: not installed (it is in the extra `dev`)")
        return part
    for shape in (Shape(500),) if quick else SHAPES:
        _compare(part, shape, 0.2 if quick else 3.0)
    return part


def _compare(part: Part, shape: Shape, budget: float) -> None:
    from pyversity import diversify as rerank

    sides = taught(catalogue(shape))
    features, policy, k = sides.catalogue.features, sides.policy, shape.k
    scores = features @ policy.preferences.relevance
    # What pyversity works in, so that it converts nothing.
    vectors, given = features.astype(np.float32), scores.astype(np.float32)
    calls = {
        name: lambda name=name: rerank(vectors, given, k, strategy=name, diversity=0.5)
        for name in STRATEGIES
    }
    times = alternated(
        {
            "list": lambda: policy.recommend(k),
            "diversify": lambda: diversify(scores, features, k),
            **calls,
        },
        budget=budget,
    )
    for name in STRATEGIES:
        title = f"pyversity {name.upper()}"
        job = "re-ranks given scores, learns nothing"
        part.comparisons += [
            compared(title, job, shape, times[name], times["list"]),
            compared(title, job, shape, times[name], times["diversify"], task=RERANK),
        ]


def section(part: Part) -> list[str]:
    """Write pyversity's strategies beside LMDH and `diversify`."""
    rows = []
    for row in part.comparisons:
        if row.task == RERANK:
            continue
        other = part.find(row.other, row.shape.items, task=RERANK)
        rows.append(
            [
                row.other,
                f"{row.shape.items:,}",
                duration(row.theirs),
                duration(row.ours),
                times(row),
            ]
            + ([duration(other.ours), times(other)] if other else ["", ""])
        )
    header = ["", "items", "takes", "LMDH's list", "times as fast", "`diversify`", "times as fast"]
    return [
        "pyversity re-ranks scores that somebody else worked out and learns nothing; LMDH's list",
        "scores every item by what it has learnt, explores, and re-ranks. `variegate.diversify`",
        "is the like for like: given scores, nothing learnt. Lists of 10, d = 10.",
        "",
        *table(header, rows),
    ]
