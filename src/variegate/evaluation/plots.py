"""Plots of results; a policy has the same colour in all of them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import MissingExtraError
from variegate.evaluation.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's palette, which is safe for colour blindness; LMDP and LMDH stand out.
COLOURS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "lmdp": "#111111",
        "lmdt": "#a6a600",
        "lmdh": "#d55e00",
        "lmdh-greedy": "#e69f00",
        "c2ucb": "#0072b2",
        "dc2b": "#009e73",
        "lsb": "#cc79a7",
        "logrank": "#56b4e9",
        "mmr": "#7a5c00",
        "epsilon-greedy": "#7b3fa0",
        "linucb": "#5f9ea0",
        "comblinucb": "#444444",
        "comblints": "#777777",
        "popular": "#a0522d",
        "uniform": "#999999",
    }
)

#: Curves with more points than this are thinned, to keep files small.
MAX_POINTS: Final = 250

_STYLE: Final[dict[Any, Any]] = {
    "font.size": 10.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 10.0,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "legend.fontsize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.edgecolor": "#666666",
    "svg.hashsalt": "variegate",  # makes the output deterministic
}


@dataclass(frozen=True, eq=False)
class Curve:
    """One method's mean over the rounds, and its standard error."""

    label: str
    colour: str
    mean: FloatArray
    error: FloatArray
    width: float = 1.6
    style: str = "-"
    #: Lower and upper ends of an interval, to draw in place of two standard errors
    ends: tuple[FloatArray, FloatArray] | None = None

    @property
    def end(self) -> float:
        """The last value of the mean."""
        return float(self.mean[-1])


def colour_of(policy: str) -> str:
    """Return the colour of a policy with any options; black for your own policies."""
    return COLOURS.get(policy.partition(":")[0], "#000000")


@contextmanager
def drawing_style() -> Iterator[None]:
    """Set the style for drawing and saving figures that are readable at half a page's width."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise MissingExtraError(
            "drawing needs matplotlib: pip install 'variegate[plots]'"
        ) from None
    with rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure without a window; sizes in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=200, layout="constrained")


def draw_curves(axes: "Axes", curves: Sequence[Curve]) -> None:
    """Draw each curve over the rounds, with a band of its interval or of two standard errors."""
    for curve in curves:
        step = max(len(curve.mean) // MAX_POINTS, 1)
        shown = np.r_[0 : len(curve.mean) - 1 : step, len(curve.mean) - 1]
        rounds, mean = shown + 1, curve.mean[shown]
        low, high = curve.ends or (curve.mean - 2.0 * curve.error, curve.mean + 2.0 * curve.error)
        axes.plot(
            rounds,
            mean,
            color=curve.colour,
            linewidth=curve.width,
            linestyle=curve.style,
            label=curve.label,
        )
        axes.fill_between(
            rounds, low[shown], high[shown], color=curve.colour, alpha=0.15, linewidth=0
        )


def regret_curves(
    names: Sequence[str], labels: Sequence[str], cumulative: FloatArray
) -> list[Curve]:
    """Return the mean over runs of cumulative regret, (policies, runs, rounds)."""
    curves = []
    for name, label, runs in zip(names, labels, cumulative, strict=True):
        spread = runs.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(runs.shape[1])
        error = spread / np.sqrt(len(runs))
        width = 2.6 if name == "lmdh" else 1.6
        short = label.partition(":")[0] + ")" if "(reconstructed:" in label else label
        curves.append(Curve(short, colour_of(name), runs.mean(axis=0), error, width))
    return curves


def draw_regret(simulation: Simulation, path: str | Path) -> None:
    """Draw the mean cumulative regret of each policy, with bands of two standard errors.

    If some policies end far below the others, a second panel zooms in on those.
    """
    curves = regret_curves(simulation.names, simulation.labels, simulation.cumulative())
    with drawing_style():
        low = low_curves(curves)
        figure = new_figure(9.6 if low else 6.0, 4.0)
        panels = figure.subplots(1, 2 if low else 1, squeeze=False)[0]
        draw_regret_panel(panels[0], curves, "all")
        panels[0].set_ylabel("cumulative regret")
        _label_ends(panels[0], [curve for curve in curves if curve not in low])
        if low:
            draw_regret_panel(panels[1], low, "zoomed in")
            _label_ends(panels[1], low)
        figure.suptitle(
            f"Cumulative regret: mean of {simulation.runs} simulated users, bands of two standard "
            "errors",
            fontsize=9.5,
        )
        figure.savefig(path)


def low_curves(curves: Sequence[Curve]) -> list[Curve]:
    """Return the curves that end below a third of the highest."""
    highest = max(curve.end for curve in curves)
    return [curve for curve in curves if curve.end < highest / 3.0]


def draw_regret_panel(axes: "Axes", curves: Sequence[Curve], title: str) -> None:
    """Draw cumulative regret over the lists shown."""
    draw_curves(axes, curves)
    axes.set(xlabel="lists shown", xlim=(0, len(curves[0].mean)))
    axes.set_ylim(bottom=0)
    axes.set_title(title, color="#555555")


def _label_ends(axes: "Axes", curves: Sequence[Curve]) -> None:
    """Write each label at the right end of its curve, with a minimum gap between labels."""
    bottom, top = axes.get_ylim()
    min_gap = 0.075 * (top - bottom)
    at = -np.inf
    for curve in sorted(curves, key=lambda curve: curve.end):
        at = max(curve.end, at + min_gap)
        axes.annotate(
            curve.label,
            xy=(1.0, at),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            color=curve.colour,
            va="center",
            fontsize=9,
            annotation_clip=False,
        )
