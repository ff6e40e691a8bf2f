"""F1 and F2 of our learner over the rounds, beside the paper's methods, and what each part adds."""

from functools import partial
from typing import TYPE_CHECKING, Final

from experiments.beyond.methods import (
    BASELINES,
    C2UCB_WITH_PRIOR,
    OURS,
    PAPERS,
    PARTS,
    SAMPLED,
)
from experiments.beyond.results import Chapter
from experiments.figures.drawing import Picture, legend_below, panels
from experiments.names import dataset_title, method_title
from experiments.results import Results
from variegate.evaluation.bootstrap import difference, mean_measure, standard_error
from variegate.evaluation.plots import Curve, colour_of, draw_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: From the back to the front.
SHOWN: Final = (*BASELINES, PAPERS, OURS)
#: What the ablation shows, from top to bottom.
COMPARED: Final = (*PARTS, *SAMPLED, C2UCB_WITH_PRIOR)

_MARKS: Final = {"F1": "o", "F2": "s"}
_SHADES: Final = {"F1": "#111111", "F2": "#9d174d"}


def draw_measure(measure: str, results: Results) -> "Figure":
    """Draw a measure over the rounds, one panel a data set."""
    chapter = chapter_of(results)
    figure, row = panels(_titles(results, chapter), ylabel=measure)
    for axes, replays in zip(row, chapter.replays.values(), strict=True):
        curves = [
            Curve(
                method_title(policy),
                colour_of(policy),
                mean_measure(replays[policy], measure),
                standard_error(replays[policy], measure),
                width=2.6 if policy in (OURS, PAPERS) else 1.2,
                style="-" if ":" not in policy else "--",
            )
            for policy in SHOWN
            if policy in replays
        ]
        draw_curves(axes, curves)
        axes.set_xlabel("round t")
    legend_below(figure, columns=2 if len(row) == 1 else 3, first=("LMDP", "LMDH"))
    return figure


def draw_parts(results: Results) -> "Figure":
    """Draw how far our learner and its parts are ahead of LMDH, mean over the rounds."""
    chapter = chapter_of(results)
    figure, row = panels(_titles(results, chapter), height=3.4, share_y=True)
    shown = [(OURS, "LMDP"), *((method.key, method.title) for method in COMPARED)]
    for axes, replays in zip(row, chapter.replays.values(), strict=True):
        axes.axvline(0.0, color="#333333", linewidth=0.8)
        for place, (key, _) in enumerate(shown):
            if {key, PAPERS} <= set(replays):
                _interval(
                    axes,
                    place,
                    {m: difference(replays[key], replays[PAPERS], m).overall for m in _MARKS},
                )
        axes.set_yticks(range(len(shown)), [title for _, title in shown])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlabel("less LMDH’s")
        axes.locator_params(axis="x", nbins=3)
    legend_below(figure)
    return figure


def chapter_of(results: Results) -> Chapter:
    """Return the chapter, an empty one if it was not measured."""
    return Chapter({}, {}) if results.beyond is None else results.beyond


def _interval(axes: "Axes", place: int, found: dict[str, tuple[float, float, float]]) -> None:
    for offset, (measure, (mean, low, high)) in zip((-0.14, 0.14), found.items(), strict=True):
        shade = _SHADES[measure]
        axes.plot([low, high], [place + offset] * 2, color=shade, linewidth=1.6)
        axes.plot(
            mean,
            place + offset,
            _MARKS[measure],
            color=shade,
            markersize=4.5,
            label=f"{measure}, mean over the rounds" if place == 0 else None,
        )


def _titles(results: Results, chapter: Chapter) -> list[str]:
    return [dataset_title(results, dataset) for dataset in chapter.replays]


def _is_there(results: Results) -> bool:
    return bool(chapter_of(results).replays)


_BANDS: Final = "Bands: two standard errors, users drawn anew."

ROUNDS: Final = (
    *(
        Picture(
            f"beyond-{measure.lower()}",
            f"{measure} over the rounds, beyond the paper",
            f"LMDP (black) and LMDH (thick) beside the paper's other methods. {_BANDS} DC2B is a "
            "reconstruction; the dashed curve is its variant with an intercept.",
            partial(draw_measure, measure),
            _is_there,
        )
        for measure in _MARKS
    ),
    Picture(
        "beyond-parts",
        "What each part adds",
        "How far F1 and F2 are ahead of LMDH's, mean over the rounds, with paired 95% intervals. "
        "Below LMDP stand its parts alone, without its floor, without exploring, drawn from the "
        "posterior in place of an upper bound, and C2UCB that begins at the same prior.",
        draw_parts,
        _is_there,
    ),
)
