"""The documents are true: their blocks run, and what they name is there."""

import inspect
import tomllib
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import yaml

import variegate
from tests.cli.running import archive
from tests.docs.documents import (
    DOCS,
    DOCUMENTS,
    GUIDES,
    Block,
    anchors,
    blocks,
    code,
    links,
    name_of,
    spans,
)
from tests.paths import ROOT
from tools.site.pages import GENERATED
from variegate import POLICIES, SEARCHES
from variegate.data import DATASETS
from variegate.model import distances

#: Its blocks need a service: `test_http.py` runs them.
SERVED = DOCS / "reference" / "client.md"
WITH_BLOCKS = [
    path
    for path in GUIDES
    if path != SERVED and any(block.language == "python" for block in blocks(path))
]
#: How a block begins that needs data or libraries which may be absent.
NEEDS = "# Needs: "
NEEDING_MORE = [
    path for path in WITH_BLOCKS if any(block.text.startswith(NEEDS) for block in blocks(path))
]
TOUR, PAPER = DOCS / "tutorial" / "tour.md", DOCS / "explanation" / "paper.md"
#: Pages that are made when the site is built, whose links that checks.
MADE = {DOCS / path for path in GENERATED}
MAKERS = [
    name
    for name, maker in vars(distances).items()
    if inspect.isfunction(maker)
    and maker.__module__ == distances.__name__
    and not name.startswith("_")
    and get_type_hints(maker)["return"] is distances.Distance
]


@pytest.mark.parametrize("path", WITH_BLOCKS, ids=name_of)
def test_python_blocks_run_as_they_stand(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    python = [block for block in blocks(path) if block.language == "python"]
    run_blocks(path, [block for block in python if not block.text.startswith(NEEDS)])
    assert "variegate" in "".join(block.text for block in python)


@pytest.mark.filterwarnings("ignore:OpenBLAS is configured to use:RuntimeWarning")  # by implicit
@pytest.mark.parametrize("path", NEEDING_MORE, ids=name_of)
def test_blocks_that_need_data_or_libraries_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = [block for block in blocks(path) if block.language == "python"]
    for need in {need for block in python for need in needs(block)}:
        if need in DATASETS:
            monkeypatch.setenv("VARIEGATE_DATA", str(archive(f"{need}.zip").parent))
        else:
            pytest.importorskip(need, reason=f"{name_of(path)}: {need} is not installed")
    monkeypatch.chdir(tmp_path)
    run_blocks(path, python)


def run_blocks(path: Path, python: list[Block]) -> None:
    namespace: dict[str, Any] = {"__name__": path.stem}
    for block in python:
        # Blank lines in front, so that a traceback has the line of the document.
        source = "\n" * block.lines_above + block.text
        exec(compile(source, str(path), "exec"), namespace)  # noqa: S102


def needs(block: Block) -> list[str]:
    first, *_ = block.text.splitlines()
    return first.removeprefix(NEEDS).split(", ") if first.startswith(NEEDS) else []


def test_the_examples_of_the_readme_print_what_it_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    readme, namespace, printed = ROOT / "README.md", dict[str, Any](), []
    for block in [block for block in blocks(readme) if block.language == "python"][:2]:
        exec(compile(block.text, name_of(readme), "exec"), namespace)  # noqa: S102
        printed.append(capsys.readouterr().out.strip())

    text = readme.read_text(encoding="utf-8")
    assert all(f"prints `{one}`" in text for one in printed)
    assert float(printed[0].partition("[")[2].removesuffix("]")) > 0.1


def test_the_tour_and_the_guide_to_extending_have_blocks() -> None:
    assert {"docs/tutorial/tour.md", "docs/how-to/extending.md"} <= set(map(name_of, WITH_BLOCKS))


@pytest.mark.parametrize("name", variegate.__all__)
def test_public_names_are_in_the_guides(name: str) -> None:
    shown = "\n".join(map(code, GUIDES))
    assert name in set(shown.replace("(", " ").replace(",", " ").replace(".", " ").split())


@pytest.mark.parametrize("name", [*POLICIES, *SEARCHES, *MAKERS])
def test_policies_searches_and_distances_are_in_the_tour(name: str) -> None:
    assert name in spans(TOUR)


def test_distance_makers_are_found() -> None:
    assert {"cosine", "jaccard", "custom"} <= set(MAKERS)


@pytest.mark.parametrize("name", POLICIES)
def test_options_of_policies_are_in_the_page_on_the_paper(name: str) -> None:
    options = set(inspect.signature(POLICIES[name]).parameters) - {"catalogue"}
    assert name in spans(PAPER)
    assert options <= set(spans(PAPER))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_relative_links_lead_somewhere(path: Path) -> None:
    broken = []
    for link in links(path):
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if target in MADE:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_links_are_found() -> None:
    assert "../explanation/paper.md#errata" in links(TOUR)


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert project["version"] == citation["version"] == variegate.__version__
    assert citation["license"] == project["license"]
    assert "arXiv:2012.13245" in str(citation["preferred-citation"]["identifiers"])


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=name_of)
def test_issue_forms_ask_for_something_with_labels(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.stem == "config":
        assert form == {"blank_issues_enabled": True}
        return
    ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
    assert ids
    assert len(set(ids)) == len(ids)
    assert all("label" in field["attributes"] for field in form["body"] if "id" in field)
    assert form["name"]
    assert form["description"]


def test_changelog_has_a_heading_for_what_is_here() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = [line for line in changelog.splitlines() if line.startswith("## ")]
    assert headings[0].startswith(("## Unreleased", f"## {variegate.__version__}"))
