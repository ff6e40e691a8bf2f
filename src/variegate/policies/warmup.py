"""Compile the loops in advance: `python -m variegate.policies.warmup`.

numba compiles a loop at its first call and caches the result next to the source (or in
NUMBA_CACHE_DIR), so this takes some twenty seconds the first time only.
"""

from typing import Any

import numpy as np

from variegate.model.candidates import ON_VECTORS, open_catalogue
from variegate.model.catalogue import Catalogue
from variegate.model.distances import jaccard
from variegate.policies.base import Policy
from variegate.policies.registry import POLICIES, make_policy


def warm() -> None:
    """Make each policy recommend and learn once, on a small catalogue."""
    items = _small_catalogue()
    for name in POLICIES:
        warm_policy(make_policy(name, items))
    warm_policy(make_policy("lmdp", open_catalogue()))


def warm_policy(policy: Policy) -> None:
    """Make a policy recommend and learn once; do not use it afterwards."""
    if policy.catalogue.is_open:
        _warm_open(policy)
        return
    k = min(3, len(policy.catalogue))
    slate = policy.recommend(k, rng=0)
    policy.update(slate, [1.0] + [0.0] * (k - 1))
    policy.recommend(k, rng=0)


def _warm_open(policy: Policy) -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 4))
    names = policy.catalogue.distances
    attributes = {
        h.name: _values(h.formula.name) for h in names if h.formula.name not in ON_VECTORS
    }
    has_vectors = len(attributes) < len(names)
    for rows in (vectors, vectors.astype(np.float32)):
        slate = policy.recommend(
            3,
            range(12),
            rng=0,
            scores=vectors[:, 0],
            vectors=rows if has_vectors else None,
            attributes=attributes,
        )
        policy.update(slate, [1.0, 0.0, 0.0])


def _values(kind: str) -> list[Any]:
    """Return an attribute of twelve items, for a distance of this kind."""
    values: dict[str, list[Any]] = {"jaccard": [["a"], ["b"]], "hamming": ["a", "b"]}
    return values.get(kind, [1.0, 2.0]) * 6


def _small_catalogue() -> Catalogue:
    rng = np.random.default_rng(0)
    labels = [{"a"}, {"b"}, {"a", "b"}] * 4
    features = rng.uniform(-1.0, 1.0, (12, 4))
    return Catalogue(
        range(12), features, ["cosine", jaccard(labels, name="labels")], mean_user=np.ones(4)
    )


if __name__ == "__main__":
    warm()
