"""`variegate build ratings`: a catalogue from any table of who liked what."""

from typing import Any

import click

from variegate.cli.builds.columns import column_options, columns_from, encoding_options
from variegate.cli.builds.saving import check_place, out_option
from variegate.cli.builds.training import Training, build_from_likes, training_options


@click.command()
@click.option("--table", required=True, metavar="FILE", help="Who liked or rated what.")
@click.option("--user", default="user", show_default=True, metavar="COL", help="Users' ids.")
@click.option("--item", default="item", show_default=True, metavar="COL", help="Items' ids.")
@click.option("--rating", metavar="COL", help="Ratings.  [default: every row is a like]")
@click.option("--above", type=float, metavar="X", help="Ratings greater than X are likes.")
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
    above: float | None,
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
            --rating stars --above 3 --items books.csv --title title \\
            --list tags --distance cosine --distance genres --out books.npz
    """
    from variegate.cli.console import plain_console
    from variegate.data.loaders import load_table

    path, console = check_place(out, table, items), plain_console()
    with console.status(f"Reading {table}"):
        data = load_table(
            table,
            user=user,
            item=item,
            rating=rating,
            above=above,
            items=items,
            items_id=items_id,
            encoding=encoding,
            separator=separator,
            **columns_from(options),
        )
    build_from_likes(console, data, Training(**options), path)
