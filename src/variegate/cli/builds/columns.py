"""Which columns of an item table are read: options that several builds share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from variegate.data.loaders import ItemColumns

Command = TypeVar("Command", bound=Callable[..., Any])

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
