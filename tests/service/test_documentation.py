"""The documentation site beside the API."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Error

from tests.client.serving import service as running
from tests.service.whole import service
from tools.screenshots.browser import find_chromium, open_browser
from variegate.errors import DataError, MissingExtraError

START = "<!doctype html><title>Site</title><link rel=icon href='data:,'>"
KNOWN = "<script>document.title = 'known';</script>"
UNKNOWN = "document.body.append(Object.assign(document.createElement('script'), {text: 'x = 1'}))"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    (site / "how-to").mkdir(parents=True)
    (site / "index.html").write_text(f"{START}<body>{KNOWN}", encoding="utf-8")
    (site / "how-to" / "deploy.html").write_text(START, encoding="utf-8")
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    return site


@pytest.fixture
def site(folder: Path, tmp_path: Path) -> Iterator[TestClient]:
    with service(tmp_path, documentation=str(folder)) as (app, _):
        yield TestClient(app)


def test_pages_are_served_and_the_page_links_to_them(site: TestClient) -> None:
    assert "<title>Site</title>" in site.get("/documentation/").text
    assert site.get("/documentation/how-to/deploy.html").status_code == 200
    assert site.head("/documentation/index.html").headers["content-type"].startswith("text/html")
    assert '<a href="/documentation/">Documentation</a>' in site.get("/").text


@pytest.mark.parametrize("path", ["..%2fsecret", "%2e%2e/secret", "../secret", "how-to", "none"])
def test_other_files_are_not_served(site: TestClient, path: str) -> None:
    assert site.get(f"/documentation/{path}").status_code == 404


def test_without_the_setting_the_page_has_no_link(tmp_path: Path) -> None:
    with service(tmp_path) as (app, _):
        client = TestClient(app)

        assert '<a href="/documentation/" hidden>' in client.get("/").text
        assert client.get("/documentation/").status_code == 404


def test_folder_without_a_site_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(DataError, match=r"`documentation` must be a folder with an index\.html"),
        service(tmp_path, documentation=str(tmp_path)),
    ):
        pass


def test_browser_runs_the_scripts_of_the_site_and_no_others(folder: Path, tmp_path: Path) -> None:
    try:
        find_chromium()
    except MissingExtraError as error:
        pytest.skip(str(error))
    with running(tmp_path, documentation=str(folder)) as address, open_browser() as browser:
        page = browser.new_page()
        page.goto(f"{address}/documentation/")

        assert page.title() == "known"
        page.evaluate(UNKNOWN)
        with pytest.raises(Error, match="x is not defined"):
            page.evaluate("x")
