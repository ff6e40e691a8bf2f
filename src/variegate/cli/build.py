"""`variegate build`: a catalogue file from films, a data set, a table or vectors."""

from typing import TYPE_CHECKING, Any, Final

import click

from variegate.cli.build_options import (
    Training,
    build_from_likes,
    check_place,
    column_options,
    columns_from,
    encoding_options,
    out_option,
    save_and_say,
    training_options,
)
from variegate.cli.build_ranker import open_, scored
from variegate.cli.output import plain_console
from variegate.errors import InputError

if TYPE_CHECKING:
    from variegate.model.item_table import ItemTable


@click.command()
@click.argument("file")
@click.option(
    "--id", "item", default="item", show_default=True, metavar="COL", help="Column of item ids."
)
@column_options
@click.option(
    "--distance",
    "distances",
    multiple=True,
    metavar="NAME",
    help="cosine on all features, or the name of a column. Repeatable.  "
    "[default: all that are possible]",
)
@click.option(
    "--like",
    metavar="FILE",
    help="Earlier catalogue, whose features and items are kept: its store can be served.",
)
@encoding_options
@out_option
def items(
    file: str,
    item: str,
    distances: tuple[str, ...],
    like: str | None,
    encoding: str,
    separator: str | None,
    out: str,
    **options: Any,
) -> None:
    """Make a catalogue from a table of items, without ratings.

    FILE is CSV, TSV or Parquet. Each named column becomes features, and a distance unless it is
    free text. Options that name a column are repeatable, except for --title.

    A table that has grown gives other features: what a price or a label means depends on all items.
    With --like, they are computed as for the earlier catalogue, and what users learnt stays valid.

    \b
    Examples:
        variegate build items shop.csv --id sku --title name \\
            --list tags --number price --text description --out shop.npz
        variegate build items larger.csv --id sku --title name \\
            --list tags --number price --text description --like shop.npz --out larger.npz
    """
    from variegate.data.build import content_catalogue, updated_catalogue
    from variegate.data.tables import load_items
    from variegate.model.catalogue import Catalogue

    path, console = check_place(out, file), plain_console()
    if like is not None and distances:
        raise InputError("--distance must not be given with --like, which has its distances")
    columns = columns_from(options)
    if "lists" not in columns:
        raise InputError("name at least one column with --list, --number, --category or --text")
    with console.status(f"Reading {file}"):
        table = load_items(file, item=item, encoding=encoding, separator=separator, **columns)
        if like is None:
            catalogue = content_catalogue(table, distances=distances or None)
        else:
            catalogue = updated_catalogue(Catalogue.load(like), table)
    save_and_say(console, catalogue, path)


@click.command()
@click.option("--films", "count", default=1500, show_default=True, help="Number of films.")
@out_option
def films(count: int, out: str) -> None:
    """Make a catalogue of the bundled films: no download, no ratings.

    Data from Wikidata (CC0) on films from 1940 to 2014, with distances on all features, genres,
    years and countries.

    \b
    Example:
        variegate build films --out films.npz
    """
    from variegate.data.films import film_catalogue

    path, console = check_place(out), plain_console()
    with console.status("Choosing films"):
        catalogue = film_catalogue(films=count)
    save_and_say(console, catalogue, path)


#: The names of `variegate.data` data sets, repeated here to keep --help fast
NAMES: Final = ("ml-100k", "ml-1m", "anime")
_HELP: Final = """Make a catalogue of {name}, with embeddings of its ratings.

    The embeddings are fitted by Bayesian personalised ranking (BPR) to all users, or to a share
    of them with --train, and cached. Distances: cosine, angular or euclidean on the
    embeddings{others}.

    \b
    Examples:
        variegate build {name} --out {name}.npz
        variegate build {name} {example} \\
            --out {name}.npz
"""
_FILMS: Final = (
    ", genres, or years",
    "--distance cosine --distance genres --distance years",
)
_ANIME: Final = (", or genres", "--train 0.8 --most-popular 1000")


def _command_for(name: str) -> click.Command:
    others, example = _ANIME if name == "anime" else _FILMS

    @click.command(name, help=_HELP.format(name=name, others=others, example=example))
    @click.option(
        "--path", metavar="PATH", help="Its archive or folder.  [default: in the data folder]"
    )
    @training_options
    @out_option
    def build_known(path: str | None, out: str, **options: Any) -> None:
        from variegate.data.download import DATASETS, find_dataset

        target, console = check_place(out, path), plain_console()
        source = find_dataset(name) if path is None else path
        with console.status(f"Reading {source}"):
            data = DATASETS[name].load(source)
        build_from_likes(console, data, Training(**options), target)

    return build_known


KNOWN_COMMANDS = tuple(map(_command_for, NAMES))


@click.command()
@click.option("--table", required=True, metavar="FILE", help="Table of likes or ratings.")
@click.option(
    "--user", default="user", show_default=True, metavar="COL", help="Column of user ids."
)
@click.option(
    "--item", default="item", show_default=True, metavar="COL", help="Column of item ids."
)
@click.option("--rating", metavar="COL", help="Column of ratings.  [default: every row is a like]")
@click.option("--threshold", type=float, metavar="X", help="Ratings greater than X are likes.")
@click.option("--items", metavar="FILE", help="Item table, for the columns below.")
@click.option("--items-id", metavar="COL", help="Its column of ids.  [default: as --item]")
@column_options
@encoding_options
@training_options
@out_option
def ratings(
    table: str,
    user: str,
    item: str,
    rating: str | None,
    threshold: float | None,
    items: str | None,
    items_id: str | None,
    encoding: str,
    separator: str | None,
    out: str,
    **options: Any,
) -> None:
    """Make a catalogue from a table of likes or ratings.

    FILE is CSV, TSV or Parquet. Embeddings are fitted as for the paper's data sets. With an item
    table the catalogue also has titles and attributes; --distance genres then compares the first
    --list (or --category), and --distance years a --number named year.

    \b
    Example:
        variegate build ratings --table stars.csv --user reader --item isbn \\
            --rating stars --threshold 3 --items books.csv --title title \\
            --list tags --distance cosine --distance genres --out books.npz
    """
    from variegate.data.tables import load_table

    path, console = check_place(out, table, items), plain_console()
    with console.status(f"Reading {table}"):
        data = load_table(
            table,
            user=user,
            item=item,
            rating=rating,
            threshold=threshold,
            items=items,
            items_id=items_id,
            encoding=encoding,
            separator=separator,
            **columns_from(options),
        )
    build_from_likes(console, data, Training(**options), path)


@click.command()
@click.argument("file")
@click.option("--ids", metavar="FILE", help="Ids, one per line, in the order of the rows.")
@click.option(
    "--normalise",
    metavar="global|min-max|row|none",
    help="How vectors are scaled to [-1, 1].  [default: global]",
)
@click.option(
    "--features",
    default="pca:16",
    show_default=True,
    metavar="none|pca:N|all",
    help="What is learnt from: principal components, all numbers, or scores of requests alone.",
)
@click.option(
    "--distance",
    "distances",
    multiple=True,
    default=("cosine",),
    metavar="NAME",
    help="cosine, angular or euclidean on whole vectors. Repeatable.  [default: cosine]",
)
@click.option("--items", metavar="FILE", help="Item table, for the columns below.")
@click.option(
    "--items-id", default="item", show_default=True, metavar="COL", help="Its column of ids."
)
@column_options
@out_option
def vectors(
    file: str,
    ids: str | None,
    normalise: str | None,
    features: str,
    distances: tuple[str, ...],
    items: str | None,
    items_id: str,
    out: str,
    **options: Any,
) -> None:
    """Make a catalogue from your own vectors.

    They are for example those of implicit or of a text encoder. FILE is an .npz with the arrays
    `ids` (n,) and `vectors` (n, d), and optionally `mean_user` (d,); an .npy of vectors with --ids;
    or a file written by `Embeddings.save`. With an item table the catalogue also has titles and
    attributes.

    Distances use whole vectors, and few numbers become features: a user's state has about half of
    the square of their number. --features all is refused above 128.

    \b
    Examples:
        variegate build vectors encoded.npz --out shop.npz
        variegate build vectors encoded.npy --ids ids.txt --distance angular --out shop.npz
    """
    from variegate.data.build import table_attributes
    from variegate.data.vectors import read_vectors, vector_catalogue

    path, console = check_place(out, file, ids, items), plain_console()
    embeddings = read_vectors(file, ids, normalise)
    table = _item_table(items, items_id, options)
    known = None if table is None else table.align(embeddings.item_ids)
    catalogue = vector_catalogue(
        embeddings,
        features=features,
        distances=distances,
        titles=None if known is None else known.titles,
        attributes=None if known is None else table_attributes(known),
    )
    save_and_say(console, catalogue, path)


def _item_table(items: str | None, items_id: str, options: dict[str, Any]) -> "ItemTable | None":
    from variegate.data.tables import load_items

    columns = columns_from(options)
    if items is not None:
        return load_items(items, item=items_id, **columns)
    if columns:
        raise InputError("columns need --items, the path of an item table")
    return None


@click.group()
def build() -> None:
    """Make a catalogue file from data, a table or vectors.

    The file is written completely or not at all. `variegate build SOURCE --help` lists the options
    of each source.

    \b
    Examples:
        variegate build films --out films.npz
        variegate build ml-100k --distance cosine --distance genres --out ml.npz
        variegate build items shop.csv --id sku --title name --list tags --out shop.npz
    """


for command in (films, *KNOWN_COMMANDS, ratings, items, vectors, open_, scored):
    build.add_command(command)
