"""Under a dial, LMDH's compiled list is the reference's too."""

import numpy as np
import pytest

from tests.kernels.making import assert_same, catalogue_of, played
from variegate import LMDH, Dial
from variegate.model.distances import difference, jaccard

DIALS = (
    Dial(scale=0.0),
    Dial(scale=4.0),
    Dial(floor=0.5),
    Dial(ceiling=-0.5),
    Dial(scale=1e6),
    Dial(floor=1e6),
    Dial(floor={"tags": 0.3}, ceiling={"price": -0.2}),
)


@pytest.mark.parametrize("items", [300, 2000])
@pytest.mark.parametrize("dial", DIALS, ids=str)
@pytest.mark.parametrize("kind", ["random", "clustered", "equal", "all zero"])
def test_the_list_is_the_references(kind: str, dial: Dial, items: int) -> None:
    rng = np.random.default_rng(1)
    tags = jaccard([rng.choice(list("abcdef"), 2).tolist() for _ in range(items)], name="tags")
    price = difference(rng.integers(0, 50, items), name="price")
    catalogue = catalogue_of(kind, items, distances=["cosine", tags, price])
    policy = played(LMDH(catalogue, ridge=1.0), 5, 6)
    free = rng.random(items) < 0.7

    found = policy.recommend(8, candidates=free, dial=dial)

    assert_same(found, policy._under_dial(dial)._search_slate(free, 8, None))
