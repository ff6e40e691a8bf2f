"""The two-stage mode for large catalogues: its price, and what it costs beside the exact list.

Run as `python -m benchmarks.bench_large [--items N] [--users N] [--usearch]`. Users have learnt
0, 1, 5, 30 or 100 lists, against tastes of their own, on clustered embeddings. The ratio is that
of the sum of the scores along the two-stage list to the same along the exact list. One pass is a
float32 matrix-vector product over the catalogue: the machine's limit for an exact list.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from itertools import cycle
from statistics import mean, median
from time import perf_counter
from typing import Final, NamedTuple, cast

import numpy as np

from benchmarks.hnsw import GraphShortlist
from benchmarks.results import Shape
from benchmarks.timing import alternated
from benchmarks.workloads import one_pass
from variegate import LMDH, Catalogue
from variegate.arrays import FloatArray
from variegate.data.embeddings import normalise_vectors
from variegate.model.shortlist import Shortlist

K: Final = 10
D: Final = 64
#: Lists that a user has learnt from.
STAGES: Final = (0, 1, 5, 30, 100)
#: Of the embeddings: as they were trained, or each brought to length 1, where none sticks out.
LENGTHS: Final = ("varied", "one")


def clustered(shape: Shape, lengths: str) -> FloatArray:
    """Return embeddings within [-1, 1], in clusters of uneven sizes within topics."""
    rng = np.random.default_rng(0)
    clusters = max(shape.items // 500, 20)
    strength = 1.0 / np.sqrt(1.0 + np.arange(shape.d) / 4.0)  # as of principal components
    topics = rng.standard_normal((40, shape.d))
    centres = topics[rng.integers(40, size=clusters)]
    centres = (centres + 0.8 * rng.standard_normal(centres.shape)) * strength
    popularity = 1.0 / np.arange(1, clusters + 1) ** 0.8
    of_item = rng.choice(clusters, size=shape.items, p=popularity / popularity.sum())
    z = centres[of_item] + 0.45 * rng.standard_normal((shape.items, shape.d)) * strength
    if lengths == "varied":
        z *= np.exp(0.15 * rng.standard_normal(shape.items))[:, None]
    return normalise_vectors(z, "global" if lengths == "varied" else "row")[0]


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


def exact_copy(policy: LMDH) -> LMDH:
    """Return a policy that believes the same and looks at every item."""
    twin = LMDH(policy.catalogue)
    twin.restore(policy.state())
    return twin


def share(user: LMDH) -> float:
    """Return the score of the user's two-stage list as a share of the exact list's."""
    return float(user.recommend(K).scores.sum() / exact_copy(user).recommend(K).scores.sum())


def everyone(shop: Catalogue, shortlist: Shortlist, users: int) -> dict[int, list[LMDH]]:
    """Return as many users at each stage of learning."""
    rng = np.random.default_rng(1)
    each = users // len(STAGES)
    return {
        stage: [taught(LMDH(shop, shortlist=shortlist), stage, rng) for _ in range(each)]
        for stage in STAGES
    }


def measured(items: int, users: int, seconds: float, *, usearch: bool = False) -> dict[str, float]:
    """Return all facts: half the users in a catalogue of each kind, times of the slower one."""
    halves = [_measured(items, users // 2, seconds / 2, lengths, usearch) for lengths in LENGTHS]
    shares = {stage: [s for half in halves for s in half.shares[stage]] for stage in STAGES}
    slower = max(halves, key=lambda half: half.times["passes"])
    return {
        "items": items,
        **slower.times,
        "mean score ratio": mean(map(mean, shares.values())),
        "lowest score ratio": min(map(min, shares.values())),
        **{f"mean score ratio after {stage} lists": mean(s) for stage, s in shares.items()},
        **{
            f"mean score ratio, lengths {lengths}": mean(map(mean, half.shares.values()))
            for lengths, half in zip(LENGTHS, halves, strict=True)
        },
        **slower.facts,
    }


class Half(NamedTuple):
    """What was measured in one catalogue: shares by stage, times, facts of the index."""

    shares: dict[int, list[float]]
    times: dict[str, float]
    facts: dict[str, float]


def _measured(items: int, users: int, seconds: float, lengths: str, usearch: bool) -> Half:
    shop = Catalogue(range(items), clustered(Shape(items=items, d=D), lengths), "cosine")
    start = perf_counter()
    shortlist = Shortlist.build(shop)
    built = perf_counter() - start
    by_stage = everyone(shop, shortlist, users)
    shares = {stage: [share(user) for user in there] for stage, there in by_stage.items()}
    all_users = [user for there in by_stage.values() for user in there]
    times = _times(shop, all_users, seconds)
    graph = _graph_facts(shop, all_users) if usearch else {}
    cells = {"building the cells, s": built, "memory of the cells, MB": shortlist.nbytes / 1e6}
    return Half(shares, times, {**cells, **graph})


def _times(shop: Catalogue, users: list[LMDH], seconds: float) -> dict[str, float]:
    turns = cycle(users)
    exact_policies = cycle([exact_copy(user) for user in users[:: max(len(users) // 10, 1)]])
    times = alternated(
        {
            "one pass": one_pass(shop),
            "exact list": lambda: next(exact_policies).recommend(K),
            "two-stage list": lambda: next(turns).recommend(K),
        },
        budget=seconds,
    )
    medians = {name: median(spent) for name, spent in times.items()}
    return {
        **{f"{name}, ms": 1e3 * spent for name, spent in medians.items()},
        "passes": medians["two-stage list"] / medians["one pass"],
    }


def _graph_facts(shop: Catalogue, users: list[LMDH]) -> dict[str, float]:
    """Return the same of candidates from a graph index, for the same users."""
    graph = GraphShortlist(shop)
    shares, times = [], []
    for user in users:
        user.shortlist = cast(Shortlist, graph)
        shares.append(share(user))
        start = perf_counter()
        user.recommend(K)
        times.append(perf_counter() - start)
    return {
        "graph: two-stage list, ms": 1e3 * median(times),
        "graph: mean score ratio": mean(shares),
        "graph: lowest score ratio": min(shares),
        "graph: building, s": graph.seconds,
        "graph: memory, MB": graph.nbytes / 1e6,
    }


def facts(quick: bool) -> dict[str, float]:
    """Return the facts of a million items and 200 users; quick: of few of both."""
    return measured(20_000, 10, 0.5) if quick else measured(1_000_000, 200, 20.0)


def report(found: dict[str, float]) -> str:
    """Return the facts as lines."""
    return "\n".join(f"{name:<32} {value:>12,.5g}" for name, value in found.items())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the facts."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=200, help="five or more")
    parser.add_argument("--usearch", action="store_true", help="measure a graph index as well")
    options = parser.parse_args(arguments)
    print(report(measured(options.items, options.users, 20.0, usearch=options.usearch)))


if __name__ == "__main__":
    main()
