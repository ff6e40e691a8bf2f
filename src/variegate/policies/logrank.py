"""LogRank: the items that the mean training user would like best."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_numbers
from variegate.errors import InputError
from variegate.kernels.baselines import top_list
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.search import FixedScores, Scorer
from variegate.model.slate import Slate
from variegate.policies.base import Explanation, Policy
from variegate.policies.compiled import compiled_slate, weighted


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


def checked_mean_user(catalogue: Catalogue, mean_user: ArrayLike | None) -> FloatArray:
    """Return the mean user vector: as given, else the catalogue's, else all ones.

    Ones let every feature count the same, for catalogues that no users were learnt for.
    """
    if mean_user is None:
        return np.ones(catalogue.d) if catalogue.mean_user is None else catalogue.mean_user
    vector = check_numbers("mean_user", mean_user, ndim=1)
    if vector.shape != (catalogue.d,):
        raise InputError(f"`mean_user` must have shape ({catalogue.d},), got {vector.shape}")
    return vector


def relevance_scores(catalogue: Catalogue, rows: IndexArray, mean_user: FloatArray) -> FloatArray:
    """Return r_a = sigmoid(u . z_a), with u the mean user, for each row."""
    scores: FloatArray = expit(catalogue.features[rows] @ mean_user)
    return scores
