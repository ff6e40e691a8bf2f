"""The tables of the chapter beyond the paper."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from experiments.beyond.claims.on_frontier import moments_of, point_title
from experiments.beyond.dials import dial_title
from experiments.beyond.frontier import Frontier, Point, points_of
from experiments.beyond.methods import (
    C2UCB_WITH_PRIOR,
    OURS,
    PAPERS,
    PARTS,
    SAMPLED,
    TITLES,
)
from experiments.beyond.results import SeveralDistances
from experiments.summary import full_label, rounds_shown, summary_of
from experiments.table import Cell, Table
from variegate.evaluation.bootstrap import MEASURES, difference, mean_measure
from variegate.evaluation.metrics import Scores

#: Measures that are told relative to LMDH's.
RELATIVE: Final = ("F1", "F2")

Replays = Mapping[str, Sequence[Scores]]


def measure_tables(replays: Replays) -> Iterator[Table]:
    """Yield F1, F2, recall and diversity of every method at a few rounds."""
    for measure in ("F1", "F2", "recall", "diversity"):
        yield _measure_table(replays, measure)


def parts_table(replays: Replays) -> Table:
    """Return how far our learner, its parts and its like are ahead of LMDH over the rounds."""
    rows = []
    for key in [OURS, *(method.key for method in (*SAMPLED, *PARTS, C2UCB_WITH_PRIOR))]:
        if not {key, PAPERS} <= set(replays):
            continue
        found = [difference(replays[key], replays[PAPERS], m).overall for m in MEASURES]
        cells = [Cell(f"{mean:+.4f} ({low:+.4f} to {high:+.4f})") for mean, low, high in found]
        rows.append((TITLES[key], tuple(cells)))
    return Table(
        "What each part adds",
        ("method", *MEASURES),
        tuple(rows),
        "The difference to LMDH, mean over the rounds, with its paired 95% interval. Methods with "
        "a prior explore as LMDP does, those without as LMDH does.",
        0,
    )


def frontier_table(frontier: Frontier) -> Table:
    """Return, for each other method, how its settings lie to our frontier."""
    moments = moments_of(frontier)
    found = {t: list(points_of(frontier, t)) for t in moments}
    rows = []
    for family in [name for name in frontier if name != OURS]:
        cells: list[Cell] = []
        for t in moments:
            points = [point for point in found[t] if point.method == family]
            nearest = min(points, key=lambda point: point.margin)
            above = sum(point.is_above for point in points)
            clear = sum(point.is_clearly_above for point in points)
            cells += [Cell(f"{above} ({clear}) of {len(points)}"), Cell(f"{nearest.margin:+.4f}")]
        rows.append((dial_title(family), tuple(cells)))
    heads = [head for t in moments for head in (f"t = {t}: settings above", "least margin")]
    return Table(
        "Other methods and our frontier",
        ("method", *heads),
        tuple(rows),
        "Settings whose recall lies above what LMDP reaches at their diversity, and in brackets "
        "those that do by their paired 95% interval; the least margin is LMDP's recall less "
        "theirs, where theirs comes nearest.",
    )


def losses_table(frontier: Frontier) -> Table | None:
    """Return every setting that lies above our frontier; None if none does."""
    points = [p for t in moments_of(frontier) for p in points_of(frontier, t) if p.is_above]
    if not points:
        return None
    rows = [(f"{point_title(point)}, t = {point.moment}", _loss(point)) for point in points]
    heads = ("method", "diversity", "recall", "above by")
    return Table("Above our frontier", heads, tuple(rows), "In brackets: paired 95% interval.")


def distances_table(found: SeveralDistances) -> Table:
    """Return what a learner of one distance or of both shows, and what it learnt."""
    rows = []
    for known, splits in found.scores.items():
        learnt = iter(found.betas[known].T)
        told = [
            f"{np.mean(beta):+.3f} ± {np.std(beta):.3f}" if name in known.split(" and ") else "none"
            for name in found.names
            for beta in ([next(learnt)] if name in known.split(" and ") else [np.zeros(1)])
        ]
        recall = float(mean_measure(splits, "recall")[-1])
        spread = [
            np.mean([s.diversity[row][:, -1].mean() for s in splits])
            for row in range(len(found.names))
        ]
        cells = [f"{recall:.3f}", *(f"{value:.3f}" for value in spread), *told]
        rows.append((f"LMDP with {known}", tuple(map(Cell, cells))))
    heads = (
        "method",
        "recall",
        *(f"diversity by {name}" for name in found.names),
        *(f"β of {name}" for name in found.names),
    )
    mean, deviation = found.believed
    return Table(
        "Two distances on MovieLens-100K, after the last list",
        heads,
        tuple(rows),
        f"β is as it was learnt, mean over users ± their deviation; believed beforehand: "
        f"{mean:.2f} ± {deviation:.2f}, shared out over the distances. The floor is not in it.",
    )


def _measure_table(replays: Replays, measure: str) -> Table:
    found = {key: summary_of(splits, measure) for key, splits in replays.items()}
    rounds = rounds_shown(len(next(iter(found.values())).mean))
    best = {t: max(one.mean[t - 1] for one in found.values()) for t in rounds}
    rows = []
    for key, one in found.items():
        cells = []
        for t in rounds:
            mean, error = one.mean[t - 1], f"{one.error[t - 1]:.3f}"
            text = f"{mean:.3f}"
            if measure in RELATIVE and PAPERS in found:
                text, error = f"{text} ({mean / found[PAPERS].mean[t - 1] - 1.0:+.1%})", ""
            cells.append(Cell(text, error, bool(mean == best[t])))
        label = full_label(key, replays[key][0].label)
        rows.append((label if "reconstructed" in label else TITLES.get(key, key), tuple(cells)))
    ours = list(found).index(OURS) if OURS in found else None
    note = "In brackets: relative to LMDH." if measure in RELATIVE else ""
    return Table(measure, ("method", *(f"t = {t}" for t in rounds)), tuple(rows), note, ours)


def _loss(point: Point) -> tuple[Cell, ...]:
    interval = f"({-point.high:+.4f} to {-point.low:+.4f})"
    texts = f"{point.diversity:.3f}", f"{point.recall:.3f}", f"{-point.margin:.4f} {interval}"
    return tuple(map(Cell, texts))
