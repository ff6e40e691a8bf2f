"""The paper's policies, as agents in an environment."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from variegate.arrays import FloatArray, check_count
from variegate.environments.lists import ListEnvironment
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.policies import Policy, make_policy


def play(
    env: gymnasium.Env[Any, Any],
    policy: str | Callable[[Catalogue], Policy],
    rounds: int,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
) -> FloatArray:
    """Reset `env`, let a new policy recommend and learn, and return the rewards, (rounds,).

    Fewer come back where the episode ends sooner.

    Parameters
    ----------
    env
        One of this package's, with or without wrappers that leave the actions as they are.
    policy
        A name of `variegate.POLICIES`, or what makes a policy for a catalogue: the items can
        differ from episode to episode.
    rounds
        The most lists to show.
    seed
        Same seed, same rewards. The user's luck and the policy's draws are apart, so
        policies with the same seed meet the same user.
    options
        For `env.reset`.

    Examples
    --------
    >>> import variegate.environments
    >>> env = gymnasium.make("variegate/Simulated-v0", items=8, k=2)
    >>> variegate.environments.play(env, "lmdh", 5, seed=1).shape
    (5,)
    """
    world = env.unwrapped
    if not isinstance(world, ListEnvironment):
        raise InputError(f"`env` must be an environment of variegate, got {world}")
    rounds = check_count(rounds, 10**9, name="rounds", of="the most that make sense")
    env.reset(seed=seed, options=options)
    # The environment seeds its own numbers with `seed` itself, so the policy gets a child.
    draws = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    player = (
        make_policy(policy, world.catalogue) if isinstance(policy, str) else policy(world.catalogue)
    )
    rewards: list[float] = []
    over = False
    while len(rewards) < rounds and not over:
        slate = player.recommend(world.k, world.candidates, rng=draws)
        _seen, reward, terminated, truncated, info = env.step(slate.items)
        player.update(slate, info["clicks"])
        rewards.append(float(reward))
        over = terminated or truncated
    return np.array(rewards)
