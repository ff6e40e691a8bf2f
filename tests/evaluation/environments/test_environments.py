"""What both environments promise, to Gymnasium and to the paper's policies."""

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests.evaluation.environments.conftest import ARGUMENTS, CATALOGUE, Env
from variegate import LMDH, POLICIES, Utility
from variegate.environments import REPLAY, SIMULATED, ListEnvironment, play
from variegate.errors import InputError, NotFoundError, StateError


def test_gymnasium_finds_nothing_wrong(env: Env) -> None:
    assert check_env(env.unwrapped) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize(
    "utility",
    [
        Utility(CATALOGUE, np.ones(4) * 0.1, [0.1]),
        Utility(CATALOGUE, np.ones(4) * 0.1, [0.1], normaliser="growing"),
    ],
)
def test_gymnasium_finds_nothing_wrong_with_a_user_of_ones_own(utility: Utility) -> None:
    env = gymnasium.make(SIMULATED, utility=utility)

    check_env(env.unwrapped)

    assert env.unwrapped.catalogue is CATALOGUE  # type: ignore[attr-defined]


@pytest.mark.parametrize("policy", list(POLICIES))
def test_every_policy_plays(env: Env, policy: str) -> None:
    rewards = play(env, policy, 4, seed=1)

    assert rewards.shape == (4,)
    assert ((rewards >= 0) & (rewards <= 3) & (rewards == np.round(rewards))).all()


@pytest.mark.parametrize("policy", ["lmdh", "uniform", "dc2b"])
def test_same_seed_same_rewards(env: Env, policy: str) -> None:
    first, again = (play(env, policy, 20, seed=5) for _ in range(2))

    np.testing.assert_array_equal(first, again)


def test_other_seeds_other_rewards() -> None:
    env = gymnasium.make(SIMULATED, **ARGUMENTS[SIMULATED])

    runs = {tuple(play(env, "uniform", 20, seed=seed)) for seed in range(5)}

    assert len(runs) == 5


def test_a_policy_of_ones_own_plays_to_the_end_of_the_episode(env: Env) -> None:
    rewards = play(env, lambda items: LMDH(items, ridge=1.0), 1_000, seed=0)

    assert len(rewards) == env.unwrapped.rounds  # type: ignore[attr-defined]


def test_random_agents_can_play(env: Env) -> None:
    env.action_space.seed(0)
    observation, _info = env.reset(seed=0)
    over = False
    while not over:
        assert observation in env.observation_space
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert reward == info["clicks"].sum() == observation["clicks"].sum()
        over = terminated or truncated


def test_a_repeated_item_leaves_its_position_empty(env: Env) -> None:
    env.reset(seed=0)

    observation, _reward, _over, _cut, info = env.step(np.array([4, 4, 0]))

    np.testing.assert_array_equal(observation["shown"], [4, 12, 0])
    assert info["clicks"][1] == 0


def test_reset_shows_nothing(env: Env) -> None:
    observation, _info = env.reset(seed=0)

    np.testing.assert_array_equal(observation["shown"], [12, 12, 12])
    assert not observation["clicks"].any()
    assert observation["candidates"].all()
    np.testing.assert_array_equal(
        observation["features"],
        env.unwrapped.catalogue.features,  # type: ignore[attr-defined]
    )


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ([0, 1], r"`action` must be 3 row numbers, got int64 of shape \(2,\)"),
        ([0.0, 1.0, 2.0], "`action` must be 3 row numbers, got float64"),
        ([0, 1, 12], r"`action` must hold rows from 0 to 11, got \[0, 1, 12\]"),
        ([0, 1, -1], "`action` must hold rows from 0 to 11"),
    ],
)
def test_what_is_no_list_is_refused(env: Env, action: Any, message: str) -> None:
    env.reset(seed=0)

    with pytest.raises(InputError, match=message):
        env.step(np.array(action))


def test_an_episode_that_is_over_takes_no_list(env: Env) -> None:
    play(env, "uniform", 1_000, seed=0)

    with pytest.raises(StateError, match="the episode is over"):
        env.step(np.array([0, 1, 2]))


def test_an_episode_must_be_begun() -> None:
    env = gymnasium.make(SIMULATED).unwrapped

    with pytest.raises(StateError, match="never begun: call reset first"):
        env.step(np.arange(5))


def test_unknown_policy_is_refused(env: Env) -> None:
    with pytest.raises(NotFoundError, match=r"did you mean 'lmdh'\?"):
        play(env, "lmdhh", 3)


def test_play_needs_an_environment_of_this_package() -> None:
    with pytest.raises(InputError, match="`env` must be an environment of variegate, got <Cart"):
        play(gymnasium.make("CartPole-v1"), "lmdh", 3)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (SIMULATED, {"k": 13}, r"`k` must be from 1 to 12 \(the items\), got 13"),
        (SIMULATED, {"rounds": 0}, "`rounds` must be from 1"),
        (SIMULATED, {"items": 0}, "`items` must be from 1"),
        (REPLAY, {"k": 13}, r"`k` must be from 1 to 12 \(the candidates\), got 13"),
        (REPLAY, {"candidates": [0, 3]}, "`k` must be from 1 to 2"),
        (REPLAY, {"likes": []}, "the likes of at least one user, got none"),
        (REPLAY, {"likes": [0, 3]}, "a list of rows for each user, got 0 for user 0"),
        (REPLAY, {"likes": [[0], []]}, "a candidate for each user, got none for user 1"),
        (REPLAY, {"candidates": range(5)}, "a candidate for each user, got none for user 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    name: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        gymnasium.make(name, **{**ARGUMENTS[name], **changes})


def test_gymnasium_can_import_the_package_by_itself() -> None:
    code = (
        "import gymnasium\n"
        "env = gymnasium.make('variegate.environments:variegate/Simulated-v0')\n"
        "print(env.reset(seed=0)[0]['features'].shape)"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert ran.stdout == "(20, 10)\n", ran.stderr


def test_without_gymnasium_the_extra_is_named() -> None:
    code = "import sys; sys.modules['gymnasium'] = None\nimport variegate.environments"

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "MissingExtraError: environments need gymnasium: pip install" in ran.stderr


def test_environments_can_be_made_side_by_side() -> None:
    several = gymnasium.make_vec(SIMULATED, num_envs=2, **ARGUMENTS[SIMULATED])
    observation, _info = several.reset(seed=1)

    alone = gymnasium.make(SIMULATED, **ARGUMENTS[SIMULATED])
    assert isinstance(alone.unwrapped, ListEnvironment)
    for number, seed in enumerate((1, 2)):
        np.testing.assert_array_equal(
            observation["features"][number], alone.reset(seed=seed)[0]["features"]
        )
    several.close()
