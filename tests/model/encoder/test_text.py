"""Text by TF-IDF with SVD."""

import sys

import numpy as np
import pytest

from variegate.errors import MissingExtraError
from variegate.model.encoder import content_features
from variegate.model.item_table import ItemTable


def table_of(*texts: str) -> ItemTable:
    ids = tuple(f"s{row}" for row in range(len(texts)))
    return ItemTable(ids, ids, texts={"plot": texts})


def test_stories_about_the_same_are_alike(stories: ItemTable) -> None:
    features = content_features(stories, text_dimensions=2).features
    alike = features @ features.T
    assert alike[:30, :30].min() > 0.9
    assert alike[30:, 30:].min() > 0.9
    assert np.abs(alike[:30, 30:]).max() < 0.1


def test_directions_are_named_after_their_words(stories: ItemTable) -> None:
    names = content_features(stories, text_dimensions=2).names
    words = [set(name.removeprefix("plot: ").split(", ")) for name in names]
    assert all(len(three) == 3 for three in words)
    assert not words[0] & words[1]


def test_few_words_have_a_feature_each() -> None:
    content = content_features(table_of("rocket", "rocket planet", "murder"))
    assert content.names == ("plot: murder", "plot: planet", "plot: rocket")
    assert content.features[0].tolist() == [0.0, 0.0, 1.0]


def test_a_direction_points_to_its_heaviest_word(stories: ItemTable) -> None:
    content = content_features(stories, text_dimensions=2)
    column = content.encoder.columns[0]
    directions = column.directions  # type: ignore[union-attr]
    assert (directions.max(axis=1) == np.abs(directions).max(axis=1)).all()


def test_texts_of_stop_words_alone_count_as_unknown() -> None:
    table = ItemTable(
        ("a", "b"), ("a", "b"), texts={"plot": ("the and", "")}, lists={"tags": (("x",), ("y",))}
    )
    assert content_features(table).names == ("x", "y")


def test_text_without_scikit_learn_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'variegate\[content\]'"):
        content_features(table_of("rocket", "murder"))


def test_other_columns_need_no_scikit_learn(
    shop: ItemTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    assert content_features(shop).features.shape == (6, 7)
