"""EASE with a fixed weight of diversity: what a team would build from its likes in an afternoon."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_not_negative, check_positive
from variegate.errors import InputError, StateError
from variegate.kernels import lmdh_list
from variegate.kernels.layout import Layout
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Gains, Normaliser, normalising_factors
from variegate.model.search import Scorer
from variegate.model.slate import Slate, slate_with_gains
from variegate.model.utility import UtilityScorer
from variegate.policies.base import Explanation, Policy
from variegate.policies.ridge_policy import PriorLike, read_prior
from variegate.prior import ItemPrior

#: Weight of popularity beside the clicks: it decides the first list.
POPULARITY = 0.3


class EASE(Policy):
    """Item-item weights from training users (Steck 2019), on the items clicked so far, with MSD.

    With P = (X'X + l2 I)^-1 for the likes X of the training users, item i adds -P_ij / P_jj to
    the score of item j. To the score comes `diversity` times the mean distance to the items
    above. A baseline: rejected items and the user's desired diversity are not learnt.

    Parameters
    ----------
    prior
        The likes of the training users: what `fit_prior` returned, or the path of it.
    l2
        Strength of the regularisation.
    diversity
        Weight of the mean distance to the items above, shared by the distances.
    """

    name = "ease"

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        prior: PriorLike | None = None,
        l2: float = 500.0,
        diversity: float = 0.2,
        normaliser: Normaliser = "mean",
    ) -> None:
        super().__init__(catalogue, normaliser=normaliser)
        check_positive(l2=l2)
        check_not_negative(diversity=diversity)
        found = None if prior is None else read_prior(prior)
        if not isinstance(found, ItemPrior):
            raise InputError(
                f"`prior` must be what `fit_prior` returned, or its path, got {prior!r}: EASE "
                "needs the likes of training users (prior=fit in replay, compare and sweep)"
            )
        found.check(catalogue)
        self.prior, self.l2, self.diversity = found, float(l2), float(diversity)
        self._beta = np.full(catalogue.m, self.diversity / max(catalogue.m, 1))
        self._clicked = np.zeros(len(catalogue))

    def _relevance(self) -> FloatArray:
        size, known = len(self.catalogue), len(self.prior.item_ids)
        scores = POPULARITY * self.prior.mean(size)
        clicked = np.flatnonzero(self._clicked[:known])
        weights = item_weights(self.prior, self.l2)
        scores[:known] += self._clicked[clicked] @ weights[clicked]
        return scores

    def _compiled_slate(
        self,
        layout: Layout,
        free: MaskArray,
        k: int,
        rng: Any,  # noqa: ARG002
    ) -> Slate | None:
        eta, factors = np.append(1.0, self._beta), normalising_factors(self.normaliser, k)
        relevance = layout.with_relevance(self._relevance())
        found = lmdh_list(relevance, free, eta, np.zeros((len(eta), len(eta))), 0.0, factors)
        return None if found is None else slate_with_gains(self.catalogue, *found)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:  # noqa: ARG002
        gains = Gains(self.catalogue, rows, k, self.normaliser)
        return UtilityScorer(self._relevance()[rows], self._beta, gains)

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:
        items = slate.items[seen]
        self._clicked[items] = np.maximum(self._clicked[items], rewards[seen])

    def _explain(self, slate: Slate) -> Explanation:
        names = tuple(h.name for h in self.catalogue.distances)
        relevance = self._relevance()[slate.items]
        return Explanation(relevance, slate.diversity * self._beta, np.zeros(len(slate)), names)

    def _arrays(self) -> Mapping[str, FloatArray]:
        return {"clicked": self._clicked}

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        clicked = arrays["clicked"]
        if not ((clicked >= 0.0) & (clicked <= 1.0)).all():
            raise StateError("`clicked` must have rewards from 0 to 1, got others")

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:
        self._clicked = np.array(arrays["clicked"])


# One matrix for all users; it can take gigabytes, so only the latest is kept.
@lru_cache(maxsize=1)
def item_weights(prior: ItemPrior, l2: float) -> FloatArray:
    """Return the weights B of EASE: row i holds what a like of item i adds to each item."""
    items, starts = len(prior.item_ids), np.append(0, prior.ends)
    likes = csr_array((np.ones(len(prior.liked)), prior.liked, starts), (prior.users, items))
    gram = (likes.T @ likes).toarray()
    gram[np.diag_indices(items)] += l2
    inverse = np.linalg.inv(gram)
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return np.asarray(weights)
