"""Figure 6, the regret in the simulation, and the approximation ratios."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.claims.simulated import READING, paired_interval
from experiments.figures.drawing import WIDTH, Picture, legend_below, panels
from experiments.names import method_title
from experiments.results import Regret, Results
from variegate.evaluation.plots import (
    Curve,
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

#: The searches, which are no methods and so have colours of their own.
_SEARCH_COLOURS: Final = {"greedy": "#333333", "non-oblivious": "#b8860b", "local": "#6a5acd"}


def draw_regret_figure(results: Results) -> "Figure":
    """Draw cumulative regret: all, closer up, and on a log scale under Theorem 2's bound."""
    regret = results.regrets.get(READING) or next(iter(results.regrets.values()))
    curves = _curves(regret)
    figure = new_figure(WIDTH, 5.4)
    grid = figure.subplots(2, 2)
    draw_regret_panel(grid[0, 0], curves, "all")
    grid[0, 0].set_ylabel("cumulative regret")
    draw_regret_panel(grid[0, 1], low_curves(curves) or curves, "closer up")
    _draw_with_bound(grid[1, 0], curves, regret)
    _draw_a_round(grid[1, 1], regret)
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
    figure, row = panels(
        [f"normaliser {reading}" for reading in results.ratios],
        ylabel="F(found) / F(best)",
        share_y=True,
    )
    lengths = np.array(list(PAPER_RATIOS))
    for axes, by_search in zip(row, results.ratios.values(), strict=True):
        for place, (search, ratios) in enumerate(by_search.items()):
            means, lows, highs = np.array([paired_interval(column) for column in ratios.T]).T
            axes.errorbar(
                lengths + 0.16 * (place - (len(by_search) - 1) / 2),
                means,
                yerr=[means - lows, highs - means],
                fmt="o",
                color=_SEARCH_COLOURS.get(search, "#000000"),
                markersize=4.5,
                capsize=2.5,
                label=search,
            )
        axes.plot(
            lengths, list(PAPER_RATIOS.values()), "x", color="#b00020", markersize=8, label="paper"
        )
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
    # Room for the words above the bound; from 0.01, since a first list may be the best.
    axes.set_ylim(bottom=1e-2, top=float(regret.bound[-1]) * 12.0)


def _draw_a_round(axes: "Axes", regret: Regret) -> None:
    """Regret a round in ten stretches: whether it flattens."""
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
    axes.set(xlabel="lists shown", ylabel="regret a list", xlim=(0, rounds))
    axes.set_ylim(bottom=0.0)
    axes.set_title("a list, in ten stretches", color="#555555")


SIMULATED: Final = (
    Picture(
        "figure-6-regret",
        "Figure 6. Regret in the simulation",
        "How far the lists fall short of the best list (the paper's Figure 5), with the "
        "normaliser at none. Bands: two standard errors over runs. Theorem 2 bounds a scaled "
        "regret (γ = 1/4) and with the width of Lemma 2; it is far above all that was measured.",
        draw_regret_figure,
        lambda results: bool(results.regrets),
    ),
    Picture(
        "regret-by-reading",
        "Regret under the three readings of the normaliser",
        "The lower curves only. The simulated users scale distances as LMDH does.",
        draw_regret_by_reading,
        lambda results: len(results.regrets) > 1,
    ),
    Picture(
        "ratios",
        "How near greedy lists come to the best",
        "Mean of F(found) / F(best) over simulated users with 95% intervals, by search and length "
        "of the list; the crosses are the paper's numbers for greedy.",
        draw_ratios,
        lambda results: bool(results.ratios),
    ),
)
