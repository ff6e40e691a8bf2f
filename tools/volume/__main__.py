"""``python -m tools.volume``: see the package."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np
import psycopg

from tools.attack.replicas import Database
from tools.findings import Part, this_machine
from tools.volume.partitions import compare
from tools.volume.report import PAGE, REPORT
from tools.volume.slates import measure, part_of
from variegate import Catalogue

#: Slates of the promise.
SLATES = 5_000_000


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
    _report("slates", part_of(found), is_written=count == SLATES)


def _report(name: str, part: Part, *, is_written: bool) -> None:
    """Print findings, write those of a whole run to the page; end with 1 if one does not hold."""
    for one in part.findings:
        click.echo(f"{'holds' if one.holds else 'FAILS'}: {one.promise}: {one.found}")
    if is_written:
        REPORT.save({name: replace(part, machine=this_machine())})
        PAGE.write_text(REPORT.page(REPORT.load()), encoding="utf-8")
        click.echo(f"written to {PAGE}")
    if not all(one.holds for one in part.findings):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
