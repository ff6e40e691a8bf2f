"""`python -m tools.loadtest`: measure the rate of lists and feedback of a service."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from variegate.cli.output import PlainErrors


@click.command(cls=PlainErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--url", metavar="URL", help="A running service.  [default: start one]")
@click.option("--key", help="Key for the service at --url.", envvar="VARIEGATE_KEY")
@click.option(
    "--store", metavar="URL", help="Store of the service it starts.  [default: a new SQLite file]"
)
@click.option(
    "--workers", default=1, show_default=True, help="Worker processes of the service it starts."
)
@click.option("--clients", default=32, show_default=True, help="Concurrent connections.")
@click.option(
    "--seconds", default=12.0, show_default=True, help="Duration of each of the two loads."
)
@click.option("--users", default=2000, show_default=True, help="Number of users.")
@click.option("--seed", default=0, show_default=True, help="Seed of the simulated users.")
def main(
    url: str | None,
    key: str | None,
    store: str | None,
    workers: int,
    clients: int,
    seconds: float,
    users: int,
    seed: int,
) -> None:
    """Measure the rate of lists and feedback, alternating with a route that does nothing.

    Both rates are measured in one run and compared, so that the result does not depend on the
    machine. The service learns from the simulated users: do not point --url at one in use.

    \b
    Examples:
        python -m tools.loadtest
        python -m tools.loadtest --store postgresql://me@localhost/shop --workers 2
    """
    from tools.loadtest.run import POSTGRES_SHARE, SQLITE_SHARE, Plan, lines, tried
    from tools.loadtest.server import own_service
    from variegate.arrays import check_positive
    from variegate.cli.output import plain_console, progress_bar, say
    from variegate.cli.serve import check_installed

    check_positive(clients=clients, seconds=seconds, users=users, workers=workers)
    if url is None:
        check_installed()
    console, plan = plain_console(), Plan(clients, seconds, users, seed, key)
    with (
        own_service(store, workers) if url is None else _running(url) as (host, port, pid),
        progress_bar("Asking") as (tell, _last),
    ):
        found = tried((host, port), plan, pid=pid, progress=tell)
    is_server = (store or "").startswith("postgres")
    for line in lines(found, POSTGRES_SHARE if is_server else SQLITE_SHARE):
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


if __name__ == "__main__":
    main()
