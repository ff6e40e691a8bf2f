"""Thompson sampling of what LMDH believes."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.policies.making import catalogue_of, played, shown
from variegate import LMDP, LMDT, Catalogue, Dial, default_prior
from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.evaluation.simulation import Simulation
from variegate.model.distances import custom
from variegate.model.search import SEARCHES
from variegate.policies import PolicySpec


def taught(m: int = 1, **options: Any) -> LMDT:
    policy = LMDT(catalogue_of(m), **options)
    played(policy)
    return policy


def draws_of(policy: LMDT, count: int) -> FloatArray:
    rng = np.random.default_rng(4)
    return np.array([policy._sampled(3, rng) for _ in range(count)])


def test_draws_are_spread_as_the_belief_is() -> None:
    policy = taught(exploration=0.5, floor=None)
    belief, width = policy._ridge.estimate(), 0.5 * policy._ridge.deviation

    drawn = draws_of(policy, 20_000)

    deviations = width * belief.deviations
    # The mean of 20,000 draws is off by 1/141 of a deviation, a covariance by about as much.
    assert (np.abs(drawn.mean(axis=0) - belief.mean) < 4.5 * deviations / 141).all()
    off = np.cov(drawn.T) - width**2 * belief.covariance
    assert (np.abs(off) < 4.5 * 2**0.5 * np.outer(deviations, deviations) / 141).all()


def test_no_draw_is_below_the_floor() -> None:
    policy = taught(2, exploration=4.0, floor=0.6)

    beta = draws_of(policy, 200)[:, 4:]

    assert beta.min() == pytest.approx(0.3)
    assert beta.max() > 0.3


def test_a_dial_has_the_last_word_on_a_draw() -> None:
    policy = taught(exploration=4.0)._with_dial(Dial(ceiling=0.1))

    assert isinstance(policy, LMDT)
    assert (draws_of(policy, 50)[:, 4:] == 0.1).all()


def test_without_deviation_it_is_lmdp_without_exploration() -> None:
    thompson, steady = LMDT(catalogue_of(4), exploration=0.0), LMDP(catalogue_of(4), exploration=0)
    slate = steady.recommend(4)
    for policy in (thompson, steady):
        policy.update(slate, [1, 0, 0, 1])

    assert shown(thompson.recommend(5, rng=1)) == shown(steady.recommend(5))
    assert thompson.label == "LMDT (greedy, α = 0)"


def test_the_list_is_the_best_for_what_was_drawn() -> None:
    policy = taught(exploration=3.0)
    eta = policy._sampled(5, np.random.default_rng(8))

    slate = policy.recommend(5, rng=8)

    gains = slate.relevance @ eta[:4] + slate.diversity @ eta[4:]
    np.testing.assert_allclose(slate.scores, gains, rtol=1e-11)


@pytest.mark.parametrize("m", [0, 1, 4])
@pytest.mark.parametrize("seed", range(5))
def test_compiled_loops_and_the_reference_choose_the_same(m: int, seed: int) -> None:
    policy, free = taught(m, exploration=2.0), np.ones(12, dtype=bool)
    assert policy.catalogue.layout is not None

    compiled, reference = policy._recommend(free, 6, seed), policy._search_slate(free, 6, seed)

    assert compiled.ids == reference.ids
    np.testing.assert_allclose(compiled.scores, reference.scores, rtol=1e-10, atol=1e-13)


def test_without_a_layout_the_same_draws_give_the_same_list() -> None:
    features = catalogue_of(1).features
    own = custom(lambda a, b: np.linalg.norm(b - a, axis=1), name="own", largest=2.0)
    slow = LMDT(Catalogue(range(12), features, own), exploration=2.0)
    fast = LMDT(Catalogue(range(12), features, "euclidean"), exploration=2.0)
    assert slow.catalogue.layout is None

    lists = [[policy.recommend(4, rng=seed).ids for seed in range(20)] for policy in (slow, fast)]

    assert lists[0] == lists[1]
    assert len(set(lists[0])) > 5


@pytest.mark.parametrize("search", SEARCHES)
def test_any_search_is_for_what_was_drawn(search: str) -> None:
    policy = taught(exploration=3.0, search=search)
    eta = policy._sampled(3, np.random.default_rng(8))

    slate = policy.recommend(3, rng=8)

    gains = slate.relevance @ eta[:4] + slate.diversity @ eta[4:]
    np.testing.assert_allclose(slate.scores, gains, rtol=1e-11)


def test_exploration_is_what_the_draw_added() -> None:
    policy = taught(exploration=2.0)
    slate, mean = policy.recommend(5, rng=3), policy._estimate().mean

    parts = policy.explain(slate)

    np.testing.assert_allclose(parts.relevance, slate.relevance @ mean[:4])
    np.testing.assert_allclose(parts.diversity, slate.diversity * mean[4:])
    assert np.abs(parts.exploration).max() > 0.01


def test_making_a_list_leaves_no_draw_behind() -> None:
    policy = taught(exploration=2.0)
    before = policy.width(5), policy.preferences.diversity.tolist()

    policy.recommend(5, rng=1)

    assert (policy.width(5), policy.preferences.diversity.tolist()) == before
    assert len({policy.recommend(5, rng=seed).ids for seed in range(20)}) > 5


class Cautious(LMDT):
    """LMDT that takes weights to be small, as those of the simulation are."""

    def __init__(self, catalogue: Catalogue, **options: Any) -> None:
        super().__init__(catalogue, prior=default_prior(catalogue, variance=0.02), **options)


@cache
def regrets() -> FloatArray:
    """Return the regret of LMDT and of chance, a column for each quarter, (2, 20, 4)."""
    options = {"normaliser": "none", "floor": 0.0, "exploration": 0.5}
    compared = {
        "lmdt": PolicySpec(f"{__name__}:Cautious", options),
        "uniform": PolicySpec("uniform"),
    }
    played_out = Simulation(compared, rounds=200, runs=20, seed=1)
    assert list(played_out.play())[-1] == 200
    quarters: FloatArray = played_out.regret.reshape(2, 20, 4, 50).mean(axis=3)
    return quarters


def test_regret_falls_while_it_learns() -> None:
    first, *_between, last = regrets()[0].mean(axis=0)

    # Measured: 0.152 in the first quarter, 0.069 in the last, each within 0.013.
    assert last < 0.6 * first


def test_regret_is_far_below_that_of_chance() -> None:
    ours, by_chance = regrets().mean(axis=(1, 2))

    # Measured: 0.101 against 0.267.
    assert ours < 0.5 * by_chance
    assert (regrets()[0].mean(axis=1) < regrets()[1].mean(axis=1)).mean() > 0.9


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        (0, r"`n_samples` must be from 1 to 10000 \(the maximum\), got 0"),
        (2.5, r"`n_samples` must be a whole number, got 2\.5"),
    ],
)
def test_a_wrong_number_of_draws(draws: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        LMDT(catalogue_of(1), n_samples=draws)
