"""A recommended list."""

from dataclasses import dataclass

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Gains, Normaliser


@dataclass(frozen=True, eq=False)
class Slate:
    """Items in the order shown, with all that learning from them will need.

    Feedback can come another day, in another process, when the catalogue has grown: so a
    slate carries the features that its items had when they were picked.
    """

    #: Row numbers, (K,)
    items: IndexArray
    ids: tuple[str, ...]
    #: z, (K, d)
    relevance: FloatArray
    #: x given the items above, (K, m)
    diversity: FloatArray
    #: What the policy scored each item when it was picked, (K,)
    scores: FloatArray
    #: Topic coverage that each item added, (K, topics); no columns but for LSB
    coverage: FloatArray
    #: The user that a `Recommender` made it for; None if it comes from a policy
    user_id: str | None = None

    def __len__(self) -> int:
        return len(self.items)


def slate_of(
    catalogue: Catalogue,
    items: IndexArray,
    scores: FloatArray,
    normaliser: Normaliser,
    coverage: FloatArray | None = None,
) -> Slate:
    """Return `items`, in their order, as a slate."""
    k = len(items)
    gains = Gains(catalogue, items, k, normaliser)
    diversity = np.zeros((k, catalogue.m))
    for place in range(k):
        diversity[place] = gains.x[place]
        gains.take(place)
    ids = tuple(catalogue.ids[item] for item in items)
    none = np.zeros((k, 0))
    return Slate(items, ids, gains.z, diversity, scores, none if coverage is None else coverage)
