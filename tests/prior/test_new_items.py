"""Items that are added after a prior was fitted: predicted from similar ones, then from clicks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from variegate import Catalogue
from variegate.errors import InputError
from variegate.model import neighbours as neighbours_module
from variegate.model.neighbours import reference_rows, similar_items
from variegate.policies import LMDP
from variegate.policies.item_lmdp import ItemLMDP
from variegate.prior import ItemPrior, Observations, fit_prior
from variegate.prior.new_items import OPTIMISM, OWN_CLICKS, OWN_LIKES, find_neighbours

#: Two kinds of items: everybody likes one of the first kind, few like one of the second.
KINDS = np.array([[1.0, 0.0]] * 12 + [[0.0, 1.0]] * 12)


def shop(*more: list[float]) -> Catalogue:
    features = np.vstack([KINDS, np.array(more).reshape(-1, 2)])
    return Catalogue([f"i{row}" for row in range(len(features))], features, "cosine")


def made_prior(users: int = 60) -> ItemPrior:
    rng = np.random.default_rng(0)
    chances = np.where(KINDS[:, 0] > 0, 0.6, 0.1)
    return fit_prior(shop(), [np.flatnonzero(rng.random(24) < chances) for _ in range(users)])


def test_weights_are_not_negative_and_sum_to_1() -> None:
    rows, weights = similar_items(KINDS, np.array([[1.0, 0.0], [0.9, 0.3], [0.0, 0.0]]))

    assert rows.shape == weights.shape == (3, 10)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert rows[:2].max() < 12  # the nearest are of the first kind


def test_few_references_and_no_items_are_fine() -> None:
    np.testing.assert_allclose(similar_items(KINDS[:3], KINDS[:1])[1], [[1 / 3] * 3])
    assert similar_items(KINDS, np.zeros((0, 2)))[0].shape == (0, 10)


def test_pieces_and_a_sample_of_many_items_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    references, features = rng.normal(size=(40, 3)), rng.normal(size=(9, 3))
    whole = similar_items(references, features)
    monkeypatch.setattr(neighbours_module, "_CHUNK", 100)
    monkeypatch.setattr(neighbours_module, "MAX_REFERENCES", 7)

    np.testing.assert_array_equal(similar_items(references, features)[0], whole[0])
    assert reference_rows(40).tolist() == [0, 6, 13, 19, 26, 32, 39]
    assert reference_rows(5).tolist() == [0, 1, 2, 3, 4]


def test_new_item_has_mean_and_covariance_of_similar_items() -> None:
    prior, catalogue = made_prior(), shop([1.0, 0.0], [0.0, 1.0])

    found = prior.for_catalogue(catalogue)
    mean, everything = found.mean, found.covariance(np.arange(26))

    rows, weights = similar_items(KINDS, catalogue.features[24:])
    shares = prior.mean
    predicted = np.sum(weights * shares[rows], axis=1)
    spread = np.sqrt(np.sum(weights * (shares[rows] - predicted[:, None]) ** 2, axis=1))
    scale = 1 + OPTIMISM * spread / predicted
    np.testing.assert_allclose(mean[24:], scale * predicted)
    assert mean[24] > 4 * mean[25]
    mixture = np.zeros((26, 24))
    mixture[:24] = np.eye(24)
    for item in (0, 1):
        np.add.at(mixture[24 + item], rows[item], scale[item] * weights[item])
    known = prior.covariance(np.arange(24))
    np.testing.assert_allclose(everything, mixture @ known @ mixture.T, rtol=1e-4, atol=1e-6)


def test_prior_without_new_items_is_unchanged() -> None:
    prior = made_prior()

    assert prior.for_catalogue(shop()) is prior
    grown = shop([1.0, 0.0])
    assert prior.for_catalogue(grown) is prior.for_catalogue(grown)


def test_click_on_a_new_item_raises_what_is_like_it() -> None:
    policy = LMDP(shop([0.0, 1.0]), prior=made_prior())
    assert isinstance(policy, ItemLMDP)
    before = policy.posterior().relevance
    slate = policy.recommend(3, candidates=[24, 0, 1])

    policy.update(slate, (slate.items == 24).astype(float))

    after = policy.posterior().relevance
    assert after[24] > before[24]
    assert (after[12:24] - before[12:24]).sum() > 0
    assert policy.prior.posterior_deviations(policy.observations, np.array([24]))[0] > 0


def test_later_versions_of_a_catalogue_compute_only_what_changed() -> None:
    first = shop([1.0, 0.0], [0.0, 1.0])
    before = find_neighbours(first, 24)
    later = shop([1.0, 0.0], [0.9, 0.4], [0.2, 0.3])

    found = find_neighbours(later, 24, before)

    for ours, alone in zip(found, find_neighbours(later, 24), strict=True):
        np.testing.assert_array_equal(ours, alone)
    changed = later.replace(features=np.array([[2.0, 0.0], *later.features[1:]]))
    for ours, alone in zip(
        find_neighbours(changed, 24, before), find_neighbours(changed, 24), strict=True
    ):
        np.testing.assert_array_equal(ours, alone)


def test_clicks_of_users_replace_the_prediction() -> None:
    prior, catalogue = made_prior(), shop([0.0, 1.0], [0.0, 1.0])
    # 40 users were shown everything; each likes two old items and the first of the new ones.
    likes = [[0, 12 + user % 12, 24] for user in range(40)]

    fitted = prior.with_likes(likes, catalogue.ids, np.full(26, 40)).for_catalogue(catalogue)

    mean = fitted.mean
    rate = np.full(26, 0.0)
    rate[[0, 24]], rate[12:24] = 40, np.bincount(np.arange(40) % 12)
    rate = (rate + OWN_CLICKS * rate.sum() / (26 * 40)) / (40 + OWN_CLICKS)
    rows, weights = similar_items(KINDS, catalogue.features[24:])
    expected = 40 * np.sum(weights * rate[rows], axis=1)
    shares = fitted.mean[:24]
    predicted = np.sum(weights * shares[rows], axis=1)
    spread = np.sqrt(np.sum(weights * (shares[rows] - predicted[:, None]) ** 2, axis=1))
    hope = OWN_CLICKS * (1 + OPTIMISM * spread / predicted)
    clicks = np.array([40, 0])
    np.testing.assert_allclose(
        mean[24:], predicted * (hope + clicks) / (OWN_CLICKS + expected), rtol=1e-9
    )
    assert mean[24] > 4 * mean[25]
    kept = 40 / (40 + OWN_LIKES)
    assert fitted.mixtures is not None
    own_share = 40 / 100
    assert fitted.mixtures[[24]].toarray()[0, 24] == pytest.approx(kept * mean[24] / own_share)


def test_file_keeps_what_was_shown(tmp_path: Path) -> None:
    catalogue = shop([0.0, 1.0])
    fitted = made_prior().with_likes([[0, 24]], catalogue.ids)
    fitted.save(tmp_path / "prior.npz")

    loaded = ItemPrior.load(tmp_path / "prior.npz")

    assert (loaded.originals, fitted.originals) == (24, 24)
    np.testing.assert_array_equal(loaded.shown, fitted.shown)
    assert loaded.shown.sum(axis=1).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"originals": 25}, "`originals` must be from 1 to 24, got 25"),
        ({"shown": np.zeros((2, 3), dtype=int)}, r"`shown` must have shape \(2, 24\)"),
        ({"shown": np.array([[0] * 24, [1] * 24])}, "`shown` must have no more likes of an item"),
        ({"shown": np.full((2, 24), -1)}, "`shown` must lie from 0 to"),
    ],
)
def test_impossible_counts_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(made_prior(), **changes)


def test_posterior_includes_new_items_that_were_shown() -> None:
    found = made_prior().for_catalogue(shop([1.0, 0.0]))
    seen = Observations(np.array([24]), np.ones(1), np.zeros((1, 1)), np.zeros(1))

    relevance = found.posterior(seen).relevance

    assert (relevance[[0, 24]] < found.mean[[0, 24]]).all()
