"""``python -m tools.volume``: see the package."""

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tools.attack.replicas import Database
from tools.volume.partitions import compare


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


if __name__ == "__main__":
    main()
