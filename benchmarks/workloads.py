"""Seeded inputs: catalogues, and a user's model that has learnt the same on both sides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.results import Shape
from variegate import LMDH, Catalogue
from variegate.arrays import FloatArray
from variegate.kernels.algorithm2 import BlockLMDH, Selection
from variegate.model.distances import Distance, cosine
from variegate.model.gains import Normaliser, normalising_factor, normalising_factors

#: Observations that every measured model has learnt from, lists of ten.
OBSERVATIONS: Final = 200
RIDGE: Final = 50.0
EXPLORATION: Final = 1.0
#: Columns of each further distance's data.
WIDTH: Final = 10


@dataclass(frozen=True, eq=False)
class Sides:
    """The package's policy and the paper's lines in NumPy, taught the same."""

    catalogue: Catalogue
    policy: LMDH
    paper: BlockLMDH

    def paper_list(self, k: int) -> Selection:
        """Return the list by the paper's lines, with the policy's reading of the normaliser."""
        from_item = distances_from(self.catalogue.distances)
        return listed_by(self.paper, self.catalogue.features, from_item, k, self._reading)

    def expert_list(self, k: int) -> Callable[[], list[int]]:
        """Return a call of the same lines as a NumPy expert writes them, for cosine distances.

        In float32, features and gains joined in one array, one product and one einsum a step.
        """
        items, estimate, d = self.catalogue, self.policy._estimate(), self.catalogue.d
        P, eta = estimate.covariance.astype(np.float32), estimate.mean.astype(np.float32)
        features = items.features.astype(np.float32)
        units = [h.rows.astype(np.float32) for h in items.distances]
        alpha = np.float32(self.policy.width(k))
        factors = normalising_factors(self._reading, k).astype(np.float32)

        def listed() -> list[int]:
            zeta = np.zeros((len(items), d + items.m), dtype=np.float32)
            zeta[:, :d] = features
            sums, chosen = np.zeros((len(items), items.m), dtype=np.float32), list[int]()
            for factor in factors:
                np.multiply(sums, factor, out=zeta[:, d:])
                bounds = zeta @ eta + alpha * np.sqrt(np.einsum("ni,ni->n", zeta @ P, zeta))
                bounds[chosen] = -np.inf
                best = int(bounds.argmax())
                chosen.append(best)
                for column, unit in enumerate(units):
                    sums[:, column] += 1.0 - unit @ unit[best]
            return chosen

        return listed

    @property
    def _reading(self) -> Normaliser:
        return self.policy.normaliser


def distances_from(distances: Sequence[Distance]) -> Callable[[int], FloatArray]:
    """Return what gives the distances from an item to all, (m, L)."""
    return lambda row: np.array([h.from_item(row) for h in distances])


def listed_by(
    paper: BlockLMDH,
    features: Any,
    from_item: Callable[[int], FloatArray],
    k: int,
    reading: Normaliser,
) -> Selection:
    """Return the paper's list of `k` under a reading of the normaliser."""

    def factor(position: int) -> float:
        return normalising_factor(reading, position, k)

    return paper.recommend(features, from_item, k, factor)


def catalogue(shape: Shape, *, clusters: int = 0) -> Catalogue:
    """Return items with features in [-1, 1], or around `clusters` points, and cosine distances."""
    rng = np.random.default_rng(0)
    distances = ["cosine"] if shape.m else []
    more = [
        cosine(rng.uniform(-1.0, 1.0, (shape.items, WIDTH)), name=f"cosine {number}")
        for number in range(2, shape.m + 1)
    ]
    features = _clustered(rng, shape, clusters) if clusters else _uniform(rng, shape)
    return Catalogue(range(shape.items), features, [*distances, *more])


def taught(
    items: Catalogue, *, normaliser: Normaliser = "growing", observations: int = OBSERVATIONS
) -> Sides:
    """Return both sides after a seeded user looked through some lists; what was shown is gone."""
    rng = np.random.default_rng(1)
    policy = LMDH(items, ridge=RIDGE, exploration=EXPLORATION, normaliser=normaliser)
    paper = BlockLMDH(items.d, items.m, RIDGE, EXPLORATION)
    request = rng.standard_normal(items.d) / np.sqrt(items.d)
    shown: list[int] = []
    for _ in range(observations // 10):
        slate = policy.recommend(10, exclude=shown)
        liking = slate.relevance @ request + 0.2 * slate.diversity.sum(axis=1)
        clicks = (rng.random(10) < 1.0 / (1.0 + np.exp(-liking))).astype(np.float64)
        policy.update(slate, clicks)
        paper.learn(slate.relevance, slate.diversity, clicks)
        shown.extend(slate.items.tolist())
    return Sides(items, policy, paper)


def one_pass(items: Catalogue) -> Callable[[], object]:
    """Return one matrix-vector product over the catalogue in float32: the machine's limit."""
    features: NDArray[np.float32] = items.features.astype(np.float32)
    vector = np.ones(items.d, dtype=np.float32)
    out = np.empty(len(items), dtype=np.float32)
    return lambda: np.matmul(features, vector, out=out)


def _uniform(rng: np.random.Generator, shape: Shape) -> FloatArray:
    return rng.uniform(-1.0, 1.0, (shape.items, shape.d))


def _clustered(rng: np.random.Generator, shape: Shape, clusters: int) -> FloatArray:
    centres = rng.standard_normal((clusters, shape.d))
    points = centres[rng.integers(clusters, size=shape.items)]
    points += 0.3 * rng.standard_normal(points.shape)
    scaled: FloatArray = points / np.abs(points).max()
    return scaled
