"""A simulated person with a known taste, and a policy that finds it out, list by list."""

from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.demo.policies import make_policy, policy_label
from variegate.engine.catalogue import CatalogueSnapshot
from variegate.engine.experiment import Experiment
from variegate.evaluation.simulation import clicks
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser, normalising_factors
from variegate.model.utility import Utility
from variegate.policies import Policy

#: Items to choose from: so few that a person sees each of them often enough.
MOST_ITEMS: Final = 60
#: Points of each series, at most.
MOST_POINTS: Final = 200
#: Features that a person cares for.
TASTES: Final = 4
#: Items in a list.
LENGTH: Final = 5


class Person:
    """Somebody whose wishes are known: eta = (theta, beta), as `Utility` has them.

    The distances of all pairs are worked out once, since hundreds of lists are looked at.
    """

    def __init__(self, utility: Utility, words: str) -> None:
        wants, catalogue = utility.preferences, utility.catalogue
        self.beta, self.words, self._normaliser = wants.diversity, words, utility.normaliser
        self._worth: FloatArray = catalogue.features @ wants.relevance
        self._apart = np.zeros((len(catalogue), len(catalogue)))
        for weight, distance in zip(wants.diversity, catalogue.distances, strict=True):
            self._apart += weight * distance.matrix()

    def chances(self, items: IndexArray) -> FloatArray:
        """Return how likely each item of a list, or of each of several, is picked."""
        k = items.shape[-1]
        pairs = self._apart[items[..., :, None], items[..., None, :]]
        above = (pairs * np.tri(k, k, -1)).sum(axis=-1)
        gains = self._worth[items] + normalising_factors(self._normaliser, k) * above
        chances: FloatArray = np.clip(gains, 0.0, 1.0)
        return chances

    def best(self, candidates: IndexArray, k: int) -> IndexArray:
        """Return the greedy list of somebody who knows the wishes, for each row of candidates."""
        factors = normalising_factors(self._normaliser, k)
        worth, added = self._worth[candidates], np.zeros(candidates.shape)
        taken, rounds = np.zeros(candidates.shape), np.arange(len(candidates))
        chosen = np.empty((len(candidates), k), dtype=np.intp)
        for place in range(k):
            at = (worth + factors[place] * added - taken).argmax(axis=1)
            taken[rounds, at] = np.inf
            chosen[:, place] = candidates[rounds, at]
            added += self._apart[chosen[:, place, None], candidates]
        return chosen


def simulation_view(
    snapshot: CatalogueSnapshot, experiment: Experiment, name: str, rounds: int, seed: int
) -> dict[str, Any]:
    """Return how a policy learns what one simulated person wants.

    What is missed is told in expected picks, against the greedy list of somebody who knows the
    person's wishes: that stands in for the best list, which nobody can search for.
    """
    rng = np.random.default_rng((seed, 7))
    catalogue = _sample(snapshot, rng)
    policy = make_policy(name, catalogue, experiment)
    person = _person(catalogue, policy.normaliser, rng)
    k = max(1, min(LENGTH, len(catalogue) // 4))
    story = _played(policy, person, k, rounds, rng)
    return {
        "policy": name,
        "label": policy_label(name, policy),
        "rounds": rounds,
        "distances": [h.name for h in catalogue.distances],
        "beta": person.beta.tolist(),
        "theta_words": person.words,
        **story,
    }


def _sample(snapshot: CatalogueSnapshot, rng: np.random.Generator) -> Catalogue:
    """Return a small catalogue of items drawn from the shelf."""
    whole, open_rows = snapshot.catalogue, np.flatnonzero(snapshot.active)
    rows = np.sort(rng.choice(open_rows, min(MOST_ITEMS, len(open_rows)), replace=False))
    return Catalogue(
        [whole.ids[row] for row in rows],
        whole.features[rows],
        [h.among(rows) for h in whole.distances],
        [whole.titles[row] for row in rows],
        {name: [column[row] for row in rows] for name, column in whole.attributes.items()},
        feature_names=whole.feature_names,
        mean_user=whole.mean_user,
        feature_scale=whole.feature_scale,
    )


def _person(catalogue: Catalogue, normaliser: Normaliser, rng: np.random.Generator) -> Person:
    """Draw somebody who likes a few features and wants a mix in some ways.

    The weights are scaled so that hardly any chance of a pick must be cut to lie from 0 to 1.
    """
    features = catalogue.features
    telling = np.flatnonzero(features.std(axis=0) > 1e-9)
    theta = np.zeros(catalogue.d)
    if len(telling):
        liked = rng.choice(telling, min(TASTES, len(telling)), replace=False)
        theta[liked] = rng.uniform(0.5, 1.0, len(liked)) * _direction(features[:, liked])
        theta *= 0.35 / max(float(np.quantile(features @ theta, 0.95)), 1e-9)
    beta = _wishes(catalogue, rng)
    return Person(Utility(catalogue, theta, beta, normaliser=normaliser), _words(catalogue, theta))


def _wishes(catalogue: Catalogue, rng: np.random.Generator) -> FloatArray:
    """Draw wishes for variety, from none to a strong one, that are worth a likely pick together."""
    usual = np.array([max(float(h.matrix().mean()), 1e-9) for h in catalogue.distances])
    wishes = rng.permutation(np.arange(catalogue.m) if catalogue.m > 1 else np.ones(catalogue.m))
    return np.asarray(0.6 * wishes / max(wishes @ usual, 1e-9), dtype=np.float64)


def _direction(columns: FloatArray) -> FloatArray:
    """Return for each feature the sign that most of its weight has."""
    return np.where(columns.sum(axis=0) < 0.0, -1.0, 1.0)


def _words(catalogue: Catalogue, theta: FloatArray) -> str:
    order = [place for place in np.argsort(-np.abs(theta), kind="stable") if theta[place]]
    names = [catalogue.feature_names[place] for place in order]
    if not names:
        return "Cares for nothing in particular."
    *most, last = names
    return f"Cares most for {', '.join(most)} and {last}." if most else f"Cares for {last}."


def _played(
    policy: Policy, person: Person, k: int, rounds: int, rng: np.random.Generator
) -> dict[str, Any]:
    size, titles = len(policy.catalogue), policy.catalogue.titles
    kept = np.unique(np.linspace(1, rounds, min(rounds, MOST_POINTS)).round().astype(int))
    telling, wanted = set(kept.tolist()), {1, max(1, rounds // 10), rounds}
    # Not all items are at hand each time: the same list again and again would teach little.
    free = rng.permuted(np.tile(np.arange(size), (rounds, 1)), axis=1)[:, : max(k, size // 4)]
    given = np.empty((rounds, k), dtype=np.intp)
    earned, beliefs, shown = np.zeros(rounds), [], []
    for turn in range(rounds):
        slate = policy.recommend(k, candidates=free[turn], rng=rng)
        given[turn] = slate.items
        rewards = clicks(person.chances(slate.items), rng.random(k))
        policy.update(slate, rewards)
        earned[turn] = rewards.mean()
        if turn + 1 in telling:
            wants = policy.preferences
            beliefs.append(np.vstack([wants.diversity, wants.diversity_interval]))
        if turn + 1 in wanted:
            shown.append([titles[row] for row in slate.items])
    learnt, low, high = np.round(np.array(beliefs), 6).transpose(1, 2, 0)
    best = person.chances(person.best(free, k)).sum(axis=1)

    def missed(lists: IndexArray) -> list[float]:
        worse = np.cumsum(best - person.chances(lists).sum(axis=1))
        series: list[float] = worse[kept - 1].round(6).tolist()
        return series

    means = np.cumsum(earned) / np.arange(1, rounds + 1)
    return {
        "at": kept.tolist(),
        "learnt": learnt.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
        "regret": missed(given),
        "uniform_regret": missed(free[:, :k]),  # the candidates come in random order
        "reward": means[kept - 1].round(6).tolist(),
        "shown": shown,
    }
