"""`python -m tools.screenshots`."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser

from tools.screenshots.__main__ import main
from tools.screenshots.take import SCREENS, THEMES, VIEWS, take_screenshots

PNG = b"\x89PNG\r\n\x1a\n"


def test_first_screenshot_shows_the_list(browser: Browser, address: str, tmp_path: Path) -> None:
    screenshots = take_screenshots(browser, address, tmp_path)
    first = next(screenshots)
    screenshots.close()

    assert first == tmp_path / "try-light-desktop.png"
    assert first.read_bytes().startswith(PNG)
    assert first.stat().st_size > 50_000


def test_every_view_is_included() -> None:
    views = {view.partition("-")[0] for view in VIEWS}

    assert views == {"try", "counterfactual", "map", "simulation", "operator"}
    assert len(VIEWS) * len(THEMES) * len(SCREENS) == 24


def test_missing_browser_is_reported_before_anything_is_created(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: None)

    result = CliRunner().invoke(main, ["--out", str(tmp_path / "images")])

    assert result.exit_code == 1
    assert "chromium" in result.stderr
    assert not (tmp_path / "images").exists()
