"""Every view of the page, light and dark, on a wide screen and on a phone."""

from collections.abc import Callable, Generator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from variegate.cli.pictures.browsing import READY, Person

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Theme = Literal["light", "dark"]
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
SCREENS: Final = {"desktop": (1280, 860), "phone": (390, 844)}
#: Lists that are answered before pictures are taken.
ROUNDS: Final = 7


def take(browser: "Browser", address: str, folder: Path) -> Generator[Path, None, None]:
    """Play a few rounds, then give each picture once it is taken."""
    kept = _played(browser, address)
    for theme, (screen, (width, height)) in product(THEMES, SCREENS.items()):
        context = browser.new_context(
            color_scheme=theme,
            viewport={"width": width, "height": height},
            device_scale_factor=2,
            reduced_motion="reduce",
            storage_state=kept,
        )
        page = context.new_page()
        for view, show in VIEWS.items():
            page.goto("about:blank")  # or else another view would only be unfolded
            page.goto(f"{address}/#/{view.partition('-')[0]}")
            show(page)
            path = folder / f"{view}-{theme}-{screen}.png"
            page.screenshot(path=path, full_page=not view.endswith("why"))
            yield path
        context.close()


def _played(browser: "Browser", address: str) -> Any:
    """Return what the browser keeps of somebody who has answered some lists."""
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    page = context.new_page()
    page.goto(address)
    person = Person(page)
    for _ in range(ROUNDS):
        person.answer()
    kept = context.storage_state()
    context.close()
    return kept


def _try(page: "Page") -> None:
    page.wait_for_selector(READY)
    page.wait_for_selector("#likes .belief")


def _why(page: "Page") -> None:
    _try(page)
    page.locator("#cards .why-button").first.click()
    page.wait_for_selector("#why[open]")


def _body(selector: str) -> Callable[["Page"], None]:
    def wait(page: "Page") -> None:
        page.wait_for_selector(selector)
        page.wait_for_load_state("networkidle")

    return wait


def _operator(page: "Page") -> None:
    # It asks anew every few seconds: the network is never idle for good.
    page.wait_for_selector("#view-operator .tiles .tile")


VIEWS: Final[dict[str, Callable[["Page"], None]]] = {
    "try": _try,
    "try-why": _why,
    "beside": _body("#view-beside .beside-columns"),
    "map": _body("#view-map .map canvas"),
    "watch": _body("#view-watch .watch-charts svg"),
    "operator": _operator,
}
