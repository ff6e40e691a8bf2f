"""How near greedy comes to the best list in the paper's simulated setting."""

import numpy as np
import pytest

from variegate.arrays import FloatArray
from variegate.model.catalogue import Catalogue
from variegate.model.utility import Utility

CATALOGUES, USERS = 50, 20
SEARCHES = ("exhaustive", "greedy", "local")


def values(k: int) -> FloatArray:
    """F of what each search finds for each of 1,000 users, (users, searches)."""
    rng = np.random.default_rng(2021)
    found = []
    for _ in range(CATALOGUES):
        catalogue = Catalogue(range(20), rng.uniform(0.0, 0.5, (20, 10)), "cosine")
        for _ in range(USERS):
            theta, beta = rng.uniform(0.0, 0.2, 10), rng.uniform(0.0, 0.2, 1)
            taste = Utility(catalogue, theta, beta, normaliser="none")
            found.append([taste.value(taste.best(k, search=search)) for search in SEARCHES])
    return np.array(found)


# Longer lists: `make reproduce`.
@pytest.mark.parametrize(("k", "paper"), [(2, 0.9995), (3, 0.9992)])
def test_greedy_comes_as_near_to_the_best_as_the_paper_says(k: int, paper: float) -> None:
    best, greedy, local = values(k).T

    assert len(best) >= 1_000
    assert (greedy / best).mean() == pytest.approx(paper, abs=0.0015)
    assert (local >= greedy).all()
    assert (best >= local - 1e-12).all()
    assert (local / best).mean() > (greedy / best).mean()
