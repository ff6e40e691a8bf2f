"""The list from a request's own vectors, against LMDH over the same items as a catalogue."""

import numpy as np
import pytest

from variegate import LMDH, Catalogue
from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.kernels.vectors import vector_list
from variegate.model.gains import NORMALISERS, Normaliser, normalising_factors
from variegate.model.ridge import Estimate

K = 7


def reference(
    z: FloatArray, vectors: FloatArray, weights: FloatArray, G: FloatArray, normaliser: Normaliser
) -> tuple[list[int], FloatArray, FloatArray]:
    """Return the list that NumPy finds in double precision."""
    from variegate.model.distances import cosine

    items = Catalogue(range(len(z)), z, cosine(vectors))
    policy = LMDH(items, exploration=0.4, normaliser=normaliser)
    policy._estimate = lambda: Estimate(weights, G)  # type: ignore[method-assign]
    slate = policy._search_slate(np.ones(len(z), dtype=bool), K, None)
    return slate.items.tolist(), slate.scores, slate.diversity


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("normaliser", NORMALISERS)
@pytest.mark.parametrize("width", [24, 90])  # short vectors and long ones
@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_list_of_the_reference(
    seed: int, width: int, normaliser: Normaliser, dtype: type
) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(K, 400)), int(rng.integers(1, 4))
    z, vectors = rng.normal(size=(n, d)), rng.normal(size=(n, width)) + rng.normal(size=width)
    vectors[n // 2] = 0.0
    weights = rng.normal(size=d + 1)  # beta can be negative
    G = np.tril(rng.normal(scale=0.3, size=(d + 1, d + 1)))

    found = vector_list(
        z,
        vectors.astype(dtype),
        np.ones(n, dtype=bool),
        weights,
        G,
        0.4,
        normalising_factors(normaliser, K),
    )

    assert found is not None
    rows, scores, x = reference(z, vectors.astype(dtype).astype(float), weights, G, normaliser)
    assert found[0].tolist() == rows
    # Single precision: a cosine of so many products has six digits.
    tolerance = 1e-9 if dtype is np.float64 else 2e-6 * K
    np.testing.assert_allclose(found[1], scores, atol=tolerance)
    np.testing.assert_allclose(found[2], x, atol=tolerance)


def test_only_free_items_are_chosen() -> None:
    rng = np.random.default_rng(0)
    free = np.zeros(40, dtype=bool)
    free[[3, 8, 21]] = True

    found = vector_list(
        rng.normal(size=(40, 1)),
        rng.normal(size=(40, 5)),
        free,
        np.array([1.0, 0.5]),
        np.zeros((2, 2)),
        0.0,
        np.ones(3),
    )

    assert found is not None
    assert sorted(found[0].tolist()) == [3, 8, 21]


def test_of_equal_scores_the_first_row_is_taken() -> None:
    one = np.ones((5, 3))

    found = vector_list(
        one[:, :1],
        one,
        np.ones(5, dtype=bool),
        np.array([1.0, 0.5]),
        np.zeros((2, 2)),
        0.0,
        np.ones(3),
    )

    assert found is not None
    assert found[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e30, 1e-30])
def test_vectors_that_single_precision_cannot_hold_are_left_to_the_reference(number: float) -> None:
    vectors = np.full((4, 3), number, dtype=np.float32)

    found = vector_list(
        np.zeros((4, 1)),
        vectors,
        np.ones(4, dtype=bool),
        np.array([1.0, 0.5]),
        np.zeros((2, 2)),
        0.0,
        np.ones(2),
    )

    assert found is None


def test_arrays_of_other_sizes_are_an_error() -> None:
    with pytest.raises(InputError, match=r"must have 4 vectors, 4 `free` and 2 weights, got 2, "):
        vector_list(
            np.zeros((4, 1)),
            np.zeros((3, 2)),
            np.ones(4, dtype=bool),
            np.zeros(2),
            np.zeros((2, 2)),
            0.0,
            np.ones(2),
        )
