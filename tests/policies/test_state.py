"""States: all that was learnt, as data, or a clear error."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policies.making import Make, catalogue_of, played, shown
from variegate import LMDH, Catalogue, Policy, State, make_policy
from variegate.errors import StateError


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


SIZES = pytest.mark.parametrize("m", [0, 4])


def refusal(policy: Policy, state: State) -> str:
    """Return the error of `restore` for a state, after making sure that nothing changed."""
    before = policy.state()
    with pytest.raises(StateError) as caught:
        policy.restore(state)
    assert policy.state() == before
    return str(caught.value)


def reads_as_a_state(data: bytes) -> bool:
    try:
        State.from_bytes(data)
    except StateError:
        return False
    return True


def test_fresh_policies_have_one_state(make: Make, catalogue: Catalogue) -> None:
    assert make(catalogue).state() == make(catalogue).state()
    assert hash(make(catalogue).state()) == hash(make(catalogue).state())


def test_a_state_names_its_policy(make: Make, catalogue: Catalogue, name: str) -> None:
    # The ablation is LMDH with another setting, so their states can be exchanged.
    assert make(catalogue).state().policy == {"lmdh-greedy": "lmdh"}.get(name, name.split()[0])


@SIZES
def test_restored_policy_goes_on_as_the_first_would(make: Make, m: int) -> None:
    catalogue = catalogue_of(m)
    first, second = played(make(catalogue)), make(catalogue)

    second.restore(first.state())

    assert shown(second.recommend(5, rng=9)) == shown(first.recommend(5, rng=9))
    assert played(second, seed=3).state() == played(first, seed=3).state()


@SIZES
@pytest.mark.parametrize("rounds", [0, 5])
def test_a_state_survives_as_bytes(make: Make, m: int, rounds: int) -> None:
    catalogue = catalogue_of(m)
    first, second = played(make(catalogue), rounds), make(catalogue)

    second.restore(State.from_bytes(first.state().to_bytes()))

    assert second.state() == first.state()
    assert played(second, seed=3).state() == played(first, seed=3).state()


def test_a_state_is_a_copy(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))
    kept = policy.state().to_bytes()
    state = policy.state()

    played(policy, seed=5)

    assert state.to_bytes() == kept


def test_the_state_of_another_policy(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))

    words = refusal(policy, replace(policy.state(), policy="oracle"))

    assert words == f"`state` belongs to 'oracle', not to {policy.name!r}"


def test_the_state_of_another_version(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))

    words = refusal(policy, replace(policy.state(), version=2))

    assert words.startswith("`state` has version 2, and this variegate reads 1: learn it again")


def test_the_bytes_of_another_version(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))
    later = replace(policy.state(), version=513).to_bytes()

    assert "`state` has version 513" in refusal(policy, State.from_bytes(later))


def test_a_state_with_an_array_too_many(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))
    more = replace(policy.state(), arrays={**policy.state().arrays, "more": np.zeros(3)})

    assert "'more': (3,)" in refusal(policy, more)


LEARNERS = ["lmdp", "lmdt", "lmdh", "c2ucb", "dc2b", "lsb", "linucb", "comblinucb", "comblints"]


@pytest.mark.parametrize("name", LEARNERS)
def test_the_state_of_another_shape(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))
    wider = played(make(catalogue_of(1, d=5))).state()

    assert "`state` must hold arrays" in refusal(policy, wider)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_state_with_an_array_missing(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))
    names = list(policy.state().arrays)

    less = replace(policy.state(), arrays={n: policy.state().arrays[n] for n in names[:-1]})

    assert "`state` must hold arrays" in refusal(policy, less)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_state_with_numbers_that_are_none(make: Make, catalogue: Catalogue, wrong: float) -> None:
    policy = played(make(catalogue))
    state = policy.state()
    state.arrays["response"][..., 0] = wrong

    result = refusal(policy, state)
    assert "`state` must hold finite numbers of at most 1e+220 in size" in result
    assert f"got {wrong:g} in 'response'" in result


SUMS = ["lmdp", "lmdt", "lmdh", "c2ucb", "lsb", "linucb", "comblinucb", "comblints"]


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("wrong", [1e221, 1e308, -1e308])
def test_a_state_of_enormous_numbers_is_refused(
    make: Make, catalogue: Catalogue, wrong: float
) -> None:
    # Their products are no numbers, for which no item is the best.
    policy = played(make(catalogue))
    learnt = policy.state()
    huge = {
        array: np.full(table.shape, wrong) if array != "items" else table
        for array, table in learnt.arrays.items()
    }

    assert f"at most 1e+220 in size, got {wrong:g}" in refusal(policy, replace(learnt, arrays=huge))
    with pytest.raises(StateError, match="at most 1e"):
        State.from_bytes(replace(learnt, arrays=huge).to_bytes())


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize(
    ("array", "wrong", "words"),
    [
        ("gram", -1.0, "`gram` must have squares of at least 0 on its diagonal, got -1"),
        ("response", 1e200, "`response` must be at most "),
        ("gram", np.r_[1.0, 1e9], "`gram` must be at most 1e+220 in size and largest on its diag"),
    ],
)
def test_a_state_that_nothing_taught_is_refused(
    make: Make, catalogue: Catalogue, array: str, wrong: float, words: str
) -> None:
    policy = played(make(catalogue))
    learnt = policy.state()
    table = learnt.arrays[array].copy()
    table[..., : np.size(wrong)] = wrong

    assert words in refusal(policy, replace(learnt, arrays={**learnt.arrays, array: table}))


@pytest.mark.parametrize("name", ["lmdh", "lmdp", "lmdt"])
@pytest.mark.parametrize("seen", [-1.0, -50.0, 1e21])
def test_a_number_of_positions_seen_is_refused_that_is_none(
    make: Make, catalogue: Catalogue, seen: float
) -> None:
    policy = played(make(catalogue))
    learnt = policy.state()
    arrays = {**learnt.arrays, "seen": np.array([seen])}

    assert "`seen` must be from 0 to 1e+20" in refusal(policy, replace(learnt, arrays=arrays))


def test_check_state_is_what_restore_asks_and_changes_nothing(
    make: Make, catalogue: Catalogue
) -> None:
    policy, learnt = make(catalogue), played(make(catalogue)).state()
    before = policy.state()

    policy.check_state(learnt)

    assert policy.state() == before
    with pytest.raises(StateError, match="belongs to 'somebody'"):
        policy.check_state(replace(learnt, policy="somebody"))


def test_options_too_large_for_any_score_are_an_error_and_no_list() -> None:
    policy = LMDH(catalogue_of(1), exploration=1e308, ridge=1e-50)

    with pytest.raises(StateError, match="the scores of a list must be finite numbers"):
        policy.recommend(3)


def test_a_state_of_more_distances_does_not_fit() -> None:
    four = played(LMDH(catalogue_of(4))).state()

    assert "12 items, 4 features, distances: cosine" in refusal(LMDH(catalogue_of(1)), four)


@pytest.mark.parametrize("row", [12.0, -1.0, 0.5])
def test_linucb_refuses_items_that_the_catalogue_has_not(catalogue: Catalogue, row: float) -> None:
    policy = played(make_policy("linucb", catalogue))
    state = policy.state()
    state.arrays["items"][0] = row

    assert "`state` has items that are not in Catalogue(12 items" in refusal(policy, state)


def test_bytes_cut_off_anywhere_are_no_state(make: Make, catalogue: Catalogue) -> None:
    whole = played(make(catalogue)).state().to_bytes()

    assert reads_as_a_state(whole)
    assert not any(reads_as_a_state(whole[:length]) for length in range(len(whole)))


def test_bytes_cut_off_say_so() -> None:
    whole = played(LMDH(catalogue_of(1))).state().to_bytes()

    with pytest.raises(StateError, match=r"a state cut off after 100 bytes"):
        State.from_bytes(whole[:100])


def test_bytes_of_something_else_are_no_state() -> None:
    with pytest.raises(StateError, match=r"not a state of variegate: it starts with b'PK"):
        State.from_bytes(b"PK\x03\x04 and so on")


@given(st.binary(max_size=60))
def test_garbage_behind_the_right_start_is_a_state_or_an_error(garbage: bytes) -> None:
    assert reads_as_a_state(b"vgst\x01\x00" + garbage) in (True, False)


def test_a_size_beyond_all_memory_is_no_state() -> None:
    # It was an OverflowError: sixteen axes of four thousand million each.
    huge = b"vgst\x01\x00" + b"\x04lmdh" + b"\x01" + b"\x04gram" + b"\x10" + b"\xff" * 64

    assert not reads_as_a_state(huge)


def test_bytes_after_the_end_are_no_part_of_a_state() -> None:
    whole = played(LMDH(catalogue_of(1))).state().to_bytes()

    with pytest.raises(StateError, match=rf"a state of {len(whole)} bytes, got {len(whole) + 1}"):
        State.from_bytes(whole + b"\x00")
