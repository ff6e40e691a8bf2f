"""A state as bytes: how large it is, and what is in it."""

import numpy as np
import pytest

from variegate import LMDH, Catalogue, State


def lmdh_state(d: int, m: int) -> State:
    rng = np.random.default_rng(0)
    names = ["cosine", "angular", "euclidean"][:m]
    policy = LMDH(Catalogue(range(20), rng.normal(size=(20, d)), names))
    policy.update(policy.recommend(5), [1, 0, 1, 0, 1])
    return policy.state()


def test_lmdh_with_ten_features_and_a_distance_takes_at_most_700_bytes() -> None:
    assert len(lmdh_state(10, 1).to_bytes()) == 670


@pytest.mark.parametrize(("d", "m"), [(1, 0), (4, 1), (10, 3), (30, 2)])
def test_the_size_is_as_documented(d: int, m: int) -> None:
    p = d + m

    assert len(lmdh_state(d, m).to_bytes()) == 4 * p * (p + 1) + 8 * p + 54


def test_the_size_does_not_grow_with_what_was_learnt() -> None:
    catalogue = Catalogue(range(20), np.eye(20), "cosine")
    policy = LMDH(catalogue)
    fresh = len(policy.state().to_bytes())

    for _ in range(30):
        policy.update(policy.recommend(5), [1, 0, 1, 0, 1])

    assert len(policy.state().to_bytes()) == fresh


def test_bytes_are_little_endian_with_a_start_and_a_version() -> None:
    raw = State("x", {"a": np.array([1.0])}).to_bytes()

    assert raw == b"vgst\x01\x00" + b"\x01x" + b"\x01" + b"\x01a" + b"\x01\x01\x00\x00\x00" + (
        b"\x00\x00\x00\x00\x00\x00\xf0\x3f"
    )


@pytest.mark.parametrize("shape", [(0,), (3,), (0, 4), (2, 3), (1, 2, 3)])
def test_arrays_of_any_shape_come_back(shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).normal(size=shape)

    back = State.from_bytes(State("näme", {"first": array, "second": array + 1.0}).to_bytes())

    assert back.policy == "näme"
    np.testing.assert_array_equal(back.arrays["first"], array)
    np.testing.assert_array_equal(back.arrays["second"], array + 1.0)
    assert back.arrays["first"].flags.writeable


def test_states_are_equal_by_what_they_hold() -> None:
    one = State("x", {"a": np.array([1.0, 2.0])})

    assert one == State("x", {"a": np.array([1.0, 2.0])})
    assert one != State("x", {"a": np.array([1.0, 2.5])})
    assert one != State("y", {"a": np.array([1.0, 2.0])})
    assert one != "x"
    assert len({one, State("x", {"a": np.array([1.0, 2.0])})}) == 1
