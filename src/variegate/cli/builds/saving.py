"""Where every build ends: the catalogue's file, and what to type next."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from variegate.errors import DataError

if TYPE_CHECKING:
    from rich.console import Console

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
    from variegate.cli.console import say

    catalogue.save(path)
    say_saved(console, catalogue, path)
    say(console, f"Next: variegate inspect {path}")


def say_saved(console: "Console", catalogue: "Catalogue", path: Path) -> None:
    """Say what is in a catalogue that was written."""
    from variegate.cli.console import say, size_of

    names = ", ".join(h.name for h in catalogue.distances) or "none"
    say(
        console,
        f"{path}: {len(catalogue):,} items, {catalogue.d} features, distances: {names} "
        f"({size_of(path)})",
    )
