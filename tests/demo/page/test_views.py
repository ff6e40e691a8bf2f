"""The other views: side by side, the map, watching, the operator's."""

import re

from tests.demo.page.tab import Tab


def test_another_policy_stands_beside_the_list(tab: Tab) -> None:
    tab.open()
    tab.next_list(0, 1)
    own = tab.titles()
    page = tab.page

    page.get_by_role("link", name="Side by side").click()
    page.wait_for_selector(".counterfactual-columns")
    columns = page.locator(".counterfactual-columns .rows")
    shown, other = (columns.nth(place).inner_text() for place in (0, 1))
    page.locator("#view-counterfactual select").first.select_option("mmr")
    page.wait_for_selector(".counterfactual-columns h2:has-text('MMR')")

    assert all(title in shown for title in own)
    assert "null" not in page.locator(".counterfactual-body").inner_text()
    assert len(other) > 50
    assert columns.nth(0).locator("li").count() == columns.nth(1).locator("li").count() == 10


def test_a_list_with_the_dial_set_says_so_beside_other_policies(tab: Tab) -> None:
    page = tab.open()
    before = tab.titles()
    page.locator("#dial-slider").focus()
    page.keyboard.press("End")
    tab.wait_for_other(before)

    page.get_by_role("link", name="Side by side").click()
    policies = page.locator("#view-counterfactual select").first
    policies.select_option("mmr")
    page.wait_for_selector(".dial-words:has-text('has no dial: that is part of the difference')")
    policies.select_option("lmdh")
    page.wait_for_selector(".dial-words:has-text('made with the same setting')")


def test_the_map_holds_every_item_and_the_list(tab: Tab) -> None:
    tab.open()
    tab.page.get_by_role("link", name="Map").click()

    tab.page.wait_for_selector("#view-map .map canvas")
    tab.page.wait_for_selector("#view-map .spot", state="attached")

    assert tab.page.locator("#view-map .spot").count() == 10
    assert "1,500 items" in tab.page.locator("#view-map .map-side").inner_text()


def test_watching_runs_to_the_truth(tab: Tab) -> None:
    page = tab.open("simulation")

    page.wait_for_selector("#view-simulation .simulation-charts svg")
    result = page.locator("#view-simulation .simulation-summary").inner_text()
    missed = re.search(r"(\d+)% less regret", result)

    assert missed is not None
    assert int(missed.group(1)) > 50
    assert page.locator("#view-simulation .simulation-charts svg").count() == 5


def test_the_operator_sees_traffic_and_policies(tab: Tab) -> None:
    tab.open()
    tab.next_list(0)
    tab.page.get_by_role("link", name="Operator").click()

    tab.page.wait_for_selector("#view-operator .tile")
    words = tab.page.locator("#view-operator").inner_text()

    assert "lists answered" in words
    assert "feedback in the last hour" in words
    assert "lmdp" in words
    # Which requests were the slowest depends on the machine.
    assert re.search(r"(GET|POST) /\S*\t\d{3}\t[\d.]+\t", words)


def test_views_need_no_list_before_them(tab: Tab) -> None:
    for view in ("counterfactual", "map", "simulation", "operator"):
        page = tab.open(view)
        page.wait_for_selector(f"#view-{view} .view-body > *")
        assert page.locator(f"#title-{view}").is_visible()
    # Whoever has no list is not known: the browser itself complains of that answer.
    assert all("404" in complaint for complaint in tab.complaints)
    tab.complaints.clear()


def test_without_the_site_documentation_says_how_to_have_it(tab: Tab) -> None:
    page = tab.open()

    page.get_by_role("button", name="Documentation").click()

    sheet = page.get_by_role("dialog", name="Documentation")
    assert "variegate serve --documentation out/site" in sheet.inner_text()
    assert sheet.get_by_role("link").get_attribute("href") == "/docs"
