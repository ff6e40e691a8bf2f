"""The figures: drawn from the results there are, each method in one colour."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest

from experiments.figures import BEYOND_FIGURES, FIGURES, ReportFigure, save_figures
from experiments.figures.drawing import QUICK, method_curves
from experiments.results import Results
from experiments.simulated import EXPERIMENTS, cold_start
from experiments.simulated.world import Size
from tests.experiments.making import beyond_results, made_beyond
from variegate.errors import DataError
from variegate.evaluation.plots import drawing_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

pytest.importorskip("matplotlib")

ALL = (*FIGURES, *BEYOND_FIGURES)


@pytest.fixture(scope="module")
def results() -> Results:
    """Return results of everything, with simulated experiments of one short run."""
    size = Size(runs=1, rounds=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cold_start, "TRAINING", Size(runs=50, rounds=1))
        simulated = {name: experiment.play(size) for name, experiment in EXPERIMENTS.items()}
    return beyond_results(made_beyond(simulated=simulated), paper=True)


@pytest.fixture(scope="module", params=ALL, ids=lambda figure: figure.name)
def drawn(
    request: pytest.FixtureRequest, results: Results
) -> Iterator[tuple[ReportFigure, "Figure"]]:
    with drawing_style():
        yield request.param, request.param.draw(results)


def test_figure_has_labels_a_legend_and_readable_text(
    drawn: tuple[ReportFigure, "Figure"],
) -> None:
    _report_figure, figure = drawn
    first = figure.axes[0]

    assert first.get_xlabel()
    assert figure.legends or first.get_legend() is not None
    assert any(axes.get_ylabel() or len(axes.get_yticklabels()) for axes in figure.axes)
    # At half of a page 7.2 inches wide, 9 points are still 4.5.
    labels = [
        label
        for axes in figure.axes
        for label in (axes.title, axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels())
    ]
    assert min(float(label.get_fontsize()) for label in labels) >= 9.0


def test_file_names_are_unique() -> None:
    assert len({figure.name for figure in ALL}) == len(ALL)


def test_quick_run_is_marked_and_the_same_results_make_the_same_file(
    results: Results, tmp_path: Path
) -> None:
    quick, name = replace(results, quick=True), f"{FIGURES[0].name}.svg"
    for folder in ("a", "b"):
        save_figures(quick, tmp_path / folder, FIGURES[:1])

    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    text = (tmp_path / "a" / name).read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")  # noqa: S314
    assert f"<!-- {QUICK} -->" in text


def test_what_was_not_measured_is_not_drawn(tmp_path: Path) -> None:
    save_figures(Results(), tmp_path, ALL)

    assert list(tmp_path.iterdir()) == []


def test_drift_panels_share_their_height(results: Results) -> None:
    (report_figure,) = [figure for figure in BEYOND_FIGURES if figure.name == "beyond-drift"]
    with drawing_style():
        figure = report_figure.draw(results)

    ticks = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert ticks == ["0.9", "0.95", "0.98", "0.99", "1"]
    heights = np.array([axes.get_ylim() for axes in figure.axes[:3]])
    assert (heights == heights[0]).all()


def test_folder_that_cannot_be_made_is_an_error(results: Results, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(DataError, match="cannot be made"):
        save_figures(results, tmp_path / "file", FIGURES)


def test_lmdh_is_drawn_over_the_others(results: Results) -> None:
    curves = method_curves(results.replays["ml-1m"], ("lmdh", "mmr", "c2ucb"), "recall")

    assert [curve.label for curve in curves] == ["MMR", "C2UCB", "LMDH"]


def test_bands_are_of_the_standard_error(results: Results) -> None:
    (curve,) = method_curves(results.replays["ml-1m"], ("mmr",), "recall")

    # Noise of 0.01 per user, 40 users, two splits: 0.01 / sqrt(80), within what draws allow.
    np.testing.assert_allclose(curve.error, 0.01 / np.sqrt(80), rtol=0.35)
