"""A tab whose console and requests are watched."""

import json
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Request

from tools.screenshots.browser import LIST_READY as READY

LISTS_READY = READY


class Tab:
    """A tab of a new user, with its messages and requests.

    Parameters
    ----------
    options
        Of a browser's context, such as ``color_scheme``.
    """

    def __init__(self, browser: Browser, address: str, **options: object) -> None:
        wide = {"viewport": {"width": 1280, "height": 860}, "reduced_motion": "reduce"}
        self.context = browser.new_context(**{**wide, **options})  # type: ignore[arg-type]
        self.context.set_default_timeout(30_000)
        self.address = address
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._note)

    def open(self, view: str = "try") -> Page:
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}/#/{view}")
        if view == "try":
            self.page.wait_for_selector(READY)
        return self.page

    def titles(self) -> list[str]:
        return self.page.locator("#cards .card-title").all_text_contents()

    def next_list(self, *places: int) -> None:
        """Pick what stands at these places, and wait for the list after this one."""
        before = self.titles()
        for place in places:
            self.page.locator("#cards .pick").nth(place).click()
        self.page.click("#next")
        self.wait_for_other(before)

    def wait_for_other(self, before: list[str]) -> None:
        self.page.wait_for_function(
            "([ready, before]) => document.querySelector(ready) && before !== JSON.stringify("
            "[...document.querySelectorAll('#cards .card-title')].map(e => e.textContent))",
            arg=[READY, _json(before)],
        )

    def user(self) -> str:
        kept: str = self.page.evaluate("JSON.parse(localStorage['variegate.session']).user")
        return kept

    def is_scrolled_sideways(self) -> bool:
        wider: bool = self.page.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )
        return wider

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _note(self, request: Request) -> None:
        if request.url.startswith("http"):
            self.hosts.add(urlsplit(request.url).netloc)


def _json(titles: list[str]) -> str:
    return json.dumps(titles, ensure_ascii=False, separators=(",", ":"))
