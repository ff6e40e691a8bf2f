"""Policies that start from a prior, given as an object or a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from variegate import LMDH, Catalogue, Policy, make_policy
from variegate.errors import DataError, InputError
from variegate.model.distances import cosine
from variegate.model.theory import Confidence
from variegate.policies import parse_policy
from variegate.prior import Prior, default_prior

LINEAR = ("lmdh", "lmdp", "lmdt")
each_policy = pytest.mark.parametrize("name", LINEAR)


def items(m: int = 1, *, seed: int = 0) -> Catalogue:
    features = np.random.default_rng(seed).random((25, 3))
    return Catalogue(range(25), features, ["cosine", "euclidean", "angular"][:m])


def drawn_prior(catalogue: Catalogue, *, seed: int = 0) -> Prior:
    rng = np.random.default_rng(seed)
    size = catalogue.d + catalogue.m
    root = 0.2 * rng.normal(size=(size, size))
    return Prior(
        rng.uniform(0.1, 0.6, size),
        root @ root.T + 0.01 * np.eye(size),
        0.2,
        catalogue.feature_names,
        tuple(h.name for h in catalogue.distances),
        users=70,
    )


def taught(policy: Policy, rounds: int = 4) -> Policy:
    rng = np.random.default_rng(5)
    for _ in range(rounds):
        policy.update(policy.recommend(4, rng=rng), (rng.random(4) < 0.5).astype(float))
    return policy


@each_policy
@pytest.mark.parametrize("m", [0, 1, 3])
def test_a_user_begins_at_the_mean(name: str, m: int) -> None:
    catalogue = items(m)
    prior = drawn_prior(catalogue)

    found = make_policy(name, catalogue, prior=prior).preferences

    np.testing.assert_allclose(found.relevance, prior.mean[:3])
    np.testing.assert_allclose(found.diversity, prior.mean[3:])


@each_policy
def test_intervals_are_those_of_the_prior(name: str) -> None:
    prior = drawn_prior(items())

    low, high = make_policy(name, items(), prior=prior).preferences.relevance_interval

    deviations = np.sqrt(np.diag(prior.covariance))[:3]
    np.testing.assert_allclose((high - low) / 2, 1.959964 * deviations, rtol=1e-6)


@each_policy
def test_a_saved_prior_is_as_good(name: str, tmp_path: Path) -> None:
    catalogue = items()
    prior = drawn_prior(catalogue)
    prior.save(tmp_path / "people.npz")

    given = make_policy(name, catalogue, prior=prior)
    read = make_policy(name, catalogue, prior=tmp_path / "people.npz")
    text = make_policy(name, catalogue, prior=str(tmp_path / "people.npz"))

    assert taught(given).state() == taught(read).state() == taught(text).state()
    assert given.recommend(5, rng=1).ids == read.recommend(5, rng=1).ids


def test_a_prior_written_again_is_read_again(tmp_path: Path) -> None:
    catalogue, place = items(), tmp_path / "prior.npz"
    drawn_prior(catalogue).save(place)
    make_policy("lmdh", catalogue, prior=place)
    other = drawn_prior(catalogue, seed=1)
    other.save(place)

    found = make_policy("lmdh", catalogue, prior=place).preferences

    np.testing.assert_allclose(found.relevance, other.mean[:3])


@each_policy
def test_the_posterior_is_the_direct_one(name: str) -> None:
    catalogue = items()
    prior = drawn_prior(catalogue)
    policy = make_policy(name, catalogue, prior=prior)
    slate = policy.recommend(4, rng=0)
    policy.update(slate, [1, 0, 0, 1])
    has_beta = name.startswith("lmd")

    size = 4 if has_beta else 3
    features = np.hstack([slate.relevance, slate.diversity])[:, :size]
    precision = prior.noise * np.linalg.inv(prior.covariance[:size, :size])
    response = precision @ prior.mean[:size] + features.T @ [1, 0, 0, 1]
    expected = np.linalg.solve(precision + features.T @ features, response)
    found = policy.preferences
    learnt = np.append(found.relevance, found.diversity)[:size]
    np.testing.assert_allclose(learnt, expected, rtol=1e-8)


def test_the_interval_of_the_total_uses_the_covariance_of_all_distances() -> None:
    # The same distance twice: which of the two is wanted stays unknown, their sum does not.
    z = np.random.default_rng(5).standard_normal((30, 3))
    catalogue = Catalogue(range(30), z, [cosine(z, name="one"), cosine(z, name="two")])
    policy = LMDH(catalogue, ridge=0.1)
    gram = 0.1 * np.eye(5)
    for _ in range(5):
        slate = policy.recommend(6)
        policy.update(slate, [0, 1, 0, 1, 0, 1])
        zeta = np.hstack([slate.relevance, slate.diversity])
        gram += zeta.T @ zeta

    found = policy.preferences

    half = 1.959964 * 0.5 * np.sqrt(np.linalg.inv(gram)[3:, 3:].sum())
    total = found.diversity.sum()
    assert found.total_diversity == pytest.approx(total)
    np.testing.assert_allclose(found.total_diversity_interval, [total - half, total + half])
    assert half < 0.5 * np.diff(found.diversity_interval, axis=0).sum() / 2


@each_policy
def test_compiled_lists_are_those_of_the_scores(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = items()
    policy = taught(make_policy(name, catalogue, prior=drawn_prior(catalogue)))
    compiled = policy.recommend(6, rng=3)
    monkeypatch.setattr(Catalogue, "layout", None)

    plain = policy.recommend(6, rng=3)

    assert compiled.ids == plain.ids
    np.testing.assert_allclose(compiled.scores, plain.scores, rtol=1e-6)


@each_policy
def test_the_parts_of_a_score_add_up(name: str) -> None:
    catalogue = items()
    policy = taught(make_policy(name, catalogue, prior=drawn_prior(catalogue)))
    slate = policy.recommend(5, rng=2)

    parts = policy.explain(slate)

    total = parts.relevance + parts.diversity.sum(axis=1) + parts.exploration
    np.testing.assert_allclose(total, slate.scores, rtol=1e-6)


@each_policy
def test_states_go_on_under_another_prior(name: str) -> None:
    catalogue = items()
    before = taught(make_policy(name, catalogue, prior=drawn_prior(catalogue)))
    after = make_policy(name, catalogue, prior=drawn_prior(catalogue, seed=8))

    after.restore(before.state())

    assert after.state() == before.state()
    assert (after.preferences.relevance != before.preferences.relevance).any()


@each_policy
def test_a_prior_of_other_features_is_refused(name: str) -> None:
    other = Catalogue(range(3), np.eye(3), "cosine", feature_names=["red", "green", "blue"])

    with pytest.raises(InputError, match=r"`prior`.*features.*red"):
        make_policy(name, items(), prior=drawn_prior(other))


@each_policy
def test_a_prior_of_other_distances_is_refused(name: str, tmp_path: Path) -> None:
    drawn_prior(items(3)).save(tmp_path / "three.npz")

    with pytest.raises(InputError, match=r"`prior`.*distances"):
        make_policy(name, items(1), prior=tmp_path / "three.npz")


@pytest.mark.parametrize("name", ["lmdh", "lmdt"])
@pytest.mark.parametrize("exploration", ["theory", Confidence()])
def test_theory_says_nothing_of_priors(name: str, exploration: Any) -> None:
    with pytest.raises(InputError, match="`exploration` must be a number if there is a `prior`"):
        make_policy(name, items(), prior=drawn_prior(items()), exploration=exploration)


@each_policy
def test_what_is_no_prior_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"`prior` must be a Prior or the path of one, got 3"):
        make_policy(name, items(), prior=3)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.npz"):
        make_policy("lmdh", items(), prior=tmp_path / "none.npz")


def test_a_file_that_is_no_prior(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("milk")

    with pytest.raises(DataError, match=r"notes\.txt: "):
        make_policy("lmdp", items(), prior=tmp_path / "notes.txt")


def test_a_line_of_text_can_name_a_prior_and_a_floor(tmp_path: Path) -> None:
    catalogue, place = items(), tmp_path / "people.npz"
    prior = drawn_prior(catalogue)
    prior.save(place)
    line = f"lmdh:prior={place},floor=0.8"

    spec = parse_policy(line)

    assert spec.options == {"prior": str(place), "floor": 0.8}
    assert parse_policy(str(spec)) == spec
    by_text = taught(spec(catalogue))
    by_hand = taught(make_policy("lmdh", catalogue, prior=prior, floor=0.8))
    assert by_text.recommend(6).ids == by_hand.recommend(6).ids
    assert by_text.state() == by_hand.state()


def test_a_line_of_text_can_say_how_to_forget_and_where_users_look() -> None:
    policy = parse_policy("lmdp:forgetting=0.9,attention=[1,0.5,0.25,0.2]")(items())

    assert taught(policy).preferences.relevance.shape == (3,)


@pytest.mark.parametrize("m", [0, 1, 3])
def test_lmdp_without_a_prior_guesses(m: int) -> None:
    policy = make_policy("lmdp", items(m))

    found = policy.preferences

    np.testing.assert_array_equal(found.relevance, np.zeros(3))
    np.testing.assert_allclose(found.diversity, np.full(m, 0.35 / max(m, 1)))


def test_exploration_counts_deviations_of_the_belief() -> None:
    catalogue = items()
    prior = default_prior(catalogue)
    policy = make_policy("lmdh", catalogue, prior=prior, exploration=2.0)
    slate = policy.recommend(1)

    explored = policy.explain(slate).exploration[0]

    z = np.append(slate.relevance[0], 0.0)
    assert explored == pytest.approx(2.0 * np.sqrt(z @ prior.covariance @ z))


@pytest.mark.parametrize(("name", "label"), [("lmdh", "LMDH with a prior"), ("lmdp", "LMDP")])
def test_a_label_says_that_there_is_a_prior(name: str, label: str) -> None:
    policy = make_policy(name, items(), prior=drawn_prior(items()))

    assert policy.label == label
