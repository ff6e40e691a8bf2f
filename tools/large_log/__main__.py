"""`python -m tools.large_log`: prepare a generated log of likes, fit a prior, report the memory."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click
import numpy as np
import polars as pl

from tools.findings import Finding, Part
from tools.measured_command import Ran, run
from tools.volume.report import report
from variegate.cli.output import PlainErrors
from variegate.model.catalogue import Catalogue

#: Interactions of the promise.
ROWS: Final = 50_000_000
#: Rows that are generated at a time.
CHUNK: Final = 2_000_000
#: What the catalogue of the generated items has.
FEATURES: Final = 16
#: The promise: no step takes more.
MOST_BYTES: Final = 4e9


@click.command(cls=PlainErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--rows", default=ROWS, show_default=True, help="Interactions.")
@click.option("--users", default=1_000_000, show_default=True, help="Users.")
@click.option("--items", default=50_000, show_default=True, help="Items.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to put the files.")
def main(rows: int, users: int, items: int, folder: Path | None) -> None:
    """Filter, split and count a generated log, fit a prior, and report time and peak memory.

    Each step is a command in a process of its own, whose largest resident memory is what counts.
    """
    with TemporaryDirectory(prefix="variegate-log-", dir=folder) as name:
        place = Path(name)
        generate(place / "log.parquet", rows, users, items)
        size = (place / "log.parquet").stat().st_size / 1e6
        click.echo(f"{rows:,} interactions of {users:,} users, {size:,.0f} MB as Parquet")
        part = part_of(rows, *_measured(place))
    report("log", part, is_whole=rows == ROWS)


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


def _measured(place: Path) -> tuple[Ran, Ran]:
    """Prepare the log, and fit a prior to what was prepared."""
    prepared = place / "prepared"
    options = ["--rating", "rating", "--threshold", "3", "--min-item-likes", "5"]
    first = run(["prepare", str(place / "log.parquet"), *options, "--out", str(prepared)])
    items = pl.read_parquet(prepared / "items.parquet")["item"].to_list()
    rows = np.random.default_rng(1).standard_normal((len(items), FEATURES))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    Catalogue(items, rows, "cosine").save(place / "catalogue.npz")
    likes = ["--catalogue", str(place / "catalogue.npz")]
    likes += ["--likes", str(prepared / "sample.parquet")]
    return first, run(["fit-prior", *likes, "--out", str(place / "prior.npz")])


def part_of(rows: int, prepared: Ran, fitted: Ran) -> Part:
    """Return the finding, and how it was made."""
    return Part(
        "`python -m tools.large_log`: a generated log of ratings in Parquet; `variegate prepare` "
        "and `variegate fit-prior`, each in a process of its own.",
        [
            Finding(
                f"{rows:,} interactions are filtered, split and counted, and a prior is fitted, "
                f"with under {MOST_BYTES / 1e9:g} GB",
                f"prepare: {prepared}; fit-prior: {fitted}",
                max(prepared.peak_bytes, fitted.peak_bytes) < MOST_BYTES,
            )
        ],
    )


if __name__ == "__main__":
    main()
