"""Learners earn more than chance does from a user whose clicks follow the paper's model."""

import numpy as np
import pytest

from tests.policies.making import Make, earned
from variegate import Catalogue, make_policy

SEEDS, ROUNDS = 20, 60

# Means over the 20 users when measured, in clicks an item shown above those of uniform, and
# their standard errors; each bar is some three errors below. LSB is a learner of topic
# coverage, which is not what this user clicks by, so it gains least.
BARS = {
    "lmdh": 0.20,  # 0.266, 0.022
    "lmdh-greedy": 0.07,  # 0.191, 0.040
    "c2ucb": 0.22,  # 0.283, 0.020
    "dc2b": 0.24,  # 0.277, 0.010
    "lsb": 0.02,  # 0.051, 0.011
    "linucb": 0.20,  # 0.232, 0.009
    "comblinucb": 0.28,  # 0.313, 0.009
    "comblints": 0.21,  # 0.239, 0.009
}


def gain_over_uniform(make: Make, seed: int) -> float:
    rng = np.random.default_rng([seed, 0])
    topics = rng.dirichlet([0.5] * 4, 30)
    # Of length 1, so that a policy gains nothing by liking long vectors.
    features = topics / np.linalg.norm(topics, axis=1, keepdims=True)
    catalogue = Catalogue(range(30), features, "cosine")
    theta = rng.permutation([0.8, 0.3, 0.1, 0.0])
    learnt = earned(make(catalogue), theta, 0.1, rounds=ROUNDS, seed=seed)
    by_chance = earned(make_policy("uniform", catalogue), theta, 0.1, rounds=ROUNDS, seed=seed)
    return (learnt - by_chance) / (ROUNDS * 4)


@pytest.mark.parametrize(("name", "bar"), BARS.items())
def test_a_learner_earns_more_than_chance(make: Make, bar: float) -> None:
    gains = [gain_over_uniform(make, seed) for seed in range(SEEDS)]

    assert np.mean(gains) > bar
