"""What the policies whose lists come from compiled loops share."""

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.kernels.baselines import Linear, gains_of
from variegate.kernels.layout import Layout
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser, normalising_factors
from variegate.model.ridge import Estimate
from variegate.model.slate import Slate


def compiled_slate(
    catalogue: Catalogue,
    layout: Layout,
    items: IndexArray,
    scores: FloatArray,
    normaliser: Normaliser,
    coverage: FloatArray | None = None,
) -> Slate:
    """Return what `slate_of` does, by compiled loops."""
    x = gains_of(layout, items, normalising_factors(normaliser, len(items)))
    known, covered = catalogue.ids, np.zeros((len(items), 0)) if coverage is None else coverage
    ids = tuple([known[item] for item in items.tolist()])
    return Slate(items, ids, catalogue.features[items], x, scores, covered)


def bounded(belief: Estimate, width: float) -> Linear:
    """Return scores with `width` standard deviations added to what is believed."""
    return Linear(belief.mean, belief.inverse_root, float(width))


def weighted(theta: FloatArray) -> Linear:
    """Return scores that are products with theta."""
    return Linear(np.array(theta), np.zeros((0, 0)), 0.0)
