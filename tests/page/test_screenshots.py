"""`variegate screenshots`: pictures without a person."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.cli.running import fail
from variegate.cli.pictures.taking import SCREENS, THEMES, VIEWS, take

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_person_plays_and_a_picture_is_taken(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    pictures = take(browser, address, tmp_path)
    first = next(pictures)
    pictures.close()

    assert first == tmp_path / "try-light-desktop.png"
    assert first.read_bytes().startswith(PNG)
    assert first.stat().st_size > 50_000


def test_every_view_is_among_them() -> None:
    views = {view.partition("-")[0] for view in VIEWS}

    assert views == {"try", "beside", "map", "watch", "operator"}
    assert len(VIEWS) * len(THEMES) * len(SCREENS) == 24


def test_without_a_browser_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: None)

    said = fail("screenshots", "--out", tmp_path / "pictures")

    assert "chromium" in said
    assert not (tmp_path / "pictures").exists()
