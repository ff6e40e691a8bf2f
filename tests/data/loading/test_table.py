"""Likes and items from any table."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.data.loading.making import pairs
from variegate.data.build import content_catalogue
from variegate.data.tables import load_items, load_table

#: The likes of tests/data/likes, with stars above 3 and pairs once.
LIKED = [("ann", "b1"), ("bob", "b2"), ("bob", "b9")]
BOOKS: dict[str, Any] = {
    "title": "title",
    "texts": ["plot"],
    "numbers": ["pages"],
    "categories": ["country"],
    "lists": ["tags"],
}


@pytest.fixture(params=["csv", "tsv", "parquet", "txt"])
def likes(request: pytest.FixtureRequest, tiny: Path, tmp_path: Path) -> tuple[Path, str | None]:
    """Return the same likes in each format, and the separator that must be given."""
    if request.param == "parquet":
        frame = pl.read_csv(tiny / "likes.csv").drop_nulls()
        frame.write_parquet(tmp_path / "likes.parquet")
        return tmp_path / "likes.parquet", None
    if request.param == "txt":
        text = (tiny / "likes.csv").read_text().replace(",", "::")
        (tmp_path / "likes.txt").write_text(text)
        return tmp_path / "likes.txt", "::"
    return tiny / f"likes.{request.param}", None


def test_ratings_above_are_likes_in_every_format(likes: tuple[Path, str | None]) -> None:
    path, separator = likes
    data = load_table(path, rating="stars", threshold=3, separator=separator)
    assert pairs(data) == LIKED
    assert data.name == "likes"


def test_without_a_rating_every_pair_is_a_like_once(likes: tuple[Path, str | None]) -> None:
    path, separator = likes
    data = load_table(path, separator=separator)
    assert pairs(data) == [("ann", "b1"), ("bob", "b2"), ("ann", "b2"), ("bob", "b9")]


def test_without_an_item_table_ids_are_titles(tiny: Path) -> None:
    data = load_table(tiny / "likes.csv")
    assert data.titles == data.item_ids == ("b1", "b2", "b9")
    assert data.category_names == ()


def test_item_table_says_what_items_are(tiny: Path) -> None:
    data = load_table(tiny / "likes.csv", items=tiny / "books.csv", **BOOKS)
    assert data.titles == ("First Book", 'The "Second", Book', "b9")
    assert data.categories == (("sea",), ("dogs", "travel"), ())
    assert data.item_table.texts["plot"] == ("", "A man\nand a dog", "")
    assert data.item_table.categories["country"] == ("jp", "fr", "")
    np.testing.assert_array_equal(data.item_table.numbers["pages"], [np.nan, 200.0, np.nan])


def test_one_label_an_item_will_do_for_categories(tiny: Path) -> None:
    books = load_items(tiny / "books.csv", categories=["country"])
    data = load_table(tiny / "likes.csv", items=books)
    assert data.categories == (("jp",), ("fr",), ())


def test_columns_of_ids_may_have_other_names(tmp_path: Path) -> None:
    (tmp_path / "seen.csv").write_text("who,isbn\nann,1\n")
    (tmp_path / "books.csv").write_text("code,name\n1,One\n")
    data = load_table(
        tmp_path / "seen.csv",
        user="who",
        item="isbn",
        items=tmp_path / "books.csv",
        items_id="code",
        title="name",
    )
    assert data.titles == ("One",)


def test_items_alone_are_read_whole(tiny: Path) -> None:
    books = load_items(tiny / "books.csv", **BOOKS)
    assert books.ids == ("b2", "b1", "b3")
    assert books.titles == ('The "Second", Book', "First Book", "b3")
    assert books.lists["tags"] == (("dogs", "travel"), ("sea",), ())
    np.testing.assert_array_equal(books.numbers["pages"], [200.0, np.nan, 12.5])


def test_items_of_parquet_keep_numbers_and_lists(tmp_path: Path) -> None:
    frame = pl.DataFrame({"item": [3, 1], "year": [1990, None], "tags": [["a", "b", "a"], None]})
    frame.write_parquet(tmp_path / "items.parquet")
    items = load_items(tmp_path / "items.parquet", numbers=["year"], lists=["tags"])
    assert items.ids == ("3", "1")
    assert items.lists["tags"] == (("a", "b"), ())
    np.testing.assert_array_equal(items.numbers["year"], [1990.0, np.nan])


def test_missing_values_and_the_list_separator_can_be_stated(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("item,n,c,l\na,?,?,x;?\nb,1,d,x;y\n")
    items = load_items(
        path, numbers=["n"], categories=["c"], lists=["l"], list_separator=";", missing=["?"]
    )
    assert items.categories["c"] == ("", "d")
    assert items.lists["l"] == (("x",), ("x", "y"))
    np.testing.assert_array_equal(items.numbers["n"], [np.nan, 1.0])


@pytest.mark.parametrize(
    "text",
    [
        "user,item\nann,b1\nbob,b2",
        "user,item\r\nann,b1\r\nbob,b2\r\n",
        "user,item\rann,b1\rbob,b2\r",
        "\ufeffuser,item\nann,b1\nbob,b2\n",
        "\n\nuser, item\n\nann,b1\n\n\nbob,b2\n\n",
        '"user","item"\n"ann","b1"\n\n"bob","b2"\n',
        "extra,item,user\n,b1,ann\n,b2,bob\n",
    ],
    ids=["no-last-end", "crlf", "cr", "mark", "blank-lines", "quotes", "other-order"],
)
def test_the_same_likes_in_many_hands(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode())
    assert pairs(load_table(tmp_path / "t.csv")) == [("ann", "b1"), ("bob", "b2")]


@pytest.mark.parametrize("start", ["x^", "x\x01", "#", " "])
def test_first_id_is_taken_as_it_is(start: str, tmp_path: Path) -> None:
    # "x^" is also how some compressed files begin, which polars would unpack.
    (tmp_path / "t.csv").write_text(f"user,item\n{start}1,b1\n")
    assert load_table(tmp_path / "t.csv").user_ids == (f"{start}1",)


def test_control_character_in_a_field_is_no_separator(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("user::item\na\x1fb::c\n")
    assert load_table(tmp_path / "t.txt", separator="::").user_ids == ("a\x1fb",)


def test_other_encodings_can_be_stated(tiny: Path) -> None:
    data = load_table(tiny / "broken" / "latin_1.csv", encoding="latin-1")
    assert data.user_ids == ("ann", "zoé")
    assert len(load_table(tiny / "broken" / "utf_16.csv", encoding="utf-16")) == 1


def test_many_quoted_lines_keep_their_order(tmp_path: Path) -> None:
    # More than are turned into columns at once.
    count = 100_001
    lines = "".join(f'"u{row % 7}","i{row}"\n' for row in range(count))
    (tmp_path / "t.csv").write_text("user,item\n" + lines)
    data = load_table(tmp_path / "t.csv")
    assert data.item_ids == tuple(f"i{row}" for row in range(count))
    assert data.users.tolist() == [row % 7 for row in range(count)]


def test_kept_columns_are_numbers_or_text_and_no_features(tmp_path: Path) -> None:
    table = "item,price,stock,rate,image,code\na,1,5,0.5,/a.png,7\nb,2,,1,,x\n"
    (tmp_path / "items.csv").write_text(table, encoding="utf-8")
    kept = ["stock", "rate", "image", "code"]

    items = load_items(tmp_path / "items.csv", numbers=["price"], kept=kept)
    catalogue = content_catalogue(items)

    assert items.kept == {
        "stock": (5, None),
        "rate": (0.5, 1.0),
        "image": ("/a.png", None),
        "code": ("7", "x"),
    }
    assert catalogue.feature_names == ("price",)
    assert catalogue.attributes["stock"] == (5, None)
    assert items.align(["b", "z"]).kept["code"] == ("x", None)
    assert items.take([1]).kept["image"] == (None,)
