"""The paper's simulated experiment: regret against a user whose preferences are known."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, check_count
from variegate.catalogue import Catalogue
from variegate.policies import C2UCB, DC2B, LMDH, LSB, Policy, Uniform
from variegate.users import SimulatedUser, clicks
from variegate.utility import Utility

PolicyFactory: TypeAlias = Callable[[Catalogue], Policy]

#: What the paper compares in its simulation, and two more: LMDH that never explores, and
#: chance. Distances are not normalised here (docs/paper.md, reading A1).
SIMULATED_POLICIES: Final[Mapping[str, PolicyFactory]] = MappingProxyType(
    {
        "lmdh": lambda items: LMDH(items, normaliser="none"),
        "lmdh-greedy": lambda items: LMDH(items, exploration=0.0, normaliser="none"),
        "c2ucb": C2UCB,
        "lsb": LSB,
        "dc2b": DC2B,
        "uniform": Uniform,
    }
)


@dataclass(frozen=True, eq=False)
class World:
    """Items and one user, drawn as the paper draws them, and the best list there is."""

    catalogue: Catalogue
    user: SimulatedUser
    best_value: float


def draw_taste(rng: np.random.Generator, *, items: int = 20, features: int = 10) -> Utility:
    """Return items z in U[0, 0.5]^d and a user theta in U[0, 0.2]^d, beta in U[0, 0.2]."""
    catalogue = Catalogue(range(items), rng.uniform(0.0, 0.5, (items, features)), "cosine")
    return Utility(catalogue, rng.uniform(0.0, 0.2, features), rng.uniform(0.0, 0.2, 1))


def draw_world(rng: np.random.Generator, *, items: int = 20, k: int = 5) -> World:
    """Return a drawn user over drawn items, with the value of the best list of `k`."""
    taste = draw_taste(rng, items=items)
    best = taste.best(k, search="exhaustive")
    return World(taste.catalogue, SimulatedUser(taste), taste.value(best))


class Simulation:
    """Every policy against the same users with the same luck, all runs side by side.

    Parameters
    ----------
    policies
        What to compare: a name and how to make one for a catalogue.
    rounds
        Lists shown to each user (the paper's T).
    runs
        Independent worlds.
    k
        Items in a list.
    seed
        One seed, one result.
    items
        Candidates in a world; they are not taken away once shown.
    """

    def __init__(
        self,
        policies: Mapping[str, PolicyFactory] = SIMULATED_POLICIES,
        *,
        rounds: int = 2000,
        runs: int = 20,
        k: int = 5,
        seed: int = 0,
        items: int = 20,
    ) -> None:
        check_count(k, items, of="the items")
        self.names, self.rounds, self.runs, self.k = tuple(policies), rounds, runs, k
        #: F(A*) - F(A_t), (policies, runs, rounds)
        self.regret: FloatArray = np.zeros((len(policies), runs, rounds))
        self._streams = [
            np.random.default_rng(child).spawn(2 + len(policies))
            for child in np.random.SeedSequence(seed).spawn(runs)
        ]
        self._worlds = [draw_world(streams[0], items=items, k=k) for streams in self._streams]
        self._players = [
            [make(world.catalogue) for make in policies.values()] for world in self._worlds
        ]
        self.labels = tuple(policy.label for policy in self._players[0])

    def play(self) -> Iterator[int]:
        """Play round after round in all runs; yield the number of rounds played so far."""
        for t in range(self.rounds):
            for run in range(self.runs):
                coins = self._streams[run][1].random(self.k)
                for number, policy in enumerate(self._players[run]):
                    draws = self._streams[run][2 + number]
                    self.regret[number, run, t] = self._round(run, policy, coins, draws)
            yield t + 1

    def cumulative(self) -> FloatArray:
        """Return the regret added up over the rounds, (policies, runs, rounds)."""
        return np.cumsum(self.regret, axis=2)

    def _round(
        self, run: int, policy: Policy, coins: FloatArray, draws: np.random.Generator
    ) -> float:
        world = self._worlds[run]
        slate = policy.recommend(self.k, rng=draws)
        gains = world.user.utility.gains(slate.items)
        policy.update(slate, clicks(gains, coins))
        return world.best_value - float(gains.sum())
