"""`variegate build items`: a catalogue from an item table alone."""

from typing import Any

import click

from variegate.cli.builds.columns import column_options, columns_from, encoding_options
from variegate.cli.builds.saving import check_place, out_option, save_and_say
from variegate.errors import InputError


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
    from variegate.cli.console import plain_console
    from variegate.data.build import content_catalogue
    from variegate.data.loaders import load_items

    path, console = check_place(out, file), plain_console()
    columns = columns_from(options)
    if "lists" not in columns:
        raise InputError("name at least one column with --list, --number, --category or --text")
    with console.status(f"Reading {file}"):
        table = load_items(file, item=item, encoding=encoding, separator=separator, **columns)
        catalogue = content_catalogue(table, distances=distances or None)
    save_and_say(console, catalogue, path)
