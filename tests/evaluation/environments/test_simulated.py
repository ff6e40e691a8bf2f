"""The environment whose user is known."""

from itertools import permutations
from typing import Any

import gymnasium
import numpy as np
import pytest

from tests.evaluation.environments.conftest import CATALOGUE
from variegate import LMDH, Utility
from variegate.environments import SIMULATED, SimulatedEnvironment, play


def made(**options: Any) -> SimulatedEnvironment:
    world = gymnasium.make(SIMULATED, **options).unwrapped
    assert isinstance(world, SimulatedEnvironment)
    return world


def test_regret_is_what_the_list_falls_short_of_the_best() -> None:
    env = made(items=8, k=2)
    _observation, info = env.reset(seed=4)
    best = env.utility.best(2, search="exhaustive")

    *_rest, at_best = env.step(best)
    *_rest, other = env.step(np.array([0, 1]))

    assert at_best["regret"] == pytest.approx(0.0, abs=1e-12)
    assert at_best["value"] == pytest.approx(info["best_value"])
    assert other["value"] == pytest.approx(env.utility.value([0, 1]))
    assert other["regret"] == pytest.approx(info["best_value"] - other["value"])
    assert info["best_is_exact"]


def test_clicks_come_as_often_as_the_value_says() -> None:
    env = made(items=8, k=3, rounds=4_000)
    env.reset(seed=2)

    steps = [env.step(np.array([1, 5, 2])) for _ in range(4_000)]

    rewards = np.array([step[1] for step in steps])
    error = rewards.std() / np.sqrt(len(rewards))
    assert abs(rewards.mean() - steps[0][4]["value"]) < 4.0 * error


def test_an_empty_position_takes_no_part_in_the_value() -> None:
    env = made(items=8, k=3)
    env.reset(seed=2)

    *_rest, info = env.step(np.array([1, 1, 2]))

    assert info["value"] == pytest.approx(env.utility.value([1, 2]))


def test_luck_does_not_hang_on_what_is_shown() -> None:
    first, second = made(items=8, k=3), made(items=8, k=3)
    first.reset(seed=6)
    second.reset(seed=6)
    first.step(np.array([0, 1, 2]))
    second.step(np.array([7, 7, 7]))

    same = [env.step(np.array([3, 4, 5]))[0]["clicks"] for env in (first, second)]

    np.testing.assert_array_equal(*same)
    assert first.np_random.bit_generator.state == second.np_random.bit_generator.state


def test_episodes_have_users_of_their_own() -> None:
    env = made()
    users = [env.reset()[0]["features"] for _ in range(2)]

    assert not np.array_equal(*users)


def test_rounds_are_counted() -> None:
    env = made(rounds=3)
    env.reset(seed=0)

    ends = [env.step(np.arange(5))[2:4] for _ in range(3)]

    assert ends == [(False, False), (False, False), (False, True)]


def test_greedy_stands_in_for_the_best_of_too_many_and_says_so() -> None:
    env = made(items=200, k=5)
    _observation, info = env.reset(seed=1)

    greedy = env.utility.best(5)

    assert not info["best_is_exact"]
    assert info["best_value"] == pytest.approx(env.utility.value(greedy))


def test_the_best_list_is_sought_in_every_order_where_order_counts() -> None:
    taste = Utility(CATALOGUE, np.ones(4) * 0.1, [0.1], normaliser="growing")
    _observation, info = made(utility=taste, k=3).reset(seed=1)

    best = max(taste.value(items) for items in permutations(range(12), 3))

    assert info["best_is_exact"]
    assert info["best_value"] == pytest.approx(best)


def test_lmdh_earns_more_than_chance() -> None:
    env = made(rounds=300)

    lead = [
        play(env, lambda items: LMDH(items, normaliser="none"), 300, seed=seed).sum()
        - play(env, "uniform", 300, seed=seed).sum()
        for seed in range(5)
    ]

    assert np.mean(lead) > 0
