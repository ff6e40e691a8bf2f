"""Lists from a ranker's 200 candidates beside pyversity's MSD, and the size of a user's state."""

from typing import Final

import numpy as np

from benchmarks.timing import alternated
from tools.findings import Finding, Part
from variegate import Recommender, open_catalogue

CANDIDATES: Final = 200
WIDTH: Final = 768
K: Final = 10
#: Items of one topic are similar, as the candidates of a ranker are.
TOPICS: Final = 20
NEEDED_RATIO: Final = 3.0
MOST_BYTES: Final = 200
#: Lists that a user has had before the measurement.
LISTS: Final = 5


def measure(seed: int = 0, *, budget: float = 20.0) -> Part:
    """Return the times of lists, and the bytes of a state."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(5.0, 2.0, CANDIDATES)
    findings = [
        _compared(kind, scores, vectors, rng, budget) for kind, vectors in _vectors(rng).items()
    ]
    recommender = taught(_vectors(rng)["independent vectors"], scores, rng)
    size = len(recommender.policy("ana").state().to_bytes())
    findings.append(
        Finding(
            f"What a user has learnt takes less than {MOST_BYTES} bytes (a score, one distance)",
            f"{size} bytes",
            size < MOST_BYTES,
        )
    )
    how = (
        f"{CANDIDATES} candidates with scores and vectors of {WIDTH} numbers (float32), a list of "
        f"{K}, by `Recommender.recommend` for a user who has had {LISTS} lists."
    )
    return Part(how, findings)


def _compared(
    kind: str, scores: np.ndarray, vectors: np.ndarray, rng: np.random.Generator, budget: float
) -> Finding:
    import pyversity

    recommender, ids = taught(vectors, scores, rng), _ids()
    single = scores.astype(np.float32)  # what pyversity works in
    calls = {
        "ours": lambda: recommender.recommend(
            "ana", K, candidates=ids, scores=scores, vectors=vectors
        ),
        "theirs": lambda: pyversity.diversify(vectors, single, K, strategy="msd", diversity=0.5),
    }
    best = {name: min(times) for name, times in alternated(calls, budget=budget).items()}
    ratio = best["theirs"] / best["ours"]
    return Finding(
        f"A list is made at least {NEEDED_RATIO:g} times as fast as by pyversity's MSD on the same "
        f"arrays: {kind}",
        f"{ratio:.1f} times ({best['ours'] * 1e6:.0f} µs against {best['theirs'] * 1e6:.0f} µs)",
        ratio >= NEEDED_RATIO,
    )


def taught(vectors: np.ndarray, scores: np.ndarray, rng: np.random.Generator) -> Recommender:
    """Return a recommender with one user who has clicked on some items."""
    recommender = Recommender(open_catalogue())
    for _ in range(LISTS):
        slate = recommender.recommend("ana", K, candidates=_ids(), scores=scores, vectors=vectors)
        recommender.update(slate, (rng.random(K) < 0.3).astype(np.float64))
    return recommender


def _ids() -> list[str]:
    return [f"item {number}" for number in range(CANDIDATES)]


def _vectors(rng: np.random.Generator) -> dict[str, np.ndarray]:
    topics = rng.normal(size=(TOPICS, WIDTH))[rng.integers(TOPICS, size=CANDIDATES)]
    noise = rng.normal(size=(CANDIDATES, WIDTH))
    return {
        "independent vectors": noise.astype(np.float32),
        f"vectors of {TOPICS} topics": (topics + noise).astype(np.float32),
    }
