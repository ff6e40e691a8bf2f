"""Made-up likes in the files of MovieLens-100K, as the only data set that is found."""

from pathlib import Path

import pytest

from tests.evaluation.replaying import write_movielens


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds `ml-100k` and a cache of embeddings."""
    folder = tmp_path_factory.mktemp("data")
    write_movielens(folder)
    return folder


@pytest.fixture
def movielens(kept: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder the one in which data sets are looked for."""
    monkeypatch.setenv("VARIEGATE_CACHE", str(kept / "cache"))
    monkeypatch.setenv("VARIEGATE_DATA", str(kept))
    monkeypatch.setenv("XDG_DATA_HOME", str(kept / "nothing"))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return kept
