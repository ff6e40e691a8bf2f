"""LogRank: the items that the mean training user would like best."""

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_numbers
from variegate.errors import InputError
from variegate.kernels.baselines import top_list
from variegate.kernels.layout import Layout
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.search import FixedScores, Scorer
from variegate.model.slate import Slate
from variegate.policies.base import Explanation, Policy, linear_scores


class LogRank(Policy):
    """Rank by r_a = sigmoid(u . z_a), the same for every user.

    Parameters
    ----------
    mean_user
        u, the mean of the training users' vectors, (d,); the catalogue's own by default, and
        all ones if it has none.
    """

    name = "logrank"

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        mean_user: ArrayLike | None = None,
        normaliser: Normaliser = "growing",
    ) -> None:
        super().__init__(catalogue, normaliser=normaliser)
        self.mean_user = _checked_mean_user(catalogue, mean_user)

    def _compiled_slate(self, layout: Layout, free: MaskArray, k: int, rng: Any) -> Slate:
        items, scores = top_list(layout, free, k, linear_scores(self.mean_user), squashed=True)
        return self._slate_by_loops(layout, items, scores)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        return FixedScores(self._relevance(rows))

    def _relevance(self, rows: IndexArray) -> FloatArray:
        """Return r_a of each row."""
        scores: FloatArray = scipy.special.expit(self.catalogue.features[rows] @ self.mean_user)
        return scores

    def _explain(self, slate: Slate) -> Explanation:
        k = len(slate)
        return Explanation(self._relevance(slate.items), np.zeros((k, 0)), np.zeros(k), ())


def _checked_mean_user(catalogue: Catalogue, mean_user: ArrayLike | None) -> FloatArray:
    if mean_user is None:
        return np.ones(catalogue.d) if catalogue.mean_user is None else catalogue.mean_user
    vector = check_numbers("mean_user", mean_user, ndim=1)
    if vector.shape != (catalogue.d,):
        raise InputError(f"`mean_user` must have shape ({catalogue.d},), got {vector.shape}")
    return vector
