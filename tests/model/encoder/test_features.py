"""Features from an item table: what they are called, how long they are, what they mean."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from variegate.errors import InputError, NotFoundError
from variegate.model.encoder import content_features
from variegate.model.item_table import ItemTable


def table_of(count: int, **columns: dict[str, object]) -> ItemTable:
    ids = tuple(f"i{row}" for row in range(count))
    return ItemTable(ids, ids, **columns)  # type: ignore[arg-type]


def test_names_say_column_and_label_in_a_readable_way(shop: ItemTable) -> None:
    names = content_features(shop).names
    assert names[0] == "price"
    assert set(names[1:3]) == {"maker: Wood", "maker: Iron"}
    assert set(names[3:]) == {"kitchen", "garden", "sport", "gift"}


def test_a_label_of_two_lists_is_named_with_its_list() -> None:
    table = table_of(1, lists={"stars": (("Eastwood",),), "makers": (("Eastwood", "Leone"),)})
    assert content_features(table).names == ("stars: Eastwood", "makers: Eastwood", "Leone")


def test_no_vector_is_longer_than_one_and_a_full_one_has_length_one(shop: ItemTable) -> None:
    lengths = np.linalg.norm(content_features(shop, columns=["maker", "tags"]).features, axis=1)
    np.testing.assert_allclose(lengths[:5], 1.0)
    # The bat has no maker: its tags are half of what could be known.
    np.testing.assert_allclose(lengths[5], np.sqrt(0.5))


def test_every_column_has_the_same_share_of_the_vector(shop: ItemTable) -> None:
    features = content_features(shop, columns=["maker", "tags"]).features
    np.testing.assert_allclose(np.linalg.norm(features[:5, :2], axis=1), np.sqrt(0.5))
    np.testing.assert_allclose(np.linalg.norm(features[:5, 2:], axis=1), np.sqrt(0.5))


def test_weights_move_the_shares(shop: ItemTable) -> None:
    features = content_features(shop, columns=["maker", "tags"], weights={"tags": 2.0}).features
    np.testing.assert_allclose(np.linalg.norm(features[0, :2]), 1 / np.sqrt(5))
    np.testing.assert_allclose(np.linalg.norm(features[0, 2:]), 2 / np.sqrt(5))


def test_a_number_is_its_place_among_the_others_and_the_middle_if_unknown() -> None:
    prices = np.array([5.0, 10.0, 20.0, 1e9, 1.0, np.nan])
    features = content_features(
        table_of(6, numbers={"price": prices}, lists={"tags": (("t",),) * 6})
    )
    places = features.features[:, 0] * np.sqrt(2.0)
    np.testing.assert_allclose(places, [-0.5, 0.0, 0.5, 1.0, -1.0, 0.0], atol=1e-12)


def test_equal_numbers_say_nothing() -> None:
    table = table_of(3, numbers={"price": np.full(3, 7.0)})
    assert (content_features(table).features == 0).all()


def test_rare_labels_stand_together_as_other() -> None:
    makers = ("A", "A", "A", "B", "B", "C", "D")
    content = content_features(table_of(7, categories={"maker": makers}), max_labels=2)
    assert content.names == ("maker: A", "maker: B", "maker: other")
    assert content.features[5].tolist() == content.features[6].tolist() == [0.0, 0.0, 1.0]


def test_a_rare_label_beside_a_frequent_one_says_nothing() -> None:
    tags = (("x",), ("x",), ("x", "rare"))
    content = content_features(table_of(3, lists={"tags": tags}), max_labels=1)
    assert content.names == ("x",)
    assert (content.features == 1.0).all()


def test_a_rarer_label_weighs_more_than_a_frequent_one() -> None:
    tags = (("drama", "western"), ("drama",), ("drama",), ("drama", "western"), ("drama",))
    content = content_features(table_of(5, lists={"tags": tags}))
    drama, western = content.features[0]
    assert content.names == ("drama", "western")
    assert western > drama > 0


def test_things_of_one_kind_are_nearest(shop: ItemTable) -> None:
    features = content_features(shop).features
    alike = features @ features.T
    np.fill_diagonal(alike, -1.0)
    assert [shop.ids[row] for row in alike[:4].argmax(axis=1)] == ["pot", "pan", "spade", "rake"]


def test_two_runs_are_equal_to_the_bit(stories: ItemTable) -> None:
    first, second = content_features(stories), content_features(stories)
    assert first.features.tobytes() == second.features.tobytes()
    assert first.names == second.names


def test_columns_of_which_nothing_is_known_are_left_out(shop: ItemTable) -> None:
    empty = replace(shop, texts={"about": ("",) * 6}, numbers={"price": np.full(6, np.nan)})
    assert content_features(empty).names == content_features(shop, columns=["maker", "tags"]).names


def test_an_item_of_which_nothing_is_known_is_named() -> None:
    table = table_of(3, numbers={"price": np.array([1.0, np.nan, 2.0])}, lists={"tags": ((),) * 3})
    with pytest.raises(InputError, match=r"got item 'i1' \(row 1\) with no features \(1 in all"):
        content_features(table)


def test_a_table_without_columns_is_refused() -> None:
    with pytest.raises(InputError, match="`table` must have a column with known values, got"):
        content_features(table_of(2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["tag"]}, r"`columns` must be one of .* did you mean 'tags'"),
        ({"weights": {"tag": 1.0}}, r"`weights` must be one of .* did you mean 'tags'"),
    ],
)
def test_an_unknown_column_is_refused_with_the_nearest(
    shop: ItemTable, options: dict[str, object], message: str
) -> None:
    with pytest.raises(NotFoundError, match=message):
        content_features(shop, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "tags"}, "`columns` must be a list of names, got the text 'tags'"),
        ({"weights": {"tags": -1.0}}, r"`weights\['tags'\]` must be a number of at least 0"),
        ({"max_labels": 0}, "`max_labels` must be from 1"),
        ({"text_dimensions": 2.5}, "`text_dimensions` must be a whole number, got 2.5"),
    ],
)
def test_a_wrong_option_is_refused(
    shop: ItemTable, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        content_features(shop, **options)  # type: ignore[arg-type]


def test_an_infinite_number_is_refused() -> None:
    table = table_of(2, numbers={"price": np.array([1.0, np.inf])})
    with pytest.raises(InputError, match=r"column `price` must hold finite .* got inf in row 1"):
        content_features(table)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.just(float("nan")), st.floats(-1e12, 1e12)),
            st.text(max_size=3),
            st.lists(st.text(max_size=2), max_size=4),
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 5),
)
def test_any_table_gives_short_finite_vectors(
    rows: list[tuple[float, str, list[str]]], max_labels: int
) -> None:
    numbers, labels, tags = zip(*rows, strict=True)
    table = table_of(
        len(rows),
        numbers={"n": np.array(numbers), "row": np.arange(len(rows), dtype=np.float64)},
        categories={"c": labels},
        lists={"t": tuple(map(tuple, tags))},
    )
    content = content_features(table, max_labels=max_labels)
    assert np.isfinite(content.features).all()
    assert np.linalg.norm(content.features, axis=1).max() <= 1 + 1e-12
    assert len(content.names) == content.features.shape[1]
