"""Reports and overviews from running sums equal those from the whole history."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from tests.engine.scanning import Scan
from tests.engine.shop import Shop
from variegate.demo.overview import overview
from variegate.demo.views import Demo
from variegate.engine.replay import RecountSums
from variegate.errors import ConflictError, NotFoundError
from variegate.store import Store

POLICIES = {"a": "lmdh:ridge=1", "b": "mmr"}
USERS = [f"u{number}" for number in range(9)]


def near(found: Any, expected: Any) -> bool:
    """Tell whether two answers are the same but for the last digits of numbers."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(near(found[n], expected[n]) for n in found)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(near, found, expected))
    if isinstance(expected, float):
        return bool(found == pytest.approx(expected, rel=1e-9, abs=1e-9))
    return bool(found == expected)


def assert_sums_are_those_of_the_history(shop: Shop) -> None:
    scan, report = Scan(shop.store), shop.engine.report()
    expected = scan.report(list(POLICIES))
    shown = {one["policy"]: one for one in report["policies"]}
    for name, policy in expected["policies"].items():
        assert near({part: shown[name][part] for part in policy}, policy)
    assert near([one["reward"] for one in report["differences"]], expected["differences"])
    now = shop.clock.now
    for minutes in (15, 200):
        with shop.store.reading() as reader:
            snapshot = shop.engine.live.as_of(reader)
            found = overview(reader, snapshot, shop.experiment, now=now, minutes=minutes)
        assert found["counts"] == scan.counts()
        assert found["per_minute"] == scan.per_minute(now, minutes)
        assert near(found["by_policy"], scan.by_policy(now, minutes))
    with shop.store.reading() as reader:
        assert reader.count_wrong_sums(now) == 0


class Traffic:
    """Users who do anything that can be done, in any order."""

    def __init__(self, shop: Shop, seed: int, users: list[str]) -> None:
        self.shop, self.users, self.rng = shop, users, np.random.default_rng(seed)
        self.given: list[dict[str, Any]] = []

    def step(self) -> None:
        kinds = ("give", "tell", "withdraw", "forget", "move", "pass_time")
        kind = self.rng.choice(kinds, p=[0.4, 0.35, 0.06, 0.05, 0.04, 0.1])
        with suppress(ConflictError, NotFoundError):
            getattr(self, str(kind))()

    def user(self) -> str:
        return str(self.rng.choice(self.users))

    def give(self) -> None:
        k = int(self.rng.integers(1, 6))
        self.given.append(self.shop.give(self.user(), k=k, allow_repeats=True))

    def some_list(self) -> dict[str, Any]:
        if not self.given:
            self.give()
        return self.given[int(self.rng.integers(len(self.given)))]

    def tell(self) -> None:
        given = self.some_list()
        items = [item["id"] for item in given["items"] if self.rng.random() < 0.6]
        rewards = {item: float(np.round(self.rng.random(), 3)) for item in items}
        seen = None if self.rng.random() < 0.3 else items
        self.shop.tell(given["slate_id"], rewards, seen)

    def withdraw(self) -> None:
        given = self.some_list()
        self.given.append(self.shop.give(given["user"], instead_of=given["slate_id"]))

    def forget(self) -> None:
        self.shop.forget(self.user())

    def move(self) -> None:
        lines = [
            line
            for line in self.shop.exported()
            if line["kind"] == "export" or self.rng.random() < 0.3
        ]
        self.shop.take_in(lines, replace=True)

    def pass_time(self) -> None:
        self.shop.close(float(self.rng.uniform(1, 200)))


@pytest.mark.parametrize(
    "rules",
    [
        {"wait_seconds": 90.0, "late": "learn", "default_reward": 0.25},
        {"wait_seconds": 90.0, "aggregation": "sum"},
    ],
    ids=["first", "sum"],
)
def test_sums_are_those_of_the_history(any_store: Store, rules: dict[str, Any]) -> None:
    shop = Shop(any_store, POLICIES, split={"a": 0.5, "b": 0.5}, **rules)
    traffic = Traffic(shop, 3, USERS)
    for _ in range(4):
        for _ in range(40):
            traffic.step()
        assert_sums_are_those_of_the_history(shop)


def test_replicas_on_one_server_keep_the_sums_right(url_of: Any) -> None:
    url = url_of("postgres")

    def replica(number: int) -> None:
        with Store.open(url) as store:
            shop = Shop(store, POLICIES, split={"a": 0.5, "b": 0.5})
            traffic = Traffic(shop, number, [f"{name}-{number % 2}" for name in USERS[:4]])
            for _ in range(40):
                traffic.step()

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(replica, number) for number in range(3)]:
            done.result()
    with Store.open(url) as store:
        assert_sums_are_those_of_the_history(Shop(store, POLICIES))


def test_recounting_leaves_right_sums_as_they_are(any_store: Store) -> None:
    shop = Shop(any_store, POLICIES, split={"a": 0.5, "b": 0.5})
    traffic = Traffic(shop, 1, USERS)
    for _ in range(30):
        traffic.step()
    before = shop.engine.report()
    shop.do(RecountSums())
    assert shop.engine.report() == before
    assert_sums_are_those_of_the_history(shop)


def test_an_imported_number_without_measure_leaves_reports_to_everyone(any_store: Store) -> None:
    shop = Shop(any_store)
    for user in ("ann", "bob"):
        shop.click(user)
    with any_store.batch() as batch:  # as a store has it that an older version wrote
        row = next(iter(batch.history("ann", 1)))
        huge = row._replace(
            id="01HUGE", earned=1e308, diversity=dict.fromkeys(row.diversity, 1e308)
        )
        batch.add_slates([huge, huge._replace(id="01HUGER", created=huge.created + 60)])
    report = shop.engine.report()
    assert report["policies"][0]["users"] == 2
    assert np.isfinite(list(report["policies"][0]["reward"].values())).all()
    assert np.isfinite([one["reward"] for one in Demo(shop.engine).overview(15)["by_policy"]]).all()


def test_pages_that_ask_at_once_cost_one_overview(shop: Shop, monkeypatch: Any) -> None:
    shop.click()
    now = [100.0]
    monkeypatch.setattr("variegate.demo.views.monotonic", lambda: now[0])
    demo = Demo(shop.engine)
    first = demo.overview(15)
    shop.click()
    assert demo.overview(15) is first
    assert demo.overview(60)["counts"]["slates"] == 2
    now[0] += 2.0
    assert demo.overview(15)["counts"]["slates"] == 2


def test_reports_read_no_lists(shop: Shop) -> None:
    for user in ("ann", "bob"):
        shop.click(user)
    report = shop.engine.report()
    with shop.store._database.changing_tables() as transaction:
        transaction.change("ALTER TABLE slates RENAME TO hidden")
    assert shop.engine.report() == report
    assert Demo(shop.engine).overview(60)["report"] == report
    assert shop.engine.counts()["slates"] == 2
