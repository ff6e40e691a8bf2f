"""Compile the loops in advance: `python -m variegate.policies.warmup`.

numba compiles a loop at its first call and caches the result next to the source (or in
NUMBA_CACHE_DIR), so this takes some twenty seconds the first time only.
"""

import numpy as np

from variegate.model.catalogue import Catalogue
from variegate.model.distances import jaccard
from variegate.policies.base import Policy
from variegate.policies.registry import POLICIES, make_policy


def warm() -> None:
    """Make each policy recommend and learn once, on a small catalogue."""
    items = _small_catalogue()
    for name in POLICIES:
        warm_policy(make_policy(name, items))


def warm_policy(policy: Policy) -> None:
    """Make a policy recommend and learn once; do not use it afterwards."""
    k = min(3, len(policy.catalogue))
    slate = policy.recommend(k, rng=0)
    policy.update(slate, [1.0] + [0.0] * (k - 1))
    policy.recommend(k, rng=0)


def _small_catalogue() -> Catalogue:
    rng = np.random.default_rng(0)
    labels = [{"a"}, {"b"}, {"a", "b"}] * 4
    features = rng.uniform(-1.0, 1.0, (12, 4))
    return Catalogue(
        range(12), features, ["cosine", jaccard(labels, name="labels")], mean_user=np.ones(4)
    )


if __name__ == "__main__":
    warm()
