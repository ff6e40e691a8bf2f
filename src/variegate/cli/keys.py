"""`variegate keys`: API keys of the service."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from variegate.cli.output import all_of, one_line, plain_console, plain_table
from variegate.cli.serve import check_installed

if TYPE_CHECKING:
    from variegate.store import Store

_in_a_store: Final = all_of(
    click.option("--store", metavar="URL", help="Address of the store.  [default: as served]"),
    click.option("--config", metavar="FILE", help="Settings file of the service."),
)


@click.group()
def keys() -> None:
    """Create, list and revoke API keys of the service.

    Keys are stored as hashes. A running service accepts a new key, and rejects a revoked one,
    within two seconds.

    \b
    Examples:
        variegate keys make --role write --name shop
        variegate keys list
    """


@keys.command()
@click.option("--role", default="write", show_default=True, help="read, write or admin.")
@click.option("--name", required=True, help="Name of its owner, for your reference.")
@_in_a_store
def make(role: str, name: str, store: str | None, config: str | None) -> None:
    """Create a key and print it.

    It is stored as a hash and cannot be shown again. `read` reads users, items and reports; `write`
    also requests lists and sends feedback; `admin` can do everything.

    \b
    Examples:
        variegate keys make --name shop
        variegate keys make --role admin --name me --store postgresql://me@db/shop
    """
    from variegate.service.keys import make_key

    with _opened(store, config) as opened:
        key, row = make_key(opened, role, name)
    click.echo(key)
    # On stderr, so that KEY=$(variegate keys make ...) holds only the key.
    click.echo(
        f"Key {row.id} ({row.role}, {row.name}). Save it: it cannot be shown again.", err=True
    )


@keys.command("list")
@_in_a_store
def list_(store: str | None, config: str | None) -> None:
    """List the ids, roles and names of the keys.

    \b
    Example:
        variegate keys list
    """
    from datetime import UTC, datetime

    from variegate.service.keys import list_keys

    def day(seconds: float | None) -> str:
        return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).date().isoformat()

    console = plain_console()
    with _opened(store, config) as opened:
        rows = list_keys(opened)
    if not rows:
        console.print("No keys yet: create one with `variegate keys make --name me`.")
        return
    table = plain_table("id", "role", "name", "created", "revoked")
    for row in rows:
        table.add_row(row.id, row.role, one_line(row.name), day(row.created), day(row.revoked))
    console.print(table)


@keys.command()
@click.argument("key_id", metavar="ID")
@_in_a_store
def revoke(key_id: str, store: str | None, config: str | None) -> None:
    """Revoke a key by its id.

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
    """Yield the store of the service, and close it."""
    check_installed()
    from variegate.engine.settings import load_settings
    from variegate.store import Store

    settings = load_settings({} if store is None else {"store": store}, config=config)
    with Store.open(settings.store) as opened:
        yield opened
