"""Clustered catalogues of a few thousand items, and users who have learnt something."""

from collections.abc import Sequence

import numpy as np

from variegate import LMDH, Catalogue
from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.model.distances import Distance
from variegate.model.gains import normalising_factors
from variegate.model.shortlist import Shortlist

#: So small that 5,000 items are many.
EFFORT = 0.05


def clustered(items: int = 5_000, d: int = 16, *, unit: bool = False, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(items // 100, 1), d))
    z = centres[rng.integers(len(centres), size=items)] + 0.4 * rng.standard_normal((items, d))
    lengths = np.linalg.norm(z, axis=1, keepdims=True) if unit else np.abs(z).max()
    return np.asarray(z / lengths)


def shop_of(
    features: FloatArray, distances: str | Sequence[str | Distance] = "cosine"
) -> Catalogue:
    return Catalogue(range(len(features)), features, distances)


def played(policy: LMDH, lists: int, seed: int = 0) -> LMDH:
    """Let a user who likes one item's neighbourhood, and some variety, look at lists of ten."""
    rng = np.random.default_rng(seed)
    z = policy.catalogue.features
    taste = z[rng.integers(len(z))]
    taste = 0.8 * taste / (z @ taste).max()
    for _ in range(lists):
        slate = policy.recommend(10)
        chances = slate.relevance @ taste + 0.3 * slate.diversity.sum(axis=1)
        policy.update(slate, (rng.random(10) < chances).astype(np.float64))
    return policy


def exact(policy: LMDH) -> LMDH:
    """Return a policy that believes the same and looks at every item."""
    twin = LMDH(
        policy.catalogue,
        ridge=policy._ridge.ridge,
        exploration=policy.exploration,
        normaliser=policy.normaliser,
    )
    twin.restore(policy.state())
    return twin


def candidates(
    shortlist: Shortlist, policy: LMDH, k: int = 10, free: MaskArray | None = None
) -> IndexArray:
    """Return the candidates for the policy's next list of `k`."""
    mask = np.ones(len(shortlist), dtype=np.bool_) if free is None else free
    factors = normalising_factors(policy.normaliser, k)
    return shortlist.candidates(policy._ridge.estimate(), policy.width(k), factors, mask)
