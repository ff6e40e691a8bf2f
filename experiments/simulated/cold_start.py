"""New users of a population: what a learner gains that starts from a prior fitted to others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from experiments.simulated.world import (
    NOISE,
    TOPICS,
    Experiment,
    K,
    Size,
    Sizes,
    best_clicks,
    click_probabilities,
    draw_items,
    no_progress,
    over_runs,
    stream,
    taste_of,
)
from experiments.simulated.world import play as play_user
from variegate.arrays import FloatArray
from variegate.evaluation.parallel import Workers
from variegate.model.catalogue import Catalogue
from variegate.model.ridge import unpacked
from variegate.model.utility import Utility
from variegate.policies import LMDP, PolicySpec
from variegate.prior import Prior, default_prior, fit_prior_from_sums

#: No floor: it is an operator's constraint, and no estimate of what users want.
_OPTIONS: Final[Mapping[str, Any]] = {"exploration": 0.5, "floor": None}
#: Learners, and what they start from: nothing, a guess, a fit to other users' sums, the truth.
LEARNERS: Final[Mapping[str, tuple[PolicySpec, str]]] = {
    "lmdh": (PolicySpec("lmdh"), "nothing"),
    # The best for these users of ridges 2, 5, 20 and 50 and explorations 0.25, 0.5 and 1.
    "lmdh tuned": (PolicySpec("lmdh", {"ridge": 2.0}), "nothing"),
    "lmdp guessed": (PolicySpec("lmdp", _OPTIONS), "guess"),
    "lmdp fitted": (PolicySpec("lmdp", _OPTIONS), "fit"),
    "lmdp true": (PolicySpec("lmdp", _OPTIONS), "truth"),
    "lmdt fitted": (PolicySpec("lmdt", _OPTIONS), "fit"),
}
SIZES: Final = Sizes(full=Size(runs=90, rounds=100), quick=Size(runs=40, rounds=40))

#: Populations, in turn over the runs, so that the results are not those of one population.
POPULATIONS: Final = 3
#: Users of each population whose sums its prior is fitted to, and the lists each was shown.
TRAINING: Final = Size(runs=300, rounds=20)


@dataclass(frozen=True, eq=False)
class ColdStart:
    """Expected clicks of learners that start from more or less."""

    #: Of the list of a recommender that knows the user's weights, (runs,)
    best: FloatArray
    #: Of each learner's lists, (runs, learners, rounds)
    earned: FloatArray

    def shares(self) -> FloatArray:
        """Return the clicks as a share of the best, (runs, learners, rounds)."""
        return np.asarray(self.earned / self.best[:, None, None])


@dataclass(frozen=True, eq=False)
class Population:
    """Items, and users drawn from N(mean, covariance)."""

    catalogue: Catalogue
    #: Priors for a new user: the guess, the truth and, once it was made, the fit
    starts: Mapping[str, Prior]

    def draw_user(self, rng: np.random.Generator) -> Utility:
        """Return the taste of a user."""
        truth = self.starts["truth"]
        root = np.linalg.cholesky(truth.covariance)
        return taste_of(self.catalogue, truth.mean + root @ rng.standard_normal(len(root)))


def fitted_populations(seed: int, workers: Workers) -> tuple[list[Population]]:
    """Return the populations, each with a prior fitted to some of its users."""
    numbers = range(POPULATIONS)
    return ([_fit_prior(draw_population(stream(seed, 4, n)), seed, workers) for n in numbers],)


def draw_population(rng: np.random.Generator) -> Population:
    """Return drawn items, and users with correlated weights."""
    catalogue = draw_items(rng)
    causes = rng.standard_normal((TOPICS, 2))
    together = causes @ causes.T + 0.5 * np.eye(TOPICS)
    scale = rng.uniform(0.05, 0.16, TOPICS) / np.sqrt(np.diag(together))
    covariance = np.zeros((TOPICS + 1, TOPICS + 1))
    covariance[:TOPICS, :TOPICS] = together * np.outer(scale, scale)
    covariance[TOPICS, TOPICS] = 0.07**2
    mean = np.append(rng.uniform(0.05, 0.35, TOPICS), 0.2)
    truth = Prior(mean, covariance, NOISE, catalogue.feature_names, ("cosine",))
    return Population(catalogue, {"guess": default_prior(catalogue), "truth": truth})


def _fit_prior(population: Population, seed: int, workers: Workers) -> Population:
    """Return the population with a prior fitted to the sums of some of its users."""
    grams, responses = over_runs(
        _training_run, TRAINING, population, seed, workers=workers, progress=no_progress
    )
    fit = fit_prior_from_sums(population.starts["guess"], zip(grams, responses, strict=True))
    return replace(population, starts={**population.starts, "fit": fit})


def _training_run(
    run: int, rounds: int, population: Population, seed: int
) -> tuple[FloatArray, ...]:
    """Return the sums of a user whose learner started from the guess."""
    rng, guess = stream(seed, 5, run), population.starts["guess"]
    policy = LMDP(population.catalogue, prior=guess, **_OPTIONS)
    taste = population.draw_user(rng)
    play_user(
        [policy], rng.random((rounds, K)), lambda _t, slate: click_probabilities(slate, taste)
    )
    state = policy.state().arrays
    return unpacked(state["gram"], len(state["response"])), state["response"]


def _run(
    run: int, rounds: int, populations: Sequence[Population], seed: int
) -> tuple[FloatArray, FloatArray]:
    rng, population = stream(seed, 6, run), populations[run % len(populations)]
    taste, luck = population.draw_user(rng), rng.random((rounds, K))
    learners = []
    for spec, start in LEARNERS.values():
        prior = {} if start == "nothing" else {"prior": population.starts[start]}
        learners.append(spec.maker()(population.catalogue, **spec.options, **prior))
    earned = play_user(learners, luck, lambda _t, slate: click_probabilities(slate, taste), rng=rng)
    return np.array(best_clicks(taste)), earned


#: Play learners that start from nothing, a guess, a fit and the truth against new users.
EXPERIMENT: Final = Experiment(
    ColdStart,
    _run,
    SIZES,
    [f"{policy}, {start}" for policy, start in LEARNERS.values()],
    fitted_populations,
)
