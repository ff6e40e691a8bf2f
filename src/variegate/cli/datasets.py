"""`variegate fetch` and `stats`: download data sets and count them (the paper's Table 1)."""

import zipfile
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import click

from variegate.cli.output import plain_console, plain_table, progress_bar, say, size_of
from variegate.errors import DataError

if TYPE_CHECKING:
    from variegate.data.dataset import Counts, Dataset
    from variegate.data.download import KnownDataset


NUMBERS: Final = ("users", "items", "interactions", "categories", "density", "seconds")


@click.command()
@click.argument("names_or_paths", nargs=-1, metavar="[NAME_OR_PATH]...")
def stats(names_or_paths: tuple[str, ...]) -> None:
    """Count users, items, likes and categories of data sets.

    The counts of the paper's Table 1 are printed beside them. A data set is given by its name
    (ml-100k, ml-1m, anime) or by the path of its archive or folder; the default is all in the data
    folder. Ratings above 3 (MovieLens) or 6 (Anime) are likes, as in the paper.

    \b
    Examples:
        variegate stats
        variegate stats ml-100k downloads/ml-1m.zip
    """
    from time import perf_counter

    console = plain_console()
    table = plain_table("data set", *NUMBERS, right=NUMBERS)
    verdicts = []
    for known, path in _selected(names_or_paths) if names_or_paths else available_datasets():
        with console.status(f"Reading {path}"):
            start = perf_counter()
            data = known.load(path)
            seconds = perf_counter() - start
        table.add_row(known.name, *_cells(data.counts), f"{seconds:.2f}", style="bold")
        table.add_row("  the paper", *_cells(known.paper))
        verdicts.append(f"{known.name} ({path.resolve().name}) {verdict(data, known.paper)}")
    console.print(table)
    for line in verdicts:
        say(console, line)


def verdict(data: "Dataset", paper: "Counts") -> str:
    """Return how a data set's counts compare with the paper's, and likely reasons."""
    own = data.counts
    if own == paper:
        return "agrees exactly with the paper"
    text = "differs from the paper"
    if own.users < paper.users:
        text += f": it is a sample, with {own.users:,} of {paper.users:,} users"
    if own.categories + 1 == paper.categories and not all(data.categories):
        text += f"; its categories are {paper.categories} if having none counts as one"
    return text


def _cells(counts: "Counts") -> list[str]:
    return [*(f"{count:,}" for count in counts), f"{counts.density:.2%}"]


def available_datasets() -> "list[tuple[KnownDataset, Path]]":
    """Return the data sets in the data folder with their paths, or raise DataError."""
    from variegate.data.download import DATASETS, data_folder, find_dataset

    found = []
    for name, known in DATASETS.items():
        with suppress(DataError):
            found.append((known, find_dataset(name)))
    if not found:
        raise DataError(
            f"none of {', '.join(DATASETS)} is in {data_folder()}: "
            f"run `variegate fetch {next(iter(DATASETS))}`, or give the path of a zip or folder"
        )
    return found


def _selected(names_or_paths: tuple[str, ...]) -> "list[tuple[KnownDataset, Path]]":
    from variegate.data.download import DATASETS, find_dataset

    return [
        (DATASETS[text], find_dataset(text))
        if text in DATASETS
        else (recognise(Path(text)), Path(text))
        for text in names_or_paths
    ]


def recognise(path: Path) -> "KnownDataset":
    """Return the known data set whose files an archive or folder has, or raise DataError."""
    from variegate.data.download import DATASETS

    if not path.exists():
        raise DataError(
            f"{path}: no such file or folder, and not the name of a data set: {', '.join(DATASETS)}"
        )
    inside = _names_inside(path)
    for known in DATASETS.values():
        if inside.issuperset(known.files):
            return known
    wanted = ", or ".join(" and ".join(known.files) for known in DATASETS.values())
    raise DataError(f"{path}: not a known data set: expected {wanted} inside")


def _names_inside(path: Path) -> set[str]:
    try:
        if path.is_dir():
            return {file.name for pattern in ("*", "*/*") for file in path.glob(pattern)}
        with zipfile.ZipFile(path) as archive:
            return {PurePosixPath(entry).name for entry in archive.namelist()}
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise DataError(f"{path}: not a complete zip file: {error}") from None


@click.command()
@click.argument("name")
@click.option("--to", metavar="FOLDER", help="Target folder.  [default: the data folder]")
@click.option("--url", help="Address of a mirror.")
def fetch(name: str, to: str | None, url: str | None) -> None:
    """Download a data set from its publisher.

    NAME is ml-100k, ml-1m or anime; what exists is not downloaded again. Checksums of the files are
    verified; an interrupted download is resumed. The environment variable VARIEGATE_DATA sets the
    data folder. Anime requires a login: the command prints where to download it and where to put
    it.

    \b
    Examples:
        variegate fetch ml-100k
        variegate fetch ml-1m --to data
    """
    from variegate.data.download import DATASETS, fetch_dataset

    console = plain_console()
    with progress_bar(f"Downloading {name}", in_bytes=True) as (progress, received):
        path = fetch_dataset(name, folder=to, url=url, progress=progress)
    size = f" ({size_of(path)})" if path.is_file() else ""
    say(console, f"{name} is {'now' if received else 'already'} at {path}{size}")
    say(console, "Main terms of its licence:")
    for term in DATASETS[name].licence:
        say(console, f"  - {term}")
    say(console, f"More information: {DATASETS[name].page}", style="dim")
    next_word = name if to is None else str(path)
    say(console, f"Next: variegate stats {next_word}")
