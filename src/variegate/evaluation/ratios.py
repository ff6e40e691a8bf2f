"""How near a list search comes to the best list, in the paper's simulated setting."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.evaluation.simulation import draw_taste
from variegate.model.gains import Normaliser
from variegate.model.search import SEARCHES
from variegate.model.utility import Utility

#: What the paper reports for Algorithm 1 over 100 users, by the length of the list.
PAPER_RATIOS: Final[Mapping[int, float]] = MappingProxyType(
    {2: 0.9995, 3: 0.9992, 4: 0.9989, 5: 0.9971}
)


def approximation_ratios(
    searches: Sequence[str] = ("greedy",),
    *,
    lengths: Sequence[int] = tuple(PAPER_RATIOS),
    users: int = 1000,
    seed: int = 0,
    normaliser: Normaliser = "none",
) -> Iterator[FloatArray]:
    """Yield, user by user, F(list found) / F(best list) for each search and length.

    Every user has 20 items of their own; the best list is found by looking at all. Each
    array has shape (searches, lengths). Under ``growing`` the list is searched for by gains
    whose sum depends on the order, so it is valued as a set, by ``fixed``.
    """
    for child in np.random.SeedSequence(seed).spawn(users):
        taste = draw_taste(np.random.default_rng(child), normaliser=normaliser)
        rows, ratios = np.arange(len(taste.catalogue)), np.empty((len(searches), len(lengths)))
        for column, k in enumerate(lengths):
            scorer = taste.scorer(rows, k)
            judge = _as_a_set(taste).scorer(rows, k)
            _places, best = SEARCHES["exhaustive"](judge, k)
            for row, search in enumerate(searches):
                places, _scores = SEARCHES[search](scorer, k)
                ratios[row, column] = judge.along(places).sum() / best.sum()
        yield ratios


def _as_a_set(taste: Utility) -> Utility:
    if taste.normaliser != "growing":
        return taste
    wants = taste.preferences
    return Utility(taste.catalogue, wants.relevance, wants.diversity, normaliser="fixed")
