"""The figures: drawn from what there is, each method in one colour."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from experiments.figures import PICTURES, Picture, save_figures
from experiments.figures.drawing import QUICK, method_curves
from experiments.results import Results
from tests.experiments.making import made_results
from variegate.errors import DataError
from variegate.evaluation import Simulation
from variegate.evaluation.plots import COLOURS, colour_of, draw_regret, drawing_style
from variegate.policies import POLICIES

pytest.importorskip("matplotlib")

NOTHING = Results(False, {}, [], {}, {}, {}, {}, {})
each_picture = pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)


@each_picture
def test_a_figure_is_written_as_png_and_svg(picture: Picture, tmp_path: Path) -> None:
    picture.save(made_results(), tmp_path)

    png, svg = tmp_path / f"{picture.name}.png", tmp_path / f"{picture.name}.svg"
    assert png.read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")  # noqa: S314


@each_picture
def test_a_figure_names_its_axes_and_its_curves(picture: Picture) -> None:
    with drawing_style():
        figure = picture.draw(made_results())

    first = figure.axes[0]
    assert first.get_xlabel()
    assert first.get_ylabel()
    assert figure.legends or first.get_legend() is not None


@each_picture
def test_text_is_large_enough_for_half_a_page(picture: Picture) -> None:
    with drawing_style():
        figure = picture.draw(made_results())
        sizes = [
            float(label.get_fontsize())
            for axes in figure.axes
            for label in (axes.title, axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels())
        ]

    # At half of a page 7.2 inches wide, 9 points are still 4.5.
    assert min(sizes) >= 9.0


def test_a_quick_run_is_marked_on_every_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    marks: list[str] = []
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *_a, **_k: marks.append(self.get_suptitle())
    )

    pictures = save_figures(replace(made_results(), quick=True), tmp_path)

    assert marks == [QUICK] * 2 * len(pictures)


def test_the_same_results_make_the_same_file(tmp_path: Path) -> None:
    (first, second) = (tmp_path / "a", tmp_path / "b")
    first.mkdir()
    second.mkdir()

    PICTURES[0].save(made_results(), first)
    PICTURES[0].save(made_results(), second)

    name = f"{PICTURES[0].name}.svg"
    assert (first / name).read_bytes() == (second / name).read_bytes()


def test_what_was_not_measured_is_not_drawn(tmp_path: Path) -> None:
    assert save_figures(NOTHING, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@each_picture
def test_one_data_set_alone_can_be_drawn(picture: Picture) -> None:
    results = made_results()
    alone = replace(results, replays={"ml-100k": results.replays["ml-100k"]})

    with drawing_style():
        figure = picture.draw(alone)
        figure.draw_without_rendering()

    assert any(axes.has_data() for axes in figure.axes)


def test_a_single_run_can_be_drawn(tmp_path: Path) -> None:
    results = made_results()
    one = replace(results.regrets["none"], regret=results.regrets["none"].regret[:, :1])

    assert save_figures(replace(NOTHING, regrets={"none": one}), tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(DataError, match="cannot be made"):
        save_figures(made_results(), tmp_path / "file")


def test_a_method_has_one_colour_whatever_its_options() -> None:
    assert colour_of("dc2b:intercept=true") == colour_of("dc2b") == COLOURS["dc2b"]


def test_every_policy_has_a_colour_of_its_own() -> None:
    assert set(COLOURS) == set(POLICIES)
    assert len(set(COLOURS.values())) == len(COLOURS)


def test_lmdh_is_drawn_over_the_others() -> None:
    curves = method_curves(made_results().replays["ml-1m"], ("lmdh", "mmr", "c2ucb"), "recall")

    assert [curve.label for curve in curves] == ["MMR", "C2UCB", "LMDH"]


def test_bands_are_of_the_standard_error() -> None:
    (curve,) = method_curves(made_results().replays["ml-1m"], ("mmr",), "recall")

    # Noise of 0.01 a user, 40 users, two splits: 0.01 / sqrt(80), within what draws allow.
    np.testing.assert_allclose(curve.error, 0.01 / np.sqrt(80), rtol=0.35)


def test_regret_of_a_simulation_is_drawn_to_a_file(tmp_path: Path) -> None:
    simulation = Simulation(rounds=5, runs=2)
    list(simulation.play())

    draw_regret(simulation, tmp_path / "regret.png")

    assert (tmp_path / "regret.png").read_bytes().startswith(b"\x89PNG")
