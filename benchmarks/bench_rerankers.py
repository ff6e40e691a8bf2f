"""pyversity's strategies, which learn nothing, beside LMDH's list and `variegate.diversify`."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Final

import numpy as np

from benchmarks.markdown import duration, table, times
from benchmarks.results import Part, Shape
from benchmarks.timing import alternated, compared
from benchmarks.workloads import catalogue, taught
from variegate import diversify

STRATEGIES: Final = ("mmr", "msd", "dpp")
SHAPES: Final = (Shape(3_533), Shape(10_000))
#: Candidates of one request with long vectors, which nothing is learnt of.
LONG: Final = Shape(200, 768)
#: What the package is asked for: LMDH's list, or the re-ranking of given scores.
RERANK: Final = "rerank"
JOB: Final = "re-ranks given scores, learns nothing"


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
    _compare_long(part, LONG, 0.2 if quick else 3.0)
    return part


def _compare(part: Part, shape: Shape, budget: float) -> None:
    sides = taught(catalogue(shape))
    features, policy, k = sides.catalogue.features, sides.policy, shape.k
    scores = features @ policy.preferences.relevance
    # What pyversity works in, so that it converts nothing; both sides get the same arrays.
    vectors, given = features.astype(np.float32), scores.astype(np.float32)
    times = alternated(
        {"list": lambda: policy.recommend(k), **_calls(vectors, given, k)}, budget=budget
    )
    for name in STRATEGIES:
        title = f"pyversity {name.upper()}"
        part.comparisons += [
            compared(title, JOB, shape, times[name], times["list"]),
            compared(title, JOB, shape, times[name], times["diversify"], task=RERANK),
        ]


def _compare_long(part: Part, shape: Shape, budget: float) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((shape.items, shape.d)).astype(np.float32)
    times = alternated(
        _calls(vectors, rng.standard_normal(shape.items).astype(np.float32), shape.k),
        budget=budget,
    )
    part.comparisons += [
        compared(
            f"pyversity {name.upper()}", JOB, shape, times[name], times["diversify"], task=RERANK
        )
        for name in STRATEGIES
    ]


def _calls(vectors: Any, scores: Any, k: int) -> dict[str, Callable[[], object]]:
    """Return `diversify` and each strategy of pyversity as calls."""
    from pyversity import diversify as rerank

    def call(name: str) -> Callable[[], object]:
        return lambda: rerank(vectors, scores, k, strategy=name, diversity=0.5)

    return {
        "diversify": lambda: diversify(scores, vectors, k),
        **{name: call(name) for name in STRATEGIES},
    }


def section(part: Part) -> list[str]:
    """Write pyversity's strategies beside LMDH and `diversify`."""
    rows = []
    for row in part.of_task(RERANK):
        ours = part.find(row.other, row.shape.items, row.shape.d)
        rows.append(
            [
                row.other,
                f"{row.shape.items:,}",
                str(row.shape.d),
                duration(row.theirs),
                duration(row.ours),
                times(row),
                *([duration(ours.ours), times(ours)] if ours else ["", ""]),
            ]
        )
    header = ["", "items", "d", "takes", "`diversify`", "times as fast"]
    header += ["LMDH's list", "times as fast"]
    return [
        "pyversity re-ranks scores that somebody else worked out and learns nothing; LMDH's list",
        "scores every item by what it has learnt, explores, and re-ranks. `variegate.diversify`",
        "is the like for like: given scores, nothing learnt. Lists of 10.",
        "",
        *table(header, rows),
    ]
