"""A component for LensKit's pipelines: lists with learnt variety from a data set's interactions."""

from dataclasses import dataclass

import numpy as np

from variegate.arrays import IndexArray
from variegate.errors import MissingExtraError
from variegate.model.catalogue import Catalogue
from variegate.model.distances import cosine
from variegate.policies import LMDP
from variegate.prior import ItemPrior, fit_prior

try:
    from lenskit.data import Dataset, ItemList, QueryInput, RecQuery, Vocabulary
    from lenskit.pipeline import Component
    from lenskit.training import Trainable, TrainingOptions
except ImportError as error:
    raise MissingExtraError(
        f"`variegate.lenskit_component` needs LensKit: pip install 'variegate[lenskit]' ({error})"
    ) from None


@dataclass
class ListConfig:
    """Settings of `ListRecommender`.

    Parameters
    ----------
    n
        Items in a list, unless the pipeline's input says how many.
    diversity, noise
        As for `fit_prior`.
    """

    n: int = 10
    diversity: float = 0.9
    noise: float = 0.2


class ListRecommender(Component[ItemList], Trainable):  # type: ignore[misc,unused-ignore]
    """Recommends a list as a whole, so that it is in the place of both scorer and ranker.

    The policy is LMDP with a prior fitted to the training users, as `variegate replay` evaluates
    it. A user's history is what LMDP has learnt from. Items are near each other that the same
    users liked.
    """

    config: ListConfig

    def is_trained(self) -> bool:
        """Whether `train` was called."""
        return hasattr(self, "prior")

    def train(self, data: Dataset, options: TrainingOptions | None = None) -> None:
        """Fit the prior to the users of a data set, each of whose interactions counts as a like."""
        if self.is_trained() and options is not None and not options.retrain:
            return
        likes = data.interactions().matrix().scipy(layout="csr")
        self.items: Vocabulary = data.items
        n_items = len(self.items)
        vectors = likes.T.toarray()
        self.catalogue = Catalogue(range(n_items), np.ones((n_items, 1)), [cosine(vectors)])
        rows = np.split(likes.indices, likes.indptr[1:-1])
        self.prior: ItemPrior = fit_prior(
            self.catalogue, rows, diversity=self.config.diversity, noise=self.config.noise
        )

    def __call__(
        self, query: QueryInput, items: ItemList | None = None, n: int | None = None
    ) -> ItemList:
        """Return a list of at most `n` of the candidates `items` that are new to the user."""
        history = RecQuery.create(query).history_items
        known = self._rows(history) if history is not None else np.zeros(0, dtype=np.intp)
        allowed = np.arange(len(self.items)) if items is None else self._rows(items)
        candidates = np.setdiff1d(allowed, known)
        k = min(self.config.n if n is None else n, len(candidates))
        if k == 0:
            return ItemList(item_ids=[], ordered=True)
        user = LMDP(self.catalogue, prior=self.prior)
        if len(known):
            user.learn_relevance(known, np.ones(len(known)))
        rows = user.recommend(k, candidates).items
        return ItemList(item_ids=self.items.ids(rows), vocabulary=self.items, ordered=True)

    def _rows(self, items: ItemList) -> IndexArray:
        """Return the rows of the items that the training data have."""
        rows = items.numbers(vocabulary=self.items, missing="negative")
        return np.asarray(rows[rows >= 0], dtype=np.intp)
