"""A real browser and a real service, on a store of the test's own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.demo.page.tab import Tab
from tools.screenshots.browser import find_chromium, open_browser
from tools.screenshots.service import Service
from variegate.errors import MissingExtraError

#: Makes a tab; options are those of a browser's context.
NewTab = Callable[..., Tab]


# Not for the session: while playwright runs, its loop is in the way of tests with one of theirs.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        find_chromium()
    except MissingExtraError as error:
        pytest.skip(f"THE PAGE IS NOT TESTED: {error}")
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return where a service with the bundled films answers; tests share it, not their users."""
    folder = tmp_path_factory.mktemp("page")
    service = Service("--store", f"sqlite:///{folder}/page.db?durability=normal")
    service.start()
    yield service.address
    service.stop()


@pytest.fixture
def new_tab(browser: Browser, address: str) -> Iterator[NewTab]:
    """Return what opens a tab; in the end no tab may have complained or asked elsewhere."""
    tabs: list[Tab] = []

    def make(**options: object) -> Tab:
        tabs.append(Tab(browser, address, **options))
        return tabs[-1]

    yield make
    for tab in tabs:
        tab.context.close()
    assert [tab.complaints for tab in tabs] == [[]] * len(tabs)
    assert {host for tab in tabs for host in tab.hosts} <= {address.partition("//")[2]}


@pytest.fixture
def tab(new_tab: NewTab) -> Tab:
    return new_tab()


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Service]:
    """Return a service that may be killed."""
    service = Service("--store", f"sqlite:///{tmp_path}/mortal.db")
    service.start()
    yield service
    service.stop()
