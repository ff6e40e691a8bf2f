"""Items with a picture of their own, on the page."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.demo.page.tab import Tab
from tools.screenshots.service import Service
from variegate import Catalogue

#: A picture that the service has, one that it has not, and what is no address of a picture
IMAGES = ["/page/mark.svg", "/nowhere.png", "javascript:alert(1)", "data:image/png;base64,AA", None]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("images")
    ids = ["shown", "missing", "script", "data", "none"]
    features = [[1.0, 0.1 * place] for place in range(5)]
    attributes: dict[str, list[Any]] = {"image": IMAGES, "kind": ["lamp"] * 5}
    Catalogue(ids, features, "cosine", attributes=attributes).save(folder / "shop.npz")
    store = f"sqlite:///{folder}/page.db?durability=normal"
    with Service("--store", store, "--catalogue", str(folder / "shop.npz")) as service:
        yield service.address


def test_items_show_their_pictures_and_others_a_drawn_one(browser: Browser, shop: str) -> None:
    tab = Tab(browser, shop)
    page = tab.open()
    page.wait_for_function("document.querySelectorAll('#cards svg.poster').length === 4")
    card = page.locator("#cards .card", has=page.locator("img.poster"))

    assert card.locator(".card-title").all_text_contents() == ["shown"]
    assert card.locator("img").evaluate("image => image.naturalWidth") > 0
    assert page.locator("#cards .chip").all_text_contents() == ["lamp"] * 5
    assert [text for text in tab.complaints if "404" not in text] == []
    tab.context.close()
