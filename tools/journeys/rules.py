"""What a condition on attributes costs a list from 100,000 items, in Python and in the service."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from benchmarks.timing import alternated
from tools.findings import Finding, Part
from variegate import LMDP, Catalogue

ITEMS: Final = 100_000
BRANDS: Final = 500
TAGS: Final = 30
K: Final = 10
MOST: Final = 1.5
#: Conditions that are new in every call, by what they are; each takes a number.
CONDITIONS: Final[dict[str, Callable[[int], dict[str, Any]]]] = {
    "the same condition each time: price <= 50": lambda _n: {"attribute": "price", "<=": 50.0},
    "another price each time, for about half of the items": lambda n: {
        "attribute": "price",
        "<=": 50.0 + n / 1000,
    },
    "five other brands of 500 each time": lambda n: {
        "attribute": "brand",
        "in": [f"brand {(n + 97 * step) % BRANDS}" for step in range(5)],
    },
    "price, and not a tag, of three per item, each time others": lambda n: {
        "and": [
            {"attribute": "price", "<=": 80.0 + n / 1000},
            {"not": {"attribute": "tags", "=": f"tag {n % TAGS}"}},
        ]
    },
}


def measure(seed: int = 0, *, items: int = ITEMS, budget: float = 15.0) -> Part:
    """Return the ratio of filtered to unfiltered lists, by condition."""
    policy = taught(shop(seed, items), seed)
    return Part(
        f"Lists of {K} from {items:,} items with 10 features and the cosine distance, by LMDP for "
        "a user who has had five lists. Attributes are indexed when a condition first needs them, "
        "which is not part of the times.",
        [_compared(policy, name, make, budget) for name, make in CONDITIONS.items()],
    )


def _compared(
    policy: LMDP, name: str, make: Callable[[int], dict[str, Any]], budget: float
) -> Finding:
    numbers = iter(range(10**9))
    calls = {
        "all": lambda: policy.recommend(K),
        "some": lambda: policy.recommend(K, policy.catalogue.where(make(next(numbers)))),
    }
    best = {one: min(times) for one, times in alternated(calls, budget=budget).items()}
    ratio = best["some"] / best["all"]
    return Finding(
        f"A filtered list takes at most {MOST:g} times as long as an unfiltered one: {name}",
        f"{ratio:.2f} times ({best['some'] * 1e3:.2f} ms against {best['all'] * 1e3:.2f} ms)",
        ratio <= MOST,
    )


def shop(seed: int, items: int) -> Catalogue:
    """Return items with a price, a brand and three tags each."""
    rng = np.random.default_rng(seed)
    tags = rng.integers(TAGS, size=(items, 3)).tolist()
    return Catalogue(
        range(items),
        rng.normal(size=(items, 10)) / 4.0,
        "cosine",
        attributes={
            "price": rng.uniform(0.0, 100.0, items).tolist(),
            "brand": [f"brand {one}" for one in rng.integers(BRANDS, size=items)],
            "tags": [[f"tag {one}" for one in some] for some in tags],
        },
    )


def taught(catalogue: Catalogue, seed: int) -> LMDP:
    """Return the policy of a user who has had five lists."""
    policy, rng = LMDP(catalogue), np.random.default_rng(seed)
    for _ in range(5):
        policy.update(policy.recommend(K), (rng.random(K) < 0.3).astype(np.float64))
    return policy
