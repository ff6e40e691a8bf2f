"""``python -m tools.volume``: see the package."""

from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np
import psycopg

from tools.attack.replicas import Database
from tools.volume import lists as million
from tools.volume.partitions import compare
from tools.volume.report import report
from tools.volume.slates import measure, part_of
from variegate import Catalogue

#: Slates, and users with a list, of the promises.
SLATES, USERS = 5_000_000, 1_000_000


@click.group()
def main() -> None:
    """Measure what a large history costs, on a PostgreSQL of its own."""


@main.command()
@click.option("--rows", default=500_000, show_default=True, help="Slates in each table.")
def partitions(rows: int) -> None:
    """Compare the store's statements on one table with the same on 16 hash partitions."""
    with TemporaryDirectory(prefix="variegate-volume-") as folder:
        database = Database(Path(folder) / "data")
        try:
            compare(database.url, rows)
        finally:
            database.close()


@main.command()
@click.option("--slates", "count", default=SLATES, show_default=True, help="Slates in the store.")
def slates(count: int) -> None:
    """Measure the overview and lists in a large store, then remove 80% of it under traffic.

    The page is written for the default number of slates.
    """
    features = np.random.default_rng(0).uniform(-1.0, 1.0, (80, 4))
    catalogue = Catalogue(range(80), features, ["cosine", "euclidean"])
    with TemporaryDirectory(prefix="variegate-volume-") as name:
        folder = Path(name)
        database = Database(folder / "data")
        try:
            with psycopg.connect(database.url, autocommit=True) as connection:
                connection.execute("CREATE DATABASE empty")
                connection.execute("ALTER SYSTEM SET max_wal_size = '8GB'")
                connection.execute("SELECT pg_reload_conf()")
            empty = database.url.replace("/postgres?", "/empty?")
            found = measure(database.url, empty, folder, catalogue, count)
        finally:
            database.close()
    report("slates", part_of(found), is_whole=count == SLATES)


@main.command()
@click.option("--users", default=USERS, show_default=True, help="Users who get a list.")
@click.option("--workers", default=2, show_default=True, help="Processes.")
def lists(users: int, workers: int) -> None:
    """Make a list for each of many users with `variegate recommend-all`, and check the lists.

    The page is written for the default number of users.
    """
    with TemporaryDirectory(prefix="variegate-volume-") as name:
        found = million.measure(Path(name), users, workers)
    report("lists", million.part_of(found, workers), is_whole=users == USERS)


if __name__ == "__main__":
    main()
