"""Compiled upper bounds equal their NumPy reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from variegate.arrays import FloatArray
from variegate.kernels import upper_bounds, upper_bounds_reference

Arguments = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, float]


def arguments(n: int, m: int, seed: int, exploration: float) -> Arguments:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(m, m))
    return (
        rng.normal(size=n),
        rng.uniform(0.0, 2.0, n),
        rng.normal(size=(n, m)) * 0.1,
        rng.normal(size=m),
        root @ root.T,
        rng.uniform(0.0, 3.0, (n, m)),
        exploration,
    )


def assert_equal(some: Arguments) -> None:
    # The loops sum in another order than NumPy does, so the last digits may differ.
    np.testing.assert_allclose(
        upper_bounds(*some), upper_bounds_reference(*some), rtol=1e-9, atol=1e-12
    )


@given(
    n=st.integers(1, 40),
    m=st.integers(0, 5),
    seed=st.integers(0, 10**6),
    exploration=st.sampled_from([0.0, 1.0, 12.5]),
)
def test_compiled_and_reference_agree(n: int, m: int, seed: int, exploration: float) -> None:
    assert_equal(arguments(n, m, seed, exploration))


@pytest.mark.parametrize(("n", "m"), [(0, 1), (1, 0), (1, 1), (3, 0)])
def test_they_agree_at_the_smallest_sizes(n: int, m: int) -> None:
    assert_equal(arguments(n, m, 0, 1.0))


@pytest.mark.parametrize("bounds", [upper_bounds, upper_bounds_reference])
def test_a_variance_that_rounding_took_below_zero_counts_as_zero(bounds: object) -> None:
    below = (
        np.array([0.5]),
        np.array([-1e-18]),
        np.zeros((1, 1)),
        np.array([2.0]),
        np.zeros((1, 1)),
        np.array([[0.25]]),
        3.0,
    )

    assert bounds(*below).tolist() == [1.0]  # type: ignore[operator]
