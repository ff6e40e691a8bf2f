"""`variegate build vectors`: a catalogue on vectors that were made elsewhere."""

from typing import TYPE_CHECKING, Any

import click

from variegate.cli.builds.columns import column_options, columns_from
from variegate.cli.builds.saving import check_place, out_option, save_and_say
from variegate.errors import InputError

if TYPE_CHECKING:
    from variegate.model.item_table import ItemTable


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
    from variegate.cli.builds.vector_file import read_vectors
    from variegate.cli.console import plain_console
    from variegate.data.build import table_attributes
    from variegate.model.catalogue import Catalogue

    path, console = check_place(out, file, ids, items), plain_console()
    brought = read_vectors(file, ids, normalise)
    about = _about(items, items_id, options)
    known = None if about is None else about.aligned(brought.item_ids)
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


def _about(items: str | None, items_id: str, options: dict[str, Any]) -> "ItemTable | None":
    from variegate.data.loaders import load_items

    columns = columns_from(options)
    if items is not None:
        return load_items(items, item=items_id, **columns)
    if columns:
        raise InputError("columns need --items, the path of an item table")
    return None
