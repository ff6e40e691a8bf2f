"""A simulated user with a known taste, and a policy that finds it out, list by list."""

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

#: Items to choose from, at most: few enough that each is shown often.
MAX_ITEMS: Final = 60
#: Points of each series, at most.
MAX_POINTS: Final = 200
#: Features with a weight.
N_TASTES: Final = 4
#: Items in a slate, at most.
MAX_LENGTH: Final = 5


class SimulatedUser:
    """A user with known preferences: eta = (theta, beta), as in `Utility`.

    The distances of all pairs are computed once, for hundreds of slates.
    """

    def __init__(self, utility: Utility, words: str) -> None:
        wants, catalogue = utility.preferences, utility.catalogue
        self.beta, self.words, self._normaliser = wants.diversity, words, utility.normaliser
        self._worth: FloatArray = catalogue.features @ wants.relevance
        self._apart = np.zeros((len(catalogue), len(catalogue)))
        for weight, distance in zip(wants.diversity, catalogue.distances, strict=True):
            self._apart += weight * distance.matrix()

    def chances(self, items: IndexArray) -> FloatArray:
        """Return the click probability of each item of a slate, or of several slates."""
        k = items.shape[-1]
        pairs = self._apart[items[..., :, None], items[..., None, :]]
        above = (pairs * np.tri(k, k, -1)).sum(axis=-1)
        gains = self._worth[items] + normalising_factors(self._normaliser, k) * above
        chances: FloatArray = np.clip(gains, 0.0, 1.0)
        return chances

    def best(self, candidates: IndexArray, k: int) -> IndexArray:
        """Return the greedy slate for the true preferences, for each row of candidates."""
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
    """Return how a policy learns the preferences of one simulated user.

    Regret is in expected picks, against the greedy slate for the true preferences: finding the best
    slate is intractable.
    """
    rng = np.random.default_rng((seed, 7))
    catalogue = _sample(snapshot, rng)
    policy = make_policy(name, catalogue, experiment)
    user = _draw_user(catalogue, policy.normaliser, rng)
    k = max(1, min(MAX_LENGTH, len(catalogue) // 4))
    result = _simulate(policy, user, k, rounds, rng)
    return {
        "policy": name,
        "label": policy_label(name, policy),
        "rounds": rounds,
        "distances": [h.name for h in catalogue.distances],
        "beta": user.beta.tolist(),
        "theta_words": user.words,
        **result,
    }


def _sample(snapshot: CatalogueSnapshot, rng: np.random.Generator) -> Catalogue:
    """Return a small catalogue of items that are not retired."""
    whole, open_rows = snapshot.catalogue, np.flatnonzero(snapshot.active)
    rows = np.sort(rng.choice(open_rows, min(MAX_ITEMS, len(open_rows)), replace=False))
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


def _draw_user(
    catalogue: Catalogue, normaliser: Normaliser, rng: np.random.Generator
) -> SimulatedUser:
    """Draw a user who likes a few features and wants diversity by some distances.

    The weights are scaled so that hardly any click probability has to be clipped to [0, 1].
    """
    theta, beta = draw_relevance(catalogue, rng), _draw_beta(catalogue, rng)
    return SimulatedUser(
        Utility(catalogue, theta, beta, normaliser=normaliser), _words(catalogue, theta)
    )


def draw_relevance(catalogue: Catalogue, rng: np.random.Generator) -> FloatArray:
    """Draw the weights of a user who likes a few features, (d,).

    By them alone, one item in twenty is picked with a probability of 0.35 or more.
    """
    features = catalogue.features
    informative = np.flatnonzero(features.std(axis=0) > 1e-9)
    theta = np.zeros(catalogue.d)
    if len(informative):
        liked = rng.choice(informative, min(N_TASTES, len(informative)), replace=False)
        theta[liked] = rng.uniform(0.5, 1.0, len(liked)) * _direction(features[:, liked])
        theta *= 0.35 / max(float(np.quantile(features @ theta, 0.95)), 1e-9)
    return theta


def _draw_beta(catalogue: Catalogue, rng: np.random.Generator) -> FloatArray:
    """Draw weights of diversity, from none to a strong one, that together make a pick likely."""
    usual = np.array([max(float(h.matrix().mean()), 1e-9) for h in catalogue.distances])
    weights = rng.permutation(np.arange(catalogue.m) if catalogue.m > 1 else np.ones(catalogue.m))
    return np.asarray(0.6 * weights / max(weights @ usual, 1e-9), dtype=np.float64)


def _direction(columns: FloatArray) -> FloatArray:
    """Return the sign of each feature's sum over items."""
    return np.where(columns.sum(axis=0) < 0.0, -1.0, 1.0)


def _words(catalogue: Catalogue, theta: FloatArray) -> str:
    order = [place for place in np.argsort(-np.abs(theta), kind="stable") if theta[place]]
    names = [catalogue.feature_labels[place] for place in order]
    if not names:
        return "Cares for nothing in particular."
    *most, last = names
    return f"Cares most for {', '.join(most)} and {last}." if most else f"Cares for {last}."


def _simulate(
    policy: Policy, user: SimulatedUser, k: int, rounds: int, rng: np.random.Generator
) -> dict[str, Any]:
    size, titles = len(policy.catalogue), policy.catalogue.titles
    kept = np.unique(np.linspace(1, rounds, min(rounds, MAX_POINTS)).round().astype(int))
    informative, wanted = set(kept.tolist()), {1, max(1, rounds // 10), rounds}
    # A random subset of items per round: repeating one slate would teach little.
    free = rng.permuted(np.tile(np.arange(size), (rounds, 1)), axis=1)[:, : max(k, size // 4)]
    given = np.empty((rounds, k), dtype=np.intp)
    earned, beliefs, shown = np.zeros(rounds), [], []
    for turn in range(rounds):
        slate = policy.recommend(k, candidates=free[turn], rng=rng)
        given[turn] = slate.items
        rewards = clicks(user.chances(slate.items), rng.random(k))
        policy.update(slate, rewards)
        earned[turn] = rewards.mean()
        if turn + 1 in informative:
            wants = policy.preferences
            beliefs.append(np.vstack([wants.diversity, wants.diversity_interval]))
        if turn + 1 in wanted:
            shown.append([titles[row] for row in slate.items])
    learnt, low, high = np.round(np.array(beliefs), 6).transpose(1, 2, 0)
    best = user.chances(user.best(free, k)).sum(axis=1)

    def missed(lists: IndexArray) -> list[float]:
        worse = np.cumsum(best - user.chances(lists).sum(axis=1))
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
