"""The paper's simulated experiment: regret against a user whose preferences are known."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray, check_choice, check_count
from variegate.evaluation.parallel import parallel_map
from variegate.model.catalogue import Catalogue
from variegate.model.gains import NORMALISERS, Normaliser
from variegate.model.search import exhaustive, greedy
from variegate.model.utility import Utility
from variegate.policies import Policy, PolicySpec
from variegate.users import SimulatedUser, clicks

#: More candidates than this, and the best list is not looked for among all.
EXHAUSTIVE_ITEMS: Final = 25


def simulated_policies(normaliser: Normaliser = "none") -> Mapping[str, PolicySpec]:
    """Return what the paper compares in its simulation, and LMDH without exploring, and chance.

    LMDH scales distances as the user does; the paper's figures fit ``none`` (docs/paper.md, A1).
    """
    check_choice("normaliser", normaliser, NORMALISERS)
    scaled = {"normaliser": normaliser}
    return MappingProxyType(
        {
            "lmdh": PolicySpec("lmdh", scaled),
            "lmdh-greedy": PolicySpec("lmdh-greedy", scaled),
            "c2ucb": PolicySpec("c2ucb"),
            "lsb": PolicySpec("lsb"),
            "dc2b": PolicySpec("dc2b"),
            "uniform": PolicySpec("uniform"),
        }
    )


@dataclass(frozen=True, eq=False)
class World:
    """Items and one user, drawn as the paper draws them, and the best list there is.

    With many items the best list is the greedy one for the true preferences, which stands in
    for it (`is_exact` says which).
    """

    user: SimulatedUser
    best_value: float
    is_exact: bool

    @property
    def catalogue(self) -> Catalogue:
        """The items."""
        return self.user.utility.catalogue


def draw_taste(
    rng: np.random.Generator,
    *,
    items: int = 20,
    features: int = 10,
    normaliser: Normaliser = "none",
) -> Utility:
    """Return items z in U[0, 0.5]^d and a user theta in U[0, 0.2]^d, beta in U[0, 0.2]."""
    catalogue = Catalogue(range(items), rng.uniform(0.0, 0.5, (items, features)), "cosine")
    relevance, diversity = rng.uniform(0.0, 0.2, features), rng.uniform(0.0, 0.2, 1)
    return Utility(catalogue, relevance, diversity, normaliser=normaliser)


def draw_world(
    rng: np.random.Generator, *, items: int = 20, k: int = 5, normaliser: Normaliser = "none"
) -> World:
    """Return a drawn user over drawn items, with the value of the best list of `k`."""
    taste = draw_taste(rng, items=items, normaliser=normaliser)
    scorer, is_exact = taste.scorer(np.arange(items), k), items <= EXHAUSTIVE_ITEMS
    # Under `growing` the value of a list depends on its order.
    found = (
        exhaustive(scorer, k, ordered=normaliser == "growing") if is_exact else greedy(scorer, k)
    )
    return World(SimulatedUser(taste), float(found[1].sum()), is_exact)


class Simulation:
    """Every policy against the same users with the same luck, all runs side by side.

    Parameters
    ----------
    policies
        What to compare, by name; what the paper compares, if not given.
    rounds
        Lists shown to each user (the paper's T).
    runs
        How many independent worlds, or their numbers: a world depends on its number alone.
    k
        Items in a list.
    seed
        One seed, one result.
    items
        Candidates in a world; they are not taken away once shown.
    normaliser
        How the users scale distances.
    """

    def __init__(
        self,
        policies: Mapping[str, PolicySpec] | None = None,
        *,
        rounds: int = 2000,
        runs: int | Sequence[int] = 20,
        k: int = 5,
        seed: int = 0,
        items: int = 20,
        normaliser: Normaliser = "none",
    ) -> None:
        check_count(k, items, of="the items")
        compared = simulated_policies(normaliser) if policies is None else policies
        numbers = range(runs) if isinstance(runs, int) else runs
        self.names, self.rounds, self.runs, self.k = tuple(compared), rounds, len(numbers), k
        #: F(A*) - F(A_t), (policies, runs, rounds)
        self.regret: FloatArray = np.zeros((len(compared), len(numbers), rounds))
        self._streams = [
            np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run,))).spawn(
                2 + len(compared)
            )
            for run in numbers
        ]
        self.worlds = [
            draw_world(streams[0], items=items, k=k, normaliser=normaliser)
            for streams in self._streams
        ]
        self._players = [
            [make(world.catalogue) for make in compared.values()] for world in self.worlds
        ]
        self.labels = tuple(policy.label for policy in self._players[0])

    def play(self) -> Iterator[int]:
        """Play round after round in all runs; yield the number of rounds played so far."""
        for t in range(self.rounds):
            for run, (world, streams) in enumerate(zip(self.worlds, self._streams, strict=True)):
                uniforms = streams[1].random(self.k)
                for number, policy in enumerate(self._players[run]):
                    self.regret[number, run, t] = _round(
                        world, policy, uniforms, streams[2 + number]
                    )
            yield t + 1

    def cumulative(self) -> FloatArray:
        """Return the regret added up over the rounds, (policies, runs, rounds)."""
        return np.cumsum(self.regret, axis=2)


def simulate_all(
    *,
    runs: int,
    workers: int = 1,
    progress: Callable[[int], None] = lambda _runs: None,
    **settings: Any,
) -> FloatArray:
    """Play a `Simulation` with these settings, run by run; return the regret of all of it.

    `progress` is called with 1 after each run.
    """
    jobs = [(run, settings) for run in range(runs)]
    parts: dict[int, FloatArray] = {}
    for run, regret in parallel_map(_simulate, jobs, workers=workers):
        parts[run] = regret
        progress(1)
    return np.concatenate([parts[run] for run in range(runs)], axis=1)


def _simulate(run: int, settings: dict[str, Any]) -> FloatArray:
    simulation = Simulation(runs=[run], **settings)
    for _ in simulation.play():
        pass
    return simulation.regret


def _round(world: World, policy: Policy, uniforms: FloatArray, draws: np.random.Generator) -> float:
    """Play one round; return how far the list fell short of the best."""
    slate = policy.recommend(len(uniforms), rng=draws)
    gains = world.user.utility.gains(slate.items)
    policy.update(slate, clicks(gains, uniforms))
    return world.best_value - float(gains.sum())
