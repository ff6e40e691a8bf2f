"""The attack's audit finds what must not be; the attack itself is a command, not a test."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.engine.shop import Shop
from tools.attack.audit import audit
from tools.attack.chaos import Chaos
from tools.attack.facts import Facts, Feedback, Given
from tools.attack.summary import BEGIN, summary, write_page
from tools.loadtest.page import END
from variegate.engine.recommend import RecommendRequest
from variegate.store import Store


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with Store.open(f"sqlite:///{tmp_path / 'attack.db'}") as store:
        yield Shop(store)


@pytest.fixture
def facts(shop: Shop) -> Facts:
    """Return what a client knows of one list and one report on it."""
    facts = Facts()
    answer = shop.do(RecommendRequest("ann", idempotency_key="key"))
    slate, items = answer["slate_id"], tuple(item["id"] for item in answer["items"])
    facts.keys["ann"].add("key")
    facts.by_key["ann", "key"] = slate
    facts.lists[slate] = Given("ann", items)
    report = Feedback(slate, ((items[0], 1.0),), None, None)
    facts.sent.add(report)
    facts.reports[report] = shop.tell(slate, {items[0]: 1.0})
    return facts


def found(shop: Shop, facts: Facts) -> list[str]:
    return audit(shop.store, facts, shop.engine.live, shop.experiment)


def test_a_store_that_agrees_is_in_order(shop: Shop, facts: Facts) -> None:
    assert found(shop, facts) == []


def test_a_lost_list_and_its_report_are_found(shop: Shop, facts: Facts) -> None:
    shop.forget("ann")

    a_list, report = found(shop, facts)
    assert a_list.endswith(" was given, and is lost")
    assert report.endswith(" was acknowledged (learnt), and is lost")


def test_a_list_that_nobody_asked_for_is_found(shop: Shop, facts: Facts) -> None:
    shop.do(RecommendRequest("ann", idempotency_key="another"))

    (line,) = found(shop, facts)
    assert "the key 'another', which nobody sent" in line


def test_a_report_that_nobody_sent_is_found(shop: Shop, facts: Facts) -> None:
    facts.sent.clear()

    (line,) = found(shop, facts)
    assert line.endswith("is in the log, and nobody sent it")


def test_a_state_that_the_log_does_not_give_is_found(shop: Shop, facts: Facts) -> None:
    user = shop.user("ann")
    with shop.store.batch() as batch:
        batch.save_users([user._replace(state=None)])

    assert found(shop, facts) == ["user 'ann': the state is not what the log gives"]


def test_a_forgotten_user_who_is_there_is_found(shop: Shop, facts: Facts) -> None:
    facts.forgotten.add("ann")

    assert found(shop, facts) == ["user 'ann' was forgotten, and is there"]


def test_a_change_that_was_not_acknowledged_may_be_carried_out_late(
    shop: Shop, facts: Facts
) -> None:
    # A replica that was stopped with SIGSTOP carried out a change after a later one was answered.
    shop.retire("i0")
    facts.items["i0"] = "a title"
    assert found(shop, facts) == ["item i0 must be 'a title', and is None"]

    facts.late_items["i0"].add(None)
    assert found(shop, facts) == []


def test_two_answers_to_one_key_are_a_problem(facts: Facts) -> None:
    facts.add_list("key", b'{"slate_id": "other", "user": "ann", "items": []}')

    assert facts.problems[0].startswith("key key of ann led to")


def test_an_answer_that_comes_after_its_user_was_forgotten_is_no_fact(
    shop: Shop, facts: Facts
) -> None:
    # A replica that was stopped with SIGSTOP had answered, and the answer came a minute later.
    ((report, answer),) = facts.reports.items()
    facts.forget("ann")
    shop.forget("ann")
    facts.add_report(report, json.dumps(answer).encode())

    assert found(shop, facts) == []


def test_the_page_gets_what_was_done_and_what_is_wrong(tmp_path: Path, facts: Facts) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{BEGIN}\n\nof old\n\n{END}\n\nafter\n")
    chaos = SimpleNamespace(
        counts=Counter({"kill replica by schedule": 3}), kills=[0.0, 20.0, 50.0]
    )

    lines = list(summary(facts, cast(Chaos, chaos), ["a list is lost"]))
    write_page(page, 10.0, lines)

    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "of old" not in text
    assert "     3  kill replica by schedule\n" in text
    assert "killed by schedule every 25.0 s, 30.0 s at most\n1 lists, 1 reports" in text
    assert text.index("WRONG: a list is lost\n1 wrong\n") > text.index("of 10 minutes, on ")
    assert list(summary(facts, cast(Chaos, chaos), []))[-1].startswith("nothing lost")
