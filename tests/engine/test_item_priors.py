"""LMDP with a prior of items in the service: fits from its own users, states, export, new items."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.engine.crowd import kiosk, kiosk_shop
from tests.engine.shop import Shop
from variegate.errors import ConflictError
from variegate.policies.item_lmdp import ItemLMDP
from variegate.prior import ItemPrior, fit_prior
from variegate.store import Store

#: Two groups of users: each likes one half of the items.
GROUPS = np.arange(30).reshape(2, 15)


def likes(users: int, seed: int = 0) -> Iterator[np.ndarray[tuple[int], np.dtype[np.intp]]]:
    rng = np.random.default_rng(seed)
    for user in range(users):
        yield rng.choice(GROUPS[user % 2], 6, replace=False)


@pytest.fixture
def shop(store: Store, tmp_path: Path) -> Shop:
    fit_prior(kiosk(), likes(60)).save(tmp_path / "prior.npz")
    return kiosk_shop(store, {"lmdp": f"lmdp:prior={tmp_path / 'prior.npz'}"})


def click_group(shop: Shop, user: str, group: int, lists: int = 3) -> None:
    for _ in range(lists):
        given = shop.give(user)
        ids = [one["id"] for one in given["items"]]
        liked = np.isin(shop.items.rows(ids), GROUPS[group])
        shop.tell(given["slate_id"], dict(zip(ids, liked.astype(float).tolist(), strict=True)))


def policy_of(shop: Shop, user: str) -> ItemLMDP:
    with shop.store.reading() as reader:
        snapshot = shop.engine.live.as_of(reader)
    policy = shop.experiment.as_of(snapshot).policy_of(shop.user(user), snapshot.catalogue)
    assert isinstance(policy, ItemLMDP)
    return policy


def test_lists_follow_the_users_group(shop: Shop) -> None:
    click_group(shop, "ann", 0)

    rows = shop.items.rows(shop.ids("ann"))

    assert np.isin(rows, GROUPS[0]).mean() >= 0.75


def test_states_can_be_replayed_from_the_log(shop: Shop) -> None:
    for number in range(4):
        click_group(shop, f"user {number}", number % 2)

    found = shop.check()

    assert found.users == 4
    assert (found.wrong, found.largest, found.wrong_sums) == ((), 0.0, 0)


def test_fit_adds_the_likes_of_the_users(shop: Shop) -> None:
    before = shop.engine.priors.view("lmdp")
    for number in range(45):
        click_group(shop, f"user {number}", 0, lists=2)

    after = shop.engine.priors.fit("lmdp")

    assert (before["users"], before["version"]) == (60, 0)
    assert (after["users"], after["version"]) == (105, 1)
    assert after["words"][0] == "fitted to 105 users"
    assert len(after["relevance"]) == 20
    assert after["relevance"][0]["mean"] > before["relevance"][0]["mean"]
    assert isinstance(policy_of(shop, "user 1").prior, ItemPrior)
    assert policy_of(shop, "user 1").prior.users == 105
    assert shop.engine.priors.drop("lmdp")["users"] == 60


def test_too_few_users_with_a_like_are_refused(shop: Shop) -> None:
    for number in range(39):
        click_group(shop, f"user {number}", 0, lists=1)
    shop.tell(shop.give("sceptic")["slate_id"], {})

    with pytest.raises(ConflictError, match="at least 40 users with feedback"):
        shop.engine.priors.fit("lmdp")


def test_export_and_import_keep_the_fitted_prior_and_the_states(shop: Shop) -> None:
    for number in range(45):
        click_group(shop, f"user {number}", number % 2, lists=1)
    shop.engine.priors.fit("lmdp")
    lines, before = shop.exported(), policy_of(shop, "user 3").posterior().relevance

    shop.take_in(lines, replace=True)

    np.testing.assert_array_equal(policy_of(shop, "user 3").posterior().relevance, before)
    assert shop.exported() == lines


def test_new_item_can_be_recommended_and_learnt_from(shop: Shop) -> None:
    features = [0.1, 0.2, 0.3]
    shop.snapshot({"id": "new", "features": features})
    click_group(shop, "ann", 0)
    shop.click("ann", candidates=["new", "1", "2", "3"])

    rows = policy_of(shop, "ann").observations.items

    assert 30 in rows.tolist()
    assert "new" in shop.ids("ann", candidates=["new", "16", "17", "18"], allow_repeats=True)


def test_fit_compares_a_new_item_with_similar_ones_that_were_shown(shop: Shop) -> None:
    shop.snapshot({"id": "new", "features": [0.1, 0.2, 0.3]})
    for number in range(45):
        click_group(shop, f"user {number}", 0, lists=1)
        shop.click(f"user {number}", candidates=["new"])
    shop.engine.priors.fit("lmdp")

    prior = policy_of(shop, "user 1").prior

    assert prior.originals == 30
    assert prior.shown[:, 30].tolist() == [45, 45]
    # Everybody who was shown it likes it; with half of the clicks it would be expected less.
    fewer = prior.shown.copy()
    fewer[1, 30] = 22
    other = replace(prior, shown=fewer, mixtures=None).for_catalogue(
        policy_of(shop, "user 1").catalogue
    )
    assert prior.mean[30] > other.mean[30]
