"""Slates: what is chosen, from what, and how it is stored and answered."""

from typing import Any
from zlib import crc32

import numpy as np
import pytest
from pydantic import ValidationError

from tests.engine.conftest import Opening
from tests.engine.shop import LMDH, Shop, new_item
from variegate.engine import RecommendRequest
from variegate.engine.codecs import SeenItems, unpack_slate
from variegate.engine.recommend import pairwise_diversity
from variegate.engine.terms import DAY
from variegate.errors import InputError, NotFoundError
from variegate.policies import POLICIES, Dial, explore_slate, make_policy
from variegate.store import Store

EVERY = {name: name for name in POLICIES}


def test_a_new_user_gets_the_list_that_the_policy_would_give(shop: Shop) -> None:
    slate = make_policy("lmdh", shop.items, ridge=1, exploration=0.3).recommend(4)
    given = shop.give()
    assert [item["id"] for item in given["items"]] == list(slate.ids)
    assert [item["score"] for item in given["items"]] == slate.scores.tolist()
    assert [item["title"] for item in given["items"]] == [
        shop.items.titles[row] for row in slate.items
    ]
    assert (given["user"], given["policy"]) == ("ann", "lmdh")


@pytest.mark.parametrize("policies", [LMDH, {"ts": "comblints"}, {"any": "uniform"}])
def test_the_same_seed_gives_the_same_lists(opening: Opening, policies: dict[str, str]) -> None:
    def lists(seed: int) -> list[list[str]]:
        shop = Shop(opening("sqlite"), policies, seed=seed)
        return [shop.ids(user) for user in ("ann", "bob", "ann")]

    assert lists(3) == lists(3)
    if policies != LMDH:
        assert lists(3) != lists(4)


def test_a_list_is_chosen_among_the_candidates(shop: Shop) -> None:
    assert sorted(shop.ids(candidates=("i3", "i4", "i5", "i6"))) == ["i3", "i4", "i5", "i6"]


def test_fewer_candidates_than_wished_give_a_shorter_list(shop: Shop) -> None:
    assert shop.ids(candidates=("i3", "i3", "i9")) in (["i3", "i9"], ["i9", "i3"])


def test_what_is_excluded_is_in_no_list(shop: Shop) -> None:
    first = shop.ids("ann")
    assert not set(shop.ids("bob", exclude=tuple(first))) & set(first)


def test_what_was_shown_is_not_shown_again(shop: Shop) -> None:
    lists = [shop.give() for _ in range(6)]
    ids = [item["id"] for given in lists for item in given["items"]]
    assert len(set(ids)) == 24
    assert not any(item["shown_before"] for given in lists for item in given["items"])


def test_when_all_was_shown_the_oldest_come_back(shop: Shop) -> None:
    first, *_ = [shop.ids() for _ in range(6)]
    again = shop.give(k=6)
    assert {item["id"] for item in again["items"]} > set(first)
    assert all(item["shown_before"] for item in again["items"])


def test_what_was_shown_comes_again_if_asked_for(shop: Shop) -> None:
    first = shop.ids()
    again = shop.give(allow_repeats=True)
    assert [item["id"] for item in again["items"]] == first
    assert all(item["shown_before"] for item in again["items"])


def test_the_memory_has_a_limit(store: Store) -> None:
    shop = Shop(store, memory=6)
    first, second = shop.ids(), shop.ids()
    remembered = {shop.items.ids[row] for row, _time in SeenItems(shop.user().shown).entries()}
    assert remembered == {*second, *first[-2:]}


def test_a_memory_of_none_shows_the_same_again(store: Store) -> None:
    shop = Shop(store, memory=0)
    assert shop.ids() == shop.ids()


def test_the_memory_has_an_age(store: Store) -> None:
    shop = Shop(store, memory_days=2.0)
    first = shop.ids()
    shop.clock.now += 2 * DAY - 1
    assert not set(shop.ids()) & set(first)
    shop.clock.now += 2
    later = shop.give(candidates=tuple(first))
    assert not any(item["shown_before"] for item in later["items"])


def test_each_user_has_a_memory_of_their_own(shop: Shop) -> None:
    assert shop.ids("ann") == shop.ids("bob")


def test_two_lists_in_one_transaction_share_no_item(shop: Shop) -> None:
    one, two = shop.all(RecommendRequest("ann"), RecommendRequest("ann"))
    assert not {i["id"] for i in one["items"]} & {i["id"] for i in two["items"]}


def test_the_parts_of_an_explanation_sum_to_the_score(shop: Shop) -> None:
    for _ in range(3):
        shop.click()
    given = shop.give(explain=True)
    for item in given["items"]:
        why = item["explanation"]
        assert set(why["diversity"]) == {"cosine", "genres", "years", "country", "place"}
        total = why["relevance"] + sum(why["diversity"].values()) + why["exploration"]
        assert total == pytest.approx(item["score"], abs=1e-12)


def test_there_is_no_explanation_unless_asked_for(shop: Shop) -> None:
    assert all("explanation" not in item for item in shop.give()["items"])


def test_the_dial_changes_the_list_and_teaches_nothing(shop: Shop) -> None:
    for place in (0, 3, 1):
        shop.click(place=place)
    before = shop.user().state
    plain = shop.ids("ann", allow_repeats=True)
    varied = shop.ids("ann", allow_repeats=True, dial=Dial(floor=5.0))
    again = shop.ids("ann", allow_repeats=True)
    assert (plain == again, plain == varied) == (True, False)
    assert shop.user().state == before


def test_a_dialled_list_is_the_policys_own_and_explained_so(shop: Shop) -> None:
    shop.click()
    policy = shop.experiment.policy_of(shop.user(), shop.items)
    dial = Dial(scale=3.0, ceiling={"genres": 0.1})
    slate = policy.recommend(4, dial=dial)
    given = shop.give(allow_repeats=True, dial=dial, explain=True)
    assert [item["id"] for item in given["items"]] == list(slate.ids)
    parts = policy.explain(slate, dial=dial)
    assert [i["explanation"]["diversity"]["genres"] for i in given["items"]] == (
        parts.diversity[:, 1].tolist()
    )


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"k": 0}, InputError, "`k` must be from 1 to 100, got 0"),
        ({"k": 101}, InputError, "`k` must be from 1 to 100, got 101"),
        (
            {"candidates": ("nope",)},
            InputError,
            "`candidates` must have a known id, got 1, all unknown",
        ),
        (
            {"candidates": ("i1", "no", "ni"), "exclude": ("nope",), "strict": True},
            InputError,
            "`candidates` must be known ids with `strict`, got 'ni', 'no'; "
            "`exclude` must be known ids with `strict`, got 'nope'$",
        ),
        (
            {"exclude": tuple(f"n{number:02}" for number in range(12)), "strict": True},
            InputError,
            "'n08', 'n09' and 2 more$",
        ),
        ({"where": {"attribute": "year", "<": 1800}}, InputError, "must leave an item that is not"),
        (
            {"where": {"attribute": "yaer", "<": 1}},
            InputError,
            "`where` must name one of year, gen",
        ),
        ({"candidates": ()}, InputError, "must leave an item"),
        ({"candidates": ("i1",), "exclude": ("i1",)}, InputError, "must leave an item"),
        ({"candidates": ("i1",) * 31}, InputError, "`candidates` must be at most 30 ids, got 31"),
        ({"exclude": ("i1",) * 31}, InputError, "`exclude` must be at most 30 ids, got 31"),
        ({"dial": Dial(floor={"nope": 1.0})}, NotFoundError, "nope"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(
    store: Store, asked: dict[str, Any], error: type[Exception], words: str
) -> None:
    shop = Shop(store, max_candidates=30)
    with pytest.raises(error, match=words):
        shop.give(**asked)


def test_unknown_ids_are_skipped_and_reported(shop: Shop) -> None:
    given = shop.give(candidates=("i3", "no", "i4"), exclude=("nope", "i4", "no"))
    assert ([item["id"] for item in given["items"]], given["unknown_ids"]) == (
        ["i3"],
        ["no", "nope"],
    )
    terms = shop.slate(given["slate_id"]).terms
    assert (terms["candidates"], terms["exclude"]) == (["i3", "i4"], ["i4"])
    assert "unknown_ids" not in shop.give(exclude=("i4",))


def test_unknown_ids_of_a_repeated_request_are_those_of_the_first(shop: Shop) -> None:
    asked: dict[str, Any] = {"exclude": ("later", "i4"), "idempotency_key": "once"}
    first = shop.give(**asked)
    shop.snapshot(new_item("later"))
    assert shop.give(**asked) == first
    assert first["unknown_ids"] == ["later"]


def test_a_list_is_chosen_among_the_items_that_meet_a_condition(shop: Shop) -> None:
    war = {"attribute": "genres", "=": "war"}
    genres = dict(zip(shop.items.ids, shop.items.attributes["genres"], strict=True))
    given = shop.give(where=war)
    assert all("war" in genres[item["id"]] for item in given["items"])
    assert shop.slate(given["slate_id"]).terms["where"] == war


def test_a_condition_follows_what_an_item_is_now(shop: Shop) -> None:
    old = {"attribute": "year", "<": 1800}
    with pytest.raises(InputError, match="must leave an item"):
        shop.give(where=old)
    shop.snapshot({"id": "i7", "attributes": {"year": 1700}})
    assert shop.ids(where=old) == ["i7"]
    shop.retire("i7")
    with pytest.raises(InputError, match="must leave an item"):
        shop.give(where=old)


def test_a_policy_without_a_dial_refuses_one(store: Store) -> None:
    with pytest.raises(InputError, match="`dial` must be None for mmr"):
        Shop(store, {"mmr": "mmr"}).give(dial=Dial(2.0))


@pytest.mark.parametrize("line", sorted(EVERY))
def test_the_spread_is_the_mean_distance_of_all_pairs(store: Store, line: str) -> None:
    shop = Shop(store, {"it": line})
    shop.click()
    given = shop.give(k=5)
    row = shop.slate(given["slate_id"])
    slate = unpack_slate(row)
    for h in shop.items.distances:
        matrix = h.among(slate.items).matrix()
        assert row.diversity[h.name] == pytest.approx(matrix.sum() / 20, abs=1e-12)


def test_a_list_of_one_has_no_spread(shop: Shop) -> None:
    policy = shop.experiment.new_policy("lmdh", shop.items)
    assert pairwise_diversity(policy, policy.recommend(1)) == {}


def test_a_slate_is_kept_to_the_last_digit(shop: Shop) -> None:
    shop.click()
    policy = shop.experiment.policy_of(shop.user(), shop.items)
    row = shop.slate(shop.give(allow_repeats=True)["slate_id"])
    kept, made = unpack_slate(row), policy.recommend(4)
    for name in ("items", "relevance", "diversity", "scores", "coverage"):
        assert np.array_equal(getattr(kept, name), getattr(made, name))


class TestMix:
    def test_propensities_are_logged_and_agree_with_the_library(self, store: Store) -> None:
        shop = Shop(store, mix=0.5, seed=11)
        policy = shop.experiment.new_policy("lmdh", shop.items)
        rng = np.random.default_rng((11, crc32(b"ann"), 0))
        slate, propensities = explore_slate(policy, 4, 0.5, rng=rng)
        row = shop.slate(shop.give()["slate_id"])
        assert (row.items, row.propensities) == (slate.ids, propensities.tolist())

    def test_chance_takes_its_turn_among_the_free_items_only(self, store: Store) -> None:
        shop = Shop(store, mix=1.0)
        free = ("i1", "i2", "i3", "i4", "i5")
        row = shop.slate(shop.give(candidates=free, k=2)["slate_id"])
        assert set(row.items) <= set(free)
        assert row.propensities == pytest.approx([1 / 5, 1 / 4])

    def test_without_a_mix_nothing_is_logged(self, shop: Shop) -> None:
        assert shop.slate(shop.give()["slate_id"]).propensities is None

    def test_two_lists_of_a_user_are_drawn_apart(self, store: Store) -> None:
        shop = Shop(store, mix=1.0, memory=0)
        assert shop.ids() != shop.ids()


def test_ids_of_lists_sort_by_time(shop: Shop) -> None:
    first = shop.give()["slate_id"]
    shop.clock.now += 0.002
    second = shop.give()["slate_id"]
    assert first < second
    assert len(first) == 26


def test_ids_of_lists_of_one_moment_sort_as_they_were_given(shop: Shop) -> None:
    given = shop.all(*(RecommendRequest("ann", k=1) for _ in range(20)))
    ids = [one["slate_id"] for one in given]
    assert ids == sorted(ids)
    assert len(set(ids)) == 20


def test_rules_are_frozen(shop: Shop) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        shop.rules.k = 9


THOMPSON = {"thompson": "lmdt:exploration=1"}


@pytest.mark.parametrize("dial", [None, Dial(2.0)])
def test_propensities_are_logged_and_agree_with_the_library(
    store: Store, dial: Dial | None
) -> None:
    shop = Shop(store, THOMPSON, mix=0.3, seed=11)
    policy = shop.experiment.new_policy("thompson", shop.items)
    rng = np.random.default_rng((11, crc32(b"ann"), 0))
    slate, propensities = explore_slate(policy, 4, 0.3, rng=rng, dial=dial)

    row = shop.slate(shop.give(dial=dial)["slate_id"])

    assert (row.items, row.propensities) == (slate.ids, propensities.tolist())


def test_without_a_mix_it_draws_and_logs_nothing(store: Store) -> None:
    shop = Shop(store, THOMPSON)
    rng = np.random.default_rng((shop.rules.seed, crc32(b"ann"), 0))
    slate = shop.experiment.new_policy("thompson", shop.items).recommend(4, rng=rng)

    row = shop.slate(shop.give()["slate_id"])

    assert (row.items, row.propensities) == (slate.ids, None)


def test_it_learns_from_mixed_lists(store: Store) -> None:
    shop = Shop(store, THOMPSON, mix=0.5)
    before = shop.experiment.new_policy("thompson", shop.items).state()

    shop.click()

    assert shop.experiment.policy_of(shop.user(), shop.items).state() != before
