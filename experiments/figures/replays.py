"""Figures 1 to 4, and what else is seen of the replays."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.figures.drawing import (
    Picture,
    legend_below,
    method_curves,
    panels,
)
from experiments.names import (
    ABLATION,
    PAPER_METHODS,
    READINGS,
    dataset_title,
    method_title,
)
from experiments.results import Results
from variegate.evaluation.bootstrap import difference, mean_measure
from variegate.evaluation.plots import colour_of, draw_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The paper's methods, and DC2B at its strongest.
SHOWN: Final = (*PAPER_METHODS, "dc2b:intercept=true")
#: Where recall is held against diversity.
MOMENTS: Final = (5, 10, 30)

_BANDS: Final = "Bands: two standard errors, users drawn anew."


def draw_measure(measure: str, results: Results) -> "Figure":
    """Draw a measure over the rounds, one panel a data set."""
    return _over_rounds(results, SHOWN, measure, measure)


def draw_readings(results: Results) -> "Figure":
    """Draw the F1 of LMDH under each reading of the normaliser, and of C2UCB."""
    styles = {"growing": "-", "fixed": "--", "none": ":"}
    figure, row = panels(_titles(results), ylabel="F1")
    for axes, replays in zip(row, results.replays.values(), strict=True):
        for curve in method_curves(replays, ("c2ucb",), "F1"):
            draw_curves(axes, [curve])
        for reading, policy in READINGS.items():
            for curve in method_curves(replays, (policy,), "F1"):
                draw_curves(axes, [curve])
                axes.lines[-1].set(linestyle=styles[reading], linewidth=2.0)
                axes.lines[-1].set_label(f"LMDH, {reading}")
        axes.set_xlabel("round t")
    legend_below(figure)
    return figure


def draw_ablation(results: Results) -> "Figure":
    """Draw what exploring adds to recall, diversity and F1, with 95% intervals."""
    styles = {"recall": "-", "diversity": ":", "F1": "--"}
    # Measures are no methods: colours that no method has.
    shades = {"recall": "#111111", "diversity": "#6b7280", "F1": "#9d174d"}
    figure, row = panels(_titles(results), ylabel="LMDH less LMDH, α = 0")
    for axes, replays in zip(row, results.replays.values(), strict=True):
        axes.axhline(0.0, color="#333333", linewidth=0.8)
        axes.set_xlabel("round t")
        if not {"lmdh", ABLATION} <= set(replays):
            continue
        for measure, style in styles.items():
            found = difference(replays["lmdh"], replays[ABLATION], measure)
            rounds, shade = np.arange(1, len(found.mean) + 1), shades[measure]
            axes.plot(rounds, found.mean, style, color=shade, linewidth=1.8, label=measure)
            axes.fill_between(rounds, found.low, found.high, color=shade, alpha=0.15, linewidth=0)
    legend_below(figure)
    return figure


def draw_trade_off(results: Results) -> "Figure":
    """Draw recall against diversity as rounds go by, with a mark at t = 5, 10 and 30."""
    figure, row = panels(_titles(results), height=3.5, ylabel="diversity")
    for axes, replays in zip(row, results.replays.values(), strict=True):
        for policy in [policy for policy in SHOWN if policy in replays]:
            recall, spread = (mean_measure(replays[policy], m) for m in ("recall", "diversity"))
            _trace(axes, policy, recall, spread)
        axes.set_xlabel("recall")
    legend_below(figure)
    return figure


def draw_hits(results: Results) -> "Figure":
    """Draw the share of clicks at each position of the list, over all rounds."""
    figure, row = panels(_titles(results), ylabel="share of clicks")
    for axes, replays in zip(row, results.replays.values(), strict=True):
        for policy in [policy for policy in SHOWN if policy in replays]:
            hits = np.mean([scores.hits for scores in replays[policy]], axis=0)
            axes.plot(
                np.arange(1, len(hits) + 1),
                hits,
                "o-" if ":" not in policy else "o--",
                color=colour_of(policy),
                linewidth=2.0 if policy == "lmdh" else 1.2,
                markersize=3.2,
                label=method_title(policy),
            )
        axes.set_xlabel("position in the list")
        axes.set_ylim(bottom=0.0)
    legend_below(figure)
    return figure


def _trace(axes: "Axes", policy: str, recall: np.ndarray, diversity: np.ndarray) -> None:
    colour = colour_of(policy)
    style = "-" if ":" not in policy else "--"
    axes.plot(recall, diversity, style, color=colour, linewidth=1.0, alpha=0.6)
    for t, marker in zip(MOMENTS, "osD", strict=True):
        if t <= len(recall):
            axes.plot(
                recall[t - 1],
                diversity[t - 1],
                marker,
                color=colour,
                markersize=5.5,
                fillstyle="full" if ":" not in policy else "none",
                label=method_title(policy) if t == MOMENTS[0] else None,
            )


def _over_rounds(results: Results, policies: Sequence[str], measure: str, ylabel: str) -> "Figure":
    figure, row = panels(_titles(results), ylabel=ylabel)
    for axes, replays in zip(row, results.replays.values(), strict=True):
        draw_curves(axes, method_curves(replays, policies, measure))
        axes.set_xlabel("round t")
    legend_below(figure)
    return figure


def _titles(results: Results) -> list[str]:
    return [dataset_title(results, dataset) for dataset in results.replays]


def _replayed(results: Results) -> bool:
    return bool(results.replays)


#: By the name of the measure: number in this report, number in the paper.
_MEASURES: Final = {
    "recall": (1, "Figure 1"),
    "diversity": (2, "Figure 2"),
    "F1": (3, "Figure 3"),
    "F2": (4, "Figure 1 of the appendix"),
}
_MEANING: Final = {
    "recall": "the share of what a user likes that was shown by round t",
    "diversity": "the mean distance 1 - cos between the items of a list, mean of the lists so far",
    "F1": "recall and diversity weighing the same",
    "F2": "recall weighing twice as much as diversity",
}

MEASURES: Final = tuple(
    Picture(
        f"figure-{number}-{measure.lower()}",
        f"Figure {number}. {measure[0].upper()}{measure[1:]} over the rounds",
        f"{_MEANING[measure][0].upper()}{_MEANING[measure][1:]} (the paper's {place}). {_BANDS} "
        "DC2B is a reconstruction; the dashed curve is its variant with an intercept.",
        partial(draw_measure, measure),
        _replayed,
    )
    for measure, (number, place) in _MEASURES.items()
)

BESIDE: Final = (
    Picture(
        "trade-off",
        "Recall against diversity",
        "Each curve runs from round 1 to the last; marks at t = 5 (circle), 10 (square) and 30 "
        "(diamond). Up and to the right is better.",
        draw_trade_off,
        _replayed,
    ),
    Picture(
        "readings",
        "F1 under the three readings of the normaliser",
        f"LMDH with the distance divided by the pairs of the list so far (growing), of the whole "
        f"list (fixed), or by nothing (none), and C2UCB. {_BANDS}",
        draw_readings,
        _replayed,
    ),
    Picture(
        "ablation",
        "What exploring adds",
        "LMDH less LMDH that never explores (α = 0): above 0, exploring pays. Bands: paired 95% "
        "intervals.",
        draw_ablation,
        lambda results: any(ABLATION in replays for replays in results.replays.values()),
    ),
    Picture(
        "hits",
        "Clicks by position",
        "The share of clicks at each position of the list, over all users and rounds.",
        draw_hits,
        _replayed,
    ),
)
