"""The report: one page that needs nothing else, and the same numbers for machines."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from experiments.claims import CLAIMS, Judgement, Status, judged
from experiments.figures import PICTURES
from experiments.report import write_docs, write_markdown, write_report
from experiments.report.markup import badge, table
from experiments.report.numbers import jsonable
from experiments.report.page import QUICK, page
from experiments.report.tables import (
    beyond_table,
    flat_facts,
    measure_tables,
    regret_table,
    seconds_table,
    table_1,
)
from experiments.results import Results
from tests.experiments.making import made_replays, made_results
from variegate.errors import DataError

pytest.importorskip("matplotlib")

#: Elements that never have an end.
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Outline(HTMLParser):
    """Reads a page: elements left open, what it would fetch, its headings."""

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


@pytest.fixture(scope="module")
def results() -> Results:
    return made_results()


@pytest.fixture(scope="module")
def judgement(results: Results) -> Judgement:
    return judged(results)


@pytest.fixture(scope="module")
def written(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(results, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def text(written: Path) -> str:
    return written.read_text()


def test_page_figures_and_numbers_are_written(written: Path) -> None:
    folder = written.parent

    assert written.name == "report.html"
    assert {path.name for path in folder.iterdir()} == {"report.html", "results.json", "figures"}
    assert len(list((folder / "figures").iterdir())) == 2 * len(PICTURES)


def test_every_element_of_the_page_is_closed(text: str) -> None:
    assert Outline(text).open == []


def test_the_page_asks_nothing_of_the_network_and_runs_nothing(text: str) -> None:
    outline = Outline(text)

    assert [place[:5] for place in outline.fetched if not place.startswith("#")] == ["data:"] * len(
        PICTURES
    )
    assert not {"script", "link", "iframe"} & set(outline.tags)
    assert not re.search(r"@import|url\(", text)


def test_links_inside_the_page_lead_somewhere(text: str) -> None:
    targets = [place[1:] for place in Outline(text).fetched if place.startswith("#")]

    assert targets
    assert all(f'id="{target}"' in text for target in targets)


def test_the_page_opens_with_the_claims(text: str) -> None:
    first_table = text[text.index("<table") : text.index("</table>")]

    assert all(claim.place in first_table for claim in CLAIMS)
    assert first_table.count('class="verdict holds">holds<') >= len(CLAIMS)


def test_the_page_says_how_many_claims_hold(text: str) -> None:
    assert f"{len(CLAIMS)} hold<" in text


def test_dc2b_is_never_in_a_table_without_saying_that_it_is_a_reconstruction(
    results: Results,
) -> None:
    names = [
        name
        for found in (
            *measure_tables(results, "ml-100k"),
            beyond_table(results, "ml-100k"),
            regret_table(results),
        )
        for name, _cells in found.rows
        if "DC2B" in name
    ]

    assert len(names) == 11
    assert all("reconstructed: " in name for name in names)


def test_a_quick_run_says_so(results: Results, judgement: Judgement, tmp_path: Path) -> None:
    assert QUICK in page(replace(results, quick=True), judgement, [], tmp_path)
    assert QUICK not in page(results, judgement, [], tmp_path)


def test_users_left_out_are_told(results: Results, judgement: Judgement, tmp_path: Path) -> None:
    facts = {**results.facts, "users left out": {"anime, split 1": 10, "anime, split 2": 3}}

    told = page(replace(results, facts=facts), judgement, [], tmp_path)

    assert "like none of the candidates: 13." in told


def test_what_comes_from_outside_is_escaped(
    results: Results, judgement: Judgement, tmp_path: Path
) -> None:
    facts = {"machine": "<script>alert(1)</script>"}

    told = page(replace(results, facts=facts), judgement, [], tmp_path)

    assert "<script>" not in told
    assert "&lt;script&gt;alert(1)" in told


def test_verdicts_are_in_words_and_colour() -> None:
    assert badge(Status.FAILS) == '<span class="verdict fails">does not hold</span>'


def test_heads_and_caption_of_a_table_are_escaped() -> None:
    found = table(["a < b"], [["<b>1</b>"]], caption="x & y")

    assert "a &lt; b" in found
    assert "x &amp; y" in found
    assert "<b>1</b>" in found


def test_numbers_for_machines_hold_verdicts_and_tables(written: Path) -> None:
    numbers = json.loads((written.parent / "results.json").read_text())

    assert [claim["name"] for claim in numbers["claims"]] == [claim.name for claim in CLAIMS]
    assert {claim["status"] for claim in numbers["claims"]} == {"holds"}
    recall = numbers["replays"]["ml-1m"]["lmdh"]["measures"]["recall"]
    assert len(recall["mean"]) == len(recall["standard error over splits"]) == 30
    assert numbers["regret"]["none"]["policies"]["lmdh"]["cumulative"][-1] == pytest.approx(
        numbers["claims"][11]["evidence"][0]["numbers"]["lmdh"]
    )


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (np.array([1.5, np.nan, np.inf]), [1.5, None, None]),
        ({1: (np.int64(2), True, None)}, {"1": [2, True, None]}),
        (Path("a"), "a"),
    ],
)
def test_everything_can_be_told_in_json(value: object, told: object) -> None:
    assert jsonable(value) == told


def test_best_of_each_column_stands_out(results: Results) -> None:
    (recall, *_others) = measure_tables(results, "ml-100k")

    best = {name for name, cells in recall.rows if cells[0].best}

    # LMDH with the fixed normaliser was made the same as LMDH.
    assert best == {"LMDH", "LMDH, fixed"}
    assert recall.heads == ("method", "t = 1", "t = 5", "t = 10", "t = 30", "s.e. over splits")


def test_a_single_split_has_no_error_over_splits(results: Results) -> None:
    one = {name: splits[:1] for name, splits in results.replays["ml-100k"].items()}

    (recall, *_others) = measure_tables(replace(results, replays={"ml-100k": one}), "ml-100k")

    assert recall.heads[-1] == "t = 30"


def test_novelty_that_is_not_known_is_said_so(results: Results) -> None:
    (scores,) = made_replays({"lmdh": 0.2})["lmdh"][:1]
    unknown = replace(scores, novelty=np.full_like(scores.novelty, np.nan))

    found = beyond_table(replace(results, replays={"ml-1m": {"lmdh": [unknown]}}), "ml-1m")

    assert [cell.text for cell in found.rows[0][1]] == ["0.500", "0.400", "not known"]


def test_table_1_stands_beside_the_papers(results: Results) -> None:
    found = table_1(results)

    assert [name for name, _cells in found.rows] == [
        "MovieLens-100K",
        "in the paper",
        "MovieLens-1M",
        "in the paper",
        "Anime (sample)",
        "in the paper",
    ]
    assert [cell.text for cell in found.rows[0][1]] == ["942", "1,447", "55,375", "18", "4.06%"]


def test_times_add_up() -> None:
    found = seconds_table({"replay": 65.0, "simulation": 5.25})

    told = [(name, cells[0].text) for name, cells in found.rows]
    assert told == [("replay", "1 min 05 s"), ("simulation", "5.2 s"), ("in all", "1 min 10 s")]


def test_settings_within_settings_are_told_one_by_one() -> None:
    facts = {"plan": {"lengths": [5, 10], "quick": False, "users": {}}, "left out": {"a": 0}}

    assert list(flat_facts(facts)) == [
        ("plan: lengths", "5, 10"),
        ("plan: quick", "no"),
        ("plan: users", "all"),
        ("left out: a", "0"),
    ]


def test_markdown_has_every_claim_and_every_figure(results: Results, judgement: Judgement) -> None:
    told = write_markdown(results, judgement)

    assert all(f"| {claim.says} ({claim.place}) | **holds** |" in told for claim in CLAIMS)
    assert all(f"(pictures/reproduction/{picture.name}.png)" in told for picture in PICTURES)


def test_rows_of_a_markdown_table_have_as_many_cells_as_its_head(
    results: Results, judgement: Judgement
) -> None:
    told = write_markdown(results, judgement)

    for block in re.findall(r"(?:^\|.*\|\n)+", told, flags=re.MULTILINE):
        # A bar that is escaped is text.
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block


def test_docs_get_the_page_and_its_pictures(results: Results, tmp_path: Path) -> None:
    facts = {**results.facts, "command": "variegate reproduce"}

    (written,) = write_docs(replace(results, facts=facts), tmp_path)

    told = written.read_text()
    assert told.startswith("# The paper's experiments, run again\n\nMade by `variegate reproduce`.")
    pictures = re.findall(r"\]\((pictures/[^)]*)\)", told)
    assert len(pictures) == len(PICTURES)
    assert all((tmp_path / picture).exists() for picture in pictures)


def test_nothing_measured_makes_a_report_too(tmp_path: Path) -> None:
    written = write_report(Results(False, {}, [], {}, {}, {}, {}, {}), tmp_path)

    assert f"{len(CLAIMS)} not measured<" in written.read_text()


def test_a_place_that_cannot_be_written_to_is_an_error(tmp_path: Path, results: Results) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(DataError, match="cannot be made"):
        write_report(results, tmp_path / "file")
