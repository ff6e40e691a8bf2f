"""A headless browser, and a scripted user of the page."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, Page, sync_playwright

from variegate.errors import MissingExtraError

#: Names that the browser's program may have.
PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")
#: Matches once a list is shown and the page waits for input.
LIST_READY: Final = '#cards[aria-busy="false"] .pick'


def find_chromium() -> str:
    """Return the path of the browser; raise MissingExtraError if it is not installed."""
    for name in PROGRAMS:
        path = shutil.which(name)
        if path is not None:
            return path
    raise MissingExtraError(
        "screenshots need the browser chromium: install it (Debian: apt-get install chromium)"
    )


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start a headless browser, and close it at the end."""
    path = find_chromium()
    # Chromium's sandbox does not work for root, and the page is our own.
    options = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=options)
        try:
            yield browser
        finally:
            browser.close()


def list_titles(page: Page) -> list[str]:
    """Return the titles of the current list."""
    return page.locator("#cards .card-title").all_text_contents()


def wait_for_new_list(page: Page, previous: list[str]) -> None:
    """Wait until a list is shown whose titles differ from the `previous` ones."""
    page.wait_for_function(
        "([ready, previous]) => document.querySelector(ready) && previous !== "
        "[...document.querySelectorAll('#cards .card-title')].map(e => e.textContent).join('|')",
        arg=[LIST_READY, "|".join(previous)],
    )


def answer_list(page: Page, *places: int) -> None:
    """Pick the items at these places and wait for the next list."""
    previous = list_titles(page)
    for place in places:
        page.locator("#cards .pick").nth(place).click()
    page.click("#next")
    wait_for_new_list(page, previous)


class ScriptedUser:
    """Picks items that carry one of two labels, which the first list decides.

    Parameters
    ----------
    max_picks
        Picks per list.
    """

    def __init__(self, page: Page, *, max_picks: int = 4) -> None:
        self.page, self.max_picks = page, max_picks
        self._labels: frozenset[str] = frozenset()

    def answer(self) -> int:
        """Answer the current list and wait for the next; return the number of picks."""
        self.page.wait_for_selector(LIST_READY)
        cards = self._card_labels()
        if not self._labels:
            counts = Counter(label for labels in cards for label in labels)
            self._labels = frozenset(label for label, _ in counts.most_common(2))
        liked = [place for place, labels in enumerate(cards) if self._labels & set(labels)]
        picks = liked[: self.max_picks]
        answer_list(self.page, *picks)
        return len(picks)

    def _card_labels(self) -> list[list[str]]:
        labels: list[list[str]] = self.page.eval_on_selector_all(
            "#cards .card",
            "all => all.map(e => [...e.querySelectorAll('.chip')].map(c => c.innerText))",
        )
        return labels
