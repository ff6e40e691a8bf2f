"""A real browser without a window, and what a person does with the page in it."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from variegate.errors import MissingExtraError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: What the browser's program may be called.
PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")
#: A list is there, and the page waits for the person.
READY: Final = '#cards[aria-busy="false"] .pick'


def found_browser() -> str:
    """Return the path of the browser, or raise MissingExtraError that says what to install."""
    for name in PROGRAMS:
        path = shutil.which(name)
        if path is not None:
            return path
    raise MissingExtraError(
        "pictures need the browser chromium: install it (Debian: apt-get install chromium)"
    )


@contextmanager
def browser() -> "Iterator[Browser]":
    """Give a browser without a window, and close it."""
    path = found_browser()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise MissingExtraError("pictures need playwright: pip install playwright") from None
    # Chromium's sandbox does not work for root, and the page is our own.
    options = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=options)
        try:
            yield opened
        finally:
            opened.close()


class Person:
    """Somebody at the page who picks what carries one of their labels.

    Parameters
    ----------
    page
        Where they sit.
    most
        Picks in a list, at most.
    """

    def __init__(self, page: "Page", *, most: int = 4) -> None:
        self.page, self.most = page, most
        self.labels: frozenset[str] = frozenset()

    def answer(self) -> int:
        """Pick what they like in this list and go to the next; return how much that was."""
        self.page.wait_for_selector(READY)
        if not self.labels:
            self.labels = self._taste()
        liked = [place for place, labels in enumerate(self.cards()) if self.labels & set(labels)]
        for place in liked[: self.most]:
            self.page.locator("#cards .pick").nth(place).click()
        before = self.titles()
        self.page.click("#next")
        self.page.wait_for_function(
            "([ready, before]) => document.querySelector(ready) && before !== "
            "[...document.querySelectorAll('#cards .card-title')].map(e => e.textContent).join()",
            arg=[READY, ",".join(before)],
        )
        return min(len(liked), self.most)

    def cards(self) -> list[list[str]]:
        """Return the labels of each card."""
        labels: list[list[str]] = self.page.eval_on_selector_all(
            "#cards .card",
            "all => all.map(e => [...e.querySelectorAll('.chip')].map(c => c.innerText))",
        )
        return labels

    def titles(self) -> list[str]:
        """Return the titles of the list."""
        return self.page.locator("#cards .card-title").all_text_contents()

    def _taste(self) -> frozenset[str]:
        """Return the two labels that most items of the list have: a taste that can be learnt."""
        counts = Counter(label for labels in self.cards() for label in labels)
        return frozenset(label for label, _ in counts.most_common(2))
