"""What builds from likes share: the options of the training, and the training."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from variegate.errors import DataError

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.data.dataset import Dataset
    from variegate.data.embeddings import Embeddings
    from variegate.data.tables import ItemColumns
    from variegate.model.catalogue import Catalogue


Command = TypeVar("Command", bound=Callable[..., Any])


def out_option(command: Command) -> Command:
    """Give a command the option `--out`."""
    return click.option(
        "--out", required=True, metavar="FILE", help="The catalogue's file, such as films.npz."
    )(command)


def check_place(out: str, *sources: str | None) -> Path:
    """Return `out` as a path that can be written to, before anyone waits for the rest.

    `sources` are the files to be read, none of which it may be.
    """
    path = Path(out)
    if path.is_dir():
        raise DataError(f"{path}: cannot be written: it is a folder")
    if not path.parent.is_dir():
        raise DataError(f"{path}: cannot be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise DataError(f"{path}: cannot be written: {path.parent} may not be written to")
    if path.resolve() in {Path(source).resolve() for source in sources if source is not None}:
        raise DataError(f"{path}: cannot be written: the catalogue would replace its source")
    return path


def save_and_say(console: "Console", catalogue: "Catalogue", path: Path) -> None:
    """Write the catalogue, and say what it is and how to look at it."""
    from variegate.cli.output import say

    catalogue.save(path)
    say_saved(console, catalogue, path)
    say(console, f"Next: variegate inspect {path}")


def say_saved(console: "Console", catalogue: "Catalogue", path: Path) -> None:
    """Say what is in a catalogue that was written."""
    from variegate.cli.output import say, size_of

    names = ", ".join(h.name for h in catalogue.distances) or "none"
    say(
        console,
        f"{path}: {len(catalogue):,} items, {catalogue.d} features, distances: {names} "
        f"({size_of(path)})",
    )


_OPTIONS: Final = (
    click.option(
        "--distance",
        "distances",
        multiple=True,
        default=("cosine",),
        metavar="NAME",
        help="cosine, angular or euclidean on the vectors; genres; years. Give it several times "
        "for several.  [default: cosine]",
    ),
    click.option("--d", default=10, show_default=True, help="Dimensions of the vectors."),
    click.option("--epochs", default=200, show_default=True, help="Passes over the likes."),
    click.option("--learning-rate", default=0.02, show_default=True, help="Size of a step."),
    click.option("--regularisation", default=0.01, show_default=True, help="Pull towards zero."),
    click.option("--seed", default=0, show_default=True, help="Same seed, same catalogue."),
    click.option(
        "--normalise",
        default="global",
        show_default=True,
        metavar="global|min-max|row|none",
        help="How vectors are brought into [-1, 1].",
    ),
    click.option(
        "--train",
        type=float,
        metavar="SHARE",
        help="Learn from this share of the users only, drawn by the seed.  [default: all users]",
    ),
    click.option(
        "--most-popular", type=int, metavar="N", help="Keep the N items that most users liked."
    ),
    click.option("--no-cache", is_flag=True, help="Train anew, and keep nothing for next time."),
)


@dataclass(frozen=True)
class Training:
    """What the options say."""

    distances: tuple[str, ...]
    d: int
    epochs: int
    learning_rate: float
    regularisation: float
    seed: int
    normalise: str
    train: float | None
    most_popular: int | None
    no_cache: bool


def training_options(command: Command) -> Command:
    """Give a command the options that `Training` holds, by the same names."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def build_from_likes(console: "Console", data: "Dataset", training: Training, path: Path) -> None:
    """Learn vectors from the likes, and write a catalogue of the items that have one."""
    save_and_say(console, catalogue_from_likes(console, data, training)[0], path)


def catalogue_from_likes(
    console: "Console", data: "Dataset", training: Training
) -> "tuple[Catalogue, Dataset]":
    """Learn vectors from the likes; return a catalogue, and the likes that were learnt from."""
    from variegate.arrays import check_count
    from variegate.cli.output import say
    from variegate.data.build import rated_catalogue
    from variegate.data.splits import split_users

    say(
        console,
        f"{data.name}: {len(data):,} likes of {len(data.user_ids):,} users and "
        f"{len(data.item_ids):,} items",
    )
    if training.train is not None:
        data = split_users(data, rng=training.seed, train=training.train).train
        say(console, f"Learning from {len(data.user_ids):,} of the users: {len(data):,} likes")
    # Asked before the training, so that nobody waits for what cannot be made.
    liked = int((data.popularity > 0).sum())
    if training.most_popular is not None:
        check_count(training.most_popular, liked, name="most_popular", of="the liked items")
    _check_distances(data, training.distances)
    learnt = _learnt(console, data, training)
    if training.most_popular is not None:
        learnt = _of_the_most_popular(learnt, data, training.most_popular)
    return rated_catalogue(data, learnt, distances=training.distances), data


def _learnt(console: "Console", data: "Dataset", training: Training) -> "Embeddings":
    from variegate.cli.output import progress_bar, say
    from variegate.data.bpr import cache_folder, fit_bpr

    with progress_bar(console, "Learning vectors") as (progress, trained):
        learnt = fit_bpr(
            data,
            d=training.d,
            epochs=training.epochs,
            learning_rate=training.learning_rate,
            regularisation=training.regularisation,
            seed=training.seed,
            normalise=training.normalise,
            progress=progress,
            cache=None if training.no_cache else cache_folder(),
        )
    if not trained:
        say(console, "Vectors were learnt before: taken from the cache")
    return learnt


def _check_distances(data: "Dataset", names: tuple[str, ...]) -> None:
    """Raise unless the data can have distances of these names, whatever the vectors will be."""
    import numpy as np

    from variegate.data.build import rated_catalogue
    from variegate.data.embeddings import make_embeddings

    liked = [data.item_ids[row] for row in np.flatnonzero(data.popularity)]
    rated_catalogue(data, make_embeddings(liked, np.ones((len(liked), 1))), distances=names)


def _of_the_most_popular(learnt: "Embeddings", data: "Dataset", count: int) -> "Embeddings":
    import numpy as np

    popularity = dict(zip(data.item_ids, data.popularity, strict=True))
    order = np.argsort([-popularity[item] for item in learnt.item_ids], kind="stable")
    rows = np.sort(order[:count])
    kept = tuple(learnt.item_ids[row] for row in rows)
    return replace(learnt, item_ids=kept, vectors=learnt.vectors[rows])


#: Options that name columns, and what `load_items` calls them
_KINDS: Final = {"list": "lists", "number": "numbers", "category": "categories", "text": "texts"}
_HELP: Final = {
    "list": "A column of any number of labels, such as tags.",
    "number": "A column of numbers, such as prices.",
    "category": "A column of one label, such as a brand.",
    "text": "A column of free text.",
}


def column_options(command: Command) -> Command:
    """Give a command `--title`, `--list`, `--number`, `--category`, `--text` and their kin."""
    for option in reversed(
        [
            click.option("--title", metavar="COL", help="The column of titles.  [default: the id]"),
            *(
                click.option(f"--{kind}", kinds, multiple=True, metavar="COL", help=_HELP[kind])
                for kind, kinds in _KINDS.items()
            ),
            click.option(
                "--list-separator",
                default="|",
                show_default=True,
                metavar="TEXT",
                help="What stands between two labels.",
            ),
            click.option(
                "--missing",
                multiple=True,
                metavar="TEXT",
                help="A value that means not known, besides nothing at all.",
            ),
        ]
    ):
        command = option(command)
    return command


def encoding_options(command: Command) -> Command:
    """Give a command `--encoding` and `--separator`."""
    separator = click.option(
        "--separator", metavar="TEXT", help="Between fields, if the file's ending does not say."
    )
    encoding = click.option(
        "--encoding", default="utf-8", show_default=True, metavar="NAME", help="Of the text."
    )
    return encoding(separator(command))


def columns_from(options: dict[str, Any]) -> "ItemColumns":
    """Take what `column_options` gave out of `options`, as `load_items` takes it.

    It is empty if no column was named.
    """
    title, separator = options.pop("title"), options.pop("list_separator")
    missing = options.pop("missing")
    named = {kind: list(options.pop(kind)) for kind in _KINDS.values()}
    columns: ItemColumns = {}
    if title is not None:
        columns["title"] = title
    if any(named.values()):
        columns |= {
            "lists": named["lists"],
            "numbers": named["numbers"],
            "categories": named["categories"],
            "texts": named["texts"],
            "list_separator": separator,
        }
    if columns:
        columns["missing"] = ["", *missing]
    return columns
