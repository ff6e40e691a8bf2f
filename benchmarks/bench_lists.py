"""How long one list of LMDH takes: the package against the paper's lines in plain NumPy.

Run as `python -m benchmarks.bench_lists`. Times are medians; what counts is the ratio, since
both are measured in one run.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

from variegate import LMDH, Catalogue
from variegate.reference.algorithm2 import BlockLMDH

K = 10


def catalogue(items: int, d: int) -> Catalogue:
    """Return seeded items with features in [-1, 1] and the cosine distance."""
    rng = np.random.default_rng(0)
    return Catalogue(range(items), rng.uniform(-1.0, 1.0, (items, d)), "cosine")


def seconds(call: Callable[[], object], repeats: int) -> float:
    """Return the median time of a call, after one that warms up."""
    call()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return median(times)


def compared(items: int, d: int, repeats: int) -> tuple[float, float]:
    """Return the seconds that one list takes by the paper's lines, and by the package."""
    shop = catalogue(items, d)
    policy, transcription = LMDH(shop, normaliser="none"), BlockLMDH(d, 1, 50.0, 1.0)
    slate, rewards = policy.recommend(K), np.ones(K)
    policy.update(slate, rewards)
    transcription.learn(slate.relevance, slate.diversity, rewards)
    h = shop.distances[0]
    theirs = seconds(
        lambda: transcription.recommend(shop.features, lambda row: h.from_item(row)[None], K),
        repeats,
    )
    return theirs, seconds(lambda: policy.recommend(K), repeats)


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    print(f"One list of {K}, m = 1, median of {repeats} runs")
    print(f"{'items':>8} {'d':>4} {'paper, ms':>10} {'variegate, ms':>14} {'ratio':>6}")
    for items, d in ((1_447, 10), (3_533, 10), (10_000, 10), (10_000, 64)):
        theirs, ours = compared(items, d, repeats)
        print(f"{items:>8,} {d:>4} {theirs * 1e3:>10.2f} {ours * 1e3:>14.2f} {theirs / ours:>6.1f}")


if __name__ == "__main__":
    main()
