"""Uniform: random lists, the baseline that every method must beat."""

from typing import Any

import numpy as np

from variegate.arrays import IndexArray, as_generator
from variegate.model.search import FixedScores, Scorer
from variegate.model.slate import Slate
from variegate.policies.base import Explanation, Policy


class Uniform(Policy):
    """Choose `k` candidates uniformly at random."""

    name = "uniform"
    is_stochastic = True

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        return FixedScores(as_generator(rng).random(len(rows)))

    def _explain(self, slate: Slate) -> Explanation:
        k = len(slate)
        return Explanation(np.zeros(k), np.zeros((k, 0)), slate.scores, ())
