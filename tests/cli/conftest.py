"""Data to measure on: made likes, as a table and as the files of MovieLens-100K."""

import csv
from pathlib import Path

import pytest

from tests.cli.serving import Place, placed
from tests.evaluation.replaying import taste_pairs, write_movielens


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table of likes, `ml-100k`, and room for embeddings."""
    folder = tmp_path_factory.mktemp("kept")
    with (folder / "likes.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("user", "item"), *taste_pairs(loners=10)])
    write_movielens(folder)
    return folder


@pytest.fixture
def likes(kept: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the table of likes; embeddings learnt from it are kept for the next test."""
    monkeypatch.setenv("VARIEGATE_CACHE", str(kept / "cache"))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return kept / "likes.csv"


@pytest.fixture
def movielens(kept: Path, likes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: ARG001
    """Let the folder be where data sets are looked for; it has `ml-100k` alone."""
    monkeypatch.setenv("VARIEGATE_DATA", str(kept))
    monkeypatch.setenv("XDG_DATA_HOME", str(kept / "nothing"))
    return kept


@pytest.fixture(autouse=True)
def _able_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever terminal the tests run in, bars are drawn as in one that can move its cursor."""
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, without a settings file, in a terminal of 100 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VARIEGATE_CONFIG", raising=False)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def named_place(new_folder: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:  # noqa: ARG001
    """Return a place whose store and catalogue the environment names."""
    found = placed(tmp_path)
    monkeypatch.setenv("VARIEGATE_STORE", found.url())
    monkeypatch.setenv("VARIEGATE_CATALOGUE", found.catalogue)
    return found
