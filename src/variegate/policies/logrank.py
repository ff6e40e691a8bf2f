"""LogRank: the items that the mean training user would like best."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import IndexArray, MaskArray
from variegate.kernels.baselines import top_list
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.search import FixedScores, Scorer
from variegate.model.slate import Slate
from variegate.policies.base import Explanation, Policy
from variegate.policies.compiled import compiled_slate, weighted
from variegate.policies.ranking import checked_mean_user, relevance_scores


class LogRank(Policy):
    """Rank by r_a = sigmoid(u . z_a), the same for every user.

    Parameters
    ----------
    mean_user
        u, the mean of the training users' vectors, (d,); the catalogue's own, if not given,
        and all ones if it has none.
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
        self.mean_user = checked_mean_user(catalogue, mean_user)

    def _recommend(self, free: MaskArray, k: int, rng: Any) -> Slate:
        layout = self.catalogue.layout
        if layout is None:
            return super()._recommend(free, k, rng)
        items, scores = top_list(layout, free, k, weighted(self.mean_user), squashed=True)
        return compiled_slate(self.catalogue, layout, items, scores, self.normaliser)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:  # noqa: ARG002
        return FixedScores(relevance_scores(self.catalogue, rows, self.mean_user))

    def _explain(self, slate: Slate) -> Explanation:
        scores = relevance_scores(self.catalogue, slate.items, self.mean_user)
        return Explanation(scores, np.zeros((len(slate), 0)), np.zeros(len(slate)), ())
