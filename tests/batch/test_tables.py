"""Lists for all users of a table: complete, restartable, the same at any number of workers."""

from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from tests.full_disk import largest_file
from variegate import Catalogue, Recommender
from variegate.batch import BatchResult, Columns, recommend_all
from variegate.cli import commands
from variegate.errors import DataError, InputError, VariegateError

USERS = 60


@pytest.fixture(scope="module")
def shop() -> Catalogue:
    features = np.random.default_rng(3).uniform(-1.0, 1.0, (40, 4))
    return Catalogue([f"i{row}" for row in range(40)], features, "cosine")


@pytest.fixture
def clicks(tmp_path: Path) -> Path:
    """Return a table of three interactions for each user, one of them with an unknown item."""
    rng = np.random.default_rng(5)
    table = pl.DataFrame(
        {
            "user": [f"u{number % USERS:02d}" for number in range(3 * USERS)],
            "item": [f"i{row}" for row in rng.integers(40, size=3 * USERS - 1)] + ["gone"],
            "reward": rng.integers(2, size=3 * USERS).astype(float),
        }
    )
    file = tmp_path / "clicks.parquet"
    table.write_parquet(file)
    return file


def lists(out: Path) -> pl.DataFrame:
    return pl.read_parquet(out).sort("user")


def test_each_user_has_the_list_of_a_policy_that_learnt_their_rows(
    shop: Catalogue, clicks: Path, tmp_path: Path
) -> None:
    found = recommend_all(shop, clicks, tmp_path / "out", policy="lmdh:ridge=1", k=4)

    assert found == BatchResult(users=USERS, made=USERS, unknown_items=1)
    recommender = Recommender(shop, "lmdh", ridge=1.0)
    for (user,), rows in pl.read_parquet(clicks).group_by("user", maintain_order=True):
        known = rows.filter(pl.col("item") != "gone")
        seen = shop.rows(known["item"])
        recommender.learn_relevance(str(user), seen, known["reward"].to_numpy())
        slate = recommender.recommend(str(user), 4, exclude=np.unique(seen))
        one = lists(tmp_path / "out").row(by_predicate=pl.col("user") == user)
        assert one == (user, list(slate.ids), slate.scores.tolist())


@pytest.mark.parametrize(("workers", "part_rows"), [(2, 10**6), (1, 50)])
def test_workers_and_parts_do_not_change_the_lists(
    shop: Catalogue, clicks: Path, tmp_path: Path, workers: int, part_rows: int
) -> None:
    # lmdt samples: its random numbers are the user's own.
    recommend_all(shop, clicks, tmp_path / "one", policy="lmdt")
    recommend_all(
        shop, clicks, tmp_path / "other", policy="lmdt", workers=workers, part_rows=part_rows
    )

    assert lists(tmp_path / "other").equals(lists(tmp_path / "one"))


def test_an_interrupted_run_goes_on_where_it_stopped(
    shop: Catalogue, clicks: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    recommend_all(shop, clicks, out, part_rows=60, policy="lmdh")
    whole = lists(out)
    lost = sorted(out.glob("part-*.parquet"))[1]
    missing = pl.read_parquet(lost).height
    lost.unlink()

    found = recommend_all(shop, clicks, out, part_rows=60, policy="lmdh")

    assert (found.users, found.made) == (USERS, missing)
    assert lists(out).equals(whole)


def test_a_full_disk_is_reported_and_the_run_goes_on_later(
    shop: Catalogue, clicks: Path, tmp_path: Path
) -> None:
    # polars said of it that the Parquet file was out of specification, and the command crashed.
    out = tmp_path / "out"
    with (
        largest_file(2000),
        pytest.raises(DataError, match=r"part-00000\.parquet: cannot be written: File too large"),
    ):
        recommend_all(shop, clicks, out, k=4)
    assert not [*out.iterdir()]

    found = recommend_all(shop, clicks, out, k=4)

    assert (found.made, lists(out).height) == (USERS, USERS)


def test_users_without_items_are_new(shop: Catalogue, tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text("id\nann\nbob\n")

    recommend_all(shop, tmp_path / "users.csv", tmp_path / "out", columns=Columns(user="id"))

    ann, bob = lists(tmp_path / "out")["items"]
    assert ann.to_list() == bob.to_list() == list(Recommender(shop).recommend("new").ids)


def test_seen_items_are_left_out_unless_repeats_are_allowed(
    shop: Catalogue, tmp_path: Path
) -> None:
    file = tmp_path / "all.csv"
    file.write_text("user,item\n" + "".join(f"ann,{name}\n" for name in shop.ids[:38]))

    recommend_all(shop, file, tmp_path / "out", policy="lmdh", k=5)
    recommend_all(shop, file, tmp_path / "again", policy="lmdh", k=5, allow_repeats=True)

    assert sorted(lists(tmp_path / "out")["items"][0]) == ["i38", "i39"]
    assert len(lists(tmp_path / "again")["items"][0]) == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 41}, r"`k` must be from 1 to 40"),
        ({"policy": "lmdh:rigde=1"}, "rigde"),
        ({"columns": Columns(user="uid")}, "no column 'uid'"),
        ({"columns": Columns(user="item")}, "column 'item' cannot serve as two"),
        ({"users": "clicks.txt"}, r"`users` must be a \.parquet or \.csv file"),
        ({"users": "missing.csv"}, "cannot be read"),
    ],
)
def test_invalid_arguments_are_refused_and_nothing_is_written(
    shop: Catalogue, clicks: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    users = tmp_path / changes.pop("users", clicks.name)

    with pytest.raises(VariegateError, match=message):
        recommend_all(shop, users, tmp_path / "out", **changes)

    assert not (tmp_path / "out").exists()


def test_a_folder_of_another_run_is_refused(shop: Catalogue, clicks: Path, tmp_path: Path) -> None:
    recommend_all(shop, clicks, tmp_path / "out", k=3)

    with pytest.raises(InputError, match="was begun with another policy, k"):
        recommend_all(shop, clicks, tmp_path / "out", k=4, policy="lmdh")

    with pytest.raises(InputError, match="holds something else"):
        recommend_all(shop, clicks, tmp_path)

    # Its settings are beside it: without the folder there is nothing to go on with.
    rmtree(tmp_path / "out")
    assert recommend_all(shop, clicks, tmp_path / "out", k=4).made == USERS


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"reward": [5.0, -1.0, 1.0]}, "column `reward` must hold a number from 0 to 1 .* 2 do"),
        ({"reward": ["a", None, "1"]}, "column `reward` must hold a number from 0 to 1 .* 2 do"),
        ({"reward": [1.0, float("nan"), 0.0]}, "column `reward` must hold a number .* 1 do"),
        ({"user": ["ann", None, " "]}, "column `user` must hold an id in each row, 2 do not"),
        ({"user": [["ann"], ["bob"], []]}, "column 'user' must hold one value in each row"),
    ],
)
def test_a_table_with_rows_that_cannot_be_used_is_refused(
    shop: Catalogue, tmp_path: Path, columns: dict[str, list[Any]], words: str
) -> None:
    table = {"user": ["ann", "bob", "cyd"], "item": ["i0", "i1", "i2"], **columns}
    pl.DataFrame(table).write_parquet(tmp_path / "odd.parquet")

    with pytest.raises(DataError, match=words):
        recommend_all(shop, tmp_path / "odd.parquet", tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_the_command_reports_what_it_made(shop: Catalogue, clicks: Path, tmp_path: Path) -> None:
    shop.save(tmp_path / "shop.npz")
    words = ["--users", clicks, "--catalogue", tmp_path / "shop.npz", "--out", tmp_path / "out"]

    done = CliRunner().invoke(commands, ["recommend-all", *map(str, words), "--workers", "1"])

    assert done.exit_code == 0, done.output
    assert "1 rows skipped: their item is not in the catalogue" in done.stdout
    assert "60 lists made" in done.stdout
    assert lists(tmp_path / "out").height == USERS
