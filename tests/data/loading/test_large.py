"""Likes in pieces: filtered, split, counted; the same whatever the size of the pieces."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from tests.full_disk import largest_file
from variegate import Catalogue
from variegate.cli import commands
from variegate.data.large import LikesColumns, prepare_likes
from variegate.errors import DataError, InputError
from variegate.prior.item_prior import ItemPrior

RATED = LikesColumns(rating="stars", threshold=3)
FILES = ("train", "test", "sample", "items")


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    """Return ratings of 50 users, with each row twice, and one item that only one user likes."""
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {
            "user": np.repeat(np.arange(50), 8),
            "item": [f"i{row}" for row in rng.integers(12, size=400)],
            "stars": rng.integers(1, 6, size=400),
        }
    )
    rare = pl.DataFrame({"user": [3], "item": ["rare"], "stars": [5]})
    file = tmp_path / "ratings.parquet"
    pl.concat([table, table, rare]).write_parquet(file)
    return file


def read(folder: Path) -> dict[str, pl.DataFrame]:
    return {name: pl.read_parquet(folder / f"{name}.parquet") for name in FILES}


def test_a_full_disk_leaves_no_folder(ratings: Path, tmp_path: Path) -> None:
    with largest_file(500), pytest.raises(DataError, match=r"out: cannot be written: .*too large"):
        prepare_likes(ratings, tmp_path / "out", columns=RATED)

    assert [one.name for one in tmp_path.iterdir()] == ["ratings.parquet"]


def test_likes_are_filtered_split_and_counted(ratings: Path, tmp_path: Path) -> None:
    found = prepare_likes(
        ratings, tmp_path / "out", columns=RATED, min_item_likes=2, min_user_likes=2, train=0.6
    )

    liked = pl.read_parquet(ratings).filter(pl.col("stars") > 3).cast({"user": pl.String})
    liked = liked.select("user", "item").unique()
    kept = liked.filter(pl.col("item") != "rare", pl.len().over("user") >= 2)
    kept = kept.filter(pl.len().over("user") >= 2)
    files = read(tmp_path / "out")
    both = pl.concat([files["train"], files["test"]]).sort("user", "item")
    assert both.equals(kept.sort("user", "item"))
    assert (found.rows, found.likes, found.kept_likes) == (801, liked.height, kept.height)
    train, test = (set(files[name]["user"]) for name in ("train", "test"))
    assert not train & test
    assert len(train) == found.training_users == round(0.6 * len(train | test))
    assert len(test) == found.test_users
    counts = files["train"]["item"].value_counts()
    assert dict(files["items"].iter_rows()) == dict(counts.iter_rows())
    assert files["items"]["users"].is_sorted(descending=True)


def test_the_size_of_the_pieces_and_the_format_change_nothing(
    ratings: Path, tmp_path: Path
) -> None:
    table = tmp_path / "ratings.csv"
    pl.read_parquet(ratings).write_csv(table)

    prepare_likes(ratings, tmp_path / "one", columns=RATED)
    prepare_likes(table, tmp_path / "many", columns=RATED, part_rows=50)

    one, many = read(tmp_path / "one"), read(tmp_path / "many")
    for name in FILES:
        order = one[name].columns
        assert one[name].sort(order).equals(many[name].sort(order)), name


def test_another_seed_makes_another_split(ratings: Path, tmp_path: Path) -> None:
    for seed in (0, 1):
        prepare_likes(ratings, tmp_path / str(seed), seed=seed)

    first, second = (set(read(tmp_path / str(seed))["test"]["user"]) for seed in (0, 1))
    assert len(first) == len(second) == 10
    assert first != second


def test_the_sample_has_some_of_the_training_users(ratings: Path, tmp_path: Path) -> None:
    found = prepare_likes(ratings, tmp_path / "out", sample_users=5)

    files = read(tmp_path / "out")
    sampled = set(files["sample"]["user"])
    assert len(sampled) == found.sampled_users == 5
    assert files["train"].filter(pl.col("user").is_in(sampled)).equals(files["sample"])


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ({"user": [1]}, {}, "no column 'item' among 'user'"),
        ({"user": [1, None], "item": ["a", "b"]}, {}, "`user` must hold an id in each row, 1 do"),
        ({"user": [1], "item": [" "]}, {}, "`item` must hold an id in each row, 1 do not"),
        (
            {"user": [1], "item": ["a"], "stars": ["five"]},
            {"columns": RATED},
            "`stars` must hold a number in each row, 1 do not",
        ),
        ({"user": [], "item": []}, {}, "the table has no rows"),
        ({"user": [1, 2], "item": ["a", "b"]}, {"min_item_likes": 2}, "leave at least 2 users"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(
    tmp_path: Path, table: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    pl.DataFrame(table).write_parquet(tmp_path / "likes.parquet")

    with pytest.raises(DataError, match=words):
        prepare_likes(tmp_path / "likes.parquet", tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_wrong_arguments_are_refused(ratings: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="`out` must be a new folder"):
        prepare_likes(ratings, tmp_path / "out")
    with pytest.raises(InputError, match="`rating` and `threshold` must be given together"):
        LikesColumns(rating="stars")
    with pytest.raises(InputError, match=r"`source` must be a \.parquet or \.csv file"):
        prepare_likes(tmp_path / "likes.json", tmp_path / "new")


def test_a_prior_is_fitted_to_the_sample(ratings: Path, tmp_path: Path) -> None:
    shop = Catalogue([f"i{row}" for row in range(12)], np.eye(12), "cosine")
    shop.save(tmp_path / "shop.npz")
    out = tmp_path / "out"
    options = ["--rating", "stars", "--threshold", "3", "--sample-users", "30"]
    run = CliRunner().invoke(commands, ["prepare", str(ratings), *options, "--out", str(out)])
    assert run.exit_code == 0, run.output
    assert "38 training users (30 in the sample), 10 test users, 13 items" in run.stdout

    prior = tmp_path / "prior.npz"
    likes = ["--likes", str(out / "sample.parquet"), "--out", str(prior)]
    run = CliRunner().invoke(
        commands, ["fit-prior", "--catalogue", str(tmp_path / "shop.npz"), *likes]
    )

    assert run.exit_code == 0, run.output
    assert ItemPrior.load(prior).users == 30
