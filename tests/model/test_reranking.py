"""One call for those who have scores already, and what pyversity's users may expect of it."""

from typing import Any

import numpy as np
import pytest
from pyversity import diversify as theirs

from variegate import SEARCHES, diversify
from variegate.arrays import FloatArray
from variegate.errors import InputError, NotFoundError, VariegateError
from variegate.model.distances import difference, hamming, jaccard

VECTORS = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [-1.0, 0.0]]
SCORES = [0.9, 0.8, 0.5, 0.1]


def value(rows: Any, scores: FloatArray, vectors: FloatArray, diversity: float) -> float:
    """Return (1 - diversity) times the scores plus diversity times the cosine distances."""
    units = vectors[rows] / np.linalg.norm(vectors[rows], axis=1, keepdims=True)
    apart = (1.0 - units @ units.T).sum() / 2.0
    return float((1.0 - diversity) * scores[rows].sum() + diversity * apart)


@pytest.mark.parametrize("diversity", [0.0, 0.1, 0.3, 0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("seed", range(15))
def test_it_takes_what_pyversity_calls_msd(seed: int, diversity: float) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 60))
    # Scores a step apart: pyversity counts in 32 bits and would settle near ties otherwise.
    scores = rng.permutation(n) / n
    vectors = rng.normal(size=(n, 6))

    found = theirs(vectors, scores, 7, strategy="msd", diversity=diversity)

    assert diversify(scores, vectors, 7, diversity=diversity).tolist() == found.indices.tolist()


def test_without_diversity_the_scores_decide() -> None:
    assert diversify(SCORES, VECTORS, 4, diversity=0.0).tolist() == [0, 1, 2, 3]


def test_with_diversity_alone_the_best_score_leads_and_the_farthest_follows() -> None:
    assert diversify(SCORES, VECTORS, 2, diversity=1.0).tolist() == [0, 3]


def test_scores_of_any_size_will_do() -> None:
    large = diversify([9e9, 8e9, -5e9], VECTORS[:3], 3, diversity=1.0)

    assert large.tolist() == [0, 2, 1]


def test_several_distances_share_the_weight() -> None:
    genres = jaccard([["a"], ["b"], ["a"], ["a"]], name="genres")
    years = difference([1990, 1990, 2020, 1990], name="year")

    def of(diversity: Any) -> int:
        found = diversify([1, 0.5, 0.5, 0.5], VECTORS, 2, diversity=diversity, distances=both)
        return int(found[1])

    both = [genres, years]
    assert of([0.5, 0.1]) == 1
    assert of([0.1, 0.5]) == 2
    assert of(0.0) == 1


def test_one_weight_for_several_distances_is_split_evenly() -> None:
    rng = np.random.default_rng(4)
    scores, vectors = rng.random(20), rng.normal(size=(20, 3))

    split = diversify(scores, vectors, 6, diversity=0.6, distances=["cosine", "euclidean"])

    even = diversify(scores, vectors, 6, diversity=[0.3, 0.3], distances=["cosine", "euclidean"])
    assert split.tolist() == even.tolist()


@pytest.mark.parametrize("diversity", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("seed", range(10))
def test_local_search_is_never_worse_than_greedy(seed: int, diversity: float) -> None:
    rng = np.random.default_rng(seed)
    scores, vectors = rng.random(12), rng.normal(size=(12, 3))

    def worth(search: str) -> float:
        rows = diversify(scores, vectors, 4, diversity=diversity, search=search)
        return value(rows, scores, vectors, diversity)

    assert worth("greedy") <= worth("local") + 1e-9
    assert worth("local") <= worth("exhaustive") + 1e-9


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("k", [1, 4])
def test_every_search_gives_k_distinct_rows(search: str, k: int) -> None:
    rows = diversify(SCORES, VECTORS, k, search=search)

    assert len(set(rows.tolist())) == k


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"k": 0}, r"`k` must be from 1 to 4 \(the items\), got 0"),
        ({"k": 5}, r"`k` must be from 1 to 4 \(the items\), got 5"),
        ({"k": 1.5}, r"`k` must be a whole number, got 1\.5"),
        ({"scores": [1.0, np.nan, 0.0, 0.0]}, r"`scores` must be finite, got nan at \[1\]"),
        ({"scores": [[1.0]]}, r"`scores` must have 1 axes, got shape \(1, 1\)"),
        ({"scores": []}, r"`k` must be from 1 to 0 \(the items\), got 2"),
        ({"scores": [1.0, 2.0]}, r"`features` must have 2 rows"),
        ({"features": [1.0] * 4}, r"`features` must have 2 axes, got shape \(4,\)"),
        ({"diversity": 1.5}, r"`diversity` must be a number from 0 to 1, got 1\.5"),
        ({"diversity": -0.1}, r"`diversity` must be a number from 0 to 1, got -0\.1"),
        ({"diversity": np.nan}, r"`diversity` must be finite, got nan"),
        ({"diversity": "high"}, r"`diversity` must be an array of numbers: .*'high'"),
        ({"diversity": [0.5, 0.2]}, r"`diversity` must be one number or one for each of 1 dist"),
        (
            {"diversity": [0.7, 0.4], "distances": ["cosine", "angular"]},
            r"`diversity` must add up to at most 1, got 1\.1",
        ),
        ({"distances": "manhattan"}, r"`distances` by name can be .* got 'manhattan'"),
        ({"distances": hamming(["fr"])}, r"distance `hamming` must have data for 4 items, got 1"),
    ],
)
def test_wrong_input(changes: dict[str, Any], words: str) -> None:
    right: dict[str, Any] = {"scores": SCORES, "features": VECTORS, "k": 2}

    with pytest.raises(InputError, match=words):
        diversify(**(right | changes))


def test_a_search_that_nobody_knows() -> None:
    with pytest.raises(NotFoundError, match=r"`search` must be one of .*mean 'local'\?") as caught:
        diversify(SCORES, VECTORS, 2, search="locl")

    assert isinstance(caught.value, VariegateError)
