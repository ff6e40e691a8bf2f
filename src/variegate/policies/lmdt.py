"""Thompson sampling of what LMDH believes: it explores by what it draws, not by bounds."""

from copy import copy
from typing import Any

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_count, generator
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.ridge import Estimate
from variegate.model.search import Scorer
from variegate.model.shortlist import Shortlist
from variegate.model.slate import Slate
from variegate.policies.attention import AttentionLike
from variegate.policies.base import Explanation
from variegate.policies.floor import FloorLike
from variegate.policies.lmdp import EXPLORATION, FLOOR, LMDP
from variegate.policies.ridge_policy import PriorLike


class LMDT(LMDP):
    """The best list for weights drawn once a list from what LMDP believes of them.

    Parameters are those of LMDP, with one more.

    Parameters
    ----------
    exploration
        Scales the deviation of the draw; 1 draws as likely as is believed, 0 draws the mean.
    draws_logged
        From so many draws `explore_slate` takes one, so that the log can say how likely each
        item was; the more, the longer it takes and the less do the propensities vary.

    Examples
    --------
    >>> items = Catalogue(list("abc"), [[1, 0], [0, 1], [1, 1]], "cosine")
    >>> policy = LMDT(items, exploration=1.0)
    >>> [policy.recommend(2, rng=seed).ids for seed in (1, 3)]
    [('c', 'b'), ('a', 'c')]
    """

    name = "lmdt"
    draws = True

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        prior: PriorLike | None = None,
        exploration: float = EXPLORATION,
        floor: FloorLike | None = FLOOR,
        normaliser: Normaliser = "growing",
        search: str = "greedy",
        shortlist: Shortlist | None = None,
        forgetting: float = 1.0,
        attention: AttentionLike = "all",
        draws_logged: int = 32,
    ) -> None:
        super().__init__(
            catalogue,
            prior=prior,
            exploration=exploration,
            floor=floor,
            normaliser=normaliser,
            search=search,
            shortlist=shortlist,
            forgetting=forgetting,
            attention=attention,
        )
        self.draws_logged = check_count(
            draws_logged, 10_000, name="draws_logged", of="the most that make sense"
        )
        #: What was drawn for one list; only a copy that makes this list has it
        self._eta: FloatArray | None = None

    @property
    def label(self) -> str:
        return "LMDT (greedy, α = 0)" if self.exploration == 0.0 else "LMDT"

    def width(self, k: int) -> float:
        """Return the scale of the draw for a list of `k`, and 0 once it was drawn."""
        return super().width(k) if self._eta is None else 0.0

    def _belief(self) -> Estimate:
        if self._eta is None:
            return super()._belief()
        return Estimate(self._eta, self._ridge.estimate().inverse_root)

    def _recommend(self, free: MaskArray, k: int, rng: Any) -> Slate:
        if self._eta is None:
            return self._following(self._drawn(k, generator(rng)))._recommend(free, k, rng)
        return super()._recommend(free, k, rng)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        if self._eta is None:
            return self._following(self._drawn(k, generator(rng)))._scorer(rows, k, rng)
        return super()._scorer(rows, k, rng)

    def _drawn(self, k: int, rng: np.random.Generator) -> FloatArray:
        """Draw what a list goes by, and put it under the floor and a dial."""
        return self._weighed(self._ridge.estimate().sample(rng, self.width(k)))

    def _following(self, eta: FloatArray) -> "LMDT":
        """Return a policy that is sure of these weights, for one list only."""
        other = copy(self)
        other._eta = eta
        return other

    def _plans(self, k: int, rng: np.random.Generator) -> FloatArray:
        return np.stack([self._drawn(k, rng) for _ in range(self.draws_logged)])

    def _planned_rows(self, plans: FloatArray, free: MaskArray, k: int) -> IndexArray:
        if self.shortlist is None:
            return self._choices(free, k)
        found = [self._following(eta)._choices(free, k) for eta in plans]
        return np.unique(np.concatenate(found))

    def _explain(self, slate: Slate) -> Explanation:
        mean, d = self._belief().mean, self.catalogue.d
        relevance = slate.relevance @ mean[:d]
        diversity = slate.diversity * mean[d:]
        # What the draw added is not kept, but the scores it led to are.
        added = slate.scores - relevance - diversity.sum(axis=1)
        names = tuple(h.name for h in self.catalogue.distances)
        return Explanation(relevance, diversity, added, names)
