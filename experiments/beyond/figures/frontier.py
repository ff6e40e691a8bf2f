"""Recall against diversity as each method's dial is turned."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.beyond.claims.on_frontier import moments_of
from experiments.beyond.dials import RISING, dial_title
from experiments.beyond.figures.rounds import chapter_of
from experiments.beyond.frontier import upper_hull
from experiments.beyond.methods import OURS, PAPERS
from experiments.figures.drawing import Picture, legend_below, panels
from experiments.names import PAPER_TABLE, dataset_title, full_name
from experiments.results import Results
from variegate.arrays import FloatArray
from variegate.evaluation.metrics import Scores
from variegate.evaluation.plots import colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AS_IT_IS: Final = "LMDP, as it is"
#: A method that begins at our prior is drawn as itself, with other marks.
_MARKS: Final = {"c2ucb-prior": "^", "dc2b:intercept=true": "s", OURS: "o"}


def draw_frontier(dataset: str, results: Results) -> "Figure":
    """Draw every setting of every method on one data set, one panel a round."""
    frontier = chapter_of(results).frontier[dataset]
    moments = moments_of(frontier)
    title = dataset_title(results, dataset)
    figure, row = panels([f"{title}, t = {t}" for t in moments], height=5.0, ylabel="recall")
    for axes, moment in zip(row, moments, strict=True):
        for family in sorted(frontier, key=lambda name: (name == OURS, name == PAPERS)):
            _draw_family(axes, family, frontier[family], moment)
        axes.set_xlabel("diversity")
        axes.set_ylim(bottom=0.0)
    legend_below(figure, columns=2, first=(AS_IT_IS, *map(dial_title, (OURS, PAPERS))))
    return figure


def points(settings: Mapping[str, Sequence[Scores]], moment: int) -> tuple[FloatArray, FloatArray]:
    """Return the diversity and the recall of each setting at a round, mean over splits."""
    at = moment - 1
    diversity = [np.mean([s.mean_diversity[at] for s in each]) for each in settings.values()]
    recall = [np.mean([s.mean_recall[at] for s in each]) for each in settings.values()]
    return np.array(diversity), np.array(recall)


def _draw_family(
    axes: "Axes", family: str, settings: Mapping[str, Sequence[Scores]], moment: int
) -> None:
    colour, mark = colour_of(family.removesuffix("-prior")), _MARKS.get(family, "o")
    diversity, recall = points(settings, moment)
    if family == OURS:
        xs, ys = upper_hull(diversity, recall)
        left = min(axes.get_xlim()[0], float(diversity.min()))
        axes.fill_between([left, *xs], 0.0, [ys[0], *ys], color=colour, alpha=0.05, linewidth=0)
        axes.plot([left, *xs], [ys[0], *ys], color=colour, linewidth=0.8, linestyle=":")
        rising = list(settings).index(RISING) if RISING in settings else None
        if rising is not None:
            axes.plot(
                diversity[rising],
                recall[rising],
                "*",
                color=colour,
                markersize=13,
                label=AS_IT_IS,
                linestyle="none",
            )
        order = [place for place in range(len(recall)) if place != rising]
        diversity, recall = diversity[order], recall[order]
    axes.plot(
        diversity,
        recall,
        mark,
        linestyle=("--" if mark != "o" else "-") if len(recall) > 1 else "none",
        color=colour,
        linewidth=2.2 if family in (OURS, PAPERS) else 1.1,
        markersize=4.5 if family in (OURS, PAPERS) else 3.5,
        fillstyle="full" if mark == "o" else "none",
        label=dial_title(family),
    )


def _is_there(dataset: str, results: Results) -> bool:
    return bool(moments_of(chapter_of(results).frontier.get(dataset, {})))


FRONTIERS: Final = tuple(
    Picture(
        f"beyond-frontier-{dataset}",
        f"Recall against diversity as each dial turns, {full_name(dataset)}",
        "Every mark is one setting of a method's dial; up and to the right is better. The shaded "
        "region is all that LMDP reaches with its floor constant; the star is its default, whose "
        "floor rises while a user is learnt.",
        partial(draw_frontier, dataset),
        partial(_is_there, dataset),
    )
    for dataset in PAPER_TABLE
)
