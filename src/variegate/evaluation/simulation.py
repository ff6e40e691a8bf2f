"""Simulated users with known preferences: regret and approximation ratios, as in the paper."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_choice, check_count, check_numbers
from variegate.errors import InputError
from variegate.evaluation.parallel import Workers, parallel_map
from variegate.model.catalogue import Catalogue
from variegate.model.gains import NORMALISERS, ORDERED, Normaliser
from variegate.model.search import SEARCHES, exhaustive, greedy
from variegate.model.utility import Utility
from variegate.policies import Policy, PolicySpec

#: With more candidates than this, the best list is not searched for exhaustively.
EXHAUSTIVE_ITEMS: Final = 25

#: The paper's ratios for Algorithm 1, mean of 100 users, by the length of the list.
PAPER_RATIOS: Final[Mapping[int, float]] = MappingProxyType(
    {2: 0.9995, 3: 0.9992, 4: 0.9989, 5: 0.9971}
)


class SimulatedUser:
    """Clicks on each item with probability eta . Delta given the items above it (Eq. 10).

    Nothing keeps eta . Delta between 0 and 1, so it is clipped to that (erratum E22).

    Examples
    --------
    >>> items = Catalogue(list("ab"), [[0.9], [0.1]], "cosine")
    >>> user = SimulatedUser(Utility(items, relevance=[1.0], diversity=[0.0]))
    >>> user.react([0, 1], uniforms=[0.5, 0.5])
    array([1., 0.])
    """

    def __init__(self, utility: Utility) -> None:
        self.utility = utility

    def react(self, items: ArrayLike, uniforms: ArrayLike) -> FloatArray:
        """Return 1 where the uniform of a position is below its click probability, else 0.

        `uniforms`, drawn from [0, 1), are an argument so that policies that are compared meet the
        same random numbers.
        """
        gains, drawn = self.utility.gains(items), check_numbers("uniforms", uniforms, ndim=1)
        if drawn.shape != gains.shape:
            raise InputError(f"`uniforms` must have {len(gains)} numbers, got {len(drawn)}")
        return clicks(gains, drawn)


def clicks(gains: FloatArray, uniforms: FloatArray) -> FloatArray:
    """Return 1 where the uniform is below the gain, clipped to [0, 1], else 0."""
    return (uniforms < np.clip(gains, 0.0, 1.0)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class World:
    """Items and one user, drawn as in the paper, and the value of the best list.

    With many items it is the value of the greedy list for the true preferences instead
    (`is_exact` is then false).
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
    _places, gains = (
        exhaustive(scorer, k, ordered=normaliser in ORDERED) if is_exact else greedy(scorer, k)
    )
    return World(SimulatedUser(taste), float(gains.sum()), is_exact)


def simulated_policies(normaliser: Normaliser = "none") -> Mapping[str, PolicySpec]:
    """Return the policies of the paper's simulation, LMDH without exploration, and uniform.

    LMDH scales distances as the user does; the paper's figures fit ``none``
    (docs/explanation/paper.md, A1).
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


class Simulation:
    """The regret of several policies on the same users with the same random numbers.

    Parameters
    ----------
    policies
        What to compare, by name; the paper's policies, if not given.
    rounds
        Lists shown to each user (the paper's T).
    runs
        The number of independent worlds, or their numbers: a world depends on its number alone.
    k
        Items in a list.
    seed
        The same seed gives the same result.
    items
        Candidates in a world; they stay candidates once shown.
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
        # Of each world: its own, the user's, and one for each policy.
        self._rngs = [
            np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run,))).spawn(
                2 + len(compared)
            )
            for run in numbers
        ]
        self.worlds = [
            draw_world(rngs[0], items=items, k=k, normaliser=normaliser) for rngs in self._rngs
        ]
        self._players = [
            [make(world.catalogue) for make in compared.values()] for world in self.worlds
        ]
        labels = [policy.label for policy in self._players[0]]
        self.labels = tuple(
            # Two settings of a policy have the same label.
            label if labels.count(label) == 1 else name
            for name, label in zip(self.names, labels, strict=True)
        )

    def play(self) -> Iterator[int]:
        """Play round after round in all runs; yield the number of rounds played so far."""
        for t in range(self.rounds):
            for run, (world, rngs) in enumerate(zip(self.worlds, self._rngs, strict=True)):
                uniforms = rngs[1].random(self.k)
                for number, policy in enumerate(self._players[run]):
                    self.regret[number, run, t] = _round_regret(
                        world, policy, uniforms, rngs[2 + number]
                    )
            yield t + 1

    def cumulative(self) -> FloatArray:
        """Return the cumulative regret, (policies, runs, rounds)."""
        return np.cumsum(self.regret, axis=2)


def simulate_all(
    *,
    runs: int,
    workers: Workers = 1,
    progress: Callable[[int], None] = lambda _runs: None,
    **settings: Any,
) -> FloatArray:
    """Play a `Simulation` with these settings, run by run; return its regret.

    `progress` is called with 1 after each run.
    """
    jobs = [(run, settings) for run in range(runs)]
    parts: dict[int, FloatArray] = {}
    for run, regret in parallel_map(_simulate, jobs, workers=workers):
        parts[run] = regret
        progress(1)
    return np.concatenate([parts[run] for run in range(runs)], axis=1)


def approximation_ratios(
    searches: Sequence[str] = ("greedy",),
    *,
    lengths: Sequence[int] = tuple(PAPER_RATIOS),
    users: int = 1000,
    seed: int = 0,
    normaliser: Normaliser = "none",
) -> Iterator[FloatArray]:
    """Yield, user by user, F(list found) / F(best list) for each search and length.

    Every user has 20 items of their own; the best list is found by exhaustive search. Each
    array has shape (searches, lengths). Under ``growing`` the gains that the search uses depend
    on the order of the list, so lists are valued as sets, by ``fixed``.
    """
    for child in np.random.SeedSequence(seed).spawn(users):
        taste = draw_taste(np.random.default_rng(child), normaliser=normaliser)
        rows, ratios = np.arange(len(taste.catalogue)), np.empty((len(searches), len(lengths)))
        for column, k in enumerate(lengths):
            scorer = taste.scorer(rows, k)
            value = _set_value(taste).scorer(rows, k)
            _places, best = SEARCHES["exhaustive"](value, k)
            for row, search in enumerate(searches):
                places, _scores = SEARCHES[search](scorer, k)
                ratios[row, column] = value.along(places).sum() / best.sum()
        yield ratios


def _simulate(run: int, settings: dict[str, Any]) -> FloatArray:
    simulation = Simulation(runs=[run], **settings)
    for _ in simulation.play():
        pass
    return simulation.regret


def _round_regret(
    world: World, policy: Policy, uniforms: FloatArray, rng: np.random.Generator
) -> float:
    """Play one round; return the best value minus the value of the list."""
    slate = policy.recommend(len(uniforms), rng=rng)
    gains = world.user.utility.gains(slate.items)
    policy.update(slate, clicks(gains, uniforms))
    return world.best_value - float(gains.sum())


def _set_value(taste: Utility) -> Utility:
    if taste.normaliser not in ORDERED:
        return taste
    wants = taste.preferences
    return Utility(taste.catalogue, wants.relevance, wants.diversity, normaliser="fixed")
