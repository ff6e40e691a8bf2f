"""`variegate items`: import, retire and restore items of a running service."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from variegate.cli.output import all_of, counted, csv_file, plain_console, progress_bar, say
from variegate.errors import InputError, StoreError

if TYPE_CHECKING:
    from variegate.schemas import ItemsProgress, RejectedItem

#: Rejected lines that are printed.
_SHOWN: Final = 10
_LINES: Final = (".jsonl", ".ndjson")

of_running_service: Final = all_of(
    click.option(
        "--url",
        default="http://127.0.0.1:8000",
        show_default=True,
        help="Address of the service.",
    ),
    click.option("--key", envvar="VARIEGATE_KEY", help="Admin key, if the service has keys."),
)


_of_items: Final = all_of(
    click.argument("ids", nargs=-1, metavar="[ID]..."),
    of_running_service,
    click.option("--file", metavar="FILE", help="File with one id per line."),
)


@click.group()
def items() -> None:
    """Add, change, retire and restore items of a service.

    \b
    Examples:
        variegate items import products.csv --id sku --title name
        variegate items retire p17 p18
    """


@items.command("import")
@click.argument("file", metavar="FILE")
@of_running_service
@click.option(
    "--id", "id_column", default="id", show_default=True, metavar="COL", help="Column of item ids."
)
@click.option("--title", "title_column", metavar="COL", help="Column of titles.")
@click.option(
    "--list-separator", default="|", show_default=True, metavar="TEXT", help="Separator of labels."
)
@click.option("--separator", metavar="TEXT", help="Field separator.  [default: by the suffix]")
@click.option("--rejected", metavar="FILE", help="File to write all rejected lines to.")
def import_(
    file: str,
    url: str,
    key: str | None,
    separator: str | None,
    rejected: str | None,
    **columns: str | None,
) -> None:
    """Add or change the items of a FILE.

    FILE is CSV or TSV with a header, or lines of JSON. Columns are attributes of that name; those
    that the catalogue does not have are ignored, and named. Features and distances are made from
    them by the service. In lines of JSON (.jsonl), each is an item as POST /v1/items takes it.

    Lines that are invalid are rejected and reported, and all others imported. Lists go on
    meanwhile, with the items as they were; at the end they have the new ones. Items that are the
    same do not change, so an interrupted command is completed by running it again.

    \b
    Examples:
        variegate items import products.csv --id sku --title name
        variegate items import products.jsonl --url https://shop.example --rejected wrong.csv
    """
    from variegate.data.table_reader import SEPARATORS
    from variegate.files import read_file

    suffix = Path(file).suffix.lower()
    if separator is None and suffix not in (*SEPARATORS, *_LINES):
        raise InputError(
            f"FILE must end in .csv, .tsv or .jsonl unless --separator is given, got {file}"
        )
    content, _where = read_file(file)
    options: dict[str, Any] = {"file_format": "jsonl"}
    if separator is not None or suffix in SEPARATORS:
        chosen = separator or SEPARATORS[suffix]
        options = {**columns, "separator": "\t" if chosen == "\\t" else chosen}
    # Approximately: a field may have several lines.
    total = content.count(b"\n")
    _send(url, key, "import_items", content, options, rejected, total=total)


@items.command()
@_of_items
def retire(ids: tuple[str, ...], url: str, key: str | None, file: str | None) -> None:
    """Retire items, so that they are no longer recommended.

    What was learnt from them stays.

    \b
    Examples:
        variegate items retire p17 p18
        variegate items retire --file sold-out.txt
    """
    _send_ids(url, key, "retire_items", ids, file)


@items.command()
@_of_items
def restore(ids: tuple[str, ...], url: str, key: str | None, file: str | None) -> None:
    """Let retired items be recommended again.

    \b
    Example:
        variegate items restore p17 --file back-in-stock.txt
    """
    _send_ids(url, key, "restore_items", ids, file)


def _send_ids(url: str, key: str | None, name: str, ids: tuple[str, ...], file: str | None) -> None:
    from variegate.files import read_file

    found = list(ids)
    if file is not None:
        content, _where = read_file(file)
        found += [line.strip() for line in content.decode().splitlines() if line.strip()]
    if not found:
        raise InputError("ids must be given, or a file of them with --file")
    _send(url, key, name, found, {}, None, total=len(found))


def _send(
    url: str,
    key: str | None,
    name: str,
    content: Any,
    options: dict[str, Any],
    rejected: str | None,
    *,
    total: int,
) -> None:
    """Send items, draw the progress, and print what became of them."""
    from variegate.client import Client
    from variegate.schemas import ItemsProgress

    last: ItemsProgress | None = None
    refused: list[RejectedItem] = []
    with Client(url, key, timeout=60.0) as client, progress_bar("Items") as (tell, _):
        for line in getattr(client, name)(content, **options):
            if isinstance(line, ItemsProgress):
                last = line
                tell(line.lines, max(total, line.lines))
            else:
                refused.append(line)
    _report(last, refused, rejected)


def _report(
    last: "ItemsProgress | None", refused: "list[RejectedItem]", rejected: str | None
) -> None:
    console = plain_console()
    with csv_file(rejected, "line", "id", "reason") as write:
        for line in refused:
            write(line.line, line.id or "", line.message)
    for line in refused[:_SHOWN]:
        say(console, f"line {line.line} rejected: {line.message}")
    if len(refused) > _SHOWN:
        say(console, f"... and {len(refused) - _SHOWN} more: --rejected FILE has all of them")
    if last is None or not last.done:
        raise StoreError("the answer ended early: run the command again")
    if last.ignored_columns:
        say(console, f"Columns that are no attribute: {', '.join(last.ignored_columns)}.")
    counts = (
        f"{counted(last.added, 'item')} added, {last.changed} changed, {last.unchanged} unchanged, "
        f"{last.rejected} rejected"
    )
    if last.rejected == last.lines > 0:
        raise click.ClickException(counts)
    say(console, f"{counts}.")
