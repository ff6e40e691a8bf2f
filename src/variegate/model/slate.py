"""Slates: recommended lists with everything that learning from them requires."""

from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.model.catalogue import Catalogue
from variegate.model.constraints import Relaxed
from variegate.model.gains import Gains, Normaliser


@dataclass(frozen=True, eq=False)
class Slate:
    """Items in the order shown, with the features to learn from.

    Feedback can arrive later, in another process, after the catalogue has changed: so a slate
    holds the features that its items had when they were selected.
    """

    #: Row numbers, (K,)
    items: IndexArray
    ids: tuple[str, ...]
    #: z, (K, d)
    relevance: FloatArray
    #: x given the items above, (K, m)
    diversity: FloatArray
    #: The policy's score of each item when it was selected, (K,)
    scores: FloatArray
    #: Topic coverage that each item added, (K, topics); only LSB has columns
    coverage: FloatArray
    #: The user that a `Recommender` made it for; None if it comes from a policy
    user_id: str | None = None
    #: What the caller should know about the request, such as missing scores
    notes: tuple[str, ...] = ()
    #: Constraints that could not be met, with what was used in their place
    relaxed: tuple[Relaxed, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    def for_user(self, user_id: str | None) -> "Slate":
        """Return the same slate, made for a user; faster than `dataclasses.replace`."""
        parts = self.items, self.ids, self.relevance, self.diversity, self.scores, self.coverage
        return Slate(*parts, user_id, self.notes, self.relaxed)


def slate_with_gains(
    catalogue: Catalogue,
    items: IndexArray,
    scores: FloatArray,
    x: FloatArray,
    coverage: FloatArray | None = None,
) -> Slate:
    """Return `items`, in their order, as a slate with diversity gains x (K, m)."""
    ids = ids_of(catalogue, items.tolist())
    covered = x[:, :0] if coverage is None else coverage
    return Slate(items, ids, catalogue.features.take(items, axis=0), x, scores, covered)


def ids_of(catalogue: Catalogue, rows: list[int]) -> tuple[str, ...]:
    """Return the ids of rows, with one call for all of them."""
    if len(rows) == 1:
        return (catalogue.ids[rows[0]],)
    return itemgetter(*rows)(catalogue.ids) if rows else ()


def slate_of(
    catalogue: Catalogue,
    items: IndexArray,
    scores: FloatArray,
    normaliser: Normaliser,
    coverage: FloatArray | None = None,
) -> Slate:
    """Return `items`, in their order, as a slate, with the gains computed by NumPy."""
    gains = Gains(catalogue, items, len(items), normaliser)
    x = np.zeros((len(items), catalogue.m))
    for place in range(len(items)):
        x[place] = gains.x[place]
        gains.take(place)
    return slate_with_gains(catalogue, items, scores, x, coverage)
