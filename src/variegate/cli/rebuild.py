"""`variegate rebuild`: what users have learnt, from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from variegate.cli.served import of_a_service, served, settings_of

if TYPE_CHECKING:
    from variegate.service.desk.rebuilding import Check, Rebuilding, Recounting


@click.command()
@of_a_service
@click.option("--check", is_flag=True, help="Compare only, and change nothing.")
def rebuild(store: str | None, catalogue: str | None, config: str | None, check: bool) -> None:
    """Work out from the log what each user has learnt, and keep it where something else is kept.

    The log of events is the truth, and a user's state can be made from it at any time, also while
    the service runs. So can the running sums that reports are made of; while they are counted
    again the service does not write. With --check nothing is changed, and the exit code is 1 if
    any state or sum is not what the log says.

    \b
    Examples:
        variegate rebuild --check
        variegate rebuild --store postgresql://me@db/shop --catalogue shop.npz
    """
    from variegate.cli.console import plain_console, progress_bar, say
    from variegate.service.desk.rebuilding import checked

    console, settings = plain_console(), settings_of(store, catalogue, config)
    with served(settings) as settler, progress_bar(console, "Users") as (tell, _):
        with settler.store.reading() as reader:
            users = reader.counts()["users"]
        found = checked(
            settler.store, settler.shelf, settler.arms, lambda done: tell(done, max(users, done))
        )
        for done, operation in enumerate(() if check else _repairs(found), start=1):
            (outcome,) = settler([operation])
            if isinstance(outcome, Exception):
                raise outcome
            tell(done, max(len(found.wrong), done))
    differ = f"{len(found.wrong)} of {found.users} states differ from the log"
    by = f", by up to {found.largest:.3g}"
    sums = f"{found.wrong_sums} running sums differ from the history"
    wrong = [
        text for text, is_so in ((f"{differ}{by}", found.wrong), (sums, found.wrong_sums)) if is_so
    ]
    if check and wrong:
        raise click.ClickException(f"{'; '.join(wrong)}: `variegate rebuild` puts them right")
    for text in wrong:
        say(console, f"{text}: they are now what the log says.")
    if not wrong:
        say(console, f"All {found.users} states are what the log says.")


def _repairs(found: Check) -> list[Rebuilding | Recounting]:
    """Return what puts right what was found."""
    from variegate.service.desk.rebuilding import Rebuilding, Recounting

    sums = [Recounting()] if found.wrong_sums else []
    return [*map(Rebuilding, found.wrong), *sums]
