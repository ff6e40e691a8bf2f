"""Small catalogues, and users to play rounds with, for the contracts."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from variegate import POLICIES, Catalogue, ItemPrior, Policy, Slate, fit_prior, make_policy
from variegate.arrays import FloatArray
from variegate.model.distances import Distance, difference, hamming, jaccard

#: Makes a new policy over a catalogue.
Make: TypeAlias = Callable[..., Policy]

#: LMDP with a prior of items, which is another class.
LMDP_ITEMS = "lmdp with items"
#: Every policy of the registry, and LMDP with a prior of items.
NAMES = [*POLICIES, LMDP_ITEMS]

GENRES = ({"drama"}, {"drama", "war"}, {"comedy"}, set[str](), {"war", "comedy", "sport"})
COUNTRIES = ("fr", "jp", "us")


def catalogue_of(m: int = 1, *, items: int = 12, d: int = 4, called: str = "item") -> Catalogue:
    """Return a seeded catalogue with the first `m` of four unlike distances."""
    rng = np.random.default_rng([items, d])
    features = rng.uniform(0.0, 1.0, (items, d))
    own = labelled_distances(range(items))
    distances: list[str | Distance] = ["cosine", *own.values()]
    ids = [f"{called} {number}" for number in range(items)]
    return Catalogue(ids, features, distances[:m])


def make_named(name: str, catalogue: Catalogue, **options: Any) -> Policy:
    """Return a policy of the registry, with a prior of items where it needs one."""
    if name == LMDP_ITEMS:
        return make_policy("lmdp", catalogue, prior=item_prior(catalogue), **options)
    if name == "ease":
        options = {"prior": item_prior(catalogue), **options}
    return make_policy(name, catalogue, **options)


def item_prior(catalogue: Catalogue) -> ItemPrior:
    """Return a prior of the first items: the same one for a catalogue that has grown."""
    known = min(len(catalogue), 10)
    rng = np.random.default_rng(4)
    likes = [np.flatnonzero(rng.random(10)[:known] < 0.5) for _ in range(20)]
    return fit_prior(catalogue.first(known), likes)


def labelled_distances(numbers: range) -> Mapping[str, Distance]:
    """Return the distances that carry data of their own, over the items with these numbers."""
    return {
        "genres": jaccard([GENRES[i % len(GENRES)] for i in numbers], name="genres"),
        "year": difference([1950 + 7 * i % 60 for i in numbers], scale=60.0, name="year"),
        "country": hamming([COUNTRIES[i % 3] for i in numbers], name="country"),
    }


def grown(catalogue: Catalogue, more: int = 3) -> Catalogue:
    """Return the catalogue with `more` items after its own."""
    first = len(catalogue)
    rng = np.random.default_rng(first)
    numbers = range(first, first + more)
    own = {h.name: h for h in catalogue.distances if not h.on_features}
    return catalogue.with_items(
        [f"new {number}" for number in numbers],
        rng.uniform(0.0, 1.0, (more, catalogue.d)),
        {name: h for name, h in labelled_distances(numbers).items() if name in own},
    )


def played(policy: Policy, rounds: int = 5, *, k: int = 4, seed: int = 0) -> Policy:
    """Return the policy after `rounds` lists of `k`, clicked at random."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        slate = policy.recommend(k, rng=rng)
        policy.update(slate, rng.integers(0, 2, k))
    return policy


def shown(slate: Slate) -> tuple[tuple[str, ...], list[float]]:
    """Return what two slates must have in common to be the same to the user."""
    return slate.ids, slate.scores.tolist()


def earned(policy: Policy, theta: FloatArray, beta: float, *, rounds: int, seed: int) -> float:
    """Return what a user who clicks with chance theta . z + beta x gives in `rounds` lists."""
    rng = np.random.default_rng([seed, 1])
    total = 0.0
    for _ in range(rounds):
        slate = policy.recommend(4, rng=rng)
        chances = np.clip(slate.relevance @ theta + beta * slate.diversity.sum(axis=1), 0.0, 1.0)
        policy.update(slate, rng.random(4) < chances)
        total += float(chances.sum())
    return total


def list_probability(policy: Policy, items: tuple[int, ...], chance: float) -> float:
    """Return the probability of a list by definition: the product over its positions.

    `chance` is the share of random items.
    """
    n, k = len(policy.catalogue), len(items)
    rows, total = np.arange(n), 1.0
    scorer = policy._scorer(rows, k, None)
    left = np.ones(n, dtype=bool)
    for item in items:
        choice = int(np.argmax(np.where(left, scorer.scores(), -np.inf)))
        total *= chance / left.sum() + (1.0 - chance) * (item == choice)
        scorer.take(item)
        left[item] = False
    return total
