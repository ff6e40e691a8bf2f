"""The page's plots, readable at half a page's width."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.bench_growth import NAMES
from benchmarks.bench_lists import EXPERT, PAPER
from benchmarks.results import Comparison, Growth, Part, Results
from variegate.evaluation.plots import colour_of, drawing_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What each plot shows, by the name of its file.
CAPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ratios": "How many times as fast as each of the others, one core, 10% to 90% of the"
        " turns as a line",
        "growth": "Seconds of one list along L, d, K and m, both axes logarithmic, with the"
        " exponents of the fitted power laws",
        "baselines": "One list by each policy's own loops and by its NumPy reference",
    }
)
OURS: Final = colour_of("lmdh")
THEIRS: Final = colour_of("c2ucb")


def draw_plots(results: Results, folder: Path) -> list[str]:
    """Draw what the results have numbers for; return the names of the plots."""
    drawn = []
    compared = _headlines(results)
    with drawing_style():
        if compared:
            _draw_ratios(compared, folder / "ratios.png")
            drawn.append("ratios")
        growths = results.part("growth").growths
        if growths:
            _draw_growths(growths, folder / "growth.png")
            drawn.append("growth")
        baselines = results.part("baselines")
        if baselines.comparisons:
            _draw_baselines(baselines, folder / "baselines.png")
            drawn.append("baselines")
    return drawn


def _headlines(results: Results) -> list[tuple[str, Comparison]]:
    """The comparisons that the first plot shows, with what to call them."""
    found = [
        (f"expert's NumPy, L = {row.shape.items:,}, d = {row.shape.d}", row)
        for row in results.part("lists").of(EXPERT)
    ]
    found += [
        (f"paper's replay, {row.job}", row) for row in results.part("replay").of(PAPER, "replay")
    ]
    found += [
        (f"{row.other}, L = {row.shape.items:,}", row)
        for name in ("rerankers", "peers")
        for row in results.part(name).of_task("list")
    ]
    return found


def _draw_ratios(compared: list[tuple[str, Comparison]], path: Path) -> None:
    from matplotlib.patches import Patch

    figure = new_figure(6.4, 1.1 + 0.26 * len(compared))
    axes = figure.subplots()
    places = np.arange(len(compared))[::-1]
    for place, (_label, row) in zip(places, compared, strict=True):
        _draw_ratio(axes, float(place), row)
    rows = [row for _label, row in compared]
    axes.set_xscale("log")
    axes.set_xlim(min(1.0, 0.8 * min(row.low for row in rows)), 2.5 * max(row.high for row in rows))
    axes.xaxis.set_major_formatter(lambda value, _place: f"{value:,g}×")
    axes.set_yticks(places, [label for label, _row in compared])
    axes.set_ylim(-0.7, len(compared) - 0.3)
    axes.set_xlabel("times as fast")
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    keys = {"the same job": OURS, "the nearest job it can do": THEIRS}
    handles = [Patch(color=colour, label=label) for label, colour in keys.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path)


def _draw_ratio(axes: "Axes", place: float, row: Comparison) -> None:
    axes.barh(place, row.ratio, color=OURS if row.other == PAPER else THEIRS, height=0.62)
    axes.plot([row.low, row.high], [place, place], color="#222222", linewidth=1.2)
    axes.annotate(
        f"{row.ratio:,.0f}×" if row.ratio >= 10 else f"{row.ratio:.1f}×",
        (max(row.high, row.ratio), place),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
    )


def _draw_growths(growths: list[Growth], path: Path) -> None:
    rows = -(-len(growths) // 2)
    figure = new_figure(7.2, 2.4 * rows + 0.4)
    panels = figure.subplots(rows, 2, squeeze=False).ravel()
    for axes, growth in zip(panels, growths, strict=False):
        _draw_growth(axes, growth)
    for axes in panels[len(growths) :]:
        axes.set_visible(False)
    for axes in panels[::2]:
        axes.set_ylabel("one list")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path)


def _draw_growth(axes: "Axes", growth: Growth) -> None:
    letter = NAMES[growth.along][0][-1]
    sides = (
        ("paper's lines in NumPy", growth.theirs, growth.theirs_exponent, THEIRS, 7),
        ("variegate", growth.ours, growth.ours_exponent, OURS, -14),
    )
    for label, seconds, exponent, colour, above in sides:
        axes.loglog(growth.values, seconds, color=colour, marker="o", markersize=3.5, label=label)
        middle = len(seconds) // 2
        axes.annotate(
            f"${letter}^{{{exponent:.2f}}}$",
            (growth.values[middle], seconds[middle]),
            xytext=(-4 if above > 0 else 4, above),
            textcoords="offset points",
            ha="right" if above > 0 else "left",
            color=colour,
            fontsize=11,
        )
    axes.margins(y=0.14)
    axes.set_xticks(growth.values, [_short(value) for value in growth.values])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter(_duration)
    axes.set_title(NAMES[growth.along][0])
    _grid(axes)


def _draw_baselines(part: Part, path: Path) -> None:
    rows = sorted(part.comparisons, key=lambda row: row.theirs)
    figure = new_figure(6.4, 0.9 + 0.26 * len(rows))
    axes = figure.subplots()
    for place, row in enumerate(rows):
        axes.plot([row.ours, row.theirs], [place, place], color="#cccccc", linewidth=2, zorder=1)
        axes.scatter(row.theirs, place, color=THEIRS, s=28, label="NumPy reference", zorder=2)
        axes.scatter(row.ours, place, color=OURS, s=28, label="variegate", zorder=3)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(_duration)
    axes.set_yticks(range(len(rows)), [row.other for row in rows])
    axes.set_xlabel(f"a list of 10 from {rows[0].shape.items:,} items")
    _grid(axes)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[:2], labels[:2], frameon=False, loc="lower right", fontsize=9)
    figure.savefig(path)


def _grid(axes: "Axes") -> None:
    axes.grid(color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)


def _short(value: float) -> str:
    """Return 3k for 3,000 and 1M for a million."""
    for mark, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:g}{mark}"
    return f"{value:g}"


def _duration(seconds: float, _place: object) -> str:
    """Return a tick's seconds in the unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= 0.999 * size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds / 1e-6:g} µs"
