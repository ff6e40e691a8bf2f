"""Users of a population: what a learner gains that begins with what is known of others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from experiments.beyond.simulated.world import (
    NOISE,
    TOPICS,
    K,
    Progress,
    Size,
    Sizes,
    chances,
    draw_items,
    most_clicks,
    over_runs,
    silent,
    stream,
    taste_of,
)
from variegate.arrays import FloatArray
from variegate.evaluation.simulation import clicks
from variegate.model.catalogue import Catalogue
from variegate.model.ridge import unpacked
from variegate.model.utility import Utility
from variegate.policies import LMDP, POLICIES, Policy, PolicySpec
from variegate.prior import Prior, default_prior, fit_prior_from_sums

#: No floor: it is a promise, and no guess at what users want.
_OPTIONS: Final[Mapping[str, Any]] = {"exploration": 0.5, "floor": None}
#: Learners, and what they begin with: nothing, a guess, a fit to other users' sums, the truth.
LEARNERS: Final[Mapping[str, tuple[PolicySpec, str]]] = {
    "lmdh": (PolicySpec("lmdh"), "nothing"),
    # Of ridges 2, 5, 20 and 50 and explorations 0.25, 0.5 and 1, the best for these users.
    "lmdh tuned": (PolicySpec("lmdh", {"ridge": 2.0}), "nothing"),
    "lmdp guessed": (PolicySpec("lmdp", _OPTIONS), "guess"),
    "lmdp fitted": (PolicySpec("lmdp", _OPTIONS), "fit"),
    "lmdp true": (PolicySpec("lmdp", _OPTIONS), "truth"),
    **({"lmdt fitted": (PolicySpec("lmdt", _OPTIONS), "fit")} if "lmdt" in POLICIES else {}),
}
#: What tables and pictures call them.
TITLES: Final[Mapping[str, str]] = {
    "lmdh": "LMDH, from zero",
    "lmdh tuned": "LMDH, its best λ",
    "lmdp guessed": "LMDP, from a guess",
    "lmdp fitted": "LMDP, fitted to others",
    "lmdp true": "LMDP, from the truth",
    "lmdt fitted": "LMDT, fitted to others",
}
PRIOR_SIZES: Final = Sizes(full=Size(runs=90, rounds=100), quick=Size(runs=40, rounds=40))

#: Runs take turns in them, so that no one population decides.
POPULATIONS: Final = 3
#: Users of each whose sums its prior is fitted to, and lists that each of them was shown.
TAUGHT: Final = Size(runs=300, rounds=20)


@dataclass(frozen=True, eq=False)
class PriorGain:
    """Clicks to be expected of learners that begin with more or less."""

    #: Of the list of one who knows the user's weights, (runs,)
    best: FloatArray
    #: Of each learner's lists, (runs, learners, rounds)
    earned: FloatArray
    #: |mean - mu| of the guess and of the fit, (populations, 2)
    mean_errors: FloatArray

    def shares(self) -> FloatArray:
        """Return the clicks as a share of the most there were, (runs, learners, rounds)."""
        shares: FloatArray = self.earned / self.best[:, None, None]
        return shares


@dataclass(frozen=True, eq=False)
class Population:
    """Items, and users drawn from N(mean, covariance) who look at them."""

    catalogue: Catalogue
    #: What can be believed of users: the guess, the truth and, once it was made, the fit
    starts: Mapping[str, Prior]

    def draw_user(self, rng: np.random.Generator) -> Utility:
        """Return the taste of a user."""
        truth = self.starts["truth"]
        root = np.linalg.cholesky(truth.covariance)
        return taste_of(self.catalogue, truth.mean + root @ rng.standard_normal(len(root)))


def prior(
    size: Size = PRIOR_SIZES.full,
    *,
    taught: Size = TAUGHT,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = silent,
) -> PriorGain:
    """Play learners that begin with nothing, a guess, a fit and the truth against new users."""
    populations = [draw_population(stream(seed, 4, number)) for number in range(POPULATIONS)]
    worlds = [_fitted(world, taught, seed, workers) for world in populations]
    best, earned = over_runs(_run, size, worlds, seed, workers=workers, progress=progress)
    off = [
        [world.starts[name].mean - world.starts["truth"].mean for name in ("guess", "fit")]
        for world in worlds
    ]
    return PriorGain(best, earned, np.linalg.norm(off, axis=-1))


def _fitted(population: Population, taught: Size, seed: int, workers: int) -> Population:
    """Return the population with a prior fitted to the sums of some of its users."""
    grams, responses, seen, squares = over_runs(
        _teach, taught, population, seed, workers=workers, progress=silent
    )
    sums = zip(grams, responses, seen.tolist(), squares.tolist(), strict=True)
    fit = fit_prior_from_sums(population.starts["guess"], sums)
    return replace(population, starts={**population.starts, "fit": fit})


def draw_population(rng: np.random.Generator) -> Population:
    """Return drawn items, and users some of whose likes go together."""
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


def _teach(run: int, rounds: int, population: Population, seed: int) -> tuple[FloatArray, ...]:
    """Return the sums of a user whose learner began with the guess."""
    rng, guess = stream(seed, 5, run), population.starts["guess"]
    policy = LMDP(population.catalogue, prior=guess, **_OPTIONS)
    _, liked = _play(policy, population.draw_user(rng), rng.random((rounds, K)), rng)
    kept = policy.state().arrays
    gram = unpacked(kept["gram"], len(kept["response"]))
    # Of rewards that are 0 or 1, the squares are the rewards.
    return gram, kept["response"], kept["seen"][0], np.array(liked)


def _run(
    run: int, rounds: int, populations: Sequence[Population], seed: int
) -> tuple[FloatArray, FloatArray]:
    rng, population = stream(seed, 6, run), populations[run % len(populations)]
    taste, uniforms, earned = population.draw_user(rng), rng.random((rounds, K)), []
    for spec, start in LEARNERS.values():
        begun = {} if start == "nothing" else {"prior": population.starts[start]}
        policy = spec.maker()(population.catalogue, **spec.options, **begun)
        earned.append(_play(policy, taste, uniforms, rng)[0])
    return np.array(most_clicks(taste)), np.stack(earned)


def _play(
    policy: Policy, taste: Utility, luck: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """Return what each list was worth, (rounds,), and how many clicks there were."""
    earned, liked = np.zeros(len(luck)), 0.0
    for t, uniforms in enumerate(luck):
        slate = policy.recommend(K, rng=rng)
        chance = chances(slate, taste)
        rewards = clicks(chance, uniforms)
        policy.update(slate, rewards)
        earned[t], liked = chance.sum(), liked + rewards.sum()
    return earned, liked
