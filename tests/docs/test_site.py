"""The site's navigation and the pages that are made from the code, without building the site."""

import re

import pytest

from tests.docs.documents import DECISIONS, DOCS, name_of
from tests.paths import ROOT
from tools.site.pages import GENERATED, metrics_page, openapi_page, settings_page
from variegate.engine.settings import Settings
from variegate.service.metrics import ERROR_KINDS, Metrics

NAVIGATION = re.findall(
    r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE
)


def test_the_navigation_has_every_page_once() -> None:
    pages = {
        path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if path not in DECISIONS
    }
    assert sorted(NAVIGATION) == sorted(
        pages | GENERATED.keys() | {"CHANGELOG.md", "CONTRIBUTING.md"}
    )


def test_decisions_are_listed_in_their_index() -> None:
    index = DOCS / "explanation" / "decisions" / "README.md"
    listed = re.findall(
        r"^\d+\. \[.+\]\((.+\.md)\)$", index.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [path.name for path in DECISIONS if path != index] == listed, name_of(index)


def test_every_setting_has_a_row_with_its_default() -> None:
    page = settings_page()
    for name, field in Settings.model_fields.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert field.description
        assert field.description.split("|")[0] in row
    assert "| `port` | `8000` |" in page


def test_every_metric_has_a_row_with_its_labels() -> None:
    page, reported = metrics_page(), Metrics().text().decode()
    for name in re.findall(r"^# HELP (variegate_\w+)", reported, re.MULTILINE):
        assert f"| `{name.removesuffix('_total')}` |" in page
    assert "| `variegate_store_errors` | counter | `kind` |" in page
    assert ERROR_KINDS[0] in reported


def test_every_route_and_object_is_on_the_page_of_the_api() -> None:
    page = openapi_page()
    assert "## POST /v1/users/\\{user\\}/slates" in page
    linked = set(re.findall(r"\]\(#(\w+)\)", page))
    headings = {line[4:].lower() for line in page.splitlines() if line.startswith("### ")}
    assert linked
    assert linked <= headings


@pytest.mark.parametrize("path", [path for path in GENERATED if "/api/" in path])
def test_pages_of_the_library_name_what_is_documented(path: str) -> None:
    names = re.findall(r"^::: (variegate(?:\.\w+)+)$", GENERATED[path](), re.MULTILINE)
    assert names
    assert len(names) == len(set(names))
