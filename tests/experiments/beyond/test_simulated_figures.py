"""The figures of the simulated experiments, drawn from few and short runs."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from experiments.beyond.figures.simulated import SIMULATED
from experiments.beyond.results import Chapter
from experiments.beyond.simulated import EXPERIMENTS, Size, prior
from experiments.figures.drawing import Picture
from experiments.results import Results
from variegate.evaluation.plots import drawing_style

pytest.importorskip("matplotlib")

NOTHING = Results(False, {}, [], {}, {}, {}, {}, {})
each_picture = pytest.mark.parametrize("picture", SIMULATED, ids=lambda picture: picture.name)


@pytest.fixture(scope="module", params=[1, 3], ids=["one run", "three runs"])
def results(request: pytest.FixtureRequest) -> Results:
    size = Size(runs=request.param, rounds=20)
    found = {name: play(size) for name, (play, _) in EXPERIMENTS.items() if name != "prior"}
    found["prior"] = prior(size, taught=Size(runs=50, rounds=1))
    return replace(NOTHING, beyond=Chapter({}, {}, simulated=found))


@each_picture
def test_a_figure_is_written_as_png_and_svg(
    picture: Picture, results: Results, tmp_path: Path
) -> None:
    picture.save(results, tmp_path)

    assert (tmp_path / f"{picture.name}.png").read_bytes().startswith(b"\x89PNG")
    drawn = ElementTree.parse(tmp_path / f"{picture.name}.svg")  # noqa: S314
    assert drawn.getroot().tag.endswith("svg")


@each_picture
def test_a_figure_names_its_axes_and_its_curves(picture: Picture, results: Results) -> None:
    with drawing_style():
        figure = picture.draw(results)

    first = figure.axes[0]
    assert first.get_xlabel()
    assert first.get_ylabel()
    assert figure.legends


@each_picture
def test_text_is_large_enough_for_half_a_page(picture: Picture, results: Results) -> None:
    with drawing_style():
        figure = picture.draw(results)
        sizes = [
            float(label.get_fontsize())
            for axes in figure.axes
            for label in (axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts)
        ]

    assert min(sizes) >= 9.0


@each_picture
def test_without_its_experiment_there_is_no_figure(picture: Picture, results: Results) -> None:
    assert picture.is_there(results)
    assert not picture.is_there(NOTHING)
    assert not picture.is_there(replace(NOTHING, beyond=Chapter({}, {})))


def test_drift_is_drawn_by_what_was_forgotten(results: Results) -> None:
    with drawing_style():
        figure = SIMULATED[0].draw(results)

    ticks = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert ticks == ["0.9", "0.95", "0.98", "0.99", "1"]
    heights = np.array([axes.get_ylim() for axes in figure.axes[:3]])
    assert (heights == heights[0]).all()
