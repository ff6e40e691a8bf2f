"""The determinant as a score: picks add up to the logarithm of a determinant."""

import numpy as np
import pytest

from variegate.arrays import FloatArray
from variegate.policies.dpp import RANK_TOLERANCE, Determinant, similarity_root


def kernel(log_quality: FloatArray, root: FloatArray, jitter: float) -> FloatArray:
    quality = np.exp(log_quality)
    similarity = root @ root.T + jitter * np.eye(len(root))
    return np.asarray(quality[:, None] * similarity * quality)


@pytest.mark.parametrize("jitter", [0.0, 0.3])
def test_scores_along_a_list_add_up_to_the_log_determinant(jitter: float) -> None:
    rng = np.random.default_rng(0)
    log_quality, root = rng.normal(size=7), rng.normal(size=(7, 5))
    places = np.array([4, 0, 6, 2])

    total = Determinant(log_quality, root, jitter).along(places).sum()

    _sign, expected = np.linalg.slogdet(kernel(log_quality, root, jitter)[np.ix_(places, places)])
    assert total == pytest.approx(expected, rel=1e-10)


def test_beyond_the_rank_quality_decides() -> None:
    # Three items in two dimensions: after two nothing is left of the third.
    scorer = Determinant(np.array([0.0, 0.5, 0.2]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    scorer.take(0)
    scorer.take(1)

    left = np.log(RANK_TOLERANCE)
    np.testing.assert_allclose(scorer.scores(), [left, 1.0 + left, 0.4 + left])


def test_shifted_similarity_is_half_of_one_plus_the_cosine() -> None:
    units = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])

    root = similarity_root(units, shifted=True)

    np.testing.assert_allclose(root @ root.T, (1.0 + units @ units.T) / 2.0, atol=1e-15)
    np.testing.assert_array_equal(similarity_root(units, shifted=False), units)
