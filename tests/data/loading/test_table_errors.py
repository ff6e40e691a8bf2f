"""Tables that are broken, and questions that no table answers."""

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from variegate.data.tables import load_items, load_table
from variegate.errors import DataError, InputError, MissingExtraError, NotFoundError


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("short_line", r"short_line\.csv:3: expected 3 fields, got 2: 'bob,b2'$"),
        ("long_line", r"long_line\.csv:3: expected 3 fields, got 4: 'bob,b2,4,extra'$"),
        ("short_and_long", r"short_and_long\.csv:2: expected 3 fields, got 4"),
        ("quoted_then_short", r"quoted_then_short\.csv:4: expected 3 fields, got 2"),
        ("no_number", r"no_number\.csv:4: column `stars` must hold a finite number, got 'many'$"),
        ("nan", r"nan\.csv:2: column `stars` must hold a finite number, got 'nan'$"),
        ("infinite", r"infinite\.csv:2: column `stars` must hold a finite number, got 'inf'$"),
        ("no_rating", r"no_rating\.csv:2: column `stars` must hold a finite number, got ''$"),
        ("empty_id", r"empty_id\.csv:3: column `item` must hold an id, got ''$"),
        ("empty", r"empty\.csv: the file is empty$"),
        ("blank", r"blank\.csv: the file is empty$"),
        ("header_only", r"header_only\.csv: no lines below the header$"),
        ("latin_1", r"latin_1\.csv:3: byte 0xe9 is not UTF-8: .* encoding=\"latin-1\"$"),
        ("utf_16", r"utf_16\.csv:1: byte 0xff is not UTF-8: .* encoding=\"utf-16\"$"),
        ("open_quote", r"open_quote\.csv:3: broken line: unexpected end of data$"),
        ("text_after_quote", r"text_after_quote\.csv:2: broken line: ',' expected after '\"'$"),
        ("other_columns", r"other_columns\.csv: no column 'user' among 'who', 'itme', 'stars'$"),
        ("column_twice", r"column_twice\.csv: column 'item' is there 2 times$"),
        ("absent", r"absent\.csv: no such file$"),
    ],
)
def test_broken_file_is_named_with_the_line(name: str, match: str, tiny: Path) -> None:
    with pytest.raises(DataError, match=match):
        load_table(tiny / "broken" / f"{name}.csv", rating="stars", threshold=3)


def test_nearest_column_is_offered(tiny: Path) -> None:
    with pytest.raises(DataError, match=r"no column 'item' .*: did you mean 'itme'\?$"):
        load_table(tiny / "broken" / "other_columns.csv", user="who")


def test_id_seen_twice_in_an_item_table_is_named(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text('item,title\na,"two\nlines"\nb,B\n\na,again\n')
    with pytest.raises(DataError, match=r"items\.csv:6: .* got 'a' again, first at .*csv:2$"):
        load_items(path, title="title")


def test_number_of_an_item_that_is_none_is_named(tiny: Path) -> None:
    with pytest.raises(DataError, match=r"books\.csv:2: column `country` .* number, got 'fr'"):
        load_items(tiny / "books.csv", numbers=["country"])


def test_row_of_parquet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"user": ["a", "b"], "item": ["x", None]}).write_parquet(path)
    with pytest.raises(DataError, match=r"t\.parquet: row 2: column `item` must hold an id"):
        load_table(path)


@pytest.mark.parametrize(
    ("frame", "match"),
    [
        (pl.DataFrame({"user": [1.5], "item": ["x"]}), "column `user` must hold ids, .* Float64"),
        (pl.DataFrame({"user": [b"\xff"], "item": ["x"]}), "column `user` must hold text"),
        (pl.DataFrame({"user": ["a"]}), "no column 'item' among 'user'"),
        (
            pl.DataFrame(schema={"user": pl.String, "item": pl.String}),
            "the table has no rows",
        ),
    ],
)
def test_parquet_of_other_content_is_named(frame: pl.DataFrame, match: str, tmp_path: Path) -> None:
    frame.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=match):
        load_table(tmp_path / "t.parquet")


def test_parquet_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"user": ["a"], "item": ["x"]}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"t\.parquet: not a complete Parquet file"):
        load_table(path)


def test_folder_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(DataError, match=r"t\.csv: expected a file, got a folder"):
        load_table(tmp_path / "t.csv")


def test_unknown_ending_asks_for_a_separator(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`path` must end in \.csv, .* got .*t\.xlsx$"):
        load_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize("separator", ["", '"', "\n"])
def test_separator_must_be_able_to_separate(separator: str, tiny: Path) -> None:
    with pytest.raises(InputError, match="`separator` must be text without quotes"):
        load_table(tiny / "likes.csv", separator=separator)


@pytest.mark.parametrize("encoding", ["latin-9000", "hex", "a\0b", 7])
def test_encoding_must_be_known(encoding: str, tiny: Path) -> None:
    with pytest.raises(NotFoundError, match="`encoding` must be one"):
        load_table(tiny / "likes.csv", encoding=encoding)


def test_text_that_is_not_of_the_encoding_stated_is_named(tiny: Path) -> None:
    with pytest.raises(DataError, match=r"latin_1\.csv:3: not ascii text"):
        load_table(tiny / "broken" / "latin_1.csv", encoding="ascii")


@pytest.mark.parametrize("half", [{"rating": "stars"}, {"threshold": 3}])
def test_rating_and_above_go_together(half: dict[str, Any], tiny: Path) -> None:
    with pytest.raises(InputError, match="`rating` and `threshold` must be given together"):
        load_table(tiny / "likes.csv", **half)


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"texts": "plot"}, "`texts` must be a list of texts, got 'plot'"),
        ({"numbers": 3}, "`numbers` must be a list of texts, got 3"),
        ({"texts": ["tags"], "lists": ["tags"]}, "one kind, got 'tags' twice"),
        ({"list_separator": ""}, "`list_separator` must be text, got ''"),
    ],
)
def test_columns_must_be_meant(columns: dict[str, Any], match: str, tiny: Path) -> None:
    with pytest.raises(InputError, match=match):
        load_items(tiny / "books.csv", **columns)


def test_misspelt_kind_of_column_is_offered(tiny: Path) -> None:
    wrong: dict[str, Any] = {"titel": "title"}
    with pytest.raises(NotFoundError, match="did you mean 'title'"):
        load_items(tiny / "books.csv", **wrong)


def test_item_columns_need_the_path_of_an_item_table(tiny: Path) -> None:
    with pytest.raises(InputError, match=r"`title` needs `items`, the path .* got None"):
        load_table(tiny / "likes.csv", title="title")
    with pytest.raises(InputError, match=r"`title` needs `items`, the path .* got an ItemTable"):
        load_table(tiny / "likes.csv", items=load_items(tiny / "books.csv"), title="title")


def test_without_polars_the_extra_is_named(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'variegate\[data\]'"):
        load_table(tiny / "likes.csv")


@pytest.mark.parametrize("load", [load_table, load_items])
def test_path_that_the_system_refuses_is_named(load: Any) -> None:
    with pytest.raises(DataError, match="aaa: cannot be read: File name too long"):
        load("a.csv/" + "a" * 5_000, separator=",")


def test_path_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(InputError, match="`path` must be text that can name a file"):
        load_table("\ud800.csv")
