"""Greedy search over any way of scoring (Algorithm 1), and its non-oblivious sister."""

import numpy as np

from variegate.arrays import FloatArray, IndexArray, check_count
from variegate.search.base import Scorer


def greedy(scorer: Scorer, k: int) -> tuple[IndexArray, FloatArray]:
    """Take `k` candidates, each the best given those taken before it (Algorithm 1).

    Ties go to the candidate that comes first. For a metric distance and non-negative
    preferences the list is worth at least a quarter of the best (Theorem 1).
    """
    return _taken(scorer, k, relevance_share=1.0)


def non_oblivious_greedy(scorer: Scorer, k: int) -> tuple[IndexArray, FloatArray]:
    """Take `k` candidates by half their relevance and all of their diversity.

    For a metric distance and non-negative preferences the list is worth at least half of
    the best (Borodin et al. 2012, Theorem 1). What a candidate scores with nothing taken
    is its relevance; the rest of its score is diversity.
    """
    return _taken(scorer, k, relevance_share=0.5)


def _taken(scorer: Scorer, k: int, *, relevance_share: float) -> tuple[IndexArray, FloatArray]:
    k = check_count(k, len(scorer))
    scorer = scorer.fresh()
    held_back = (1.0 - relevance_share) * scorer.scores()
    places, scores_taken = np.empty(k, dtype=np.intp), np.empty(k)
    free = np.ones(len(scorer), dtype=bool)
    for position in range(k):
        scores = scorer.scores()
        place = int(np.argmax(np.where(free, scores - held_back, -np.inf)))
        places[position], scores_taken[position] = place, scores[place]
        free[place] = False
        scorer.take(place)
    return places, scores_taken
