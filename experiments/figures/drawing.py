"""What the figures share: panels side by side, one legend below, the mark of a quick run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from experiments.intervals import Interval
from experiments.methods import LMDH, method_title
from experiments.results import Replays, Results
from variegate.arrays import FloatArray
from variegate.errors import DataError
from variegate.evaluation.bootstrap import mean_measure, standard_error
from variegate.evaluation.plots import Curve, colour_of, drawing_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches. At this width, text of 10 points can be read at half a page's width too.
WIDTH: Final = 7.2
QUICK: Final = "quick run: few users, wide bands"
#: The caption of curves over users.
BANDS: Final = "Bands: two standard errors over users, by bootstrap."
#: The y label of the simulated experiments.
BEST_CLICKS: Final = "share of the best clicks"

#: The formats of every figure, without metadata that makes two files of one figure differ.
_FORMATS: Final[Mapping[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}}

#: From results to a drawn figure.
Draw: TypeAlias = "Callable[[Results], Figure]"


@dataclass(frozen=True)
class ReportFigure:
    """A figure of the report: its file, its caption and how it is drawn."""

    #: The name of its files, without suffix
    name: str
    title: str
    caption: str
    draw: Draw
    #: Whether the results hold what it needs
    is_available: Callable[[Results], bool]

    def save(self, results: Results, folder: Path) -> None:
        """Draw it and write it as PNG and SVG."""
        with drawing_style():
            figure = self.draw(results)
            if results.quick:
                figure.suptitle(
                    QUICK, x=0.995, ha="right", fontsize=9, color="#b00020", fontweight="bold"
                )
            try:
                for suffix, metadata in _FORMATS.items():
                    figure.savefig(folder / f"{self.name}.{suffix}", metadata=metadata)
            except OSError as error:
                raise DataError(f"{folder}: cannot be written: {error.strerror}") from None


def panels(
    titles: Sequence[str],
    *,
    rows: int = 1,
    height: float = 3.1,
    ylabel: str = "",
    share_y: bool = False,
) -> "tuple[Figure, list[Axes]]":
    """Return a figure and its panels, row by row; those of the first row have titles."""
    figure = new_figure(WIDTH if len(titles) > 1 else 0.7 * WIDTH, height)
    grid = figure.subplots(rows, len(titles), squeeze=False, sharey=share_y)
    for axes, title in zip(grid[0], titles, strict=True):
        axes.set_title(title)
    for axes in grid.flat:
        axes.locator_params(nbins=5)
        axes.grid(color="#e6e6e6", linewidth=0.6)
        axes.set_axisbelow(True)
    grid[0, 0].set_ylabel(ylabel)
    return figure, list(grid.flat)


def legend_below(figure: "Figure", *, columns: int = 4, first: Sequence[str] = ("LMDH",)) -> None:
    """Put one legend for all panels below them; the labels in `first` lead."""
    found = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    labels = [label for label in first if label in found]
    labels += [label for label in found if label not in labels]
    if not labels:
        return
    figure.legend(
        [found[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=min(columns, len(labels)),
        frameon=False,
        handlelength=1.8,
        columnspacing=1.4,
    )


def method_curves(
    replays: Replays,
    policies: Sequence[str],
    measure: str,
    *,
    leading: Sequence[str] = (LMDH,),
    widths: tuple[float, float] = (1.5, 2.4),
) -> list[Curve]:
    """Return a measure over the rounds for each of the policies that was replayed.

    The leading ones come last, so that no other curve covers them; `widths` are those of the
    others and of the leading ones.
    """
    return [
        Curve(
            method_title(policy),
            colour_of(policy),
            mean_measure(replays[policy], measure),
            standard_error(replays[policy], measure),
            width=widths[policy in leading],
            style=line_style(policy),
        )
        for policy in sorted(policies, key=lambda policy: policy in leading)
        if policy in replays
    ]


def line_style(policy: str) -> str:
    """Return the line of a policy: dashed for one with other options."""
    return "-" if ":" not in policy else "--"


def draw_intervals(
    axes: "Axes",
    at: FloatArray,
    found: Interval,
    colour: str,
    **style: Any,
) -> None:
    """Draw means as marks with their intervals as error bars."""
    axes.errorbar(
        at,
        found.mean,
        yerr=[found.mean - found.low, found.high - found.mean],
        color=colour,
        markersize=4.5,
        capsize=2.5,
        **{"fmt": "o", **style},
    )


def draw_runs(
    axes: "Axes", runs: FloatArray, label: str | None, colour: str, style: str, *, every: int
) -> None:
    """Draw the mean over runs of stretches of `every` lists, with two standard errors."""
    rounds = runs.shape[1] // every * every
    stretches = runs[:, :rounds].reshape(len(runs), -1, every).mean(axis=2)
    at = np.arange(stretches.shape[1]) * every + (every + 1) / 2
    mean = stretches.mean(axis=0)
    error = stretches.std(axis=0, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else 0.0 * mean
    axes.plot(at, mean, color=colour, linestyle=style, linewidth=1.7, label=label)
    axes.fill_between(at, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.13, linewidth=0)


def zero_line(axes: "Axes") -> None:
    """Draw the line of no difference."""
    axes.axhline(0.0, color="#333333", linewidth=0.8)
