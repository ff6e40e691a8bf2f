"""Every view of the page, light and dark, on a desktop and on a phone."""

from collections.abc import Callable, Generator
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal

from playwright.sync_api import Browser, Page

from tools.screenshots.browser import LIST_READY, ScriptedUser

Theme = Literal["light", "dark"]
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
SCREENS: Final = {"desktop": (1280, 860), "phone": (390, 844)}
#: Lists that are answered before the first screenshot.
ROUNDS: Final = 3


def take_screenshots(browser: Browser, address: str, folder: Path) -> Generator[Path, None, None]:
    """Answer a few lists, then save the screenshots and yield the path of each."""
    storage = _answer_lists(browser, address)
    for theme, (screen, (width, height)) in product(THEMES, SCREENS.items()):
        context = browser.new_context(
            color_scheme=theme,
            viewport={"width": width, "height": height},
            device_scale_factor=2,
            reduced_motion="reduce",
            storage_state=storage,
        )
        page = context.new_page()
        for view, wait in VIEWS.items():
            page.goto("about:blank")  # a change of the fragment alone would not reload the page
            page.goto(f"{address}/#/{view.partition('-')[0]}")
            wait(page)
            path = folder / f"{view}-{theme}-{screen}.png"
            if not view.endswith("why"):
                _show_whole_page(page, width)
            page.screenshot(path=path)
            page.set_viewport_size({"width": width, "height": height})
            yield path
        context.close()


def _answer_lists(browser: Browser, address: str) -> Any:
    """Return the browser storage of a user who has answered some lists."""
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    page = context.new_page()
    page.goto(address)
    user = ScriptedUser(page)
    for _ in range(ROUNDS):
        user.answer()
    storage = context.storage_state()
    context.close()
    return storage


def _show_whole_page(page: Page, width: int) -> None:
    # A full-page screenshot would draw the bar that sticks to the bottom of the window in the
    # middle of the page.
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": width, "height": height})


def _wait_try(page: Page) -> None:
    page.wait_for_selector(LIST_READY)
    page.wait_for_selector("#likes .belief")


def _open_explanation(page: Page) -> None:
    _wait_try(page)
    page.locator("#cards .why-button").first.click()
    page.wait_for_selector("#why[open]")


def _wait_for(selector: str) -> Callable[[Page], None]:
    def wait(page: Page) -> None:
        page.wait_for_selector(selector)
        page.wait_for_load_state("networkidle")

    return wait


def _wait_operator(page: Page) -> None:
    # It polls every few seconds: waiting for an idle network would be a race.
    page.wait_for_selector("#view-operator .tiles .tile")


VIEWS: Final[dict[str, Callable[[Page], None]]] = {
    "try": _wait_try,
    "try-why": _open_explanation,
    "counterfactual": _wait_for("#view-counterfactual .counterfactual-columns"),
    "map": _wait_for("#view-map .map canvas"),
    "simulation": _wait_for("#view-simulation .simulation-charts svg"),
    "operator": _wait_operator,
}
