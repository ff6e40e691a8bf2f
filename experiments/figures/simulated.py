"""Figures of simulations: the paper's regret and ratios, and our simulated experiments."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.claims.paper import PAPER_READING
from experiments.figures.drawing import (
    BEST_CLICKS,
    WIDTH,
    ReportFigure,
    draw_intervals,
    draw_runs,
    legend_below,
    panels,
    zero_line,
)
from experiments.intervals import Interval, student_interval
from experiments.methods import method_title
from experiments.results import Regret, Results
from experiments.simulated import cold_start, drift, examination, multi_distance
from variegate.evaluation.plots import (
    Curve,
    colour_of,
    draw_curves,
    draw_regret_panel,
    low_curves,
    new_figure,
    regret_curves,
)
from variegate.evaluation.simulation import PAPER_RATIOS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours of searches and of learners with the right or the wrong model, which no method has.
_SEARCH_COLOURS: Final = {"greedy": "#333333", "non-oblivious": "#b8860b", "local": "#6a5acd"}
_RIGHT, _WRONG = "#111111", "#9d174d"
_NOTE: Final[dict[str, Any]] = {
    "xycoords": ("axes fraction", "data"),
    "textcoords": "offset points",
    "ha": "right",
    "fontsize": 9,
    "color": "#333333",
}


def draw_regret_figure(results: Results) -> "Figure":
    """Draw cumulative regret: all, closer up, and on a log scale under Theorem 2's bound."""
    regret = results.regrets.get(PAPER_READING) or next(iter(results.regrets.values()))
    curves = _curves(regret)
    figure = new_figure(WIDTH, 5.4)
    grid = figure.subplots(2, 2)
    draw_regret_panel(grid[0, 0], curves, "all")
    grid[0, 0].set_ylabel("cumulative regret")
    draw_regret_panel(grid[0, 1], low_curves(curves) or curves, "closer up")
    _draw_with_bound(grid[1, 0], curves, regret)
    _draw_by_stretch(grid[1, 1], regret)
    legend_below(figure)
    return figure


def draw_regret_by_reading(results: Results) -> "Figure":
    """Draw the regret of the methods that are low under every reading of the normaliser."""
    found = {reading: _curves(regret) for reading, regret in results.regrets.items()}
    low = set.intersection(*({c.label for c in low_curves(curves)} for curves in found.values()))
    figure, row = panels(list(results.regrets), ylabel="cumulative regret")
    for axes, (reading, curves) in zip(row, found.items(), strict=True):
        shown = [curve for curve in curves if curve.label in low] or curves
        draw_regret_panel(axes, shown, f"normaliser {reading}")
        axes.locator_params(axis="x", nbins=4)
    legend_below(figure)
    return figure


def draw_ratios(results: Results) -> "Figure":
    """Draw the mean ratio by length of list and search, with 95% intervals."""
    titles = [f"normaliser {reading}" for reading in results.ratios]
    figure, row = panels(titles, ylabel="F(found) / F(best)", share_y=True)
    lengths, paper = np.array(list(PAPER_RATIOS)), list(PAPER_RATIOS.values())
    for axes, by_search in zip(row, results.ratios.values(), strict=True):
        for place, (search, ratios) in enumerate(by_search.items()):
            at = lengths + 0.16 * (place - (len(by_search) - 1) / 2)
            colour = _SEARCH_COLOURS.get(search, "#000000")
            draw_intervals(axes, at, student_interval(ratios), colour, label=search)
        axes.plot(lengths, paper, "x", color="#b00020", markersize=8, label="paper")
        axes.set(xlabel="items in the list", xticks=lengths)
    legend_below(figure)
    return figure


def _curves(regret: Regret) -> list[Curve]:
    titles = [method_title(name) for name in regret.names]
    return regret_curves(regret.names, titles, np.cumsum(regret.regret, axis=2))


def _draw_with_bound(axes: "Axes", curves: Sequence[Curve], regret: Regret) -> None:
    draw_curves(axes, curves)
    rounds = np.arange(1, len(regret.bound) + 1)
    axes.plot(rounds, regret.bound, color="#000000", linewidth=1.2, linestyle=(0, (4, 2)))
    axes.set(xscale="log", yscale="log", xlabel="lists shown", ylabel="cumulative regret")
    axes.set_title("log scale, under Theorem 2's bound", color="#555555")
    axes.annotate(
        f"the bound: {regret.bound[-1]:,.0f} at the end",
        xy=(0.03, 0.98),
        xycoords="axes fraction",
        va="top",
        fontsize=9,
    )
    # Room for the text above the bound; from 0.01, since a first list may be the best.
    axes.set_ylim(bottom=1e-2, top=float(regret.bound[-1]) * 12.0)


def _draw_by_stretch(axes: "Axes", regret: Regret) -> None:
    """Draw the regret of a list in ten stretches, to show whether it flattens."""
    rounds = regret.regret.shape[2]
    edges = np.linspace(0, rounds, min(10, rounds) + 1).astype(int)
    means = [regret.regret[:, :, a:b].mean(axis=(1, 2)) for a, b in pairwise(edges)]
    for curve, values in zip(_curves(regret), np.array(means).T, strict=True):
        axes.plot(
            (edges[:-1] + edges[1:]) / 2,
            values,
            color=curve.colour,
            linewidth=curve.width,
            marker="o",
            markersize=3,
        )
    axes.set(xlabel="lists shown", ylabel="regret per list", xlim=(0, rounds))
    axes.set_ylim(bottom=0.0)
    axes.set_title("per list, in ten stretches", color="#555555")


def draw_drift(results: Results) -> "Figure":
    """Draw what forgetting adds where tastes stay, wander and jump, and how lists follow."""
    found: drift.Drift = results.beyond.simulated["drift"]
    kinds, factors = list(drift.KINDS.values()), drift.FORGETTING
    figure, grid = panels(kinds, rows=2, height=5.4)
    gains, places = found.gains(), np.arange(float(len(factors)))
    # LMDP that forgets nothing, a little and more.
    styles = {1.0: ("-", "#999999"), 0.98: ("-", "#111111"), 0.95: ("--", "#0072b2")}
    for kind, (above, below) in enumerate(zip(grid[: len(kinds)], grid[len(kinds) :], strict=True)):
        for row, learner in enumerate(drift.LEARNERS):
            draw_intervals(
                above,
                places + 0.16 * (row - 0.5),
                Interval(*(100 * part[kind, row] for part in gains)),
                colour_of(learner),
                fmt="o-",
                linewidth=1.2,
                label=method_title(learner),
            )
        zero_line(above)
        above.set_xticks(places, [f"{f:g}" for f in factors])
        above.set_xlabel("forgetting")
        for place, f in enumerate(factors):
            if f in styles:
                relative = found.earned[:, kind, -1, place] / found.best[:, kind]
                label = "LMDP, no forgetting" if f == 1.0 else f"LMDP, {f:g}"
                draw_runs(below, relative, label, styles[f][1], styles[f][0], every=15)
        below.set_xlabel("lists shown")
    grid[0].set_ylabel("gain in clicks, % of the best")
    grid[len(kinds)].set_ylabel(BEST_CLICKS)
    _share_height(grid[: len(kinds)])
    _share_height(grid[len(kinds) :])
    legend_below(figure, columns=5, first=tuple(map(method_title, drift.LEARNERS)))
    return figure


def _share_height(row: "Sequence[Axes]") -> None:
    limits = np.array([axes.get_ylim() for axes in row])
    for axes in row:
        axes.set_ylim(limits[:, 0].min(), limits[:, 1].max())
        if axes is not row[0]:
            axes.tick_params(labelleft=False)


def draw_examination(results: Results) -> "Figure":
    """Draw the error of eta and its bias, for learners that model what users examine or not."""
    found: examination.Examination = results.beyond.simulated["examination"]
    users = ["stop at the first click", "skip positions"]
    figure, (*above, left, right) = panels([f"users {u}" for u in users], rows=2, height=5.2)
    errors, bias, shares = found.relative_errors(), found.bias(), student_interval(found.shares())
    learners = {"models examination": _RIGHT, "assumes all examined": _WRONG}
    for learner, (label, shade) in enumerate(learners.items()):
        for user, axes in enumerate(above):
            draw_runs(axes, errors[:, user, learner], label, shade, "-", every=1)
        at = np.arange(4.0) + 0.16 * (learner - 0.5)
        draw_intervals(left, at, Interval(*(a[:, learner].ravel() for a in bias)), shade)
        draw_intervals(right, at[:2], Interval(*(a[:, learner] for a in shares)), shade)
    for axes in above:
        axes.set(xlabel="random lists shown", ylim=(0.0, 1.5), ylabel="|η̂ − η| / |η|")
    zero_line(left)
    left.set_xticks(range(4), ["θ, stop", "β, stop", "θ, skip", "β, skip"])
    left.set_ylabel("mean of η̂ − η at the end")
    left.set_title("bias, from random lists")
    right.set_xticks(range(2), [user.replace(" at", "\nat") for user in users])
    right.set(ylabel=BEST_CLICKS, xlim=(-0.6, 1.6))
    right.set_title("own lists")
    legend_below(figure)
    return figure


def draw_multi_distance(results: Results) -> "Figure":
    """Draw whether the distance that a user values is found, and what it is worth."""
    found: multi_distance.MultiDistance = results.beyond.simulated["multi_distance"]
    learners = {
        "all": ("all three distances", _RIGHT, "-"),
        "average": ("their average", "#0072b2", "-"),
        "right": ("only the right one", "#009e73", "--"),
        "none": ("no distance", "#777777", ":"),
    }
    figure, (share, weights, clicks) = panels(
        ["the right one is ahead", "how much it weighs (β̂)", "clicks"]
    )
    draw_runs(share, found.right(), *learners["all"], every=5)
    share.axhline(1 / 3, color="#333333", linewidth=0.8, linestyle=":")
    share.annotate("by chance", (1.0, 1 / 3), (0, 3), **_NOTE)
    share.set(ylim=(0.0, 1.0), ylabel="share of users")
    truths = ((_RIGHT, "the one valued", multi_distance.BETA), (_WRONG, "the others", 0.0))
    for column, (shade, label, truth) in enumerate(truths):
        draw_runs(weights, found.right_and_wrong()[:, :, column], None, shade, "-", every=1)
        weights.axhline(truth, color=shade, linewidth=0.8, linestyle=":")
        weights.annotate(label, (1.0, truth), (0, 3), **{**_NOTE, "color": shade})
    weights.set(ylim=(-0.15, 0.55), ylabel="weight, truth dotted")
    relative = found.earned / found.best[:, None, None]
    for row, learner in enumerate(multi_distance.LEARNERS):
        draw_runs(clicks, relative[:, row], *learners[learner], every=10)
    clicks.set_ylabel(BEST_CLICKS)
    for axes in (share, weights, clicks):
        axes.set_xlabel("lists shown")
    legend_below(figure)
    return figure


def draw_cold_start(results: Results) -> "Figure":
    """Draw the clicks of learners that start from nothing, a guess, a fit and the truth."""
    found: cold_start.ColdStart = results.beyond.simulated["cold_start"]
    learners = {
        "lmdh": ("LMDH, from zero", colour_of("lmdh"), "-"),
        "lmdh tuned": ("LMDH, its best λ", colour_of("lmdh-greedy"), "--"),
        "lmdp guessed": ("LMDP, from a guess", "#56b4e9", "-"),
        "lmdp fitted": ("LMDP, fitted to others", _RIGHT, "-"),
        "lmdp true": ("LMDP, from the truth", "#009e73", "--"),
        "lmdt fitted": ("LMDT, fitted to others", colour_of("lmdt"), "-."),
    }
    figure, (axes, first) = panels(["all lists", "the first ten"], ylabel=BEST_CLICKS, share_y=True)
    shares = found.shares()
    for row, learner in enumerate(cold_start.LEARNERS):
        draw_runs(axes, shares[:, row], *learners[learner], every=5)
        draw_runs(first, shares[:, row, :10], *learners[learner], every=1)
    for panel in (axes, first):
        panel.set_xlabel("lists shown")
    legend_below(figure, columns=3)
    return figure


def _simulated(name: str, title: str, caption: str, draw: Any, experiment: str) -> ReportFigure:
    return ReportFigure(
        name, title, caption, draw, lambda results: experiment in results.beyond.simulated
    )


_BANDS: Final = "Bands: two standard errors over simulated users."

#: The paper's figures of its simulation.
PAPER_SIMULATIONS: Final = (
    ReportFigure(
        "figure-6-regret",
        "Figure 6. Regret in the simulation",
        "The utility of the best list minus that of the lists shown (the paper's Figure 5), with "
        "the normaliser at none. Bands: two standard errors over runs. Theorem 2 bounds a scaled "
        "regret (γ = 1/4), with the width of Lemma 2; the bound is far above every measurement.",
        draw_regret_figure,
        lambda results: bool(results.regrets),
    ),
    ReportFigure(
        "regret-by-reading",
        "Regret under the three readings of the normaliser",
        "The lower curves only. The simulated users scale distances as LMDH does.",
        draw_regret_by_reading,
        lambda results: len(results.regrets) > 1,
    ),
    ReportFigure(
        "ratios",
        "How near greedy lists come to the best",
        "Mean of F(found) / F(best) over simulated users with 95% intervals, by search and length "
        "of the list; the crosses are the paper's numbers for greedy.",
        draw_ratios,
        lambda results: bool(results.ratios),
    ),
)
#: Figures of the simulated experiments beyond the paper.
BEYOND_SIMULATIONS: Final = (
    _simulated(
        "beyond-drift",
        "Tastes that change",
        "Above: the gain of forgetting over the same learner without it, in percent of the clicks "
        "of a recommender that knows the taste, with paired 95% intervals. Below: LMDP over time. "
        f"{_BANDS}",
        draw_drift,
        "drift",
    ),
    _simulated(
        "beyond-attention",
        "Users who do not examine the whole list",
        "Users who stop at their first click, and users who examine position i with probability "
        "1/i. Above: the error of the estimates from random lists. Below: their bias, and the "
        "clicks that a learner's own lists would get if all positions were examined, with 95% "
        "intervals.",
        draw_examination,
        "examination",
    ),
    _simulated(
        "beyond-several-distances",
        "Three distances, users who value one",
        "How often the largest weight is the right one, the weights, and the clicks beside LMDH "
        f"with fewer distances. {_BANDS}",
        draw_multi_distance,
        "multi_distance",
    ),
    _simulated(
        "beyond-beginnings",
        "Cold start",
        "New users of three populations, and learners that start from nothing, from a guess, from "
        f"a prior fitted to other users, and from the true one. {_BANDS}",
        draw_cold_start,
        "cold_start",
    ),
)
