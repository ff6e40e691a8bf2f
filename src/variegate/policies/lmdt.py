"""LMDT: Thompson sampling from the posterior of LMDP."""

from copy import copy
from typing import Any, Unpack

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray, as_generator, check_count
from variegate.model.candidates import Candidates
from variegate.model.catalogue import Catalogue
from variegate.model.ridge import Estimate
from variegate.model.search import Scorer
from variegate.model.slate import Slate
from variegate.policies.base import Explanation
from variegate.policies.lmdp import LMDP, PriorOptions


class LMDT(LMDP):
    """The best list for weights sampled once per list from the posterior of LMDP.

    The other options are those of LMDP. `exploration` scales the deviation of the sample: 1
    samples from the posterior, 0 always takes its mean.

    Parameters
    ----------
    n_samples
        `explore_slate` follows one of so many samples, so that it knows the propensities of
        the list. With more samples the propensities vary less and a list takes longer.

    Examples
    --------
    >>> items = Catalogue(list("abc"), [[1, 0], [0, 1], [1, 1]], "cosine")
    >>> policy = LMDT(items, exploration=1.0)
    >>> [policy.recommend(2, rng=seed).ids for seed in (1, 4)]
    [('c', 'b'), ('b', 'a')]
    """

    name = "lmdt"
    is_stochastic = True

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        n_samples: int = 32,
        **options: Unpack[PriorOptions],
    ) -> None:
        super().__init__(catalogue, **options)
        self.n_samples = check_count(n_samples, 10_000, name="n_samples", of="the maximum")
        #: The weights sampled for one list; only the copy that makes this list has them
        self._sample: FloatArray | None = None

    @property
    def label(self) -> str:
        return "LMDT (greedy, α = 0)" if self.exploration == 0.0 else "LMDT"

    def width(self, k: int) -> float:
        """Return the scale of the sample for a list of `k`; 0 once it is drawn."""
        return super().width(k) if self._sample is None else 0.0

    def _sample_weights(self, k: int, rng: np.random.Generator) -> FloatArray:
        """Return the weights of `n_samples` possible lists of `k`, (n_samples, d + m)."""
        return np.stack([self._sampled(k, rng) for _ in range(self.n_samples)])

    def _candidates_of(self, samples: FloatArray, free: MaskArray, k: int) -> IndexArray:
        """Return the rows among those `free` that the lists of the samples use, sorted."""
        if self.shortlist is None:
            return self._candidates(free, k)
        found = [self._following(weights)._candidates(free, k) for weights in samples]
        return np.unique(np.concatenate(found))

    def _estimate(self) -> Estimate:
        if self._sample is None:
            return super()._estimate()
        return Estimate(self._sample, self._ridge.estimate().inverse_root)

    def _recommend(self, free: MaskArray, k: int, rng: Any) -> Slate:
        if self._sample is None:
            return self._following(self._sampled(k, as_generator(rng)))._recommend(free, k, rng)
        return super()._recommend(free, k, rng)

    def _recommend_offered(self, offered: Candidates, k: int, rng: Any) -> Slate:
        if self._sample is None:
            following = self._following(self._sampled(k, as_generator(rng)))
            return following._recommend_offered(offered, k, rng)
        return super()._recommend_offered(offered, k, rng)

    def _scorer(self, rows: IndexArray, k: int, rng: Any) -> Scorer:
        if self._sample is None:
            return self._following(self._sampled(k, as_generator(rng)))._scorer(rows, k, rng)
        return super()._scorer(rows, k, rng)

    def _sampled(self, k: int, rng: np.random.Generator) -> FloatArray:
        """Return weights sampled for one list, after floor and dial, (d + m,)."""
        return self._adjusted(self._ridge.estimate().sample(rng, self.width(k)))

    def _following(self, weights: FloatArray) -> "LMDT":
        """Return a copy that uses these weights, for one list only."""
        other = copy(self)
        other._sample = weights
        return other

    def _explain(self, slate: Slate) -> Explanation:
        mean, d = self._estimate().mean, self.catalogue.d
        relevance = slate.relevance @ mean[:d]
        diversity = slate.diversity * mean[d:]
        # The sample is not kept, but the scores that it led to are.
        added = slate.scores - relevance - diversity.sum(axis=1)
        names = tuple(h.name for h in self.catalogue.distances)
        return Explanation(relevance, diversity, added, names)
