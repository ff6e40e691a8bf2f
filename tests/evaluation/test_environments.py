"""What both environments promise, to Gymnasium and to the paper's policies."""

import subprocess
import sys
from itertools import permutations
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from variegate import LMDH, POLICIES, Catalogue, Utility
from variegate.errors import InputError, NotFoundError, StateError
from variegate.evaluation.environments import (
    REPLAY,
    SIMULATED,
    ListEnvironment,
    ReplayEnvironment,
    SimulatedEnvironment,
    play,
)

Env: TypeAlias = gymnasium.Env[Any, Any]

CATALOGUE = Catalogue(range(12), np.random.default_rng(3).uniform(-1, 1, (12, 4)), "cosine")

ARGUMENTS: dict[str, dict[str, Any]] = {
    SIMULATED: {"items": 12, "features": 4, "k": 3, "rounds": 20},
    REPLAY: {"catalogue": CATALOGUE, "likes": [[0, 3, 5], [7]], "k": 3, "rounds": 4},
}


@pytest.fixture(params=list(ARGUMENTS))
def env(request: pytest.FixtureRequest) -> Env:
    """Each registered environment, as `gymnasium.make` makes it."""
    return gymnasium.make(request.param, **ARGUMENTS[request.param])


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

    with pytest.raises(StateError, match="has not started: call reset first"):
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
        "env = gymnasium.make('variegate.evaluation.environments:variegate/Simulated-v0')\n"
        "print(env.reset(seed=0)[0]['features'].shape)"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert ran.stdout == "(20, 10)\n", ran.stderr


def test_without_gymnasium_the_extra_is_named() -> None:
    code = "import sys; sys.modules['gymnasium'] = None\nimport variegate.evaluation.environments"

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


def made_simulated(**options: Any) -> SimulatedEnvironment:
    world = gymnasium.make(SIMULATED, **options).unwrapped
    assert isinstance(world, SimulatedEnvironment)
    return world


def test_regret_is_what_the_list_falls_short_of_the_best() -> None:
    env = made_simulated(items=8, k=2)
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
    env = made_simulated(items=8, k=3, rounds=4_000)
    env.reset(seed=2)

    steps = [env.step(np.array([1, 5, 2])) for _ in range(4_000)]

    rewards = np.array([step[1] for step in steps])
    error = rewards.std() / np.sqrt(len(rewards))
    assert abs(rewards.mean() - steps[0][4]["value"]) < 4.0 * error


def test_an_empty_position_takes_no_part_in_the_value() -> None:
    env = made_simulated(items=8, k=3)
    env.reset(seed=2)

    *_rest, info = env.step(np.array([1, 1, 2]))

    assert info["value"] == pytest.approx(env.utility.value([1, 2]))


def test_luck_does_not_hang_on_what_is_shown() -> None:
    first, second = made_simulated(items=8, k=3), made_simulated(items=8, k=3)
    first.reset(seed=6)
    second.reset(seed=6)
    first.step(np.array([0, 1, 2]))
    second.step(np.array([7, 7, 7]))

    same = [env.step(np.array([3, 4, 5]))[0]["clicks"] for env in (first, second)]

    np.testing.assert_array_equal(*same)
    assert first.np_random.bit_generator.state == second.np_random.bit_generator.state


def test_episodes_have_users_of_their_own() -> None:
    env = made_simulated()
    users = [env.reset()[0]["features"] for _ in range(2)]

    assert not np.array_equal(*users)


def test_rounds_are_counted() -> None:
    env = made_simulated(rounds=3)
    env.reset(seed=0)

    ends = [env.step(np.arange(5))[2:4] for _ in range(3)]

    assert ends == [(False, False), (False, False), (False, True)]


def test_greedy_stands_in_for_the_best_of_too_many_and_says_so() -> None:
    env = made_simulated(items=200, k=5)
    _observation, info = env.reset(seed=1)

    greedy = env.utility.best(5)

    assert not info["best_is_exact"]
    assert info["best_value"] == pytest.approx(env.utility.value(greedy))


def test_the_best_list_is_sought_in_every_order_where_order_counts() -> None:
    taste = Utility(CATALOGUE, np.ones(4) * 0.1, [0.1], normaliser="growing")
    _observation, info = made_simulated(utility=taste, k=3).reset(seed=1)

    best = max(taste.value(items) for items in permutations(range(12), 3))

    assert info["best_is_exact"]
    assert info["best_value"] == pytest.approx(best)


def test_lmdh_earns_more_than_chance() -> None:
    env = made_simulated(rounds=300)

    lead = [
        play(env, lambda items: LMDH(items, normaliser="none"), 300, seed=seed).sum()
        - play(env, "uniform", 300, seed=seed).sum()
        for seed in range(5)
    ]

    assert np.mean(lead) > 0


def made_replay(**changes: Any) -> ReplayEnvironment:
    world = gymnasium.make(REPLAY, **{**ARGUMENTS[REPLAY], **changes}).unwrapped
    assert isinstance(world, ReplayEnvironment)
    return world


def test_a_click_is_a_liked_item() -> None:
    env = made_replay()
    env.reset(options={"user": 0})

    observation, reward, over, cut, info = env.step(np.array([3, 1, 0]))

    np.testing.assert_array_equal(observation["clicks"], [1, 0, 1])
    assert (reward, over, cut) == (2.0, False, False)
    assert info["recall"] == pytest.approx(2 / 3)
    assert info["left"] == 9


def test_what_was_shown_leaves() -> None:
    env = made_replay()
    env.reset(options={"user": 0})
    env.step(np.array([3, 1, 0]))

    observation, reward, _over, _cut, info = env.step(np.array([3, 5, 6]))

    np.testing.assert_array_equal(observation["shown"], [12, 5, 6])
    np.testing.assert_array_equal(np.flatnonzero(observation["candidates"] == 0), [0, 1, 3, 5, 6])
    assert reward == 1.0
    assert info["recall"] == pytest.approx(1.0)


def test_reset_brings_everything_back() -> None:
    env = made_replay()
    env.reset(seed=0)
    env.step(np.array([3, 1, 0]))

    observation, info = env.reset()

    assert observation["candidates"].all()
    assert info["recall"] == 0.0
    assert info["left"] == 12


def test_an_episode_ends_with_the_candidates() -> None:
    env = made_replay(candidates=[0, 1, 2, 3, 5, 7, 8], rounds=30)
    env.reset(seed=0)

    first = env.step(np.array([0, 1, 2]))
    second = env.step(np.array([3, 5, 7]))

    assert first[2:4] == (False, False)
    assert second[2:4] == (True, False)


def test_what_was_never_a_candidate_is_not_shown() -> None:
    env = made_replay(candidates=np.arange(12) > 2)
    _observation, info = env.reset(options={"user": 0})

    observation, *_rest = env.step(np.array([0, 3, 4]))

    np.testing.assert_array_equal(observation["shown"], [12, 3, 4])
    assert info["left"] == 9


def test_all_users_have_their_turn() -> None:
    env = made_replay()
    env.reset(seed=0)

    users = {env.reset()[1]["user"] for _ in range(20)}

    assert users == {0, 1}


def test_a_user_can_be_asked_for() -> None:
    env = made_replay()

    assert [env.reset(options={"user": user})[1]["user"] for user in (1, 0, 1)] == [1, 0, 1]
    with pytest.raises(InputError, match="`user` must be from 0 to 1, got 2"):
        env.reset(options={"user": 2})


def test_all_likes_are_found_when_everything_is_shown() -> None:
    env = made_replay(rounds=30)

    rewards = play(env, "lmdh", 30, options={"user": 0})

    assert len(rewards) == 4
    assert rewards.sum() == 3.0


def test_likes_may_be_masks() -> None:
    env = made_replay(likes=[np.arange(12) == 4])
    env.reset(seed=0)

    _observation, reward, *_rest = env.step(np.array([4, 5, 6]))

    assert reward == 1.0


def test_features_that_are_all_zero_have_a_space() -> None:
    flat = type(CATALOGUE)(range(4), np.zeros((4, 2)), "cosine")
    env = made_replay(catalogue=flat, likes=[[1]])

    observation, _info = env.reset(seed=0)

    assert observation in env.observation_space
