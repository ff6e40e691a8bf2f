"""Pictures of results, each method in one colour everywhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import MissingExtraError
from variegate.evaluation.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Okabe and Ito's colours, which the colour-blind can tell apart; LMDH stands out.
COLOURS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "lmdh": "#d55e00",
        "lmdh-greedy": "#e69f00",
        "c2ucb": "#0072b2",
        "dc2b": "#009e73",
        "lsb": "#cc79a7",
        "logrank": "#56b4e9",
        "mmr": "#7a5c00",
        "epsilon-greedy": "#8c8cd9",
        "linucb": "#5f9ea0",
        "comblinucb": "#444444",
        "comblints": "#777777",
        "popular": "#a0522d",
        "uniform": "#999999",
    }
)


@dataclass(frozen=True)
class _Curve:
    """One policy's mean cumulative regret and its standard error, over the rounds."""

    label: str
    colour: str
    width: float
    mean: FloatArray
    error: FloatArray

    @property
    def end(self) -> float:
        return float(self.mean[-1])


def draw_regret(simulation: Simulation, path: str | Path) -> None:
    """Draw the mean cumulative regret of each policy, with bands of two standard errors.

    Where some policies end far below the others, a second panel shows those closer up.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "drawing needs matplotlib: pip install 'variegate[plots]'"
        ) from None
    curves = _curves(simulation)
    highest = max(curve.end for curve in curves)
    low = [curve for curve in curves if curve.end < highest / 3.0]
    high = [curve for curve in curves if curve not in low]
    figure = Figure(figsize=(9.6 if low else 6.0, 4.0), dpi=160, layout="constrained")
    panels = figure.subplots(1, 2 if low else 1, squeeze=False)[0]
    _draw_panel(panels[0], curves, high, "all")
    panels[0].set_ylabel("cumulative regret")
    if low:
        _draw_panel(panels[1], low, low, "closer up")
    figure.suptitle(
        f"How far the lists fall short of the best: mean of {simulation.runs} simulated users, "
        "bands of two standard errors",
        fontsize=9.5,
    )
    figure.savefig(path)


def _curves(simulation: Simulation) -> list[_Curve]:
    curves = []
    for name, label, runs in zip(
        simulation.names, simulation.labels, simulation.cumulative(), strict=True
    ):
        spread = runs.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(simulation.rounds)
        curves.append(
            _Curve(
                label.split(" (reconstructed")[0],
                COLOURS.get(name, "#000000"),
                2.6 if name == "lmdh" else 1.6,
                runs.mean(axis=0),
                spread / np.sqrt(len(runs)),
            )
        )
    return curves


def _draw_panel(axes: "Axes", curves: list[_Curve], labelled: list[_Curve], title: str) -> None:
    for curve in curves:
        rounds, band = np.arange(1, len(curve.mean) + 1), 2.0 * curve.error
        axes.plot(rounds, curve.mean, color=curve.colour, linewidth=curve.width)
        low, high = curve.mean - band, curve.mean + band
        axes.fill_between(rounds, low, high, color=curve.colour, alpha=0.13, linewidth=0)
    axes.set(xlabel="lists shown", xlim=(0, len(curves[0].mean)))
    axes.set_ylim(bottom=0)
    axes.set_title(title, fontsize=9, loc="left", color="#555555")
    axes.spines[["top", "right"]].set_visible(False)
    _label_ends(axes, labelled)


def _label_ends(axes: "Axes", curves: list[_Curve]) -> None:
    """Write each label at the right end of its curve, pushed apart where they would touch."""
    least = 0.06 * (axes.get_ylim()[1] - axes.get_ylim()[0])
    at = -np.inf
    for curve in sorted(curves, key=lambda curve: curve.end):
        at = max(curve.end, at + least)
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
