"""Policies side by side: who gets which, and their report."""

from collections import Counter
from hashlib import sha256

import numpy as np
import pytest

from tests.engine.scanning import score_interval
from tests.engine.shop import Shop
from variegate.engine import Experiment
from variegate.errors import NotFoundError
from variegate.store import Store

AB = {"a": "lmdh:ridge=1", "b": "mmr"}
ABC = {"a": "lmdh", "b": "mmr", "c": "uniform"}


@pytest.mark.parametrize(
    ("split", "shares"),
    [
        ({}, {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}),
        ({"a": 0.9, "b": 0.1}, {"a": 0.9, "b": 0.1, "c": 0.0}),
        ({"a": 5.0, "b": 0.0, "c": 15.0}, {"a": 0.25, "b": 0.0, "c": 0.75}),
    ],
)
def test_users_are_split_by_the_weights(split: dict[str, float], shares: dict[str, float]) -> None:
    experiment = Experiment(ABC, split, seed=1)
    users = 4000
    found = Counter(experiment.assign(f"user {number}") for number in range(users))
    for name, share in shares.items():
        error = 4 * np.sqrt(share * (1 - share) / users)  # four standard errors
        assert abs(found[name] / users - share) <= error


def test_a_user_gets_the_same_policy_on_every_machine() -> None:
    users = ("ann", "bob", "cid", "dora", "emil", "fay", "gus")
    # The first 8 bytes of SHA-256 of "3:ann" and so on, as thirds of all that there are.
    thirds = [int(sha256(f"3:{user}".encode()).hexdigest()[:16], 16) * 3 >> 64 for user in users]
    experiment = Experiment(ABC, seed=3)
    assert [experiment.assign(user) for user in users] == ["abc"[third] for third in thirds]
    assert [experiment.assign(user) for user in users[:5]] == ["c", "c", "c", "c", "b"]


def test_another_seed_splits_otherwise() -> None:
    users = [f"u{number}" for number in range(100)]
    one, two = ([Experiment(AB, seed=seed).assign(user) for user in users] for seed in (1, 2))
    assert one != two


def test_a_user_keeps_the_policy_though_the_split_changes(any_store: Store) -> None:
    users = [f"u{number}" for number in range(12)]
    before = Shop(any_store, AB)
    given = {user: before.give(user)["policy"] for user in users}
    assert set(given.values()) == {"a", "b"}
    after = Shop(any_store, AB, split={"b": 1.0}, clock=before.clock)
    assert {user: after.give(user)["policy"] for user in users} == given
    assert after.give("newcomer")["policy"] == "b"


def test_a_policy_that_nobody_serves_is_not_found(shop: Shop) -> None:
    with pytest.raises(NotFoundError, match="no policy 'nope': there are lmdh"):
        shop.experiment.new_policy("nope", shop.items)


class TestReport:
    """Three users under `a` and two under `b`, with rewards that a person can add up."""

    @pytest.fixture
    def shop(self, any_store: Store) -> Shop:
        shop = Shop(any_store, AB, k=4)
        self.users: dict[str, list[str]] = {"a": [], "b": []}
        number = 0
        while len(self.users["a"]) < 3 or len(self.users["b"]) < 2:
            user, number = f"u{number}", number + 1
            name = shop.experiment.assign(user)
            if len(self.users[name]) < {"a": 3, "b": 2}[name]:
                self.users[name].append(user)
        self.spreads: dict[str, list[dict[str, float]]] = {}
        return shop

    def answer(self, shop: Shop, user: str, likes: int, *, seen: int = 4) -> None:
        given = shop.give(user)
        ids = [item["id"] for item in given["items"]]
        shop.tell(given["slate_id"], dict.fromkeys(ids[:likes], 1.0), seen=ids[:seen])
        self.spreads.setdefault(user, []).append(shop.slate(given["slate_id"]).diversity)

    def fill(self, shop: Shop) -> None:
        one, two, three = self.users["a"]
        self.answer(shop, one, 2)
        self.answer(shop, one, 0)  # 2 of 8
        self.answer(shop, two, 1, seen=2)  # 1 of 2
        self.answer(shop, three, 3)  # 3 of 4
        four, five = self.users["b"]
        self.answer(shop, four, 0)  # 0 of 4
        self.answer(shop, five, 1)  # 1 of 4
        shop.give(five)  # without feedback

    def test_rewards_are_means_over_users(self, shop: Shop) -> None:
        self.fill(shop)
        a, b = shop.engine.report()["policies"]
        assert (a["policy"], a["spec"], a["users"], a["answered_slates"]) == ("a", AB["a"], 3, 4)
        assert (b["policy"], b["spec"], b["users"], b["answered_slates"]) == ("b", AB["b"], 2, 2)
        # 1/4, 1/2 and 3/4: a standard deviation of 1/4 over three users.
        assert a["reward"]["mean"] == pytest.approx(0.5)
        # That is the standard error of 12 draws with p = 1/2: Wilson's interval of 6 of 12.
        assert a["reward"]["low"] == pytest.approx(0.2537816)
        assert a["reward"]["high"] == pytest.approx(0.7462184)
        # 0 and 1/4: a mean less its 95% half-width of 1/4 would be below 0.
        assert b["reward"]["mean"] == pytest.approx(0.125)
        assert 0.0 < b["reward"]["low"] < 0.125 < b["reward"]["high"] < 0.5

    def test_the_difference_has_an_interval_too(self, shop: Shop) -> None:
        self.fill(shop)
        (difference,) = shop.engine.report()["differences"]
        assert (difference["policy"], difference["against"]) == ("b", "a")
        low, high = score_interval(np.array([0.25, 0.5, 0.75]))
        other_low, other_high = score_interval(np.array([0.0, 0.25]))
        assert difference["reward"] == pytest.approx(
            {
                "mean": -0.375,
                "low": -0.375 - np.hypot(0.125 - other_low, high - 0.5),
                "high": -0.375 + np.hypot(other_high - 0.125, 0.5 - low),
            }
        )

    def test_intervals_of_rewards_stay_within_0_and_1(self, shop: Shop) -> None:
        for user in self.users["a"]:
            self.answer(shop, user, 4)
        for user in self.users["b"]:
            self.answer(shop, user, 0)
        report = shop.engine.report()
        a, b = (one["reward"] for one in report["policies"])
        # Wilson's intervals of 3 of 3 and of 0 of 2.
        assert (a["low"], a["high"]) == (pytest.approx(0.4385030), 1.0)
        assert (b["low"], b["high"]) == (0.0, pytest.approx(0.6576198))
        assert report["differences"][0]["reward"]["low"] == -1.0

    def test_diversity_is_the_mean_of_each_users_lists(self, shop: Shop) -> None:
        self.fill(shop)
        a, _ = shop.engine.report()["policies"]
        for distance in ("cosine", "genres", "years", "country", "place"):
            means = [
                np.mean([spread[distance] for spread in self.spreads[user]])
                for user in self.users["a"]
            ]
            assert a["diversity"][distance]["mean"] == pytest.approx(np.mean(means))
            half = 1.959964 * np.std(means, ddof=1) / np.sqrt(3)
            assert a["diversity"][distance]["high"] == pytest.approx(np.mean(means) + half)

    def test_too_few_have_no_interval(self, shop: Shop) -> None:
        empty = {"mean": None, "low": None, "high": None}
        nobody, _ = shop.engine.report()["policies"]
        assert (nobody["users"], nobody["reward"], nobody["diversity"]) == (0, empty, {})
        self.answer(shop, self.users["a"][0], 1)
        report = shop.engine.report()
        assert report["policies"][0]["reward"] == {"mean": 0.25, "low": None, "high": None}
        assert report["differences"][0]["reward"] == empty

    def test_a_report_that_says_nothing_does_not_count(self, shop: Shop) -> None:
        self.answer(shop, self.users["a"][0], 0, seen=0)
        assert shop.engine.report()["policies"][0]["users"] == 0

    def test_a_policy_of_before_is_reported_to_the_end(self, shop: Shop) -> None:
        self.fill(shop)
        later = Shop(shop.store, {"c": "lmdh"}, clock=shop.clock)
        report = later.engine.report()
        assert [one["policy"] for one in report["policies"]] == ["c", "a", "b"]
        assert [one["spec"] for one in report["policies"]] == ["lmdh", None, None]
        assert [one["users"] for one in report["policies"]] == [0, 3, 2]
