"""Further items in the same space, and encoders as data."""

import json
from dataclasses import replace

import numpy as np
import pytest

from variegate.errors import DataError, InputError
from variegate.model.encoder import content_features, encoder_from_json, encoder_to_json
from variegate.model.item_table import ItemTable


def new_item(**columns: dict[str, object]) -> ItemTable:
    return ItemTable(("new",), ("New",), **columns)  # type: ignore[arg-type]


def test_the_same_items_have_the_same_features_again(shop: ItemTable) -> None:
    content = content_features(shop)
    np.testing.assert_array_equal(
        content.encoder.features(shop.take([4, 0])), content.features[[4, 0]]
    )


def test_the_same_texts_have_the_same_features_again(stories: ItemTable) -> None:
    content = content_features(stories)
    np.testing.assert_allclose(
        content.encoder.features(stories.take([7, 40])), content.features[[7, 40]], atol=1e-12
    )


def test_a_new_label_is_ignored_where_there_is_no_other(shop: ItemTable) -> None:
    encoder = content_features(shop, columns=["tags"]).encoder
    known = encoder.features(new_item(lists={"tags": (("garden",),)}))
    with_new = encoder.features(new_item(lists={"tags": (("garden", "antique"),)}))
    np.testing.assert_array_equal(known, with_new)


def test_a_new_label_counts_as_other_where_there_is_one(shop: ItemTable) -> None:
    content = content_features(shop, columns=["tags"], max_labels=3)
    features = content.encoder.features(new_item(lists={"tags": (("antique",),)}))
    assert content.names[int(features.argmax())] == "tags: other"


def test_numbers_outside_the_table_stand_at_its_ends(shop: ItemTable) -> None:
    encoder = content_features(shop.take(range(5)), columns=["price"]).encoder
    table = ItemTable(("a", "b"), ("a", "b"), numbers={"price": np.array([-5.0, 900.0])})
    assert encoder.features(table).ravel().tolist() == [-1.0, 1.0]


def test_a_column_that_new_items_lack_counts_as_unknown(shop: ItemTable) -> None:
    content = content_features(shop)
    features = content.encoder.features(new_item(lists={"tags": (("garden",),)}))
    np.testing.assert_array_equal(features[0, 3:], content.features[2, 3:])
    assert (features[0, :3] == 0).all()


def test_a_new_item_with_nothing_that_is_known_is_named(shop: ItemTable) -> None:
    encoder = content_features(shop, columns=["tags"]).encoder
    with pytest.raises(InputError, match=r"got item 'new' .* with no features"):
        encoder.features(new_item(lists={"tags": (("antique",),)}))


def test_an_encoder_comes_back_from_json_as_it_was(shop: ItemTable, stories: ItemTable) -> None:
    table = replace(shop, texts={"about": stories.texts["plot"][:6]})
    content = content_features(table)
    again = encoder_from_json(json.loads(json.dumps(encoder_to_json(content.encoder))))
    assert again.names == content.names
    assert again.features(table).tobytes() == content.encoder.features(table).tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "soup"}, "not an encoder of this variegate: format 'soup', version 1"),
        ({"version": 2}, "not an encoder of this variegate: .* version 2"),
        ({"columns": [{"kind": "smell", "column": "c"}]}, "a broken encoder: .*no kind of column"),
        ({"columns": [{"kind": "list", "column": "c"}]}, "a broken encoder: KeyError.'labels'"),
        ({"shares": ["much"]}, "a broken encoder: ValueError"),
    ],
)
def test_what_is_no_encoder_is_refused(
    shop: ItemTable, change: dict[str, object], message: str
) -> None:
    described = {**encoder_to_json(content_features(shop).encoder), **change}
    with pytest.raises(DataError, match=message):
        encoder_from_json(described)
