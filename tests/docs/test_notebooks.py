"""The notebooks run, and print what is stored in them."""

from pathlib import Path

import pytest

from tests.cli.running import archive
from tests.docs.documents import DOCS
from tests.docs.likeness import missing_lines
from tests.extras import needs
from tools.site.notebooks import notebook_page, run_notebook, stored_output

FOLDER = DOCS / "tutorial" / "notebooks"
MOVIELENS, VARIETY = FOLDER / "lmdh-on-movielens.ipynb", FOLDER / "variety-on-your-ranker.ipynb"

pytestmark = [needs("cornac"), needs("bokeh_sampledata")]


def differing(path: Path) -> list[str]:
    """Run a notebook; return the stored lines that it does not print, whatever their numbers."""
    ran = list(run_notebook(path))
    assert any(stored_output(cell) for cell, _ in ran)
    return [line for cell, real in ran for line in missing_lines(stored_output(cell), real)]


def test_users_of_a_ranker_get_the_variety_they_click_on() -> None:
    assert differing(VARIETY) == []

    printed = "".join(text for _, text in run_notebook(VARIETY)).splitlines()
    same, varied = (
        next(line for line in printed if line.startswith(f"{user}: weight"))
        for user in ("same", "varied")
    )
    assert float(same.split()[-1]) < 0 < float(varied.split()[-1])


def test_lmdh_on_movielens_prints_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VARIEGATE_DATA", str(archive("ml-100k.zip").parent))

    assert differing(MOVIELENS) == []


def test_lmdh_runs_without_movielens_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VARIEGATE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    (_, first), *_, (_, last) = run_notebook(MOVIELENS)

    assert first.startswith("Generated likes, since ml-100k is not in ")
    assert "run `variegate fetch ml-100k`" in first
    assert "recall against random lists: +" in last


def test_pages_have_code_and_what_it_prints() -> None:
    page = notebook_page(VARIETY)

    assert page.startswith("# Learnt variety on top of your ranker\n\n[Download this notebook](")
    assert page.count("```python") == 5
    assert "```text\nsame: weight of the score" in page
