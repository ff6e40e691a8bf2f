"""Candidates and exclusions hold in two stages as they do in one."""

import numpy as np
import pytest

from tests.model.shortlist.making import exact, played
from variegate import LMDH, Catalogue
from variegate.model.shortlist import Shortlist


def test_candidates_hold(shop: Catalogue, shortlist: Shortlist) -> None:
    even = np.arange(0, len(shop), 2)

    items = LMDH(shop, shortlist=shortlist).recommend(10, candidates=even).items

    assert (items % 2 == 0).all()


def test_excluded_items_do_not_come_again(shop: Catalogue, shortlist: Shortlist) -> None:
    policy = played(LMDH(shop, shortlist=shortlist), 5)
    shown: list[int] = []
    for _ in range(30):
        shown.extend(policy.recommend(10, exclude=shown).items.tolist())

    assert len(set(shown)) == 300


def test_lists_without_the_best_items_are_nearly_exact(
    shop: Catalogue, shortlist: Shortlist
) -> None:
    policy = played(LMDH(shop, shortlist=shortlist), 5)
    best = np.argsort(-(shop.features @ policy.preferences.relevance))[:1_000]
    score = exact(policy).recommend(10, exclude=best).scores.sum()

    assert policy.recommend(10, exclude=best).scores.sum() > 0.98 * score


@pytest.mark.parametrize("few", [10, 11, 300])
def test_where_few_are_left_the_list_is_exact(
    few: int, shop: Catalogue, shortlist: Shortlist
) -> None:
    policy = played(LMDH(shop, shortlist=shortlist), 5)
    left = np.random.default_rng(few).choice(len(shop), few, replace=False)

    chosen = policy.recommend(10, candidates=left).items

    np.testing.assert_array_equal(chosen, exact(policy).recommend(10, candidates=left).items)


def test_candidates_far_from_what_is_liked_are_found(shop: Catalogue, shortlist: Shortlist) -> None:
    policy = played(LMDH(shop, shortlist=shortlist), 30)
    liking = shop.features @ policy.preferences.relevance
    disliked = np.argsort(liking)[: len(shop) // 4]
    score = exact(policy).recommend(10, candidates=disliked).scores.sum()

    assert policy.recommend(10, candidates=disliked).scores.sum() > 0.98 * score
