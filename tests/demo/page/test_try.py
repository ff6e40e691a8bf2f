"""Being the user: lists, picks, what is learnt, the dial."""

import json
from itertools import pairwise
from typing import Any
from urllib.request import urlopen

from tests.demo.page.conftest import NewTab
from tests.demo.page.tab import Tab
from tools.screenshots.browser import ScriptedUser


def weights(tab: Tab, panel: str) -> dict[str, str]:
    rows = tab.page.locator(f"#{panel} .belief")
    texts = [row.inner_text().split("\n") for row in rows.all()]
    return {text[0]: text[-1] for text in texts}


def known(tab: Tab) -> dict[str, Any]:
    with urlopen(f"{tab.address}/v1/users/{tab.user()}") as answer:  # noqa: S310
        found: dict[str, Any] = json.load(answer)
    return found


def test_five_lists_teach_and_the_preferences_are_seen_to_move(tab: Tab) -> None:
    tab.open()
    person = ScriptedUser(tab.page)
    seen = []
    for _ in range(5):
        assert person.answer() > 0
        tab.page.wait_for_selector("#likes .belief")
        tab.page.wait_for_load_state("networkidle")
        seen.append((weights(tab, "likes"), weights(tab, "variety")))

    likes, varieties = zip(*seen, strict=True)
    assert all(later != earlier for earlier, later in pairwise(likes))
    assert all(later != earlier for earlier, later in pairwise(varieties))
    assert next(iter(varieties[-1])) == "all together"
    assert len(varieties[-1]) == 5
    words = known(tab)["learnt"]["words"]["variety"]
    assert tab.page.locator("#variety .belief-words").inner_text() == words
    assert known(tab)["slates"] == 6
    result = tab.page.locator("#progress svg[aria-label^='Picks by list']").get_attribute(
        "aria-label"
    )
    assert result is not None
    assert result.count(",") == 4


def test_what_is_shown_is_not_shown_again(tab: Tab) -> None:
    tab.open()
    first = tab.titles()

    tab.next_list(0, 3)

    assert len(first) == 10
    assert not set(first) & set(tab.titles())


def test_the_dial_changes_the_list_at_once_and_back_again(tab: Tab) -> None:
    tab.open()
    tab.next_list(0, 1, 2)
    learnt = tab.titles()

    tab.page.locator("#dial-slider").focus()
    tab.page.keyboard.press("Home")
    tab.wait_for_other(learnt)
    alike = tab.titles()
    tab.page.get_by_role("button", name="As learnt").click()
    tab.wait_for_other(alike)

    assert tab.titles() == learnt
    assert set(alike) != set(learnt)
    history = f"{tab.address}/v1/users/{tab.user()}/history"
    with urlopen(history) as answer:  # noqa: S310
        slates = json.load(answer)["slates"]
    assert [(one["closed"], one["answered"]) for one in slates] == [
        (False, False),
        (True, False),
        (True, False),
        (False, True),
    ]


def test_why_an_item_is_there_can_be_read(tab: Tab) -> None:
    page = tab.open()
    tab.next_list(0)
    title = tab.titles()[2]

    page.get_by_role("button", name=f"Why this: {title}").click()

    dialog = page.get_by_role("dialog")
    assert title in dialog.inner_text()
    page.keyboard.press("Escape")
    page.wait_for_selector("#why:not([open])", state="attached")


def test_a_reload_loses_neither_the_list_nor_the_picks(tab: Tab) -> None:
    page = tab.open()
    page.locator("#cards .pick").nth(4).click()
    before = tab.titles()

    page.reload()
    page.wait_for_selector("#cards .pick")

    assert tab.titles() == before
    assert page.locator("#cards .pick[aria-pressed=true]").count() == 1


def test_the_keyboard_alone_is_enough(tab: Tab) -> None:
    page = tab.open()
    before = tab.titles()

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('pick')"):
            break
    page.keyboard.press("Space")
    assert page.locator("#cards .pick[aria-pressed=true]").count() == 1
    page.keyboard.press("3")
    assert page.locator("#cards .pick[aria-pressed=true]").count() == 2
    page.keyboard.press("Control+Enter")
    tab.wait_for_other(before)

    assert known(tab)["slates"] == 2


def test_somebody_new_is_somebody_else(tab: Tab) -> None:
    page = tab.open()
    tab.next_list(0)
    first, before = tab.user(), tab.titles()

    page.get_by_role("button", name="Start as a new user").click()
    tab.wait_for_other(before)

    assert tab.user() != first


def test_undo_takes_back_a_pick_and_a_new_user(tab: Tab) -> None:
    page = tab.open()
    first, before = tab.user(), tab.titles()
    page.locator("#cards .pick").nth(1).click()

    page.click("#undo")
    assert page.locator("#cards .pick[aria-pressed=true]").count() == 0

    page.get_by_role("button", name="Start as a new user").click()
    page.wait_for_selector("#status:has-text('You are a new user')")
    assert tab.user() != first
    page.click("#undo")
    page.wait_for_selector("#undo", state="hidden")
    assert (tab.user(), tab.titles()) == (first, before)


def test_picks_that_were_sent_are_not_offered_for_undo_and_the_page_says_so(tab: Tab) -> None:
    page = tab.open()
    tab.next_list(2)

    assert page.locator("#undo").is_hidden()
    assert "Picks can be undone until you ask" in page.locator(".under .hint").inner_text()
    assert known(tab)["slates"] == 2


def test_undo_turns_the_dial_back(tab: Tab) -> None:
    page = tab.open()
    before = tab.titles()
    page.locator("#dial-slider").focus()
    page.keyboard.press("End")
    tab.wait_for_other(before)

    page.click("#undo")

    page.wait_for_function(
        "before => before === JSON.stringify([...document.querySelectorAll("
        "'#cards .card-title')].map(e => e.textContent))",
        arg=json.dumps(before, ensure_ascii=False, separators=(",", ":")),
    )


def test_empty_charts_say_what_will_come(tab: Tab) -> None:
    page = tab.open()

    assert page.locator("#progress .empty-words").all_text_contents() == [
        "A bar for each answered list.",
        "A line for each distance, over your lists.",
    ]
    tab.next_list(0)
    page.wait_for_selector("#progress .empty-words", state="detached")


def test_nothing_covers_the_pick_buttons_of_a_small_laptop(new_tab: NewTab) -> None:
    tab = new_tab(viewport={"width": 1280, "height": 800})
    page = tab.open()
    hit = page.eval_on_selector_all(
        "#cards .pick, #next",
        "all => all.map(e => { const { x, y, width, height } = e.getBoundingClientRect();"
        " return e.contains(document.elementFromPoint(x + width / 2, y + height / 2)); })",
    )

    assert hit == [True] * 11


def test_the_page_says_how_to_use_another_catalogue(tab: Tab) -> None:
    page = tab.open()
    page.get_by_role("button", name="Use your own catalogue").click()

    words = page.get_by_role("dialog").inner_text()
    assert "variegate build items products.csv" in words
    assert (
        page.get_by_role("link", name="API", exact=True, include_hidden=True).get_attribute("href")
        == "/docs"
    )
