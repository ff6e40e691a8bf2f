"""Likes larger than memory: filtered, split by users, counted and sampled, in pieces."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from variegate.arrays import as_generator, check_count, check_fraction
from variegate.data.table_reader import check_columns, check_flat, scan_table, without_id
from variegate.errors import DataError, InputError
from variegate.files import PathLike, as_path

if TYPE_CHECKING:
    import polars as pl

#: Rows that are in memory at a time, about.
PART_ROWS: Final = 4_000_000
#: Users of the sample for a prior: a share of users who like an item is known to ±0.0016.
SAMPLE_USERS: Final = 100_000
#: The parts of the users.
TEST, TRAIN, SAMPLE = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class LikesColumns:
    """Which columns of a table hold what, and which rows are likes."""

    user: str = "user"
    item: str = "item"
    #: Without a column of ratings every row is a like
    rating: str | None = None
    #: A rating above this is a like
    threshold: float | None = None

    def __post_init__(self) -> None:
        if (self.rating is None) != (self.threshold is None):
            raise InputError("`rating` and `threshold` must be given together, or neither")

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return [self.user, self.item, *([] if self.rating is None else [self.rating])]


@dataclass(frozen=True)
class Prepared:
    """How many rows, likes, users and items there were, and how many were kept."""

    rows: int
    #: Distinct pairs of a user and an item that the user likes
    likes: int
    kept_likes: int
    items: int
    training_users: int
    test_users: int
    sampled_users: int


def prepare_likes(
    source: PathLike,
    out: PathLike,
    *,
    columns: LikesColumns | None = None,
    min_item_likes: int = 1,
    min_user_likes: int = 1,
    train: float = 0.8,
    sample_users: int = SAMPLE_USERS,
    seed: int = 0,
    part_rows: int = PART_ROWS,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Prepared:
    """Filter, split and count the likes of a table that need not fit into memory.

    Writes to a new folder `train.parquet` and `test.parquet` with the columns ``user`` and
    ``item``, `items.parquet` with the training users who like each item, most popular first, and
    `sample.parquet`, the likes of some training users, for embeddings and a prior. A pair of user
    and item counts once. Memory depends on `part_rows` and on the numbers of users and items.

    Parameters
    ----------
    source
        A Parquet or CSV file with a row for each interaction.
    min_item_likes, min_user_likes
        Items that fewer users like are left out, and then users who like fewer of the other items.
    train
        Share of the users for training.
    sample_users
        Training users in the sample, at most.
    progress
        Called with the pieces that are filtered, and how many there are.
    """
    columns, path, folder = columns or LikesColumns(), as_path(source), as_path(out)
    _check_arguments(
        folder,
        train,
        min_item_likes=min_item_likes,
        min_user_likes=min_user_likes,
        sample_users=sample_users,
        part_rows=part_rows,
    )
    rows = _checked_rows(path, columns)
    parts = max(1, -(-rows // part_rows))
    with _writing(folder), _new_folder(folder) as (pieces, made):
        likes = 0
        for number in range(parts):
            likes += _write_piece(path, columns, number, parts, pieces)
            progress(number + 1, parts)
        users, kept_items = _kept(pieces, min_item_likes, min_user_likes)
        divided = _divided(users, train, sample_users, seed)
        kept = _write_parts(pieces, divided, kept_items, made)
    sizes = np.bincount(divided["part"].to_numpy(), minlength=3).tolist()
    return Prepared(
        rows, likes, kept, len(kept_items), sizes[TRAIN] + sizes[SAMPLE], sizes[TEST], sizes[SAMPLE]
    )


def _check_arguments(folder: Path, train: float, **counts: int) -> None:
    for name, count in counts.items():
        check_count(count, 10**9, name=name, of="the most that make sense")
    check_fraction(train=train)
    if folder.exists():
        raise InputError(f"`out` must be a new folder, and {folder} exists")


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Raise DataError if the files of a folder cannot be written."""
    import polars as pl

    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        text = " ".join(str(error).split())
        raise DataError(f"{folder}: cannot be written: {text}") from None


@contextmanager
def _new_folder(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Give a folder for pieces, and one that becomes `folder` unless an error is raised."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".prepare-") as name:
        pieces, made = Path(name) / "pieces", Path(name) / "made"
        pieces.mkdir()
        made.mkdir()
        yield pieces, made
        made.rename(folder)


def _checked_rows(path: Path, columns: LikesColumns) -> int:
    """Return the number of rows, or raise DataError if there is one without an id or a rating."""
    import polars as pl

    try:
        table = scan_table(path, "source")
        schema = table.collect_schema()
        check_columns(str(path), schema.names(), columns.names)
        check_flat(str(path), schema, columns.names)
        wrong = [without_id(name) for name in columns.names[:2]]
        rating = columns.rating
        if rating is not None:
            numbers = pl.col(rating).cast(pl.Float64, strict=False)
            wrong.append((numbers.is_null() | numbers.is_nan()).sum().alias(rating))
        rows, *counts = table.select(pl.len(), *wrong).collect(engine="streaming").row(0)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    for name, count in zip(columns.names, counts, strict=True):
        if count:
            needed = "a number" if name == rating else "an id"
            raise DataError(
                f"{path}: column `{name}` must hold {needed} in each row, {count} do not"
            )
    if not rows:
        raise DataError(f"{path}: the table has no rows")
    return int(rows)


def _write_piece(path: Path, columns: LikesColumns, number: int, parts: int, pieces: Path) -> int:
    """Write the distinct likes of some users; return how many there are."""
    import polars as pl

    table = scan_table(path, "source")
    if columns.rating is not None:
        table = table.filter(pl.col(columns.rating).cast(pl.Float64) > columns.threshold)
    user, item = (pl.col(name).cast(pl.String) for name in (columns.user, columns.item))
    likes = (
        table.select(user.alias("user"), item.alias("item"))
        .filter(pl.col("user").hash(seed=0) % parts == number)
        .collect(engine="streaming")
        .unique()
        .sort("user", "item")
    )
    likes.write_parquet(pieces / f"{number:05d}.parquet")
    return likes.height


def _kept(
    pieces: Path, min_item_likes: int, min_user_likes: int
) -> tuple["pl.DataFrame", "pl.DataFrame"]:
    """Return the users and the items with enough likes, sorted."""
    import polars as pl

    likes = pl.scan_parquet(pieces / "*.parquet")
    enough_items = pl.len() >= min_item_likes
    items = likes.group_by("item").agg(enough=enough_items).filter("enough").select("item")
    kept_items = items.collect(engine="streaming")
    users = (
        likes.join(kept_items.lazy(), on="item", how="semi")
        .group_by("user")
        .agg(enough=pl.len() >= min_user_likes)
        .filter("enough")
        .select("user")
        .sort("user")
        .collect(engine="streaming")
    )
    if users.height < 2:
        raise DataError(
            f"`min_item_likes` and `min_user_likes` must leave at least 2 users, got {users.height}"
        )
    return users, kept_items


def _divided(users: "pl.DataFrame", train: float, sample_users: int, seed: Any) -> "pl.DataFrame":
    """Return the users with their part: test, training or the sample of the training users."""
    import polars as pl

    size = min(max(round(train * users.height), 1), users.height - 1)
    drawn = as_generator(seed).permutation(users.height)
    parts = np.full(users.height, TEST, dtype=np.int8)
    parts[drawn[:size]] = TRAIN
    parts[drawn[: min(size, sample_users)]] = SAMPLE
    return users.with_columns(pl.Series("part", parts))


def _write_parts(pieces: Path, users: "pl.DataFrame", items: "pl.DataFrame", folder: Path) -> int:
    """Write the likes of each part of the users, and the items; return the number of likes."""
    import polars as pl

    likes = (
        pl.scan_parquet(pieces / "*.parquet")
        .join(items.lazy(), on="item", maintain_order="left")
        .join(users.lazy(), on="user", maintain_order="left")
    )
    for name, chosen in (("train", [TRAIN, SAMPLE]), ("test", [TEST]), ("sample", [SAMPLE])):
        part = likes.filter(pl.col("part").is_in(chosen)).select("user", "item")
        part.sink_parquet(folder / f"{name}.parquet", engine="streaming")
    popularity = (
        pl.scan_parquet(folder / "train.parquet")
        .group_by("item")
        .agg(users=pl.len())
        .sort(["users", "item"], descending=[True, False])
    )
    popularity.sink_parquet(folder / "items.parquet", engine="streaming")
    return int(
        sum(
            pl.scan_parquet(folder / f"{name}.parquet").select(pl.len()).collect().item()
            for name in ("train", "test")
        )
    )
