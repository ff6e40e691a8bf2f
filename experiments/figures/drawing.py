"""What the report's figures share: panels side by side, one legend below, the mark of quick."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from experiments.names import method_title
from experiments.results import Results
from variegate.errors import DataError
from variegate.evaluation.bootstrap import mean_measure, standard_error
from variegate.evaluation.metrics import Scores
from variegate.evaluation.plots import Curve, colour_of, drawing_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches. At this width, text of 10 points is read at half a page's width too.
WIDTH: Final = 7.2
#: Every figure is written as each of these.
FORMATS: Final = ("png", "svg")
QUICK: Final = "quick run: few users, wide bands"

#: What would make two files of the same picture differ.
_UNDATED: Final[Mapping[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}}

#: From results to a drawn figure.
Draw: TypeAlias = "Callable[[Results], Figure]"


@dataclass(frozen=True)
class Picture:
    """A figure of the report: its file, what it shows and how it is drawn."""

    #: The name of its files, without ending
    name: str
    title: str
    caption: str
    draw: Draw
    #: Whether the results hold what it needs
    is_there: Callable[[Results], bool] = lambda _results: True

    def save(self, results: Results, folder: Path, formats: Sequence[str] = FORMATS) -> None:
        """Draw it and write it in each of the formats."""
        with drawing_style():
            figure = self.draw(results)
            if results.quick:
                figure.suptitle(
                    QUICK, x=0.995, ha="right", fontsize=9, color="#b00020", fontweight="bold"
                )
            try:
                for kind in formats:
                    figure.savefig(folder / f"{self.name}.{kind}", metadata=_UNDATED[kind])
            except OSError as error:
                raise DataError(f"{folder}: cannot be written: {error.strerror}") from None


def panels(
    titles: Sequence[str], *, height: float = 3.1, ylabel: str = "", share_y: bool = False
) -> "tuple[Figure, list[Axes]]":
    """Return a figure of panels side by side, each under its title."""
    figure = new_figure(WIDTH if len(titles) > 1 else 0.7 * WIDTH, height)
    row = list(figure.subplots(1, len(titles), squeeze=False, sharey=share_y)[0])
    for axes, title in zip(row, titles, strict=True):
        axes.set_title(title)
        axes.locator_params(nbins=5)
        axes.grid(color="#e6e6e6", linewidth=0.6)
        axes.set_axisbelow(True)
    row[0].set_ylabel(ylabel)
    return figure, row


def legend_below(figure: "Figure", *, columns: int = 4, first: Sequence[str] = ("LMDH",)) -> None:
    """Put one legend for all panels below them, where it hides nothing; `first` labels lead."""
    found = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    # Our own method first, wherever it was drawn.
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
    replays: Mapping[str, Sequence[Scores]], policies: Sequence[str], measure: str
) -> list[Curve]:
    """Return a measure over the rounds for each of the policies that was replayed."""
    return [
        Curve(
            method_title(policy),
            colour_of(policy),
            mean_measure(replays[policy], measure),
            standard_error(replays[policy], measure),
            width=2.4 if policy == "lmdh" else 1.5,
            style="-" if ":" not in policy else "--",
        )
        # LMDH last, so that no other curve covers it.
        for policy in sorted(policies, key=lambda policy: policy == "lmdh")
        if policy in replays
    ]
