"""Lists for a million users over the bundled films, by `variegate recommend-all`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import numpy as np
import polars as pl

from tools.findings import Finding, Part
from tools.measured_command import Ran, run
from variegate.data.films import film_catalogue
from variegate.model.catalogue import Catalogue

#: Likes of each user, and items of a list.
LIKES, K = 5, 10
#: Users who are drawn at a time.
_CHUNK: Final = 100_000


@dataclass(frozen=True)
class Measured:
    """What the command did, and how many of the lists are as they must be."""

    users: int
    ran: Ran
    right: int


def measure(folder: Path, users: int, workers: int) -> Measured:
    """Write the likes of users, let the command make their lists, and check each list."""
    items = film_catalogue()
    catalogue, likes, out = folder / "films.npz", folder / "likes.parquet", folder / "lists"
    items.save(catalogue)
    draw_likes(items, users).write_parquet(likes)
    click.echo(f"drawn {LIKES} likes of {users:,} users each")
    source = ["--users", str(likes), "--catalogue", str(catalogue), "--workers", str(workers)]
    ran = run(["recommend-all", *source, "--k", str(K), "--out", str(out)])
    return Measured(users, ran, right_lists(out, likes))


def draw_likes(items: Catalogue, users: int) -> pl.DataFrame:
    """Return likes of distinct items for each user, at random."""
    rng, ids = np.random.default_rng(0), np.array(items.ids)
    parts = []
    for start in range(0, users, _CHUNK):
        names = np.arange(start, min(start + _CHUNK, users))
        # Distinct: an item of each of as many parts of the catalogue.
        rows = rng.integers(len(ids) // LIKES, size=(len(names), LIKES))
        rows = rows * LIKES + np.arange(LIKES)
        parts.append(
            pl.DataFrame({"user": np.repeat(names, LIKES), "item": ids[rows.ravel()].tolist()})
        )
    return pl.concat(parts)


def right_lists(out: Path, likes: Path) -> int:
    """Return how many users have one list, of `K` items, without any that the user likes."""
    lists = pl.scan_parquet(out / "*.parquet").with_columns(pl.col("user").cast(pl.Int64))
    known = pl.scan_parquet(likes).group_by("user").agg(liked=pl.col("item"))
    found = lists.join(known, on="user").filter(
        pl.col("items").list.n_unique() == K,
        pl.col("items").list.set_intersection("liked").list.len() == 0,
    )
    return int(found.select(pl.col("user").n_unique()).collect().item())


def part_of(found: Measured, workers: int) -> Part:
    """Return the finding, and how it was made."""
    rate = found.users / found.ran.seconds
    return Part(
        f"`python -m tools.volume lists`: `variegate recommend-all --workers {workers}` for a "
        f"table with {LIKES} likes of each user, the bundled films, `lmdp`. The time is that of "
        "the whole command, from reading the table to the last Parquet file.",
        [
            Finding(
                f"{found.users:,} users have a list of {K} items which they did not like before",
                f"{found.right:,} of them; {rate:,.0f} lists per second, {found.ran}",
                found.right == found.users,
            )
        ],
    )
