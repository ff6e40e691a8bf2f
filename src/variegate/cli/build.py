"""`variegate build items`: a catalogue from an item table alone."""

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
from variegate.errors import InputError

if TYPE_CHECKING:
    from variegate.model.item_table import ItemTable


@click.command()
@click.argument("file")
@click.option(
    "--id", "item", default="item", show_default=True, metavar="COL", help="The column of ids."
)
@column_options
@click.option(
    "--distance",
    "distances",
    multiple=True,
    metavar="NAME",
    help="cosine on all features, or a column's name. Give it several times for several.  "
    "[default: all there can be]",
)
@encoding_options
@out_option
def items(
    file: str,
    item: str,
    distances: tuple[str, ...],
    encoding: str,
    separator: str | None,
    out: str,
    **options: Any,
) -> None:
    """Make a catalogue from the item table FILE (CSV, TSV, Parquet), with no ratings at all.

    Each column that is named becomes features, and a distance if it is not free text. The
    options that name a column can be given several times, except for --title.

    \b
    Example:
        variegate build items shop.csv --id sku --title name \\
            --list tags --number price --text description --out shop.npz
    """
    from variegate.cli.output import plain_console
    from variegate.data.build import content_catalogue
    from variegate.data.tables import load_items

    path, console = check_place(out, file), plain_console()
    columns = columns_from(options)
    if "lists" not in columns:
        raise InputError("name at least one column with --list, --number, --category or --text")
    with console.status(f"Reading {file}"):
        table = load_items(file, item=item, encoding=encoding, separator=separator, **columns)
        catalogue = content_catalogue(table, distances=distances or None)
    save_and_say(console, catalogue, path)


@click.command()
@click.option("--films", "count", default=1500, show_default=True, help="How many, best known.")
@out_option
def films(count: int, out: str) -> None:
    """Make a catalogue of the bundled films: no download, no ratings.

    Facts of Wikidata (CC0) on films of 1940 to 2014, with distances by all features, by
    genres, by years and by countries.

    \b
    Example:
        variegate build films --out films.npz
    """
    from variegate.cli.output import plain_console
    from variegate.data.films import film_catalogue

    path, console = check_place(out), plain_console()
    with console.status("Choosing films"):
        catalogue = film_catalogue(films=count)
    save_and_say(console, catalogue, path)


#: As `variegate.data.download.DATASETS` has them, which --help need not wait for
NAMES: Final = ("ml-100k", "ml-1m", "anime")
_HELP: Final = """Make a catalogue of {name}, on vectors learnt from who liked what.

    The vectors are learnt by Bayesian personalised ranking (BPR) from all users, unless
    --train says otherwise, and are kept so that the same training is not done twice. The
    distances can be on these vectors (cosine, angular, euclidean){others}.

    \b
    Examples:
        variegate build {name} --out {name}.npz
        variegate build {name} {example} \\
            --out {name}.npz
"""
_FILMS: Final = (
    ", by genres, or by years",
    "--distance cosine --distance genres --distance years",
)
_ANIME: Final = (", or by genres", "--train 0.8 --most-popular 1000")


def _command_for(name: str) -> click.Command:
    others, example = _ANIME if name == "anime" else _FILMS

    @click.command(name, help=_HELP.format(name=name, others=others, example=example))
    @click.option(
        "--path", metavar="PATH", help="Its zip or folder.  [default: found in the data folder]"
    )
    @training_options
    @out_option
    def build_known(path: str | None, out: str, **options: Any) -> None:
        from variegate.cli.output import plain_console
        from variegate.data.download import DATASETS, find_dataset

        target, console = check_place(out, path), plain_console()
        source = find_dataset(name) if path is None else path
        with console.status(f"Reading {source}"):
            data = DATASETS[name].load(source)
        build_from_likes(console, data, Training(**options), target)

    return build_known


KNOWN_COMMANDS = tuple(map(_command_for, NAMES))


@click.command()
@click.option("--table", required=True, metavar="FILE", help="Who liked or rated what.")
@click.option("--user", default="user", show_default=True, metavar="COL", help="Users' ids.")
@click.option("--item", default="item", show_default=True, metavar="COL", help="Items' ids.")
@click.option("--rating", metavar="COL", help="Ratings.  [default: every row is a like]")
@click.option("--threshold", type=float, metavar="X", help="Ratings greater than X are likes.")
@click.option("--items", metavar="FILE", help="An item table, for the columns below.")
@click.option("--items-id", metavar="COL", help="Its ids.  [default: as --item]")
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
    """Make a catalogue from a table of likes or ratings (CSV, TSV, Parquet).

    Vectors are learnt from who liked what, as for the paper's data sets. With an item table
    the catalogue has titles and attributes too; --distance genres then compares the first
    --list (or else --category), and --distance years a --number called year.

    \b
    Example:
        variegate build ratings --table stars.csv --user reader --item isbn \\
            --rating stars --threshold 3 --items books.csv --title title \\
            --list tags --distance cosine --distance genres --out books.npz
    """
    from variegate.cli.output import plain_console
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
@click.option("--ids", metavar="FILE", help="Ids, one a line, in the order of the rows.")
@click.option(
    "--normalise",
    metavar="global|min-max|row|none",
    help="How vectors are brought into [-1, 1].  [default: global]",
)
@click.option(
    "--distance",
    "distances",
    multiple=True,
    default=("cosine",),
    metavar="NAME",
    help="cosine, angular or euclidean. Give it several times for several.  [default: cosine]",
)
@click.option("--items", metavar="FILE", help="An item table, for the columns below.")
@click.option("--items-id", default="item", show_default=True, metavar="COL", help="Its ids.")
@column_options
@out_option
def vectors(
    file: str,
    ids: str | None,
    normalise: str | None,
    distances: tuple[str, ...],
    items: str | None,
    items_id: str,
    out: str,
    **options: Any,
) -> None:
    """Make a catalogue on vectors that you bring: from implicit, a text encoder, anything.

    FILE is an .npz with the arrays `ids` (n,) and `vectors` (n, d), and `mean_user` (d,) if
    there is one; or an .npy of vectors alone, with --ids; or what `Embeddings.save` wrote.
    With an item table the catalogue has titles and attributes too.

    \b
    Examples:
        variegate build vectors encoded.npz --out shop.npz
        variegate build vectors encoded.npy --ids ids.txt --distance angular --out shop.npz
    """
    from variegate.cli.output import plain_console
    from variegate.data.build import table_attributes
    from variegate.data.vectors import read_vectors
    from variegate.model.catalogue import Catalogue

    path, console = check_place(out, file, ids, items), plain_console()
    brought = read_vectors(file, ids, normalise)
    item_table = _item_table(items, items_id, options)
    known = None if item_table is None else item_table.aligned(brought.item_ids)
    catalogue = Catalogue(
        brought.item_ids,
        brought.vectors,
        distances,
        None if known is None else known.titles,
        None if known is None else table_attributes(known),
        mean_user=brought.mean_user,
        feature_scale=brought.scale,
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
    """Make a catalogue file from a SOURCE: a data set, a table, vectors, the bundled films.

    The file is written whole or not at all. Each source has options of its own, which
    `variegate build SOURCE --help` lists.

    \b
    Examples:
        variegate build films --out films.npz
        variegate build ml-100k --distance cosine --distance genres --out ml.npz
        variegate build items shop.csv --id sku --title name --list tags --out shop.npz
    """


for command in (films, *KNOWN_COMMANDS, ratings, items, vectors):
    build.add_command(command)
