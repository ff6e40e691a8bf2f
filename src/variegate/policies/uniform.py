"""Uniform: any list is as likely as any other. The floor that every method must beat."""

from typing import Any

import numpy as np

from variegate.arrays import IndexArray, generator
from variegate.policies.base import Explanation, Policy
from variegate.search import FixedScores, Scorer
from variegate.slate import Slate


class Uniform(Policy):
    """Take `k` candidates at random, without looking at them."""

    name = "uniform"
    draws = True

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:  # noqa: ARG002
        return FixedScores(generator(rng).random(len(rows)))

    def _explained(self, slate: Slate) -> Explanation:
        k = len(slate)
        return Explanation(np.zeros(k), np.zeros((k, 0)), slate.scores, ())
