"""`variegate stats`: the paper's Table 1, from the data sets at hand."""

import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from variegate.errors import DataError

if TYPE_CHECKING:
    from variegate.data.dataset import Dataset
    from variegate.data.download import KnownDataset


class Counts(NamedTuple):
    """A line of Table 1."""

    users: int
    items: int
    interactions: int
    categories: int

    @property
    def density(self) -> float:
        """The share of all pairs of a user and an item that are liked."""
        return self.interactions / max(self.users * self.items, 1)


#: After the paper's filter
PAPER_COUNTS: Final[Mapping[str, Counts]] = {
    "ml-100k": Counts(942, 1_447, 55_375, 18),
    "ml-1m": Counts(6_038, 3_533, 575_281, 18),
    "anime": Counts(69_400, 8_825, 5_231_117, 44),
}
NUMBERS: Final = ("users", "items", "interactions", "categories", "density", "seconds")


@click.command()
@click.argument("names_or_paths", nargs=-1, metavar="[NAME_OR_PATH]...")
def stats(names_or_paths: tuple[str, ...]) -> None:
    """Count users, items, likes and categories, beside the paper's Table 1.

    A data set is given by its name (ml-100k, ml-1m, anime) or by the path of its zip or
    folder; if none is given, all that are in the data folder are counted. Ratings above 3
    (MovieLens) or 6 (Anime) are likes, as in the paper.

    \b
    Examples:
        variegate stats
        variegate stats ml-100k downloads/ml-1m.zip
    """
    from time import perf_counter

    from variegate.cli.output import plain_console, plain_table, say

    console = plain_console()
    table = plain_table("data set", *NUMBERS, right=NUMBERS)
    verdicts = []
    for known, path in _asked_for(names_or_paths) if names_or_paths else _at_hand():
        with console.status(f"Reading {path}"):
            start = perf_counter()
            data = known.load(path)
            seconds = perf_counter() - start
        table.add_row(known.name, *_cells(counted(data)), f"{seconds:.2f}", style="bold")
        table.add_row("  the paper", *_cells(PAPER_COUNTS[known.name]))
        verdicts.append(
            f"{known.name} ({path.resolve().name}) {verdict(data, PAPER_COUNTS[known.name])}"
        )
    console.print(table)
    for line in verdicts:
        say(console, line)


def counted(data: "Dataset") -> Counts:
    """Return a data set's line of Table 1."""
    return Counts(len(data.user_ids), len(data.item_ids), len(data), len(data.category_names))


def verdict(data: "Dataset", paper: Counts) -> str:
    """Return whether a data set's counts are the paper's, and why they may not be."""
    own = counted(data)
    if own == paper:
        return "agrees exactly with the paper"
    said = "differs from the paper"
    if own.users < paper.users:
        said += f": it is a sample, with {own.users:,} of {paper.users:,} users"
    if own.categories + 1 == paper.categories and not all(data.categories):
        said += f"; its categories are {paper.categories} if having none counts as one"
    return said


def _cells(counts: Counts) -> list[str]:
    return [*(f"{count:,}" for count in counts), f"{counts.density:.2%}"]


def _at_hand() -> "list[tuple[KnownDataset, Path]]":
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


def _asked_for(names_or_paths: tuple[str, ...]) -> "list[tuple[KnownDataset, Path]]":
    from variegate.data.download import DATASETS, find_dataset

    return [
        (DATASETS[text], find_dataset(text))
        if text in DATASETS
        else (recognised(Path(text)), Path(text))
        for text in names_or_paths
    ]


def recognised(path: Path) -> "KnownDataset":
    """Return the known data set whose files a zip or folder has, or raise DataError."""
    from variegate.data.download import DATASETS

    if not path.exists():
        raise DataError(
            f"{path}: no such file or folder, and no data set's name: they are "
            f"{', '.join(DATASETS)}"
        )
    inside = _names_inside(path)
    for known in DATASETS.values():
        if inside.issuperset(known.files):
            return known
    wanted = ", or ".join(" and ".join(known.files) for known in DATASETS.values())
    raise DataError(f"{path}: no known data set: expected {wanted} inside")


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
@click.option("--to", metavar="FOLDER", help="Keep it there.  [default: the user's data folder]")
@click.option("--url", help="A mirror, if not the publisher's own.")
def fetch(name: str, to: str | None, url: str | None) -> None:
    """Download the data set NAME from its publisher, unless it is there.

    NAME is ml-100k, ml-1m or anime. What comes is kept only if the files inside are the ones
    expected; a download that broke off goes on where it was. The environment variable
    VARIEGATE_DATA names another data folder. Anime stands behind a login: the command says
    where to get it and where to put it.

    \b
    Examples:
        variegate fetch ml-100k
        variegate fetch ml-1m --to data
    """
    from variegate.cli.output import plain_console, progress_bar, say, size_of
    from variegate.data.download import DATASETS, fetch_dataset

    console = plain_console()
    with progress_bar(console, f"Fetching {name}", in_bytes=True) as (progress, received):
        path = fetch_dataset(name, folder=to, url=url, progress=progress)
    size = f" ({size_of(path)})" if path.is_file() else ""
    say(console, f"{name} is {'now' if received else 'already'} at {path}{size}")
    say(console, "Its licence's main terms:")
    for term in DATASETS[name].licence:
        say(console, f"  - {term}")
    say(console, f"More on it: {DATASETS[name].page}", style="dim")
    next_word = name if to is None else str(path)
    say(console, f"Next: variegate stats {next_word}")
