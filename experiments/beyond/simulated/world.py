"""Items and users drawn so that all is known of them, and what their lists are worth."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from scipy import stats

from variegate.arrays import FloatArray
from variegate.evaluation.parallel import parallel_map
from variegate.model.catalogue import Catalogue
from variegate.model.slate import Slate
from variegate.model.utility import Utility

#: Items in a world; they are not taken away once shown.
ITEMS: Final = 100
#: Topics that an item is a mix of; a user has a weight for each.
TOPICS: Final = 8
#: Items in a list.
K: Final = 6
#: How noisy a click is at the chances that users have here, 1 in 4 or so.
NOISE: Final = 0.2
#: lambda of LMDH here: with the paper's 50 it learns too little in a few hundred lists.
RIDGE: Final = 5.0

#: Is told how many runs were done since it was last told.
Progress: TypeAlias = Callable[[int], None]


def silent(_runs: int) -> None:
    """Tell nobody."""


class Size(NamedTuple):
    """How much of an experiment is played."""

    runs: int
    rounds: int


class Sizes(NamedTuple):
    """An experiment in full, and quick."""

    full: Size
    quick: Size


def stream(seed: int, experiment: int, run: int) -> np.random.Generator:
    """Return the luck of one run: it hangs on nothing but these numbers."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(experiment, run)))


def draw_mixes(rng: np.random.Generator, *, items: int = ITEMS, of: int = TOPICS) -> FloatArray:
    """Return what share of each item each topic has: most items are of one to three, (L, of)."""
    return rng.dirichlet(np.full(of, 0.3), items)


def draw_items(rng: np.random.Generator) -> Catalogue:
    """Return drawn items with the cosine distance of their topics."""
    return Catalogue(range(ITEMS), draw_mixes(rng), "cosine")


def taste_of(catalogue: Catalogue, eta: FloatArray) -> Utility:
    """Return the taste of a user with weights theta, then beta."""
    theta, beta = np.split(eta, [catalogue.d])
    return Utility(catalogue, theta, beta, normaliser="growing")


def most_clicks(taste: Utility, k: int = K) -> float:
    """Return the clicks to be expected of the list of one who knows the taste, by greedy."""
    return float(np.clip(taste.gains(taste.best(k)), 0.0, 1.0).sum())


def chances(slate: Slate, taste: Utility) -> FloatArray:
    """Return how likely each item is clicked once it is looked at, (k,).

    The slate must be of the taste's catalogue: it has the gains that the user sees.
    """
    wants = taste.preferences
    gains = slate.relevance @ wants.relevance + slate.diversity @ wants.diversity
    return np.clip(gains, 0.0, 1.0)


def over_runs(
    work: Callable[..., tuple[FloatArray, ...]],
    size: Size,
    *given: Any,
    workers: int,
    progress: Progress,
) -> list[FloatArray]:
    """Return each part of what ``work(run, rounds, *given)`` gives, stacked over the runs."""
    found: dict[int, tuple[FloatArray, ...]] = {}
    jobs = [(run, size.rounds, *given) for run in range(size.runs)]
    for run, parts in parallel_map(work, jobs, workers=workers):
        found[run] = parts
        progress(1)
    return [
        np.stack(column) for column in zip(*(found[run] for run in range(size.runs)), strict=True)
    ]


@dataclass(frozen=True, eq=False)
class Interval:
    """A mean over runs with its 95% interval by Student's t, of any shape."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


def interval(values: FloatArray) -> Interval:
    """Return the mean over the first axis with its interval."""
    n, mean = len(values), values.mean(axis=0)
    error = values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full_like(mean, np.inf)
    half = stats.t.ppf(0.975, max(n - 1, 1)) * error
    return Interval(mean, mean - half, mean + half)
