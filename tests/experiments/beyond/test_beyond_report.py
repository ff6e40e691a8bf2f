"""The chapter as a part of the report, as a page, and as Markdown."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.beyond.claims import CLAIMS
from experiments.beyond.contents import PICTURES, chapter_tables, settings_in_words
from experiments.figures import Picture
from experiments.report import write_docs, write_report
from experiments.report.chapter import chapter_markdown
from experiments.results import Results
from tests.experiments.beyond.making import beyond_results, made_chapter, made_frontier
from variegate.evaluation.plots import drawing_style

pytest.importorskip("matplotlib")

#: On made results, which have no simulated experiments.
DRAWN = tuple(picture for picture in PICTURES if picture.is_there(beyond_results()))
each_picture = pytest.mark.parametrize("picture", DRAWN, ids=lambda picture: picture.name)


@pytest.fixture(scope="module")
def results() -> Results:
    return beyond_results()


@pytest.fixture(scope="module")
def markdown(results: Results) -> str:
    return chapter_markdown(results)


@pytest.fixture(scope="module")
def alone(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(results, tmp_path_factory.mktemp("alone"))


@each_picture
def test_a_figure_names_its_axes_and_its_curves(picture: Picture) -> None:
    with drawing_style():
        figure = picture.draw(beyond_results())
        figure.draw_without_rendering()

    assert figure.axes[0].get_xlabel()
    assert figure.legends


@each_picture
def test_one_data_set_alone_can_be_drawn(picture: Picture) -> None:
    chapter = made_chapter()
    one = replace(chapter, replays={"ml-100k": chapter.replays["ml-100k"]})

    with drawing_style():
        figure = picture.draw(beyond_results(one))

    assert any(axes.has_data() for axes in figure.axes)


def test_what_was_not_measured_is_not_drawn() -> None:
    nothing = Results(False, {}, [], {}, {}, {}, {}, {})

    assert [picture.name for picture in PICTURES if picture.is_there(nothing)] == []


def test_the_chapter_alone_is_a_page_of_its_own(alone: Path) -> None:
    folder = alone.parent

    assert {path.name for path in folder.iterdir()} == {"beyond.html", "beyond.json", "figures"}
    text = alone.read_text()
    assert text.count('src="data:image/svg+xml;base64,') == len(DRAWN)
    assert all(claim.rule.replace("'", "&#x27;") in text for claim in CLAIMS)


def test_numbers_of_the_chapter_are_for_machines_too(alone: Path) -> None:
    found = json.loads((alone.parent / "beyond.json").read_text())

    assert {claim["name"]: claim["status"] for claim in found["claims"]} == dict.fromkeys(
        [claim.name for claim in CLAIMS], "holds"
    )
    assert len(found["replays"]["anime"]["lmdp"]["measures"]["F1"]["mean"]) == 30


def test_the_chapter_is_a_section_of_the_whole_report(tmp_path: Path) -> None:
    written = write_report(beyond_results(paper=True), tmp_path)

    text = written.read_text()
    assert written.name == "report.html"
    assert '<a href="#beyond">Beyond the paper</a>' in text
    assert '<section id="beyond">' in text
    assert "beyond" in json.loads((tmp_path / "results.json").read_text())


def test_markdown_has_every_claim_every_figure_and_the_settings(markdown: str) -> None:
    assert all(f"| {claim.says} ({claim.place}) | **holds** |" in markdown for claim in CLAIMS)
    assert all(f"(pictures/beyond/{picture.name}.png)" in markdown for picture in DRAWN)
    assert settings_in_words() in markdown
    assert "`variegate tune`" in markdown


def test_rows_of_a_markdown_table_have_as_many_cells_as_its_head(markdown: str) -> None:
    for block in re.findall(r"(?:^\|.*\|\n)+", markdown, flags=re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block


def test_verdicts_that_differ_are_told_part_by_part() -> None:
    good, bad = made_chapter(), made_chapter({"lmdp": np.full(30, 0.1)})
    mixed = replace(good, replays={**good.replays, "anime": bad.replays["anime"]})

    told = chapter_markdown(beyond_results(mixed))

    assert "(*does not hold*)" in told
    assert "(*holds*)" in told


def test_f_scores_are_told_relative_to_lmdh(results: Results) -> None:
    (_heading, (f1, *_others)), *_rest = chapter_tables(results)
    rows = dict(f1.rows)

    # 0.9 / 1.4 against 0.6 / 1.1, times two.
    assert rows["LMDP"][-1].text == "0.643 (+17.9%)"
    assert rows["LMDP"][-1].best
    assert rows["LMDH"][-1].text.endswith("(+0.0%)")


def test_what_lies_above_our_frontier_is_listed() -> None:
    frontier = made_frontier(mmr={"trade off 1": (0.9, 0.65)})
    chapter = made_chapter(frontier={"ml-100k": frontier})

    tables = [found for _, group in chapter_tables(beyond_results(chapter)) for found in group]

    (losses,) = [found for found in tables if found.title == "Above our frontier"]
    assert [name for name, _ in losses.rows] == [
        "MMR (trade off 1), t = 10",
        "MMR (trade off 1), t = 30",
    ]


def test_nothing_above_our_frontier_makes_no_table_of_it(results: Results) -> None:
    titles = [found.title for _, group in chapter_tables(results) for found in group]

    assert "Above our frontier" not in titles
    assert titles.count("Other methods and our frontier") == 3


def test_betas_stand_under_the_distances_that_were_known(results: Results) -> None:
    tables = {found.title: found for _, group in chapter_tables(results) for found in group}
    rows = dict(tables["Two distances on MovieLens-100K, after the last list"].rows)

    learnt = {name: [cell.text for cell in cells[-2:]] for name, cells in rows.items()}
    assert learnt == {
        "LMDP with cosine": ["+0.100 ± 0.000", "none"],
        "LMDP with genres": ["none", "+0.200 ± 0.000"],
        "LMDP with cosine and genres": ["+0.300 ± 0.000", "-0.400 ± 0.000"],
    }


def test_docs_get_the_chapters_page_and_leave_the_papers_alone(tmp_path: Path) -> None:
    (written,) = write_docs(beyond_results(), tmp_path)

    told = written.read_text()
    assert written.name == "beyond-figures.md"
    pictures = re.findall(r"\]\((pictures/[^)]*)\)", told)
    assert len(pictures) == len(DRAWN)
    assert all((tmp_path / picture).exists() for picture in pictures)


def test_a_quick_run_says_so(results: Results) -> None:
    assert "**A quick run" in chapter_markdown(replace(results, quick=True))
    assert "**A quick run" not in chapter_markdown(results)
