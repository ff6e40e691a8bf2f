"""Each compiled kernel gives what its plain NumPy reference gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from variegate.arrays import FloatArray
from variegate.kernels import TWINS

Arguments = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, float]


def arguments_of_bounds(n: int, m: int, seed: int, exploration: float) -> Arguments:
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


#: Random arguments for each kernel, by its name.
ARGUMENTS = {"upper_bounds": arguments_of_bounds}

kernels = pytest.mark.parametrize("kernel", sorted(TWINS))


def assert_twins_agree(kernel: str, arguments: Arguments) -> None:
    # The loops sum in another order than NumPy does, so the last digits may differ.
    np.testing.assert_allclose(
        TWINS[kernel](*arguments), TWINS[kernel].reference(*arguments), rtol=1e-9, atol=1e-12
    )


def test_every_kernel_has_arguments_here() -> None:
    assert set(ARGUMENTS) == set(TWINS)


@kernels
@given(
    n=st.integers(1, 40),
    m=st.integers(0, 5),
    seed=st.integers(0, 10**6),
    exploration=st.sampled_from([0.0, 1.0, 12.5]),
)
def test_compiled_and_reference_agree(
    kernel: str, n: int, m: int, seed: int, exploration: float
) -> None:
    assert_twins_agree(kernel, ARGUMENTS[kernel](n, m, seed, exploration))


@kernels
@pytest.mark.parametrize(("n", "m"), [(0, 1), (1, 0), (1, 1), (3, 0)])
def test_they_agree_at_the_smallest_sizes(kernel: str, n: int, m: int) -> None:
    assert_twins_agree(kernel, ARGUMENTS[kernel](n, m, 0, 1.0))


def test_a_variance_that_rounding_took_below_zero_counts_as_zero() -> None:
    below = (
        np.array([0.5]),
        np.array([-1e-18]),
        np.zeros((1, 1)),
        np.array([2.0]),
        np.zeros((1, 1)),
        np.array([[0.25]]),
        3.0,
    )

    assert TWINS["upper_bounds"](*below).tolist() == [1.0]
    assert TWINS["upper_bounds"].reference(*below).tolist() == [1.0]


def test_zeros_give_zeros() -> None:
    nothing = tuple(np.zeros(shape) for shape in [(2,), (2,), (2, 3), (3,), (3, 3), (2, 3)])

    assert TWINS["upper_bounds"](*nothing, 1.0).tolist() == [0.0, 0.0]
