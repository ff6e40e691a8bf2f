"""What commands beside `serve` need to work on a service's store."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from variegate.engine.executor import Executor
    from variegate.engine.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])


def of_a_service(command: F) -> F:
    """Add the options that say which service is meant; `settings_of` takes their values."""
    for decorate in (
        click.option("--config", metavar="FILE", help="Settings of the service."),
        click.option("--catalogue", metavar="FILE", help="Its catalogue.  [default: its own]"),
        click.option("--store", metavar="URL", help="Its store.  [default: its own]"),
    ):
        command = decorate(command)
    return command


def settings_of(store: str | None, catalogue: str | None, config: str | None) -> "Settings":
    """Return the settings that `serve` would have with these flags."""
    from variegate.cli.serve import check_installed, look_for_modules_here

    check_installed()
    look_for_modules_here()
    from variegate.engine.settings import load_settings

    said = {"store": store, "catalogue": catalogue}
    flags = {name: value for name, value in said.items() if value is not None}
    return load_settings(flags, config=config)


@contextmanager
def served(settings: "Settings", *, create: bool = False, tie: bool = True) -> "Iterator[Executor]":
    """Give what does the work of a service, and close its store in the end.

    Parameters
    ----------
    create
        Whether to make a store where there is none, and to tie it to the catalogue.
    tie
        Whether the store must be of the catalogue.
    """
    from variegate.engine import LiveCatalogue
    from variegate.engine.executor import Executor
    from variegate.engine.factory import create_experiment, create_rules, load_catalogue
    from variegate.store import CATALOGUE, Store

    live = LiveCatalogue(load_catalogue(settings))
    with Store.open(settings.store, create=create) as opened:
        with opened.reading() as reader:
            is_tied = reader.meta(CATALOGUE) is not None
        if tie and (is_tied or create):
            with opened.batch() as batch:
                live.bind(batch)
        yield Executor(opened, live, create_experiment(settings), create_rules(settings))
