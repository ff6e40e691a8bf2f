"""What the simulated experiments found, whose truth is known."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.beyond.figures.rounds import chapter_of
from experiments.beyond.simulated import Attention, Distances, Drift, PriorGain
from experiments.beyond.simulated.beginning import LEARNERS as BEGINNINGS
from experiments.beyond.simulated.beginning import TITLES
from experiments.beyond.simulated.caring import BETA
from experiments.beyond.simulated.caring import LEARNERS as KNOWN
from experiments.beyond.simulated.drifting import KINDS, LEARNERS
from experiments.beyond.simulated.looking import USERS
from experiments.beyond.simulated.world import Interval, interval
from experiments.figures.drawing import WIDTH, Picture, legend_below, panels
from experiments.names import method_title
from experiments.results import Results
from variegate.arrays import FloatArray
from variegate.evaluation.plots import colour_of, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: A learner that is told the truth, and one that is not; neither is a method of its own.
_RIGHT, _WRONG = "#111111", "#9d174d"
_OF_BEST: Final = "share of the best clicks"
_TITLES: Final = {"cascade": "stop at the first click", "examined": "look here and there"}
_KNOWN: Final = {
    "all": ("all three distances", _RIGHT, "-"),
    "average": ("their average", "#0072b2", "-"),
    "told": ("only the right one", "#009e73", "--"),
    "none": ("no distance", "#777777", ":"),
}
_BEGUN: Final = {
    "lmdh": (colour_of("lmdh"), "-"),
    "lmdh tuned": (colour_of("lmdh-greedy"), "--"),
    "lmdp guessed": ("#56b4e9", "-"),
    "lmdp fitted": (_RIGHT, "-"),
    "lmdp true": ("#009e73", "--"),
    "lmdt fitted": (colour_of("lmdt"), "-."),
}


def draw_drift(results: Results) -> "Figure":
    """Draw what forgetting adds where tastes stay, wander and jump, and how lists follow."""
    found: Drift = _found(results, "drift")
    figure, grid = _grid(2, 3, 5.4, list(KINDS.values()))
    gains, remembered = found.gains(), np.arange(float(len(found.forgetting)))
    for kind in range(len(KINDS)):
        for row, learner in enumerate(LEARNERS):
            part = Interval(*(100 * a[kind, row] for a in (gains.mean, gains.low, gains.high)))
            _points(grid[0][kind], remembered + 0.16 * (row - 0.5), part, learner)
        grid[0][kind].axhline(0.0, color="#333333", linewidth=0.8)
        grid[0][kind].set_xticks(remembered, [f"{f:g}" for f in found.forgetting])
        grid[0][kind].set_xlabel("forgetting")
        _draw_following(grid[1][kind], found, kind)
    grid[0][0].set_ylabel("clicks won, in % of the best")
    grid[1][0].set_ylabel(_OF_BEST)
    for line in grid:
        _same_height(line)
    legend_below(figure, columns=5, first=tuple(map(method_title, LEARNERS)))
    return figure


def draw_attention(results: Results) -> "Figure":
    """Draw how wrong eta is, and which way, for learners that know where users look or not."""
    found: Attention = _found(results, "attention")
    figure, grid = _grid(2, 2, 5.2, [f"users {_TITLES[user]}" for user in USERS])
    distances, bias = found.distances(), found.bias()
    shares = interval(found.shares())
    for user, axes in enumerate(grid[0]):
        for learner, (name, shade) in enumerate(_told().items()):
            _band(axes, distances[:, user, learner], name, shade, "-", every=1)
        axes.set(xlabel="random lists shown", ylim=(0.0, 1.5), ylabel="|η̂ − η| / |η|")
    for learner, shade in enumerate(_told().values()):
        at = np.arange(4.0) + 0.16 * (learner - 0.5)
        part = Interval(*(a[:, learner].ravel() for a in (bias.mean, bias.low, bias.high)))
        _bars(grid[1][0], at, part, shade)
        part = Interval(*(a[:, learner] for a in (shares.mean, shares.low, shares.high)))
        _bars(grid[1][1], at[:2], part, shade)
    grid[1][0].axhline(0.0, color="#333333", linewidth=0.8)
    grid[1][0].set_xticks(
        range(4), ["θ, stop", "β, stop", "θ, here\nand there", "β, here\nand there"]
    )
    grid[1][0].set_ylabel("mean of η̂ − η at the end")
    grid[1][0].set_title("bias, from random lists")
    grid[1][1].set_xticks(range(2), [_TITLES[user].replace(" at", "\nat") for user in USERS])
    grid[1][1].set(ylabel=_OF_BEST, xlim=(-0.6, 1.6))
    grid[1][1].set_title("lists of its own")
    legend_below(figure)
    return figure


def draw_several(results: Results) -> "Figure":
    """Draw whether the distance that a user cares for is found, and what it is worth."""
    found: Distances = _found(results, "distances")
    figure, (share, weights, clicks) = panels(
        ["the right one is ahead", "how much it weighs (β̂)", "clicks"]
    )
    _band(share, found.right(), "all three distances", _RIGHT, "-", every=5)
    share.axhline(1 / 3, color="#333333", linewidth=0.8, linestyle=":")
    share.annotate("by chance", (1.0, 1 / 3), (0, 3), **_NOTE)
    share.set(ylim=(0.0, 1.0), ylabel="share of users")
    beta = found.of_right_and_wrong()
    for column, (shade, name, truth) in enumerate(
        ((_RIGHT, "the one cared for", BETA), (_WRONG, "the others", 0.0))
    ):
        _band(weights, beta[:, :, column], None, shade, "-", every=1)
        weights.axhline(truth, color=shade, linewidth=0.8, linestyle=":")
        weights.annotate(name, (1.0, truth), (0, 3), **{**_NOTE, "color": shade})
    weights.set(ylim=(-0.15, 0.55), ylabel="weight, truth dotted")
    relative = found.earned / found.best[:, None, None]
    for row, known in enumerate(KNOWN):
        _band(clicks, relative[:, row], *_KNOWN[known], every=10)
    clicks.set_ylabel(_OF_BEST)
    for axes in (share, weights, clicks):
        axes.set_xlabel("lists shown")
    legend_below(figure)
    return figure


def draw_beginnings(results: Results) -> "Figure":
    """Draw the clicks of learners that begin with nothing, a guess, a fit and the truth."""
    found: PriorGain = _found(results, "prior")
    figure, (axes, first) = panels(["all lists", "the first ten"], ylabel=_OF_BEST, share_y=True)
    shares = found.shares()
    for row, learner in enumerate(BEGINNINGS):
        _band(axes, shares[:, row], TITLES[learner], *_BEGUN[learner], every=5)
        _band(first, shares[:, row, :10], TITLES[learner], *_BEGUN[learner], every=1)
    for panel in (axes, first):
        panel.set_xlabel("lists shown")
    legend_below(figure, columns=3)
    return figure


_NOTE: Final[dict[str, Any]] = {
    "xycoords": ("axes fraction", "data"),
    "textcoords": "offset points",
    "ha": "right",
    "fontsize": 9,
    "color": "#333333",
}


def _told() -> dict[str, str]:
    return {"knows where users look": _RIGHT, "takes all as seen": _WRONG}


def _draw_following(axes: "Axes", found: Drift, kind: int) -> None:
    """Draw the lists of LMDP over time, as it forgets more or less."""
    chosen = [place for place, f in enumerate(found.forgetting) if f in (0.95, 0.98, 1.0)]
    styles = dict(
        zip(chosen[::-1], (("-", "#999999"), ("-", "#111111"), ("--", "#0072b2")), strict=False)
    )
    for place in chosen:
        relative = found.earned[:, kind, -1, place] / found.best[:, kind]
        style, shade = styles[place]
        kept = found.forgetting[place]
        name = "LMDP, forgets nothing" if kept == 1.0 else f"LMDP, {kept:g}"
        _band(axes, relative, name, shade, style, every=15)
    axes.set_xlabel("lists shown")


def _band(
    axes: "Axes", runs: FloatArray, name: str | None, shade: str, style: str, *, every: int
) -> None:
    """Draw the mean over runs of stretches of `every` lists, with two standard errors."""
    rounds = runs.shape[1] // every * every
    stretches = runs[:, :rounds].reshape(len(runs), -1, every).mean(axis=2)
    at = np.arange(stretches.shape[1]) * every + (every + 1) / 2
    mean = stretches.mean(axis=0)
    error = stretches.std(axis=0, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else 0.0 * mean
    axes.plot(at, mean, color=shade, linestyle=style, linewidth=1.7, label=name)
    axes.fill_between(at, mean - 2 * error, mean + 2 * error, color=shade, alpha=0.13, linewidth=0)


def _points(axes: "Axes", at: FloatArray, part: Interval, learner: str) -> None:
    axes.errorbar(
        at,
        part.mean,
        yerr=[part.mean - part.low, part.high - part.mean],
        fmt="o-",
        color=colour_of(learner),
        markersize=4.5,
        linewidth=1.2,
        capsize=2.5,
        label=method_title(learner),
    )


def _bars(axes: "Axes", at: FloatArray, part: Interval, shade: str) -> None:
    yerr = [part.mean - part.low, part.high - part.mean]
    axes.errorbar(at, part.mean, yerr=yerr, fmt="o", color=shade, markersize=4.5, capsize=2.5)


def _grid(
    rows: int, columns: int, height: float, titles: list[str]
) -> "tuple[Figure, list[list[Axes]]]":
    figure = new_figure(WIDTH, height)
    grid = [list(line) for line in figure.subplots(rows, columns, squeeze=False)]
    for line in grid:
        for axes in line:
            axes.locator_params(nbins=5)
            axes.grid(color="#e6e6e6", linewidth=0.6)
            axes.set_axisbelow(True)
    for axes, title in zip(grid[0], titles, strict=True):
        axes.set_title(title)
    return figure, grid


def _same_height(line: "list[Axes]") -> None:
    limits = np.array([axes.get_ylim() for axes in line])
    for axes in line:
        axes.set_ylim(limits[:, 0].min(), limits[:, 1].max())
        if axes is not line[0]:
            axes.tick_params(labelleft=False)


def _found(results: Results, name: str) -> Any:
    return chapter_of(results).simulated[name]


def _has(name: str) -> Callable[[Results], bool]:
    return lambda results: name in chapter_of(results).simulated


_BANDS: Final = "Bands: two standard errors over simulated users."

SIMULATED: Final = (
    Picture(
        "beyond-drift",
        "Tastes that change",
        "Above: what forgetting wins over the same learner that forgets nothing, in percent of "
        "the clicks of one who knows the taste, with paired 95% intervals. Below: LMDP over "
        f"time. {_BANDS}",
        draw_drift,
        _has("drift"),
    ),
    Picture(
        "beyond-attention",
        "Users who do not look at all of a list",
        "Users who stop at their first click, and users who look at position i in one of i "
        "lists. Above: the error of what was learnt from random lists. Below: its bias, and the "
        "clicks that a learner's own lists would get if all were looked at, with 95% intervals.",
        draw_attention,
        _has("attention"),
    ),
    Picture(
        "beyond-several-distances",
        "Three distances, users who care for one",
        "How often the largest weight is the right one, the weights themselves, and what they "
        f"are worth beside LMDH with fewer distances. {_BANDS}",
        draw_several,
        _has("distances"),
    ),
    Picture(
        "beyond-beginnings",
        "What is known of others",
        "Users of three populations, met by learners that begin with nothing, with a guess, with a "
        f"prior fitted to what other users taught, and with the true one. {_BANDS}",
        draw_beginnings,
        _has("prior"),
    ),
)
