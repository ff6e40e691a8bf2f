"""The environment of held-out likes."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from tests.evaluation.environments.conftest import ARGUMENTS, CATALOGUE
from variegate.environments import REPLAY, ReplayEnvironment, play
from variegate.errors import InputError


def made(**changes: Any) -> ReplayEnvironment:
    world = gymnasium.make(REPLAY, **{**ARGUMENTS[REPLAY], **changes}).unwrapped
    assert isinstance(world, ReplayEnvironment)
    return world


def test_a_click_is_a_liked_item() -> None:
    env = made()
    env.reset(options={"user": 0})

    observation, reward, over, cut, info = env.step(np.array([3, 1, 0]))

    np.testing.assert_array_equal(observation["clicks"], [1, 0, 1])
    assert (reward, over, cut) == (2.0, False, False)
    assert info["recall"] == pytest.approx(2 / 3)
    assert info["left"] == 9


def test_what_was_shown_leaves() -> None:
    env = made()
    env.reset(options={"user": 0})
    env.step(np.array([3, 1, 0]))

    observation, reward, _over, _cut, info = env.step(np.array([3, 5, 6]))

    np.testing.assert_array_equal(observation["shown"], [12, 5, 6])
    np.testing.assert_array_equal(np.flatnonzero(observation["candidates"] == 0), [0, 1, 3, 5, 6])
    assert reward == 1.0
    assert info["recall"] == pytest.approx(1.0)


def test_reset_brings_everything_back() -> None:
    env = made()
    env.reset(seed=0)
    env.step(np.array([3, 1, 0]))

    observation, info = env.reset()

    assert observation["candidates"].all()
    assert info["recall"] == 0.0
    assert info["left"] == 12


def test_an_episode_ends_with_the_candidates() -> None:
    env = made(candidates=[0, 1, 2, 3, 5, 7, 8], rounds=30)
    env.reset(seed=0)

    first = env.step(np.array([0, 1, 2]))
    second = env.step(np.array([3, 5, 7]))

    assert first[2:4] == (False, False)
    assert second[2:4] == (True, False)


def test_what_was_never_a_candidate_is_not_shown() -> None:
    env = made(candidates=np.arange(12) > 2)
    _observation, info = env.reset(options={"user": 0})

    observation, *_rest = env.step(np.array([0, 3, 4]))

    np.testing.assert_array_equal(observation["shown"], [12, 3, 4])
    assert info["left"] == 9


def test_all_users_have_their_turn() -> None:
    env = made()
    env.reset(seed=0)

    users = {env.reset()[1]["user"] for _ in range(20)}

    assert users == {0, 1}


def test_a_user_can_be_asked_for() -> None:
    env = made()

    assert [env.reset(options={"user": user})[1]["user"] for user in (1, 0, 1)] == [1, 0, 1]
    with pytest.raises(InputError, match="`user` must be from 0 to 1, got 2"):
        env.reset(options={"user": 2})


def test_all_likes_are_found_when_everything_is_shown() -> None:
    env = made(rounds=30)

    rewards = play(env, "lmdh", 30, options={"user": 0})

    assert len(rewards) == 4
    assert rewards.sum() == 3.0


def test_likes_may_be_masks() -> None:
    env = made(likes=[np.arange(12) == 4])
    env.reset(seed=0)

    _observation, reward, *_rest = env.step(np.array([4, 5, 6]))

    assert reward == 1.0


def test_features_that_are_all_zero_have_a_space() -> None:
    flat = type(CATALOGUE)(range(4), np.zeros((4, 2)), "cosine")
    env = made(catalogue=flat, likes=[[1]])

    observation, _info = env.reset(seed=0)

    assert observation in env.observation_space
