"""The figures of the report: the paper's own, and those beyond the paper."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from experiments.figures.drawing import ReportFigure
from experiments.figures.replays import BEYOND_REPLAYS, MORE_REPLAYS, PAPER_REPLAYS
from experiments.figures.simulated import BEYOND_SIMULATIONS, PAPER_SIMULATIONS
from experiments.results import Results
from variegate.errors import DataError

__all__ = ["BEYOND_FIGURES", "FIGURES", "ReportFigure", "save_figures"]

#: The figures of the paper's experiments, in the order of the report.
FIGURES: Final = (*PAPER_REPLAYS, *PAPER_SIMULATIONS, *MORE_REPLAYS)
#: The figures beyond the paper, in the order of the report.
BEYOND_FIGURES: Final = (*BEYOND_REPLAYS, *BEYOND_SIMULATIONS)


def save_figures(results: Results, folder: Path, figures: Sequence[ReportFigure]) -> None:
    """Draw every figure that there are numbers for, as PNG and SVG."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made: {error.strerror}") from None
    for figure in figures:
        if figure.is_available(results):
            figure.save(results, folder)
