"""EASE with a fixed weight of diversity: what a team would build from its likes in an afternoon."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
import scipy

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_not_negative, check_positive
from variegate.kernels.layout import Layout
from variegate.kernels.lmdh import relevance_list
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Gains, Normaliser, normalising_factors
from variegate.model.search import Scorer
from variegate.model.slate import Slate, slate_with_gains
from variegate.model.utility import UtilityScorer
from variegate.policies.base import Explanation, Policy
from variegate.policies.ridge_policy import PriorLike, item_prior
from variegate.policies.state import check_interval, check_item_rows
from variegate.prior import ItemPrior

#: Weight of popularity beside the clicks: it decides the first list.
POPULARITY: Final = 0.3
#: Chosen on training users only, by `variegate tune --policy ease`; see docs/explanation/beyond.md.
L2: Final = 100.0
DIVERSITY: Final = 0.9


class EASE(Policy):
    """Item-item weights from training users (Steck 2019), on the items clicked so far, with MSD.

    With P = (X'X + l2 I)^-1 for the likes X of the training users, item i adds -P_ij / P_jj to
    the score of item j. To the score comes `diversity` times the mean distance to the items
    above. A baseline: rejected items and the user's desired diversity are not learnt.

    Parameters
    ----------
    prior
        The likes of the training users: what `fit_prior` returned, or the path of it. Without it
        no item is known to go with another, and lists are chosen by diversity alone.
    l2
        Strength of the regularisation.
    diversity
        Weight of the mean distance to the items above, shared by the distances, relative to the
        mean score of the ten best items of a new user: the same for all users and all lists.
    """

    name = "ease"
    learns_items = True

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        prior: PriorLike | None = None,
        l2: float = L2,
        diversity: float = DIVERSITY,
        normaliser: Normaliser = "mean",
    ) -> None:
        super().__init__(catalogue, normaliser=normaliser)
        check_positive(l2=l2)
        check_not_negative(diversity=diversity)
        found = None if prior is None else item_prior(prior, catalogue)
        self.prior, self.l2, self.diversity = found, float(l2), float(diversity)
        scale = 1.0 if found is None else POPULARITY * found.best_share
        self._beta = np.full(catalogue.m, scale * self.diversity / max(catalogue.m, 1))
        #: Rewards by row
        self._clicked: dict[int, float] = {}

    def _relevance(self) -> FloatArray:
        prior = self.prior
        if prior is None:
            return np.zeros(len(self.catalogue))
        known = len(prior.item_ids)
        scores = POPULARITY * prior.mean
        rows = [row for row in self._clicked if row < known]
        rewards = np.array([self._clicked[row] for row in rows])
        scores[:known] += rewards @ item_weights(prior, self.l2)[rows]
        return scores

    def _compiled_slate(self, layout: Layout, free: MaskArray, k: int, rng: Any) -> Slate | None:
        factors = normalising_factors(self.normaliser, k)
        found = relevance_list(layout, free, self._relevance(), self._beta, factors)
        return None if found is None else slate_with_gains(self.catalogue, *found)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        gains = Gains(self.catalogue, rows, k, self.normaliser)
        return UtilityScorer(self._relevance()[rows], self._beta, gains)

    def _learn(self, slate: Slate, rewards: FloatArray, seen: IndexArray) -> None:
        for row, reward in zip(slate.items[seen].tolist(), rewards[seen].tolist(), strict=True):
            if reward > self._clicked.get(row, 0.0):
                self._clicked[row] = reward

    def _explain(self, slate: Slate) -> Explanation:
        names = tuple(h.name for h in self.catalogue.distances)
        relevance = self._relevance()[slate.items]
        return Explanation(relevance, slate.diversity * self._beta, np.zeros(len(slate)), names)

    def _arrays(self) -> Mapping[str, FloatArray]:
        return {"clicked": np.array(list(self._clicked.items()), dtype=np.float64).reshape(-1, 2)}

    def _shapes(self, arrays: Mapping[str, FloatArray]) -> dict[str, tuple[int, ...]]:
        return {"clicked": (len(arrays.get("clicked", ())), 2)}

    def _check_arrays(self, arrays: Mapping[str, FloatArray]) -> None:
        check_item_rows("clicked", arrays["clicked"][:, 0], len(self.catalogue))
        check_interval("clicked", arrays["clicked"][:, 1])

    def _restore(self, arrays: Mapping[str, FloatArray]) -> None:
        rows, rewards = arrays["clicked"].T
        self._clicked = dict(zip(rows.astype(int).tolist(), rewards.tolist(), strict=True))


# One matrix for all users; it can take gigabytes, so only the latest is kept.
@lru_cache(maxsize=1)
def item_weights(prior: ItemPrior, l2: float) -> FloatArray:
    """Return the weights B of EASE: row i holds what a like of item i adds to each item."""
    items, starts = len(prior.item_ids), np.append(0, prior.ends)
    likes = scipy.sparse.csr_array(
        (np.ones(len(prior.liked)), prior.liked, starts), (prior.users, items)
    )
    gram = (likes.T @ likes).toarray()
    gram[np.diag_indices(items)] += l2
    inverse = np.linalg.inv(gram)
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return np.asarray(weights)
