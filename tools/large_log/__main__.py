"""`python -m tools.large_log`: prepare a generated log of likes, fit a prior, report the memory."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

import click
import numpy as np
import polars as pl

from variegate.cli.output import PlainErrors
from variegate.errors import VariegateError
from variegate.model.catalogue import Catalogue

#: Rows that are generated at a time.
CHUNK: Final = 2_000_000
#: What the catalogue of the generated items has.
FEATURES: Final = 16
#: The promise: no step takes more.
MOST_BYTES: Final = 4e9


@click.command(cls=PlainErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--rows", default=50e6, show_default=True, help="Interactions.")
@click.option("--users", default=1_000_000, show_default=True, help="Users.")
@click.option("--items", default=50_000, show_default=True, help="Items.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to put the files.")
def main(rows: float, users: int, items: int, folder: Path | None) -> None:
    """Filter, split and count a generated log, fit a prior, and print time and peak memory.

    Each step is a command in a process of its own, whose largest resident memory is what counts.
    """
    with TemporaryDirectory(prefix="variegate-log-", dir=folder) as name:
        place = Path(name)
        generate(place / "log.parquet", int(rows), users, items)
        size = (place / "log.parquet").stat().st_size / 1e6
        click.echo(f"{rows:,.0f} interactions of {users:,} users, {size:,.0f} MB as Parquet")
        for line in _measured(place):
            click.echo(line)


def generate(file: Path, rows: int, users: int, items: int) -> None:
    """Write a log of ratings from 1 to 5, in pieces; few items get most of them."""
    rng = np.random.default_rng(0)
    pieces = file.with_suffix("")
    pieces.mkdir()
    for number, start in enumerate(range(0, rows, CHUNK)):
        size = min(CHUNK, rows - start)
        table = {
            "user": rng.integers(users, size=size),
            # The density of a rank falls with its square root.
            "item": (items * rng.random(size) ** 2).astype(np.int64),
            "rating": rng.integers(1, 6, size=size),
        }
        pl.DataFrame(table).write_parquet(pieces / f"{number:05d}.parquet")
    pl.scan_parquet(pieces / "*.parquet").sink_parquet(file, engine="streaming")
    for one in pieces.iterdir():
        one.unlink()


def _measured(place: Path) -> Iterator[str]:
    prepared = place / "prepared"
    options = ["--rating", "rating", "--threshold", "3", "--min-item-likes", "5"]
    yield _step(["prepare", str(place / "log.parquet"), *options, "--out", str(prepared)])
    items = pl.read_parquet(prepared / "items.parquet")["item"].to_list()
    rows = np.random.default_rng(1).standard_normal((len(items), FEATURES))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    Catalogue(items, rows, "cosine").save(place / "catalogue.npz")
    likes = ["--catalogue", str(place / "catalogue.npz")]
    likes += ["--likes", str(prepared / "sample.parquet")]
    yield _step(["fit-prior", *likes, "--out", str(place / "prior.npz")])


def _step(arguments: list[str]) -> str:
    """Run a command of the package; return what it printed, its time and its largest memory."""
    start = perf_counter()
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "variegate", *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    printed = process.stdout.read()
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise VariegateError(f"variegate {arguments[0]} ended with {process.returncode}")
    peak, cpu = usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime
    verdict = "under 4 GB" if peak < MOST_BYTES else "NOT under 4 GB"
    return (
        f"{printed}variegate {arguments[0]}: {perf_counter() - start:.0f} s ({cpu:.0f} s of CPU), "
        f"peak memory {peak / 1e9:.2f} GB, {verdict}"
    )


if __name__ == "__main__":
    main()
