"""Options that the `build` commands share, and fitting embeddings to likes."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from variegate.cli.output import all_of, progress_bar, say, size_of
from variegate.errors import DataError, InputError

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.data.dataset import Dataset
    from variegate.data.embeddings import Embeddings
    from variegate.data.tables import ItemColumns
    from variegate.model.catalogue import Catalogue


out_option: Final = click.option(
    "--out", required=True, metavar="FILE", help="File to write, such as films.npz."
)


def check_place(out: str, *sources: str | None) -> Path:
    """Return `out` as a path that can be written, or raise DataError before the work starts.

    `sources` are the files to read; `out` must not be one of them.
    """
    path = Path(out)
    if path.is_dir():
        raise DataError(f"{path}: cannot be written: it is a folder")
    if not path.parent.is_dir():
        raise DataError(f"{path}: cannot be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise DataError(f"{path}: cannot be written: {path.parent} is not writable")
    if path.resolve() in {Path(source).resolve() for source in sources if source is not None}:
        raise DataError(f"{path}: cannot be written: it would overwrite its source")
    return path


def save_and_say(console: "Console", catalogue: "Catalogue", path: Path) -> None:
    """Write the catalogue, and print a summary and the next command."""
    catalogue.save(path)
    say_saved(console, catalogue, path)
    say(console, f"Next: variegate inspect {path}")


def say_saved(console: "Console", catalogue: "Catalogue", path: Path) -> None:
    """Print a summary of a catalogue file."""
    names = ", ".join(h.name for h in catalogue.distances) or "none"
    say(
        console,
        f"{path}: {len(catalogue):,} items, {catalogue.d} features, distances: {names} "
        f"({size_of(path)})",
    )


#: Adds the options that `Training` holds.
training_options: Final = all_of(
    click.option(
        "--distance",
        "distances",
        multiple=True,
        default=("cosine",),
        metavar="NAME",
        help="cosine, angular or euclidean on the embeddings; genres; years. Repeatable.  "
        "[default: cosine]",
    ),
    click.option(
        "--embeddings",
        default="bpr",
        show_default=True,
        metavar="bpr|als",
        help="How they are fitted; als takes less time where likes are many.",
    ),
    click.option("--d", default=10, show_default=True, help="Dimensions of the embeddings."),
    click.option("--epochs", type=int, help="Training epochs.  [default: 200; of als 15]"),
    click.option("--learning-rate", type=float, help="Learning rate of bpr.  [default: 0.02]"),
    click.option("--regularisation", default=0.01, show_default=True, help="L2 regularisation."),
    click.option("--seed", default=0, show_default=True, help="Random seed."),
    click.option(
        "--normalise",
        default="global",
        show_default=True,
        metavar="global|min-max|row|none",
        help="How embeddings are scaled to [-1, 1].",
    ),
    click.option(
        "--train",
        type=float,
        metavar="SHARE",
        help="Fit to a random share of the users.  [default: all users]",
    ),
    click.option("--most-popular", type=int, metavar="N", help="Keep the N most popular items."),
    click.option("--no-cache", is_flag=True, help="Fit without reading or writing the cache."),
)


@dataclass(frozen=True)
class Training:
    """Values of the training options."""

    distances: tuple[str, ...]
    embeddings: str
    d: int
    epochs: int | None
    learning_rate: float | None
    regularisation: float
    seed: int
    normalise: str
    train: float | None
    most_popular: int | None
    no_cache: bool


def build_from_likes(console: "Console", data: "Dataset", training: Training, path: Path) -> None:
    """Fit embeddings to the likes and write a catalogue."""
    save_and_say(console, catalogue_from_likes(console, data, training)[0], path)


def catalogue_from_likes(
    console: "Console", data: "Dataset", training: Training
) -> "tuple[Catalogue, Dataset]":
    """Fit embeddings to the likes; return a catalogue and the likes used."""
    from variegate.arrays import check_choice, check_count
    from variegate.data.build import most_popular, rated_catalogue
    from variegate.data.splits import split_users

    check_choice("embeddings", training.embeddings, ("bpr", "als"))
    if training.embeddings == "als" and training.learning_rate is not None:
        raise InputError("`--learning-rate` is of --embeddings bpr: als has none")
    say(
        console,
        f"{data.name}: {len(data):,} likes of {len(data.user_ids):,} users and "
        f"{len(data.item_ids):,} items",
    )
    if training.train is not None:
        data = split_users(data, rng=training.seed, train=training.train).train
        say(console, f"Fitting to {len(data.user_ids):,} of the users: {len(data):,} likes")
    # Checked before the training, which can take minutes.
    liked = int((data.popularity > 0).sum())
    if training.most_popular is not None:
        check_count(training.most_popular, liked, name="most_popular", of="the liked items")
    _check_distances(data, training.distances)
    learnt = most_popular(_fit(console, data, training), data, training.most_popular)
    return rated_catalogue(data, learnt, distances=training.distances), data


def _fit(console: "Console", data: "Dataset", training: Training) -> "Embeddings":
    from variegate.data.als import fit_als
    from variegate.data.bpr import cache_folder, fit_bpr

    fit: Any = fit_bpr if training.embeddings == "bpr" else fit_als
    given = {"epochs": training.epochs, "learning_rate": training.learning_rate}
    with progress_bar("Fitting embeddings") as (progress, trained):
        learnt: Embeddings = fit(
            data,
            d=training.d,
            regularisation=training.regularisation,
            seed=training.seed,
            normalise=training.normalise,
            progress=progress,
            cache=None if training.no_cache else cache_folder(),
            **{name: value for name, value in given.items() if value is not None},
        )
    if not trained:
        say(console, "Embeddings taken from the cache")
    return learnt


def _check_distances(data: "Dataset", names: tuple[str, ...]) -> None:
    """Raise unless the data supports these distances, whatever the embeddings will be."""
    import numpy as np

    from variegate.data.build import rated_catalogue
    from variegate.data.embeddings import make_embeddings

    liked = [data.item_ids[row] for row in np.flatnonzero(data.popularity)]
    rated_catalogue(data, make_embeddings(liked, np.ones((len(liked), 1))), distances=names)


#: Options that name columns, and the matching parameters of `load_items`
_KINDS: Final = {"list": "lists", "number": "numbers", "category": "categories", "text": "texts"}
_HELP: Final = {
    "list": "Column of several labels, such as tags.",
    "number": "Column of numbers, such as prices.",
    "category": "Column of one label, such as a brand.",
    "text": "Column of free text.",
}


#: Adds the options that name the columns of an item table.
column_options: Final = all_of(
    click.option("--title", metavar="COL", help="Column of titles.  [default: the id]"),
    *(
        click.option(f"--{kind}", kinds, multiple=True, metavar="COL", help=_HELP[kind])
        for kind, kinds in _KINDS.items()
    ),
    click.option(
        "--keep",
        "kept",
        multiple=True,
        metavar="COL",
        help="Column that is only returned with an item, such as an image or the stock.",
    ),
    click.option(
        "--list-separator",
        default="|",
        show_default=True,
        metavar="TEXT",
        help="Separator of labels.",
    ),
    click.option(
        "--missing",
        multiple=True,
        metavar="TEXT",
        help="Value that means missing, besides the empty one.",
    ),
)

encoding_options: Final = all_of(
    click.option(
        "--encoding", default="utf-8", show_default=True, metavar="NAME", help="Text encoding."
    ),
    click.option(
        "--separator", metavar="TEXT", help="Field separator, if the file name does not tell."
    ),
)


def columns_from(options: dict[str, Any]) -> "ItemColumns":
    """Remove the values of `column_options` from `options`; return arguments of `load_items`.

    They are empty if no column was named.
    """
    title, separator = options.pop("title"), options.pop("list_separator")
    missing = options.pop("missing")
    named = {kind: list(options.pop(kind)) for kind in _KINDS.values()}
    kept = list(options.pop("kept"))
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
    if kept:
        columns["kept"] = kept
    if columns:
        columns["missing"] = ["", *missing]
    return columns
