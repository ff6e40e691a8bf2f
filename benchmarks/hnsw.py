"""Candidates from a graph index (usearch, HNSW), to hold the package's cells against.

Items are (z, |z|) under the inner product, so that theta . z + alpha s |z|, the score while all
directions are equally unknown, is one query. Further queries favour the most unknown directions
and, once there is a first list, what is away from its items.
"""

from importlib import import_module
from time import perf_counter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from variegate import Catalogue
from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.kernels import lmdh_list
from variegate.model.ridge import Estimate
from variegate.model.shortlist import layout_of_rows

#: Unknown directions that are asked for, each both ways.
DIRECTIONS: Final = 4
#: Neighbours that a query asks for, and how far the graph is searched.
FOUND, SEARCHED = 50, 64
#: Positions of the first list after which other directions are asked for.
AFTER: Final = (1, 2, 4)
#: Of the longest feature vectors, so many are always candidates.
LONGEST: Final = 256


class GraphShortlist:
    """Does what `variegate.model.shortlist.Shortlist` does, by a graph."""

    def __init__(self, catalogue: Catalogue) -> None:
        lengths = np.linalg.norm(catalogue.features, axis=1)
        start = perf_counter()
        self._index: Any = import_module("usearch.index").Index(
            ndim=catalogue.d + 1, metric="ip", dtype="f32", expansion_search=SEARCHED
        )
        vectors = np.column_stack([catalogue.features, lengths]).astype(np.float32)
        self._index.add(np.arange(len(catalogue)), vectors)
        self.seconds = perf_counter() - start
        self._catalogue = catalogue
        self._longest = np.argpartition(-lengths, LONGEST)[:LONGEST]

    @property
    def nbytes(self) -> int:
        """The memory that the index takes."""
        return int(self._index.memory_usage)

    def candidates(
        self, belief: Estimate, exploration: float, factors: FloatArray, free: MaskArray
    ) -> IndexArray:
        """Return rows, as `Shortlist.candidates` does."""
        rows = self._near(self._explorers(belief, exploration), free, self._longest)
        layout = layout_of_rows(self._catalogue, rows)
        assert layout is not None
        everything = np.ones(len(rows), dtype=np.bool_)
        found = lmdh_list(
            layout, everything, belief.mean, belief.inverse_root, exploration, factors
        )
        assert found is not None
        first = rows[found[0]]
        return self._near(self._others(belief, exploration, factors, first), free, rows)

    def _near(self, queries: FloatArray, free: MaskArray, also: IndexArray) -> IndexArray:
        vectors = np.ascontiguousarray(queries, dtype=np.float32)
        found: NDArray[Any] = self._index.search(vectors, FOUND, threads=1).keys
        rows: IndexArray = np.unique(np.concatenate([found.ravel().astype(np.intp), also]))
        return rows[free[rows]]

    def _explorers(self, belief: Estimate, alpha: float) -> FloatArray:
        d = self._catalogue.d
        theta, P = belief.mean[:d], belief.covariance[:d, :d]
        values, vectors = np.linalg.eigh(P)
        even = alpha * np.sqrt(np.trace(P) / d)
        unknown = alpha * np.sqrt(values[-DIRECTIONS:]) * vectors[:, -DIRECTIONS:]
        steps = np.vstack([np.zeros(d), unknown.T, -unknown.T])
        lengths = np.where(steps.any(axis=1), 0.5 * even, even)
        return np.column_stack([theta + steps, lengths])

    def _others(
        self, belief: Estimate, alpha: float, factors: FloatArray, listed: IndexArray
    ) -> FloatArray:
        d = self._catalogue.d
        weight = belief.mean[d] + alpha * np.sqrt(belief.covariance[d, d])
        even = alpha * np.sqrt(np.trace(belief.covariance[:d, :d]) / d)
        units = self._catalogue.distances[0].rows
        queries = []
        for n in AFTER:
            away = -weight * factors[n] * units[listed[:n]].sum(axis=0)
            queries += [np.append(belief.mean[:d] + away, 0.5 * even), np.append(away, 0.3 * even)]
        return np.array(queries)
