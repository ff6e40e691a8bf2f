"""The report: Markdown, one page without outside resources, and the same numbers as JSON."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from experiments.claims import BEYOND_CLAIMS, CLAIMS, Judgement, judge
from experiments.figures import BEYOND_FIGURES, FIGURES
from experiments.report import write_docs, write_report
from experiments.report.html import render_page
from experiments.report.markdown import (
    QUICK,
    beyond_markdown,
    flat_facts,
    learner_settings,
    paper_markdown,
    settings_markdown,
)
from experiments.report.numbers import jsonable
from experiments.results import BeyondResults, Results
from tests.experiments.conftest import TinyRun
from tests.experiments.making import beyond_results, made_beyond, made_results
from variegate.errors import DataError

pytest.importorskip("matplotlib")

#: Elements without an end tag.
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Outline(HTMLParser):
    """Reads a page: elements left open, what it would fetch, its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open += [tag] * (tag not in VOID)
        self.fetched += [v or "" for name, v in attrs if name in ("src", "href", "srcset")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def one_dataset(beyond: BeyondResults) -> BeyondResults:
    return replace(
        beyond,
        replays={"ml-1m": beyond.replays["ml-1m"]},
        frontier={"ml-1m": beyond.frontier["ml-1m"]},
    )


@pytest.fixture(scope="module")
def results() -> Results:
    return made_results()


@pytest.fixture(scope="module")
def judgement(results: Results) -> Judgement:
    return judge(results)


@pytest.fixture(scope="module")
def markdown(results: Results, judgement: Judgement) -> str:
    return paper_markdown(results, judgement)


@pytest.fixture(scope="module")
def beyond() -> str:
    return beyond_markdown(beyond_results(one_dataset(made_beyond())))


@pytest.fixture(scope="module")
def page(tiny_run: TinyRun) -> str:
    return (tiny_run.out / "report.html").read_text()


def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not draw: the shared run does."""
    monkeypatch.setattr("experiments.report.save_figures", lambda *_args: None)
    monkeypatch.setattr("experiments.report.html._embed_figures", lambda *_args: None)


def test_page_is_well_formed_and_needs_no_network(page: str) -> None:
    outline = Outline(page)

    assert outline.open == []
    fetched = [place for place in outline.fetched if not place.startswith("#")]
    assert len(fetched) > 20
    assert all(place.startswith("data:image/svg+xml;base64,") for place in fetched)
    assert not {"script", "link", "iframe"} & set(outline.tags)
    assert not re.search(r"@import|url\(", page)


def test_links_inside_the_page_lead_somewhere(page: str) -> None:
    targets = [place[1:] for place in Outline(page).fetched if place.startswith("#")]

    assert len(targets) == len(set(targets)) > 8
    assert all(f'id="{target}"' in page for target in targets)
    assert ">Beyond the paper</a>" in page


def test_verdicts_are_in_words_and_colour(markdown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without_figures(monkeypatch)
    page = render_page(f"# Made\n\n{markdown}", Path())

    first_table = page[page.index("<table") : page.index("</table>")]
    assert first_table.count('<td class="verdict holds"><strong>holds</strong></td>') == len(CLAIMS)
    assert all(claim.place in first_table for claim in CLAIMS)
    assert '<td class="verdict fails">does not hold</td>' in page


def test_text_from_outside_is_escaped(results: Results) -> None:
    facts = {"machine": "<script>alert(1)</script>"}

    page = render_page(f"# Made\n\n{settings_markdown(replace(results, facts=facts))}", Path())

    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize(
    ("pages", "made"),
    [
        ({"report.html", "results.json"}, {"paper": True}),
        ({"beyond.html", "beyond.json"}, {"paper": False}),
    ],
    ids=["both", "beyond alone"],
)
def test_numbers_are_written_beside_the_page(
    pages: set[str], made: dict[str, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_figures(monkeypatch)

    results = beyond_results(one_dataset(made_beyond()), **made)
    replays = {name: results.replays[name] for name in results.replays if name == "ml-1m"}
    written = write_report(replace(results, replays=replays), tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == pages
    assert written.suffix == ".html"
    (numbers,) = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    ours = numbers["beyond"] if made["paper"] else numbers
    assert [claim["name"] for claim in ours["claims"]] == [claim.name for claim in BEYOND_CLAIMS]
    assert len(ours["replays"]["ml-1m"]["lmdp"]["measures"]["F1"]["mean"]) == 30
    if made["paper"]:
        recall = numbers["replays"]["ml-1m"]["lmdh"]["measures"]["recall"]
        assert len(recall["mean"]) == len(recall["standard error over splits"]) == 30
        assert numbers["regret"]["none"]["policies"]["lmdh"]["cumulative"][-1] == pytest.approx(
            numbers["claims"][11]["evidence"][0]["numbers"]["lmdh"]
        )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([1.5, np.nan, np.inf]), [1.5, None, None]),
        ({1: (np.int64(2), True, None)}, {"1": [2, True, None]}),
        (Path("a"), "a"),
    ],
)
def test_everything_becomes_json(value: object, expected: object) -> None:
    assert jsonable(value) == expected


def test_markdown_has_every_claim_and_every_figure(markdown: str) -> None:
    assert f"Of the paper's {len(CLAIMS)} claims, {len(CLAIMS)} hold." in markdown
    rows = [line for line in markdown.splitlines() if "| **holds** |" in line]
    assert all(any(claim.says in row and claim.rule in row for row in rows) for claim in CLAIMS)
    assert all(f"(pictures/reproduction/{figure.name}.png)" in markdown for figure in FIGURES)


def test_markdown_beyond_has_every_claim_every_figure_and_the_settings(beyond: str) -> None:
    made = beyond_results(one_dataset(made_beyond()))
    figures = [figure for figure in BEYOND_FIGURES if figure.is_available(made)]
    rows = [line for line in beyond.splitlines() if "| **" in line]

    assert all(
        any(claim.says in row and claim.rule in row for row in rows) for claim in BEYOND_CLAIMS
    )
    assert len(figures) == 9
    assert all(f"(pictures/beyond/{figure.name}.png)" in beyond for figure in figures)
    assert learner_settings() in beyond


def test_rows_of_a_table_have_as_many_cells_as_its_head(markdown: str, beyond: str) -> None:
    for block in re.findall(r"(?:^\|.*\|\n)+", markdown + beyond, flags=re.MULTILINE):
        # A bar that is escaped is text.
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block


def test_verdicts_that_differ_are_given_part_by_part() -> None:
    good, bad = made_beyond(), made_beyond({"lmdp": np.full(30, 0.1)})
    mixed = replace(
        good, replays={"anime": bad.replays["anime"], "ml-1m": good.replays["ml-1m"]}, frontier={}
    )

    text = beyond_markdown(beyond_results(mixed))

    assert "(*does not hold*)" in text
    assert "(*holds*)" in text


def test_quick_run_is_marked(results: Results, judgement: Judgement, markdown: str) -> None:
    assert QUICK in paper_markdown(replace(results, quick=True), judgement)
    assert QUICK in beyond_markdown(Results(quick=True))
    assert QUICK not in markdown


def test_users_left_out_are_counted(results: Results) -> None:
    facts = {**results.facts, "users left out": {"anime, split 1": 10, "anime, split 2": 3}}

    text = settings_markdown(replace(results, facts=facts))

    assert "like none of the candidates: 13." in text


def test_nested_settings_are_listed_one_by_one() -> None:
    facts = {"plan": {"lengths": [5, 10], "quick": False, "users": {}}, "left out": {"a": 0}}

    assert list(flat_facts(facts)) == [
        ("plan: lengths", "5, 10"),
        ("plan: quick", "no"),
        ("plan: users", "all"),
        ("left out: a", "0"),
    ]


def test_docs_of_one_chapter_leave_the_other_alone(tmp_path: Path) -> None:
    (paper,) = write_docs(
        Results(facts={"command": "a command"}), tmp_path, figures=tmp_path / "none"
    )

    assert paper.read_text().startswith("# The paper's experiments, run again\n\nMade by `a comm")
    assert f"claims, {len(CLAIMS)} were not measured." in paper.read_text()
    nothing = made_beyond(replays={}, frontier={"ml-1m": {}}, distances=None, simulated={})
    (beyond,) = write_docs(beyond_results(nothing), tmp_path, figures=tmp_path / "none")
    assert beyond.name == "beyond-figures.md"


def test_place_that_cannot_be_written_to_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(DataError, match="cannot be made"):
        write_report(Results(), tmp_path / "file")
