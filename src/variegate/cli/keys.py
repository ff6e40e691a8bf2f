"""`variegate keys`: who may call the service."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from variegate.store import Store

F = TypeVar("F", bound=Callable[..., Any])


def _in_a_store(command: F) -> F:
    for decorate in (
        click.option("--config", metavar="FILE", help="Settings of the service, for the store."),
        click.option(
            "--store", metavar="URL", help="The store of the service.  [default: its own]"
        ),
    ):
        command = decorate(command)
    return command


@click.group()
def keys() -> None:
    """Make, list and revoke the keys to the service.

    They are in the service's store, as hashes. A running service takes a new key, and refuses a
    revoked one, within two seconds.

    \b
    Examples:
        variegate keys make --role client --name shop
        variegate keys list
    """


@keys.command()
@click.option("--role", default="client", show_default=True, help="client or admin.")
@click.option("--name", required=True, help="Whose it is, for your own use.")
@_in_a_store
def make(role: str, name: str, store: str | None, config: str | None) -> None:
    """Make a key, and print it: this once, for it is not kept.

    A client may ask for lists and send feedback; an admin may do everything.

    \b
    Examples:
        variegate keys make --name shop
        variegate keys make --role admin --name me --store postgresql://me@db/shop
    """
    from variegate.service.keys import make_key

    with _opened(store, config) as opened:
        key, row = make_key(opened, role, name)
    click.echo(key)
    # Beside the output, so that KEY=$(variegate keys make ...) holds the key alone.
    click.echo(
        f"Key {row.id} ({row.role}, {row.name}). Keep it: it cannot be shown again.", err=True
    )


@keys.command("list")
@_in_a_store
def list_(store: str | None, config: str | None) -> None:
    """List the keys: their ids, roles and names; the keys themselves are not kept.

    \b
    Example:
        variegate keys list
    """
    from datetime import UTC, datetime

    from variegate.cli.output import one_line, plain_console, plain_table
    from variegate.service.keys import list_keys

    def day(seconds: float | None) -> str:
        return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).date().isoformat()

    console = plain_console()
    with _opened(store, config) as opened:
        rows = list_keys(opened)
    if not rows:
        console.print("No keys yet: make one with `variegate keys make --name me`.")
        return
    table = plain_table("id", "role", "name", "made", "revoked")
    for row in rows:
        table.add_row(row.id, row.role, one_line(row.name), day(row.created), day(row.revoked))
    console.print(table)


@keys.command()
@click.argument("key_id", metavar="ID")
@_in_a_store
def revoke(key_id: str, store: str | None, config: str | None) -> None:
    """Revoke a key by its id: within two seconds it opens nothing any more.

    \b
    Example:
        variegate keys revoke 1f0c9a77d2
    """
    from variegate.service.keys import revoke_key

    with _opened(store, config) as opened:
        row = revoke_key(opened, key_id)
    click.echo(f"Key {row.id} ({row.role}, {row.name}) is revoked.")


@contextmanager
def _opened(store: str | None, config: str | None) -> "Iterator[Store]":
    """Give the store that the service would use, and close it."""
    from variegate.cli.serve import check_installed

    check_installed()
    from variegate.engine.settings import load_settings
    from variegate.store import Store

    settings = load_settings({} if store is None else {"store": store}, config=config)
    with Store.open(settings.store) as opened:
        yield opened
