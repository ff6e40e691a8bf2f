"""The two-stage mode for large catalogues: its price, and what it costs beside the exact list.

Run as `python -m benchmarks.bench_large [--items N] [--users N] [--usearch]`. Users have learnt
0, 1, 5, 30 or 100 lists, against tastes of their own, on clustered embeddings. The ratio is that
of the sum of the scores along the two-stage list to the same along the exact list. One pass is a
float32 matrix-vector product over the catalogue: the machine's limit for an exact list.
"""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from itertools import cycle
from statistics import mean, median
from time import perf_counter
from typing import Final

import numpy as np

from benchmarks.results import Shape
from benchmarks.timing import alternated
from benchmarks.workloads import one_pass
from variegate import LMDH, Catalogue
from variegate.arrays import FloatArray
from variegate.shortlist import Shortlist

K: Final = 10
D: Final = 64
#: Lists that a user has learnt from.
STAGES: Final = (0, 1, 5, 30, 100)


def clustered(shape: Shape) -> FloatArray:
    """Return embeddings in clusters within topics, of uneven sizes and lengths, within [-1, 1]."""
    rng = np.random.default_rng(0)
    clusters = max(shape.items // 500, 20)
    strength = 1.0 / np.sqrt(1.0 + np.arange(shape.d) / 4.0)  # as of principal components
    topics = rng.standard_normal((40, shape.d))
    centres = topics[rng.integers(40, size=clusters)]
    centres = (centres + 0.8 * rng.standard_normal(centres.shape)) * strength
    popularity = 1.0 / np.arange(1, clusters + 1) ** 0.8
    of_item = rng.choice(clusters, size=shape.items, p=popularity / popularity.sum())
    z = centres[of_item] + 0.45 * rng.standard_normal((shape.items, shape.d)) * strength
    z *= np.exp(0.15 * rng.standard_normal(shape.items))[:, None]
    scaled: FloatArray = z / np.abs(z).max()
    return scaled


def taught(policy: LMDH, lists: int, rng: np.random.Generator) -> LMDH:
    """Let a user with a taste of its own look at some lists, and learn."""
    z = policy.catalogue.features
    liked = z[rng.integers(len(z), size=rng.integers(1, 6))].mean(axis=0)
    theta = liked / np.linalg.norm(liked) + 0.3 * rng.standard_normal(len(liked)) / 8.0
    theta *= 0.8 / (z[:20_000] @ theta).max()
    beta = rng.uniform(0.0, 0.5)
    for _ in range(lists):
        slate = policy.recommend(K)
        chances = slate.relevance @ theta + slate.diversity.sum(axis=1) * beta
        policy.update(slate, (rng.random(K) < np.clip(chances, 0.0, 1.0)).astype(np.float64))
    return policy


def exact_twin(policy: LMDH) -> LMDH:
    """Return a policy that believes the same and looks at every item."""
    twin = LMDH(policy.catalogue)
    twin.restore(policy.state())
    return twin


def ratios(policies: Mapping[int, Sequence[LMDH]]) -> dict[int, list[float]]:
    """Return the two-stage list's share of the exact list's score, by stage of learning."""
    return {
        stage: [
            float(user.recommend(K).scores.sum() / exact_twin(user).recommend(K).scores.sum())
            for user in users
        ]
        for stage, users in policies.items()
    }


def measured(items: int, users: int, seconds: float) -> dict[str, float]:
    """Return all facts: times as medians of calls that take turns, and the ratios."""
    shop = Catalogue(range(items), clustered(Shape(items=items, d=D, k=K, m=1)), "cosine")
    start = perf_counter()
    shortlist = Shortlist.build(shop)
    build = perf_counter() - start
    rng = np.random.default_rng(1)
    policies = {
        stage: [
            taught(LMDH(shop, shortlist=shortlist), stage, rng)
            for _ in range(users // len(STAGES))
        ]
        for stage in STAGES
    }
    found = ratios(policies)
    everyone = [user for stage in STAGES for user in policies[stage]]
    turns, twins = cycle(everyone), cycle([exact_twin(user) for user in everyone[:: users // 5]])
    times = alternated(
        {
            "pass": one_pass(shop),
            "two-stage": lambda: next(turns).recommend(K),
            "exact": lambda: next(twins).recommend(K),
        },
        budget=seconds,
    )
    medians = {name: median(spent) for name, spent in times.items()}
    return {
        "items": items,
        "one pass, ms": 1e3 * medians["pass"],
        "exact list, ms": 1e3 * medians["exact"],
        "two-stage list, ms": 1e3 * medians["two-stage"],
        "passes": medians["two-stage"] / medians["pass"],
        "mean score ratio": mean(mean(shares) for shares in found.values()),
        "lowest score ratio": min(min(shares) for shares in found.values()),
        **{f"mean score ratio after {s} lists": mean(shares) for s, shares in found.items()},
        "building the cells, s": build,
        "memory of the cells, MB": shortlist.nbytes / 1e6,
    }


def facts(quick: bool) -> dict[str, float]:
    """Return the facts of a million items and 200 users; quick: of few of both."""
    return measured(20_000, 10, 0.5) if quick else measured(1_000_000, 200, 20.0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=200)
    options = parser.parse_args(arguments)
    for name, value in measured(options.items, options.users, 20.0).items():
        print(f"{name:<34} {value:>12,.4g}" if name != "items" else f"{name:<34} {value:>12,}")


if __name__ == "__main__":
    main()
