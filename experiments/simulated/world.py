"""The simulated world: drawn items and users, and the loop that plays learners against them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from variegate.arrays import FloatArray
from variegate.evaluation.parallel import Workers, parallel_map
from variegate.evaluation.simulation import clicks
from variegate.model.catalogue import Catalogue
from variegate.model.slate import Slate
from variegate.model.utility import Utility
from variegate.policies import Policy

#: Items in a world; they stay candidates once shown.
ITEMS: Final = 100
#: Topics that an item is a mix of; a user has a weight for each.
TOPICS: Final = 8
#: Items in a list.
K: Final = 6
#: The standard deviation of a click at the probabilities of these users, about 1 in 4.
NOISE: Final = 0.2
#: lambda of LMDH: with the paper's 50 it learns too little in a few hundred lists.
RIDGE: Final = 5.0

Result = TypeVar("Result")
#: Called with the number of runs completed since the last call.
Progress: TypeAlias = Callable[[int], None]
#: From the round and a slate to the probability that each of its items is clicked, (k,).
ClickModel: TypeAlias = Callable[[int, Slate], FloatArray]


def no_progress(_runs: int) -> None:
    """Show nothing."""


class Size(NamedTuple):
    """The number of runs of an experiment, and of lists per run."""

    runs: int
    rounds: int


class Sizes(NamedTuple):
    """An experiment in full, and quick."""

    full: Size
    quick: Size


def stream(seed: int, experiment: int, run: int) -> np.random.Generator:
    """Return the random generator of one run; it depends on these numbers alone."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(experiment, run)))


def draw_mixes(rng: np.random.Generator, *, items: int = ITEMS, of: int = TOPICS) -> FloatArray:
    """Return the share of each topic in each item: most items have one to three, (L, of)."""
    return rng.dirichlet(np.full(of, 0.3), items)


def draw_items(rng: np.random.Generator) -> Catalogue:
    """Return drawn items with the cosine distance of their topics."""
    return Catalogue(range(ITEMS), draw_mixes(rng), "cosine")


def taste_of(catalogue: Catalogue, eta: FloatArray) -> Utility:
    """Return the taste of a user with weights theta, then beta."""
    theta, beta = np.split(eta, [catalogue.d])
    return Utility(catalogue, theta, beta, normaliser="growing")


def best_clicks(taste: Utility, k: int = K) -> float:
    """Return the expected clicks of the greedy list of a recommender that knows the taste."""
    return float(np.clip(taste.gains(taste.best(k)), 0.0, 1.0).sum())


def click_probabilities(slate: Slate, taste: Utility) -> FloatArray:
    """Return the probability that each item is clicked once it is examined, (k,).

    The slate must be of the taste's catalogue: it has the gains that the user sees.
    """
    weights = taste.preferences
    gains = slate.relevance @ weights.relevance + slate.diversity @ weights.diversity
    return np.clip(gains, 0.0, 1.0)


def play(
    learners: Sequence[Policy],
    luck: FloatArray,
    probabilities: ClickModel,
    *,
    rng: np.random.Generator | None = None,
    click: Callable[[FloatArray, FloatArray], FloatArray] = clicks,
    after_round: Callable[[int], None] = lambda _t: None,
) -> FloatArray:
    """Play learners against one user; return the expected clicks of each list, (learners, rounds).

    Parameters
    ----------
    luck
        Uniform numbers of each round, (rounds, ...), the same for every learner.
    probabilities
        The probability of a click on each item of a slate.
    rng
        For learners that draw.
    click
        From the probabilities and the round's luck to the clicks.
    after_round
        Called with the number of each round once every learner was updated.
    """
    earned = np.zeros((len(learners), len(luck)))
    for t, uniforms in enumerate(luck):
        for row, learner in enumerate(learners):
            slate = learner.recommend(K, rng=rng)
            chance = probabilities(t, slate)
            learner.update(slate, click(chance, uniforms))
            earned[row, t] = chance.sum()
        after_round(t)
    return earned


def over_runs(
    work: Callable[..., tuple[FloatArray, ...]],
    size: Size,
    *given: Any,
    workers: Workers,
    progress: Progress,
) -> list[FloatArray]:
    """Return each array that ``work(run, rounds, *given)`` returns, stacked over the runs."""
    found: dict[int, tuple[FloatArray, ...]] = {}
    jobs = [(run, size.rounds, *given) for run in range(size.runs)]
    for run, parts in parallel_map(work, jobs, workers=workers):
        found[run] = parts
        progress(1)
    return [
        np.stack(column) for column in zip(*(found[run] for run in range(size.runs)), strict=True)
    ]


@dataclass(frozen=True)
class Experiment(Generic[Result]):
    """A simulated experiment."""

    #: A dataclass whose fields are arrays
    result: type[Result]
    #: From a run, its rounds, what was prepared, and the seed to the fields of the result
    run: Callable[..., tuple[FloatArray, ...]]
    sizes: Sizes
    #: What is played, so that stored results of other learners are not taken for theirs
    learners: Sequence[str]
    #: From the seed and the workers to what all runs share
    prepare: Callable[[int, Workers], tuple[Any, ...]] = lambda _seed, _workers: ()

    def play(
        self,
        size: Size,
        *,
        seed: int = 0,
        workers: Workers = 1,
        progress: Progress = no_progress,
    ) -> Result:
        """Play all runs; return what they earned and learnt."""
        given = self.prepare(seed, workers)
        return self.result(
            *over_runs(self.run, size, *given, seed, workers=workers, progress=progress)
        )
