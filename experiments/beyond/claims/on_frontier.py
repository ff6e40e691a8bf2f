"""Whether our frontier lies on or above every other method's."""

from collections.abc import Callable

from experiments.beyond.dials import dial_title
from experiments.beyond.frontier import MOMENTS, Frontier, Point, points_of
from experiments.beyond.methods import C2UCB_WITH_PRIOR
from experiments.claims.verdict import Evidence, Status, Verdict
from experiments.names import PAPER_TABLE, dataset_title
from experiments.results import Results


def on_or_above(results: Results, _ours: str) -> Verdict:
    """Judge "on or above the frontier of LMDH and every baseline of the paper"."""
    return _over_data_sets(results, lambda point: point.method != C2UCB_WITH_PRIOR.key)


def above_the_helped(results: Results, _ours: str) -> Verdict:
    """Judge "on or above the frontier of C2UCB that begins where our learner does"."""
    return _over_data_sets(results, lambda point: point.method == C2UCB_WITH_PRIOR.key)


def _over_data_sets(results: Results, is_meant: Callable[[Point], bool]) -> Verdict:
    frontiers = {} if results.beyond is None else results.beyond.frontier
    return Verdict.of(
        part
        for dataset in {**PAPER_TABLE, **frontiers}
        for part in _parts(dataset_title(results, dataset), frontiers.get(dataset, {}), is_meant)
    )


def moments_of(frontier: Frontier) -> list[int]:
    """Return the rounds of the frontier that were played."""
    played = [
        scores.recall.shape[1]
        for settings in frontier.values()
        for splits in settings.values()
        for scores in splits
    ]
    return [t for t in MOMENTS if t <= min(played, default=0)]


def _parts(title: str, frontier: Frontier, is_meant: Callable[[Point], bool]) -> list[Evidence]:
    moments = moments_of(frontier)
    if not moments:
        return [Evidence(title, Status.NOT_MEASURED, "not measured")]
    found = {t: [point for point in points_of(frontier, t) if is_meant(point)] for t in moments}
    return [_judged(f"{title}, t = {t}", points) for t, points in found.items() if points]


def _judged(where: str, points: list[Point]) -> Evidence:
    above = [point for point in points if point.is_above]
    numbers = {
        "points": [
            {
                "method": point.method,
                "setting": point.setting,
                "diversity": point.diversity,
                "recall": point.recall,
                "margin": point.margin,
                "low": point.low,
                "high": point.high,
            }
            for point in points
        ]
    }
    if not above:
        nearest = min(points, key=lambda point: point.margin)
        told = (
            f"all {len(points)} settings lie under it; nearest "
            f"{point_title(nearest)}, {nearest.margin:.4f} below"
        )
        return Evidence(where, Status.HOLDS, told, numbers)
    clear = [point for point in above if point.is_clearly_above]
    farthest = min(above, key=lambda point: point.margin)
    told = (
        f"above it: {len(above)} of {len(points)} settings ({len(clear)} by the paired interval); "
        f"farthest {point_title(farthest)}, by {-farthest.margin:.4f}"
    )
    return Evidence(where, Status.FAILS if clear else Status.IN_PART, told, numbers)


def point_title(point: Point) -> str:
    """Return what a sentence calls a setting of a method."""
    return f"{dial_title(point.method).partition(', by')[0]} ({point.setting})"
