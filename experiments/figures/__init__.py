"""The report's figures: the paper's own, and what else helps to judge its claims."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from experiments.figures.drawing import FORMATS, Picture
from experiments.figures.replays import BESIDE, MEASURES
from experiments.figures.settings import SETTINGS
from experiments.figures.simulated import SIMULATED
from experiments.results import Results
from variegate.errors import DataError

__all__ = ["PICTURES", "Picture", "save_figures"]

#: Every figure, in the order of the report.
PICTURES: Final = (*MEASURES, *SETTINGS, *SIMULATED, *BESIDE)


def save_figures(
    results: Results,
    folder: Path,
    formats: Sequence[str] = FORMATS,
    pictures: Sequence[Picture] = PICTURES,
) -> list[Picture]:
    """Draw every figure that there are numbers for, as PNG and SVG; return them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made: {error.strerror}") from None
    there = [picture for picture in pictures if picture.is_there(results)]
    for picture in there:
        picture.save(results, folder, formats)
    return there
