"""Options and context manager for commands that work on the store of a service."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from variegate.cli.output import all_of, import_from_working_directory
from variegate.cli.serve import check_installed

if TYPE_CHECKING:
    from variegate.engine.executor import Executor
    from variegate.engine.settings import Settings

#: Adds the options that select a service; `settings_of` takes their values.
of_a_service: Final = all_of(
    click.option(
        "--store", metavar="URL", help="Address of the store.  [default: as set for the service]"
    ),
    click.option(
        "--catalogue", metavar="FILE", help="Catalogue file.  [default: as set for the service]"
    ),
    click.option("--config", metavar="FILE", help="Settings file of the service."),
)


def settings_of(store: str | None, catalogue: str | None, config: str | None) -> "Settings":
    """Return the settings that `serve` would have with these flags."""
    check_installed()
    import_from_working_directory()
    from variegate.engine.settings import load_settings

    given = {"store": store, "catalogue": catalogue}
    flags = {name: value for name, value in given.items() if value is not None}
    return load_settings(flags, config=config)


@contextmanager
def served(settings: "Settings", *, create: bool = False, tie: bool = True) -> "Iterator[Executor]":
    """Yield an executor over the store of a service, and close the store at the end.

    Parameters
    ----------
    create
        Whether to create a missing store and bind it to the catalogue.
    tie
        Whether the store must belong to the catalogue.
    """
    from variegate.engine import LiveCatalogue
    from variegate.engine.executor import Executor
    from variegate.engine.factory import create_experiment, load_catalogue
    from variegate.store import CATALOGUE, Store

    live = LiveCatalogue(load_catalogue(settings))
    with Store.open(settings.store, create=create) as opened:
        with opened.reading() as reader:
            is_tied = reader.meta(CATALOGUE) is not None
        if tie and (is_tied or create):
            with opened.batch() as batch:
                live.bind(batch)
        yield Executor(opened, live, create_experiment(settings), settings)
