"""A log with random exploration shows what other policies would earn."""

from collections.abc import Callable
from functools import cache
from itertools import permutations

import numpy as np
import pytest

from variegate import LMDH, Catalogue, Policy, make_policy
from variegate.arrays import FloatArray, IndexArray
from variegate.evaluation.offpolicy import (
    Estimate,
    SlateLog,
    rips,
    sips,
    slate_log,
    target_of_lists,
)
from variegate.policies import explore_slate

K, LISTS = 2, 8_000
#: What an item earns by itself, and the share of it that is left below an item like it
WORTH = np.array([0.2, 0.3, 0.5, 0.6, 0.8])


def catalogue() -> Catalogue:
    # Not evenly spaced: the lists would depend on rounding, since two items are as far from others.
    angles = np.linspace(0.0, 1.2, len(WORTH)) ** 1.2
    features = np.column_stack([np.cos(angles), np.sin(angles)])
    return Catalogue(range(len(WORTH)), features, "cosine")


def chances_of_clicks(items: IndexArray) -> FloatArray:
    """Return how likely each position is clicked: those like the one above them bore, (n, K)."""
    apart = np.abs(items[:, 1] - items[:, 0]) / (len(WORTH) - 1)
    return np.column_stack([WORTH[items[:, 0]], WORTH[items[:, 1]] * apart])


def logging_policy() -> LMDH:
    policy = LMDH(catalogue(), ridge=1.0)
    policy.update(policy.recommend(3), [1, 0, 1])
    return policy


def mixed_log(seed: int, *, chance: float = 0.5, lists: int = LISTS) -> SlateLog:
    """Return lists of the logging policy with chance in them, and clicks on them."""
    rng, policy = np.random.default_rng(seed), logging_policy()
    drawn = [explore_slate(policy, K, chance, rng=rng) for _ in range(lists)]
    items = np.array([slate.items for slate, _ in drawn])
    clicks = rng.random(items.shape) < chances_of_clicks(items)
    return slate_log(items, clicks, [propensities for _, propensities in drawn])


def earned_by(policy: Policy) -> float:
    return float(chances_of_clicks(policy.recommend(K).items[None]).sum())


TARGETS: dict[str, Callable[[], Policy]] = {
    "the logging policy itself": logging_policy,
    "the best items": lambda: make_policy("popular", catalogue(), popularity=WORTH),
    "the worst items": lambda: make_policy("popular", catalogue(), popularity=-WORTH),
}


@cache
def half_random() -> SlateLog:
    return mixed_log(1)


@pytest.mark.parametrize("estimator", [sips, rips])
@pytest.mark.parametrize("target", TARGETS)
def test_the_estimate_for_a_policy_is_what_it_earns(
    estimator: Callable[..., Estimate], target: str
) -> None:
    policy, log = TARGETS[target](), half_random()
    shown = np.tile(policy.recommend(K).items, (LISTS, 1))

    estimate = estimator(log, target_of_lists(log, shown))

    assert abs(estimate.value - earned_by(policy)) < 3.0 * estimate.standard_error
    # No list is rarer than 1/10 times 1/8, and none earns more than 1 on average nor ever more
    # than 2: the mean of its squares is at most 2.
    assert estimate.standard_error < np.sqrt(80 * 2 / LISTS)


def test_the_estimate_for_uniform_lists_is_the_mean_of_all_lists() -> None:
    log = half_random()
    n = len(WORTH)
    uniform = np.tile([1.0 / n, 1.0 / (n - 1)], (LISTS, 1))
    every = np.array(list(permutations(range(n), K)))

    estimate = sips(log, uniform)

    truth = float(chances_of_clicks(every).sum(axis=1).mean())
    assert abs(estimate.value - truth) < 3.0 * estimate.standard_error


def test_chance_of_one_is_a_uniform_log() -> None:
    log = mixed_log(3, chance=1.0, lists=50)

    np.testing.assert_allclose(log.propensities, [[1 / 5, 1 / 4]] * 50)
