"""Items that the users of a prior could not like yet, as mixtures of similar items.

A prior of items knows nothing of an item that was added later. It is predicted from the items with
the most similar features: with weights w that are not negative and sum to 1, its relevance to any
user is s times the mixture w . f of theirs, so that mean and covariance follow linearly. Before the
item was shown, s is above 1 by the spread of its similar items: an item at their mean would never
be at the top of a list, and nothing would be learnt about it. Once users of the service were shown
it, s moves to its clicks per expected click, and the likes of its own replace the mixture.
"""

from typing import Final, NamedTuple

import numpy as np
import scipy

from variegate.arrays import FloatArray, IndexArray
from variegate.model.catalogue import Catalogue
from variegate.model.neighbours import reference_rows, similar_items

#: Standard deviations of what similar items got that are added for an item before it was shown.
OPTIMISM: Final = 0.8
#: Expected clicks after which half of the scale s is an item's own.
OWN_CLICKS: Final = 5.0
#: Users who like an item after which half of its covariance is its own.
OWN_LIKES: Final = 20.0


class Neighbours(NamedTuple):
    """The similar items of the items after the first `known` of a catalogue."""

    #: Features of the items that were searched, (n, d), and of the later ones, (new, d)
    references: FloatArray
    features: FloatArray
    #: Rows of the similar items and their weights, (new, count)
    rows: IndexArray
    weights: FloatArray


def find_neighbours(
    catalogue: Catalogue, known: int, before: Neighbours | None = None
) -> Neighbours:
    """Return the similar items of those after the first `known`.

    `before` is the result for an earlier version of the catalogue: only what changed is computed.
    """
    searched = reference_rows(known)
    references, features = catalogue.features[searched], catalogue.features[known:]
    if before is None or not np.array_equal(before.references, references):
        places, weights = similar_items(references, features)
        return Neighbours(references, features, searched[places], weights)
    size = min(len(before.features), len(features))
    same = (before.features[:size] == features[:size]).all(axis=1)
    changed = np.append(np.flatnonzero(~same), np.arange(size, len(features)))
    places, some = similar_items(references, features[changed])
    rows = np.zeros((len(features), places.shape[1]), dtype=np.intp)
    weights = np.zeros(rows.shape)
    rows[:size], weights[:size] = before.rows[:size], before.weights[:size]
    rows[changed], weights[changed] = searched[places], some
    return Neighbours(references, features, rows, weights)


def mixtures(
    neighbours: Neighbours, shares: FloatArray, shown: IndexArray, known: int
) -> "scipy.sparse.csr_array":
    """Return each item as a mixture of the prior's items: itself, for the first `known`, (n, L).

    Parameters
    ----------
    shares
        Share of the prior's users who like each of its items, (L,).
    shown
        How many users of a service were shown each of its items, and how many of them liked
        it, (2, L).
    """
    rows, weights = neighbours.rows, neighbours.weights
    new, size = len(rows), len(shares)
    own = np.zeros((3, new))
    own[:, : size - known] = np.vstack([shares, shown])[:, known:]
    own_shares, own_shows, own_clicks = own
    predicted = np.sum(weights * shares[rows], axis=1)
    spread = np.sqrt(np.sum(weights * (shares[rows] - predicted[:, None]) ** 2, axis=1))
    hope = 1.0 + OPTIMISM * spread / np.where(predicted > 0.0, predicted, 1.0)
    expected = own_shows * np.sum(weights * _click_rates(*shown)[rows], axis=1)
    scale = (OWN_CLICKS * hope + own_clicks) / (OWN_CLICKS + expected)
    # Its own likes, scaled to the same mean: they are only of users who were shown it.
    kept = np.where(own_shares > 0.0, own_clicks / (own_clicks + OWN_LIKES), 0.0)
    own_scale = kept * scale * predicted / np.where(own_shares > 0.0, own_shares, 1.0)
    ends = np.arange(0, rows.size + 1, rows.shape[1])
    mixed = ((1.0 - kept) * scale)[:, None] * weights
    similar = scipy.sparse.csr_array((mixed.ravel(), rows.ravel(), ends), (new, size))
    places = np.arange(size - known)
    itself = scipy.sparse.csr_array((own_scale[places], (places, known + places)), (new, size))
    originals = scipy.sparse.eye_array(known, size, format="csr")
    return scipy.sparse.csr_array(scipy.sparse.vstack([originals, similar + itself]))


def _click_rates(shows: IndexArray, clicks: IndexArray) -> FloatArray:
    """Return the share of users who like each item when shown it, shrunk to that of all items."""
    overall = clicks.sum() / max(shows.sum(), 1)
    return np.asarray((clicks + OWN_CLICKS * overall) / (shows + OWN_CLICKS))
