"""Figure 5: what lambda, alpha and the length of the list change."""

from typing import TYPE_CHECKING, Final

from experiments.figures.drawing import (
    Picture,
    legend_below,
    method_curves,
    panels,
)
from experiments.results import Results
from variegate.evaluation.bootstrap import mean_measure, standard_error
from variegate.evaluation.plots import Curve, draw_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Small to large values, light to dark; the paper's own setting is drawn thick.
_OPTIONS: Final = {"ridge": ("λ", 50.0), "exploration": ("α", 1.0)}


def draw_settings(results: Results) -> "Figure":
    """Draw the F1 of LMDH over the rounds for each value of lambda and alpha."""
    from matplotlib import colormaps

    there = [option for option in _OPTIONS if option in results.sensitivity]
    figure, row = panels([_OPTIONS[o][0] for o in there], ylabel="F1", share_y=True, height=3.2)
    for axes, option in zip(row, there, strict=True):
        letter, papers = _OPTIONS[option]
        values = sorted(results.sensitivity[option])
        shades = colormaps["viridis_r"]([0.12 + 0.88 * i / len(values) for i in range(len(values))])
        for value, shade in zip(values, shades, strict=True):
            splits = results.sensitivity[option][value]
            mean, error = mean_measure(splits, "F1"), standard_error(splits, "F1")
            width = 3.0 if value == papers else 1.5
            name = f"{letter} = {value:g}" + (" (the paper's)" if value == papers else "")
            draw_curves(axes, [Curve(name, shade, mean, error, width)])
        axes.set_xlabel("round t")
        axes.legend(loc="lower right", frameon=True, framealpha=0.8, edgecolor="none")
    return figure


def draw_lengths(results: Results) -> "Figure":
    """Draw the F1 of the bandits over the rounds, one panel a length of the list."""
    lengths = sorted(results.lengths)
    titles = [f"|A| = {length}" for length in lengths]
    figure, row = panels(titles, ylabel="F1", share_y=True)
    for axes, length in zip(row, lengths, strict=True):
        replays = results.lengths[length]
        draw_curves(axes, method_curves(replays, tuple(replays), "F1"))
        axes.set_xlabel("round t")
    legend_below(figure)
    return figure


SETTINGS: Final = (
    Picture(
        "figure-5-settings",
        "Figure 5. F1 for values of λ and α",
        "LMDH on MovieLens-100K (the paper's Figure 4, a and b); the paper's settings are drawn "
        "thick. Bands: two standard errors, users drawn anew.",
        draw_settings,
        lambda results: any(results.sensitivity.values()),
    ),
    Picture(
        "figure-5-lengths",
        "Figure 5, continued. F1 for lists of other lengths",
        "The learners of lists on MovieLens-100K (the paper's Figure 4, c). Bands: two standard "
        "errors, users drawn anew.",
        draw_lengths,
        lambda results: bool(results.lengths),
    ),
)
