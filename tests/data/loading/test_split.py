"""Splitting by user."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from variegate.data.dataset import Dataset
from variegate.data.splits import Split, split_users
from variegate.errors import InputError
from variegate.model.item_table import ItemTable


def made(users: int, *, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    items = tuple(f"i{row}" for row in range(9))
    return Dataset(
        "made",
        tuple(f"u{row}" for row in range(users)),
        items,
        np.repeat(np.arange(users), 3),
        rng.integers(0, 9, size=3 * users),
        ItemTable(items, items),
    )


def likes(dataset: Dataset) -> list[tuple[str, int]]:
    rows = zip(dataset.users, dataset.items, strict=True)
    return sorted((dataset.user_ids[user], int(item)) for user, item in rows)


def parts(split: Split) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return split.train.user_ids, split.test.user_ids


@pytest.mark.parametrize(
    ("users", "train", "expected"),
    [(942, 0.8, 754), (6_038, 0.8, 4_830), (10, 0.5, 5), (2, 0.9, 1), (3, 0.01, 1)],
)
def test_share_of_the_users_is_kept(users: int, train: float, expected: int) -> None:
    split = split_users(made(users), train=train, rng=1)
    assert (len(split.train.user_ids), len(split.test.user_ids)) == (expected, users - expected)


@given(users=st.integers(2, 40), train=st.floats(0.01, 0.99), seed=st.integers(0, 2**32))
def test_every_user_and_like_is_in_one_part(users: int, train: float, seed: int) -> None:
    whole = made(users)
    split = split_users(whole, train=train, rng=seed)
    assert set(split.train.user_ids).isdisjoint(split.test.user_ids)
    assert sorted(likes(split.train) + likes(split.test)) == likes(whole)


def test_both_parts_keep_the_numbers_of_items() -> None:
    whole = made(20)
    split = split_users(whole, rng=0)
    assert split.train.item_ids == split.test.item_ids == whole.item_ids
    assert split.train.item_table is split.test.item_table is whole.item_table


def test_users_keep_their_order_and_are_renumbered() -> None:
    split = split_users(made(50), rng=4)
    assert split.test.user_ids == tuple(sorted(split.test.user_ids, key=lambda user: int(user[1:])))
    assert np.array_equal(np.unique(split.test.users), np.arange(10))


def test_one_seed_gives_one_split_and_another_gives_another() -> None:
    whole = made(100)
    assert parts(split_users(whole, rng=7)) == parts(split_users(whole, rng=7))
    assert parts(split_users(whole, rng=np.random.default_rng(7))) == parts(
        split_users(whole, rng=7)
    )
    assert parts(split_users(whole, rng=7)) != parts(split_users(whole, rng=8))


def test_split_of_a_seed_stays_what_it_was() -> None:
    # Seed 0 draws 4 6 2 7 3 5 9 0 8 1, of which the last two are for testing.
    assert split_users(made(10), rng=0).test.user_ids == ("u1", "u8")


@pytest.mark.parametrize("train", [0, 1, 1.5, -0.2, float("nan"), "most", True])
def test_train_must_be_a_share(train: float) -> None:
    with pytest.raises(InputError, match="`train` must be a number between 0 and 1, got"):
        split_users(made(10), train=train, rng=0)


def test_one_user_cannot_be_split() -> None:
    with pytest.raises(InputError, match=r"`dataset` must have at least 2 users .* got 1"):
        split_users(made(1), rng=0)


def test_rng_must_be_one() -> None:
    with pytest.raises(InputError, match="`rng` must be a numpy Generator or a seed"):
        split_users(made(10), rng="seven")
