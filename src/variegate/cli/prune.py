"""`variegate prune`: remove old slates and events."""

from __future__ import annotations

from pathlib import Path

import click

from variegate.cli.open_store import of_a_service, served, settings_of
from variegate.cli.output import counted, plain_console, progress_bar, say


@click.command()
@of_a_service
@click.option("--keep-days", type=float, required=True, help="Remove what is older; at least 9.")
@click.option("--archive", metavar="DIR", help="Write what is removed there, as Parquet.")
def prune(
    store: str | None,
    catalogue: str | None,
    config: str | None,
    keep_days: float,
    archive: str | None,
) -> None:
    """Remove old slates and events while the service runs.

    What they taught stays: it becomes a checkpoint of each user, from which `variegate rebuild` and
    every other replay starts. The totals of reports stay too. What depends on single old slates is
    gone: feedback on them is answered 404, a request is not known by its Idempotency-Key, and
    a user whose policy is replaced by one of another kind learns from what is left.

    Give the service's own settings. An interrupted command can be run again: nothing is lost, and
    nothing is in the archive twice. Archives are not changed when a user is forgotten.

    \b
    Examples:
        variegate prune --keep-days 90 --store postgresql://me@db/shop --archive old
        variegate prune --keep-days 30
    """
    from variegate.engine.retention import remove_old

    settings = settings_of(store, catalogue, config)
    with served(settings) as executor, progress_bar("Users") as (tell, _):
        with executor.store.reading() as reader:
            users = reader.counts()["users"]
        done = remove_old(
            executor,
            keep_days,
            archive=None if archive is None else Path(archive),
            progress=lambda removed: tell(removed.users, max(users, removed.users)),
        )
    place = "" if archive is None else f", archived in {archive}"
    say(
        plain_console(),
        f"{counted(done.slates, 'slate')} and {counted(done.events, 'event')} of "
        f"{counted(done.users, 'user')} removed{place}.",
    )
