"""`variegate loadtest`: what the service bears."""

from collections.abc import Iterator
from contextlib import contextmanager

import click


@click.command()
@click.option("--url", metavar="URL", help="A service that runs.  [default: one of its own]")
@click.option("--key", help="Key for the service at --url.", envvar="VARIEGATE_KEY")
@click.option("--store", metavar="URL", help="Store for its own.  [default: a new SQLite file]")
@click.option("--workers", default=1, show_default=True, help="Processes of its own service.")
@click.option("--clients", default=32, show_default=True, help="Connections at once.")
@click.option("--seconds", default=12.0, show_default=True, help="Of each of the two loads.")
@click.option("--users", default=2000, show_default=True, help="Users the lists are for.")
@click.option("--seed", default=0, show_default=True, help="Same seed, same users and likes.")
def loadtest(
    url: str | None,
    key: str | None,
    store: str | None,
    workers: int,
    clients: int,
    seconds: float,
    users: int,
    seed: int,
) -> None:
    """Ask for lists and send feedback as fast as it goes, in turns with a route that does nothing.

    The rates of both are compared in one run, since no two machines are alike. Everything the
    simulated users do is learnt: do not point --url at a service that others use.

    \b
    Examples:
        variegate loadtest
        variegate loadtest --store postgresql://me@localhost/shop --workers 2
    """
    from variegate.arrays import check_positive
    from variegate.cli.console import plain_console, progress_bar, say
    from variegate.cli.serve import check_installed
    from variegate.loadtest.report import lines
    from variegate.loadtest.run import Plan, tried
    from variegate.loadtest.server import own_service

    check_positive(clients=clients, seconds=seconds, users=users, workers=workers)
    if url is None:
        check_installed()
    console, plan = plain_console(), Plan(clients, seconds, users, seed, key)
    with (
        own_service(store, workers) if url is None else _running(url) as (host, port, pid),
        progress_bar(console, "Asking") as (tell, _told),
    ):
        found = tried((host, port), plan, pid=pid, progress=tell)
    for line in lines(found):
        say(console, line)
    if found.failures:
        raise click.ClickException(f"{len(found.failures)} failed; the first: {found.failures[0]}")


@contextmanager
def _running(url: str) -> Iterator[tuple[str, int, int | None]]:
    from urllib.parse import urlsplit

    from variegate.errors import InputError

    parts = urlsplit(url)
    if parts.scheme != "http" or parts.hostname is None:
        raise InputError(f"`--url` must be like http://127.0.0.1:8000, got {url!r}")
    yield parts.hostname, parts.port or 80, None
