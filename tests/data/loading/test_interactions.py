"""Past interactions are read in pieces; what is wrong with a line is named, the rest is read."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from variegate.data import interactions
from variegate.data.interactions import (
    InteractionColumns,
    PastInteraction,
    RejectedLine,
    read_interactions,
)
from variegate.errors import DataError, InputError, VariegateError


def written(folder: Path, text: str, name: str = "clicks.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


def read(path: Path, columns: InteractionColumns | None = None, **how: Any) -> list[Any]:
    """Return the lines: without their keys, or what is wrong with them."""
    lines = [line for chunk, _done in read_interactions(path, columns, **how) for line in chunk]
    return [line[:5] if isinstance(line, PastInteraction) else tuple(line) for line in lines]


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    text = "time,reward,item,user,more\n0.5,1,a,ann,x\n\n7,0.25, b ,ben,\n"

    assert read(written(tmp_path, text)) == [(2, "ann", "a", 1.0, 0.5), (4, "ben", "b", 0.25, 7.0)]


def test_names_can_be_others(tmp_path: Path) -> None:
    text = "who\twhat\tstars\tat\nann\ta\t4\t1700000000500\nann\tb\t3\t1700000000000\n"
    columns = InteractionColumns(
        user="who", item="what", reward="stars", threshold=3.0, time="at", unit="ms"
    )

    assert read(written(tmp_path, text, "x.tsv"), columns) == [
        (2, "ann", "a", 1.0, 1_700_000_000.5),
        (3, "ann", "b", 0.0, 1_700_000_000.0),
    ]


def test_a_file_needs_neither_header_nor_rewards_nor_times(tmp_path: Path) -> None:
    path = written(tmp_path, "ann|a\nann|b\n", "likes.txt")

    found = read(path, InteractionColumns(reward=1.0), names=["user", "item"], separator="|")

    assert found == [(1, "ann", "a", 1.0, None), (2, "ann", "b", 1.0, None)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-02", 86_400.0),
        ("1970-01-01T01:00:00Z", 3600.0),
        ("1970-01-01 01:00:00+01:00", 0.0),
        ("12.5", 12.5),
        ("4294967295", 4_294_967_295.0),
    ],
)
def test_times_are_numbers_or_iso(tmp_path: Path, text: str, seconds: float) -> None:
    ((*_, time),) = read(written(tmp_path, f"user,item,reward,time\nann,a,1,{text}\n"))

    assert time == seconds


@pytest.mark.parametrize(
    ("line", "reasons"),
    [
        ("ann,a,2,1", ["`reward` must be a number from 0 to 1, got '2'"]),
        ("ann,a,nan,1", ["`reward` must be a number from 0 to 1, got 'nan'"]),
        (
            ",,x,yesterday",
            [
                "`user` must be an id, got ''",
                "`item` must be an id, got ''",
                "`reward` must be a number from 0 to 1, got 'x'",
                "`time` must be ISO 8601 or seconds since 1970, before 2106, got 'yesterday'",
            ],
        ),
        ("ann,a,1,-5", ["`time` must be ISO 8601 or seconds since 1970, before 2106, got '-5'"]),
        ("ann,a,1,1700000000000", [
            "`time` must be ISO 8601 or seconds since 1970, before 2106, got '1700000000000'"
        ]),
        ("ann,a,1", ["the line must have 4 fields, got 3"]),
        ('ann,"a"b,1,1', ["the line is broken: ',' expected after '\"'"]),
    ],
)  # fmt: skip
def test_a_wrong_line_is_rejected_and_the_rest_is_read(
    tmp_path: Path, line: str, reasons: list[str]
) -> None:
    path = written(tmp_path, f"user,item,reward,time\nann,a,1,1\n{line}\nben,b,0,2\n")

    assert read(path) == [
        (2, "ann", "a", 1.0, 1.0),
        RejectedLine(3, tuple(reasons)),
        (4, "ben", "b", 0.0, 2.0),
    ]


def test_a_rating_must_be_a_number(tmp_path: Path) -> None:
    path = written(tmp_path, "user,item,reward\nann,a,inf\n")

    ((number, reasons),) = read(path, InteractionColumns(threshold=3.0))

    assert (number, reasons) == (2, ("`reward` must be a finite number, got 'inf'",))


def test_memory_is_that_of_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interactions, "CHUNK", 2)
    path = written(tmp_path, "user,item,reward\n" + "ann,a,1\n" * 5)

    chunks = list(read_interactions(path))

    assert [len(lines) for lines, _done in chunks] == [2, 2, 1]
    assert chunks[-1][1] == path.stat().st_size


def test_keys_are_of_the_content(tmp_path: Path) -> None:
    lines = ["ann,a,1,1", "ann,a,1,1.0", "ann,a,1,2", "ann,a,0,1", "ann,b,1,1", "ann,a,1,"]
    path = written(tmp_path, "user,item,reward,time\n" + "\n".join(lines))

    ((found, _),) = read_interactions(path)

    keys = [line.key for line in found if isinstance(line, PastInteraction)]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 5
    assert all(key.startswith("import:") and len(key) < 40 for key in keys)


def test_parquet_is_read_with_its_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interactions, "CHUNK", 2)
    path = tmp_path / "clicks.parquet"
    times = pl.Series("time", [0, 1_500_000, None], dtype=pl.Datetime("us"))
    rewards = [1.0, 0.5, None]
    frame = pl.DataFrame({"user": [7, 8, 9], "item": ["a", "b", "c"], "reward": rewards})
    frame.with_columns(times).write_parquet(path)

    found = read(path)

    assert found[:2] == [(1, "7", "a", 1.0, 0.0), (2, "8", "b", 0.5, 1.5)]
    assert found[2] == RejectedLine(
        3,
        ("`reward` must be a number from 0 to 1, got ''",),
    )


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("", "a.csv", "a.csv:1: the file is empty"),
        ("user,reward\n", "a.csv", "no column 'item' among 'user', 'reward'"),
        ("user,item\n", "a.csv", "no column 'reward' of rewards among 'user', 'item': name it, or"),
        ("user,item,user,reward\n", "a.csv", "column 'user' is there 2 times"),
        ("PAR1", "a.parquet", "a.parquet: not a complete Parquet file"),
    ],
)
def test_a_table_without_its_columns_is_refused(
    tmp_path: Path, text: str, name: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        list(read_interactions(written(tmp_path, text, name)))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.csv: cannot be read: No such file"):
        list(read_interactions(tmp_path / "none.csv"))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"separator": "::"}, "`separator` must be one character"),
        ({"encoding": "klingon"}, "`encoding` must be one that Python knows, got 'klingon'"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, how: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(written(tmp_path, "user,item,reward\n"), **how)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"reward": 2.0}, r"`reward` must be a column or from 0 to 1, got 2\.0"),
        ({"threshold": float("nan")}, "`threshold` must be a finite number, got nan"),
        ({"unit": "h"}, "`unit` must be one of s, ms, got 'h'"),
    ],
)
def test_wrong_columns_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(VariegateError, match=message):
        InteractionColumns(**how)


def test_a_suffix_that_says_nothing_needs_a_separator(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ends in \.csv, \.tsv or \.parquet, got None for"):
        read_interactions(tmp_path / "u.data")
