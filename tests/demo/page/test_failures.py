"""A service that dies and comes back, keys, and titles that mean harm."""

import json
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pytest
from playwright.sync_api import Browser, Route

from tests.demo.page.tab import LISTS_READY, Tab
from tools.screenshots.service import Service
from variegate import Catalogue
from variegate.model.distances import jaccard
from variegate.service.keys import make_key
from variegate.store import Store

EVIL = '<script>window.harmed = true</script><img src=x onerror="window.harmed = true">'


def history(tab: Tab) -> list[dict[str, object]]:
    with urlopen(f"{tab.address}/v1/users/{tab.user()}/history") as answer:  # noqa: S310
        slates: list[dict[str, object]] = json.load(answer)["slates"]
    return slates


def test_nothing_is_lost_or_doubled_when_the_service_dies(
    browser: Browser, mortal: Service
) -> None:
    tab = Tab(browser, mortal.address)
    page = tab.open()
    tab.next_list(0)
    before = tab.titles()
    page.locator("#cards .pick").nth(1).click()
    page.locator("#cards .pick").nth(2).click()

    mortal.kill()
    page.click("#next")
    page.wait_for_selector("#away.shown")
    assert "saved" in page.locator("#away").inner_text()
    mortal.start()
    tab.wait_for_other(before)

    answered = [one for one in history(tab) if one["answered"]]
    assert [one["earned"] for one in answered] == [2.0, 1.0]
    assert page.evaluate("JSON.parse(localStorage['variegate.outbox'] ?? '[]')") == []
    tab.context.close()


def test_an_answer_that_was_lost_on_the_way_counts_once(browser: Browser, mortal: Service) -> None:
    tab = Tab(browser, mortal.address)
    page = tab.open()
    before = tab.titles()
    lost: list[int] = []

    def lose(route: Route) -> None:
        if not lost:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    page.route("**/feedback", lose)
    page.locator("#cards .pick").nth(1).click()
    page.click("#next")
    tab.wait_for_other(before)

    assert lost == [200]
    assert [one["earned"] for one in history(tab) if one["answered"]] == [1.0]
    with urlopen(f"{mortal.address}/v1/overview") as answer:  # noqa: S310
        assert json.load(answer)["counts"]["events"] == 1
    tab.context.close()


def test_picks_outlive_a_tab_that_is_closed_while_the_service_is_away(
    browser: Browser, mortal: Service
) -> None:
    tab = Tab(browser, mortal.address)
    page = tab.open()
    page.locator("#cards .pick").nth(3).click()
    mortal.kill()
    page.click("#next")
    page.wait_for_selector("#away.shown")
    page.close()

    mortal.start()
    tab.page = tab.context.new_page()
    tab.page.goto(mortal.address)
    tab.page.wait_for_selector(LISTS_READY)

    assert [one["earned"] for one in history(tab) if one["answered"]] == [1.0]
    tab.context.close()


@pytest.fixture
def evil(tmp_path: Path) -> str:
    """Return a catalogue of anything but films, whose texts are all meant to do harm."""
    rng = np.random.default_rng(2)
    kinds = [[f"<b>{('tea', 'jam', 'rye')[n % 3]}</b>"] for n in range(40)]
    items = Catalogue(
        [f'"><i>{n}' for n in range(40)],
        rng.uniform(0, 1, (40, 5)),
        ["cosine", jaccard(kinds, name="<u>kinds</u>")],
        titles=[f"{EVIL} {n}" for n in range(40)],
        attributes={"<s>kinds</s>": kinds, "price": list(range(40))},
        feature_names=[f"<em>{n}</em>" for n in range(5)],
    )
    path = tmp_path / "evil.npz"
    items.save(path)
    return str(path)


def test_text_of_a_catalogue_is_only_text(browser: Browser, evil: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/evil.db"
    with Service("--catalogue", evil, "--store", store) as service:
        tab = Tab(browser, service.address)
        page = tab.open()
        assert tab.titles()[0].startswith(EVIL)
        tab.next_list(0, 1)
        page.locator("#cards .why-button").first.click()
        for view, part in (
            ("counterfactual", ".counterfactual-columns"),
            ("map", ".map canvas"),
            ("simulation", ".simulation-charts svg"),
            ("operator", ".tile"),
        ):
            tab.open(view)
            page.wait_for_selector(f"#view-{view} {part}")
            assert page.locator("main script, main img, main em, main u, main s").count() == 0

        assert page.evaluate("window.harmed") is None
        assert tab.complaints == []
        tab.context.close()


def test_a_key_is_asked_for_once(browser: Browser, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/keyed.db"
    with Store.open(url) as store:
        text, _ = make_key(store, "write", "page")
        admin, _ = make_key(store, "admin", "me")
    with Service("--store", url) as service:
        tab = Tab(browser, service.address)
        tab.page.goto(service.address)
        tab.page.get_by_label("Key", exact=True).fill(text)
        tab.page.get_by_role("button", name="Use this key").click()
        tab.page.wait_for_selector(LISTS_READY)
        tab.next_list(0)

        tab.page.get_by_role("link", name="Operator").click()
        tab.page.get_by_role("button", name="Enter an admin key").click()
        tab.page.get_by_label("Key", exact=True).fill(admin)
        tab.page.get_by_role("button", name="Use this key").click()
        tab.page.wait_for_selector("#view-operator .tile")

        report = Request(f"{service.address}/v1/report", headers={"X-API-Key": admin})  # noqa: S310
        with urlopen(report) as answer:  # noqa: S310
            assert json.load(answer)["policies"][0]["answered_slates"] == 1
        tab.context.close()
