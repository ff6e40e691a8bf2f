"""Compile the loops before anybody waits for them: `python -m variegate.policies.warmup`.

numba compiles a loop when it is first called, and keeps the result beside the source (or in
NUMBA_CACHE_DIR), so this takes some twenty seconds once, and no time after that.
"""

import numpy as np

from variegate.model.catalogue import Catalogue
from variegate.model.distances import jaccard
from variegate.policies.base import Policy
from variegate.policies.registry import POLICIES, make_policy


def warm() -> None:
    """Let every policy make a list and learn from it, on a catalogue of few items."""
    shop = _few_items()
    for name in POLICIES:
        warm_policy(make_policy(name, shop))


def warm_policy(policy: Policy) -> None:
    """Let a policy, which is of no other use after this, make a list and learn from it."""
    k = min(3, len(policy.catalogue))
    slate = policy.recommend(k, rng=0)
    policy.update(slate, [1.0] + [0.0] * (k - 1))
    policy.recommend(k, rng=0)


def _few_items() -> Catalogue:
    rng = np.random.default_rng(0)
    labels = [{"a"}, {"b"}, {"a", "b"}] * 4
    features = rng.uniform(-1.0, 1.0, (12, 4))
    return Catalogue(
        range(12), features, ["cosine", jaccard(labels, name="labels")], mean_user=np.ones(4)
    )


if __name__ == "__main__":
    warm()
