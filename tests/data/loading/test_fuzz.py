"""Whatever a file holds, a loader gives a sound data set or one of our errors."""

import csv
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.loading.making import pairs, zipped
from tests.paths import FIXTURES
from variegate.data.dataset import Dataset
from variegate.data.download import DATASETS
from variegate.data.tables import load_items, load_table
from variegate.errors import VariegateError
from variegate.model.item_table import ItemTable

ENCODINGS = ["utf-8", "latin-1", "utf-16", "utf-7", "cp1252", "shift_jis", "idna", "punycode"]

#: Text with everything in it that matters to a table.
odd_text = st.text(
    alphabet="ab19,;|\t\"'\r\n \x00\x1f:.-+einf\u00e9\u4e2d\ufeff\u2028", max_size=60
)
odd_bytes = st.one_of(
    st.binary(max_size=80),
    odd_text.map(str.encode),
    odd_text.map(lambda body: b"user,item,rating\n" + body.encode()),
    odd_text.map(lambda body: b"user\titem\trating\na\tb\t3\n" + body.encode("utf-16")),
)
#: Where to cut a file, and which bytes to set to what.
damages = st.tuples(
    st.integers(0, 10_000),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=4),
)


def outcome(load: Callable[[], Dataset | ItemTable]) -> Dataset | ItemTable | VariegateError:
    """Return what comes of loading; any other exception goes on and fails the test."""
    try:
        return load()
    except VariegateError as error:
        return error


def is_sound(result: Dataset | ItemTable | VariegateError) -> bool:
    if isinstance(result, VariegateError):
        return "\n" not in str(result) and bool(str(result))
    if isinstance(result, ItemTable):
        return len(set(result.ids)) == len(result.ids) > 0
    return (
        len(result) > 0
        and np.array_equal(np.unique(result.users), np.arange(len(result.user_ids)))
        and np.array_equal(np.unique(result.items), np.arange(len(result.item_ids)))
        and all(own_id.strip(" \t\r\n") for own_id in (*result.user_ids, *result.item_ids))
    )


def of_bytes(content: bytes, name: str, load: Callable[[Path], Dataset | ItemTable]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return is_sound(outcome(lambda: load(path)))


def damaged(content: bytes, damage: tuple[int, list[tuple[int, int]]]) -> bytes:
    cut, changes = damage
    kept = bytearray(content[: cut % (2 * len(content))])
    for place, value in changes:
        if kept:
            kept[place % len(kept)] = value
    return bytes(kept)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
@given(
    content=odd_bytes,
    rated=st.sampled_from([{}, {"rating": "rating", "threshold": 2.0}]),
    encoding=st.sampled_from(ENCODINGS),
)
def test_any_bytes_as_a_table(
    ending: str, content: bytes, rated: dict[str, Any], encoding: str
) -> None:
    assert of_bytes(
        content, f"t.{ending}", lambda path: load_table(path, encoding=encoding, **rated)
    )


@given(body=odd_text, separator=st.sampled_from([None, "::", "§", ";", "ab"]))
def test_any_text_below_a_header_as_an_item_table(body: str, separator: str | None) -> None:
    between = separator or ","
    header = between.join(["item", "name", "size", "tags"]) + "\n"
    columns: dict[str, Any] = {"title": "name", "numbers": ["size"], "lists": ["tags"]}
    assert of_bytes(
        (header + body).encode(),
        "items.csv",
        lambda path: load_items(path, separator=separator, **columns),
    )


@pytest.mark.parametrize("name", DATASETS)
@given(content=odd_bytes)
def test_any_bytes_as_an_archive(name: str, content: bytes) -> None:
    assert of_bytes(content, "a.zip", DATASETS[name].load)


@pytest.mark.parametrize("name", DATASETS)
@given(damage=damages)
def test_damaged_archive(name: str, damage: tuple[int, list[tuple[int, int]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = zipped(FIXTURES / name, Path(folder) / "a.zip", "inside/").read_bytes()
    assert of_bytes(damaged(whole, damage), "a.zip", DATASETS[name].load)


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("which", [0, 1])
@given(damage=damages)
def test_damaged_file_of_a_data_set(
    name: str, which: int, damage: tuple[int, list[tuple[int, int]]]
) -> None:
    files = {file.name: file.read_bytes() for file in (FIXTURES / name).iterdir()}
    files[DATASETS[name].files[which]] = damaged(files[DATASETS[name].files[which]], damage)
    with tempfile.TemporaryDirectory() as folder:
        for file, content in files.items():
            (Path(folder) / file).write_bytes(content)
        assert is_sound(outcome(lambda: DATASETS[name].load(folder)))


@given(damage=damages)
def test_damaged_parquet(damage: tuple[int, list[tuple[int, int]]]) -> None:
    out = io.BytesIO()
    frame = pl.DataFrame({"user": ["a", "b"], "item": [1, 2], "rating": [3.0, 4.0]})
    frame.write_parquet(out)
    assert of_bytes(
        damaged(out.getvalue(), damage),
        "t.parquet",
        lambda path: load_table(path, rating="rating", threshold=1),
    )


cells = st.text(alphabet='ab1,;"\t\n |é中', min_size=1, max_size=6).filter(str.strip)


@given(
    written=st.lists(st.tuples(cells, cells), min_size=1, max_size=8),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_csv_writes_is_read_back(written: list[tuple[str, str]], quoting: Any) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=quoting).writerows([("user", "item"), *written])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(out.getvalue().encode())
        data = load_table(path)
    assert pairs(data) == list(dict.fromkeys(written))
