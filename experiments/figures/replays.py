"""Figures of the replays on real data: the paper's Figures 1 to 4, and those beyond the paper."""

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.figures.drawing import (
    BANDS,
    ReportFigure,
    legend_below,
    line_style,
    method_curves,
    panels,
    zero_line,
)
from experiments.frontier import mean_points, moments, upper_hull
from experiments.methods import (
    ABLATIONS,
    ALL_BASELINES,
    DC2B_INTERCEPT,
    DEFAULT_SETTING,
    EASE,
    LMDH,
    LMDH_GREEDY,
    OURS,
    PAPER_METHODS,
    READINGS,
    method_title,
    sweep_title,
)
from experiments.results import PAPER_TABLE, Replays, Results, full_name
from variegate.evaluation.bootstrap import difference, mean_measure, standard_error
from variegate.evaluation.plots import Curve, colour_of, draw_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The rounds that are marked where recall is drawn against diversity.
MARKED_ROUNDS: Final = (5, 10, 30)
DEFAULT_LMDP: Final = "LMDP, default"

#: Colours of measures, which no method has.
_MEASURE_COLOURS: Final = {"recall": "#111111", "diversity": "#6b7280", "F1": "#9d174d"}


def draw_measure(measure: str, results: Results) -> "Figure":
    """Draw a measure over the rounds, one panel per data set."""
    figure, row = panels(_titles(results), ylabel=measure)
    for axes, replays in zip(row, results.replays.values(), strict=True):
        draw_curves(axes, method_curves(replays, PAPER_METHODS, measure))
        axes.set_xlabel("round t")
    legend_below(figure)
    return figure


def draw_settings(results: Results) -> "Figure":
    """Draw the F1 of LMDH over the rounds for each value of lambda and alpha."""
    from matplotlib import colormaps

    options = {"ridge": ("λ", 50.0), "exploration": ("α", 1.0)}
    found = {
        option: results.sensitivity[option] for option in options if option in results.sensitivity
    }
    figure, row = panels([options[o][0] for o in found], ylabel="F1", share_y=True, height=3.2)
    for axes, (option, by_value) in zip(row, found.items(), strict=True):
        (letter, papers), n = options[option], len(by_value)
        # Small to large values, light to dark; the paper's own setting is thick.
        shades = colormaps["viridis_r"]([0.12 + 0.88 * i / n for i in range(n)])
        for value, shade in zip(sorted(by_value), shades, strict=True):
            splits = by_value[value]
            mean, error = mean_measure(splits, "F1"), standard_error(splits, "F1")
            label = f"{letter} = {value:g}" + (" (the paper's)" if value == papers else "")
            width = 3.0 if value == papers else 1.5
            draw_curves(axes, [Curve(label, shade, mean, error, width)])
        axes.set_xlabel("round t")
        axes.legend(loc="lower right", frameon=True, framealpha=0.8, edgecolor="none")
    return figure


def draw_lengths(results: Results) -> "Figure":
    """Draw the F1 of the bandits over the rounds, one panel per length of the list."""
    lengths = sorted(results.lengths)
    figure, row = panels([f"|A| = {length}" for length in lengths], ylabel="F1", share_y=True)
    for axes, length in zip(row, lengths, strict=True):
        replays = results.lengths[length]
        draw_curves(axes, method_curves(replays, tuple(replays), "F1"))
        axes.set_xlabel("round t")
    legend_below(figure)
    return figure


def draw_readings(results: Results) -> "Figure":
    """Draw the F1 of LMDH under each reading of the normaliser, and of C2UCB."""
    styles = {"growing": "-", "fixed": "--", "none": ":"}
    figure, row = panels(_titles(results), ylabel="F1")
    for axes, replays in zip(row, results.replays.values(), strict=True):
        draw_curves(axes, method_curves(replays, ("c2ucb",), "F1"))
        for reading, policy in READINGS.items():
            for curve in method_curves(replays, (policy,), "F1"):
                draw_curves(axes, [curve])
                axes.lines[-1].set(linestyle=styles[reading], linewidth=2.0)
                axes.lines[-1].set_label(f"LMDH, {reading}")
        axes.set_xlabel("round t")
    legend_below(figure)
    return figure


def draw_exploration(results: Results) -> "Figure":
    """Draw what exploration adds to recall, diversity and F1, with 95% intervals."""
    styles = {"recall": "-", "diversity": ":", "F1": "--"}
    figure, row = panels(_titles(results), ylabel="LMDH minus LMDH, α = 0")
    for axes, replays in zip(row, results.replays.values(), strict=True):
        zero_line(axes)
        axes.set_xlabel("round t")
        if not {LMDH, LMDH_GREEDY} <= set(replays):
            continue
        for measure, style in styles.items():
            found = difference(replays[LMDH], replays[LMDH_GREEDY], measure)
            rounds, shade = np.arange(1, len(found.mean) + 1), _MEASURE_COLOURS[measure]
            axes.plot(rounds, found.mean, style, color=shade, linewidth=1.8, label=measure)
            axes.fill_between(rounds, found.low, found.high, color=shade, alpha=0.15, linewidth=0)
    legend_below(figure)
    return figure


def draw_trade_off(results: Results) -> "Figure":
    """Draw recall against diversity as rounds go by, with marks at three rounds."""
    figure, row = panels(_titles(results), height=3.5, ylabel="diversity")
    for axes, replays in zip(row, results.replays.values(), strict=True):
        for policy in [policy for policy in PAPER_METHODS if policy in replays]:
            recall, diversity = (mean_measure(replays[policy], m) for m in ("recall", "diversity"))
            colour, style = colour_of(policy), line_style(policy)
            axes.plot(recall, diversity, style, color=colour, linewidth=1.0, alpha=0.6)
            for t, marker in zip(MARKED_ROUNDS, "osD", strict=True):
                if t <= len(recall):
                    axes.plot(
                        recall[t - 1],
                        diversity[t - 1],
                        marker,
                        color=colour,
                        markersize=5.5,
                        fillstyle="full" if style == "-" else "none",
                        label=method_title(policy) if t == MARKED_ROUNDS[0] else None,
                    )
        axes.set_xlabel("recall")
    legend_below(figure)
    return figure


def draw_hits(results: Results) -> "Figure":
    """Draw the share of clicks at each position of the list, over all rounds."""
    figure, row = panels(_titles(results), ylabel="share of clicks")
    for axes, replays in zip(row, results.replays.values(), strict=True):
        for policy in [policy for policy in PAPER_METHODS if policy in replays]:
            hits = np.mean([scores.hits for scores in replays[policy]], axis=0)
            axes.plot(
                np.arange(1, len(hits) + 1),
                hits,
                f"o{line_style(policy)}",
                color=colour_of(policy),
                linewidth=2.0 if policy == LMDH else 1.2,
                markersize=3.2,
                label=method_title(policy),
            )
        axes.set_xlabel("position in the list")
        axes.set_ylim(bottom=0.0)
    legend_below(figure)
    return figure


def draw_beyond_measure(measure: str, results: Results) -> "Figure":
    """Draw a measure of our learner and the others over the rounds, one panel per data set."""
    figure, row = panels(_titles(results, beyond=True), ylabel=measure)
    leading = (LMDH, OURS)
    for axes, replays in zip(row, results.beyond.replays.values(), strict=True):
        curves = method_curves(
            replays, (*ALL_BASELINES, *leading), measure, leading=leading, widths=(1.2, 2.6)
        )
        draw_curves(axes, curves)
        axes.set_xlabel("round t")
    legend_below(figure, columns=2 if len(row) == 1 else 3, first=("LMDP", "LMDH"))
    return figure


def draw_ablations(results: Results) -> "Figure":
    """Draw how far our learner and its ablations are ahead of LMDH, mean over the rounds."""
    figure, row = panels(_titles(results, beyond=True), height=3.4, share_y=True)
    marks = {"F1": ("o", "#111111", -0.14), "F2": ("s", "#9d174d", 0.14)}
    shown = {OURS: "LMDP", **{method.key: method.title for method in ABLATIONS}}
    for axes, replays in zip(row, results.beyond.replays.values(), strict=True):
        axes.axvline(0.0, color="#333333", linewidth=0.8)
        for place, key in enumerate(shown):
            if not {key, LMDH} <= set(replays):
                continue
            for measure, (mark, shade, offset) in marks.items():
                mean, low, high = difference(replays[key], replays[LMDH], measure).overall
                at, label = place + offset, f"{measure}, mean over the rounds"
                axes.plot([low, high], [at, at], color=shade, linewidth=1.6)
                axes.plot(
                    mean, at, mark, color=shade, markersize=4.5, label=None if place else label
                )
        axes.set_yticks(range(len(shown)), list(shown.values()))
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlabel("minus LMDH’s")
        axes.locator_params(axis="x", nbins=3)
    legend_below(figure)
    return figure


#: Settings are ordered by diversity: a larger fall is where another sweep begins.
NEXT_SWEEP: Final = 0.2


def draw_frontier(dataset: str, results: Results) -> "Figure":
    """Draw every setting of every method on one data set, one panel per round."""
    frontier = results.beyond.frontier[dataset]
    rounds = moments(frontier)
    figure, row = panels([f"t = {t}" for t in rounds], height=5.0, ylabel="recall")
    for axes, moment in zip(row, rounds, strict=True):
        for method in sorted(frontier, key=lambda name: (name == OURS, name == LMDH)):
            _draw_settings_of(axes, method, frontier[method], moment)
        axes.set_xlabel("diversity")
        axes.locator_params(axis="x", nbins=4)
        axes.set_ylim(bottom=0.0)
    legend_below(figure, columns=2, first=(DEFAULT_LMDP, *map(sweep_title, (OURS, LMDH))))
    return figure


def _draw_settings_of(axes: "Axes", method: str, settings: Replays, moment: int) -> None:
    colour = colour_of(method)
    mark = {EASE: "^", DC2B_INTERCEPT: "s"}.get(method, "o")
    diversity, recall = mean_points(settings, moment)
    if method == OURS:
        xs, ys = upper_hull(diversity, recall)
        left = min(axes.get_xlim()[0], float(diversity.min()))
        axes.fill_between([left, *xs], 0.0, [ys[0], *ys], color=colour, alpha=0.05, linewidth=0)
        axes.plot([left, *xs], [ys[0], *ys], color=colour, linewidth=0.8, linestyle=":")
        if DEFAULT_SETTING in settings:
            at = list(settings).index(DEFAULT_SETTING)
            axes.plot(
                diversity[at],
                recall[at],
                "*",
                color=colour,
                markersize=13,
                label=DEFAULT_LMDP,
                linestyle="none",
            )
            diversity, recall = np.delete(diversity, at), np.delete(recall, at)
    leading = method in (OURS, LMDH)
    # EASE is swept once for each of its regularisations: no line from one to the next.
    ends = np.flatnonzero(np.diff(diversity) < -NEXT_SWEEP) + 1
    axes.plot(
        np.insert(diversity, ends, np.nan),
        np.insert(recall, ends, np.nan),
        mark,
        linestyle=("--" if mark != "o" else "-") if len(recall) > 1 else "none",
        color=colour,
        linewidth=2.2 if leading else 1.1,
        markersize=4.5 if leading else 3.5,
        fillstyle="full" if mark == "o" else "none",
        label=sweep_title(method),
    )


def draw_distances(results: Results) -> "Figure":
    """Draw diversity by each distance over the rounds, for each learner."""
    styles = {"cosine": ("#0072b2", "--"), "genres": ("#009e73", ":")}
    found = results.beyond.distances
    names = () if found is None else found.names
    figure, row = panels([f"diversity by {name}" for name in names], ylabel="diversity")
    for place, axes in enumerate(row):
        for known, splits in ({} if found is None else found.scores).items():
            colour, style = styles.get(known, ("#111111", "-"))
            mean = np.mean([scores.diversity[place].mean(axis=0) for scores in splits], axis=0)
            rounds, label = np.arange(1, len(mean) + 1), f"LMDP with {known}"
            axes.plot(rounds, mean, color=colour, linestyle=style, linewidth=1.8, label=label)
        axes.set_xlabel("round t")
    legend_below(figure, columns=3)
    return figure


def _titles(results: Results, *, beyond: bool = False) -> list[str]:
    replays = results.beyond.replays if beyond else results.replays
    return [results.dataset_title(dataset) for dataset in replays]


def _replayed(results: Results) -> bool:
    return bool(results.replays)


def _beyond_replayed(results: Results) -> bool:
    return bool(results.beyond.replays)


def _has_frontier(dataset: str, results: Results) -> bool:
    return bool(moments(results.beyond.frontier.get(dataset, {})))


def _measure_figures() -> tuple[ReportFigure, ...]:
    """The paper's Figures 1 to 3, and that of its appendix."""
    captions = {
        "recall": "The share of what a user likes that was shown by round t (the paper's Figure 1)",
        "diversity": "The mean distance 1 - cos between the items of a list, mean of the lists so "
        "far (the paper's Figure 2)",
        "F1": "Recall and diversity with equal weights (the paper's Figure 3)",
        "F2": "Recall with twice the weight of diversity (the paper's Figure 1 of the appendix)",
    }
    return tuple(
        ReportFigure(
            f"figure-{number}-{measure.lower()}",
            f"Figure {number}. {measure[0].upper()}{measure[1:]} over the rounds",
            f"{caption}. {BANDS} DC2B is a reconstruction; the dashed curve is its variant with an "
            "intercept.",
            partial(draw_measure, measure),
            _replayed,
        )
        for number, (measure, caption) in enumerate(captions.items(), start=1)
    )


#: The paper's figures of replays.
PAPER_REPLAYS: Final = (
    *_measure_figures(),
    ReportFigure(
        "figure-5-settings",
        "Figure 5. F1 for values of λ and α",
        "LMDH on MovieLens-100K (the paper's Figure 4, a and b); the paper's settings are drawn "
        f"thick. {BANDS}",
        draw_settings,
        lambda results: any(results.sensitivity.values()),
    ),
    ReportFigure(
        "figure-5-lengths",
        "Figure 5, continued. F1 for lists of other lengths",
        f"The bandits on MovieLens-100K (the paper's Figure 4, c). {BANDS}",
        draw_lengths,
        lambda results: bool(results.lengths),
    ),
)
#: Figures of the same replays that the paper does not have.
MORE_REPLAYS: Final = (
    ReportFigure(
        "trade-off",
        "Recall against diversity",
        "Each curve runs from round 1 to the last; marks at t = 5 (circle), 10 (square) and 30 "
        "(diamond). Up and to the right is better.",
        draw_trade_off,
        _replayed,
    ),
    ReportFigure(
        "readings",
        "F1 under the three readings of the normaliser",
        f"LMDH with the distance divided by the pairs of the list so far (growing), of the whole "
        f"list (fixed), or by nothing (none), and C2UCB. {BANDS}",
        draw_readings,
        _replayed,
    ),
    ReportFigure(
        "ablation",
        "What exploration adds",
        "LMDH minus LMDH without exploration (α = 0): above 0, exploration pays. Bands: paired 95% "
        "intervals.",
        draw_exploration,
        lambda results: any(LMDH_GREEDY in replays for replays in results.replays.values()),
    ),
    ReportFigure(
        "hits",
        "Clicks by position",
        "The share of clicks at each position of the list, over all users and rounds.",
        draw_hits,
        _replayed,
    ),
)
#: Figures of the replays beyond the paper.
BEYOND_REPLAYS: Final = (
    *(
        ReportFigure(
            f"beyond-{measure.lower()}",
            f"{measure} over the rounds, beyond the paper",
            f"LMDP (black) and LMDH (thick) beside the paper's other methods. {BANDS} DC2B is a "
            "reconstruction; the dashed curve is its variant with an intercept.",
            partial(draw_beyond_measure, measure),
            _beyond_replayed,
        )
        for measure in ("F1", "F2")
    ),
    ReportFigure(
        "beyond-parts",
        "What each part adds",
        "How far F1 and F2 are ahead of LMDH's, mean over the rounds, with paired 95% intervals. "
        "Below LMDP: LMDP without one part, or with other settings.",
        draw_ablations,
        _beyond_replayed,
    ),
    *(
        ReportFigure(
            f"beyond-frontier-{dataset}",
            f"Recall against diversity of every setting, {full_name(dataset)}",
            "Every mark is one setting of a method; up and to the right is better. The shaded "
            "region is what LMDP reaches by its weight of diversity; the star is its default. LMDP "
            "and EASE are means of all splits, the other methods of the first two.",
            partial(draw_frontier, dataset),
            partial(_has_frontier, dataset),
        )
        for dataset in PAPER_TABLE
    ),
    ReportFigure(
        "beyond-distances",
        "Two distances at once",
        "Diversity between embeddings and between genres on MovieLens-100K, for a learner with one "
        "distance or with both.",
        draw_distances,
        lambda results: results.beyond.distances is not None,
    ),
)
