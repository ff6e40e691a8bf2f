"""`variegate rebuild`: what users have learnt, from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from variegate.cli.open_store import of_a_service, served, settings_of

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.engine.replay import RebuildUser, RecountSums, StateCheck
    from variegate.engine.settings import Settings


@click.command()
@of_a_service
@click.option("--check", is_flag=True, help="Compare only, and change nothing.")
@click.option("--relearn", is_flag=True, help="Go over to another catalogue, by the log.")
@click.option("--accept", is_flag=True, help="Go over to a catalogue that means the same.")
def rebuild(
    store: str | None,
    catalogue: str | None,
    config: str | None,
    check: bool,
    relearn: bool,
    accept: bool,
) -> None:
    """Work out from the log what each user has learnt, and keep it where something else is kept.

    The log of events is the truth, and a user's state can be made from it at any time, also while
    the service runs. So can the running sums that reports are made of; while they are counted
    again the service does not write. With --check nothing is changed, and the exit code is 1 if
    any state or sum is not what the log says.

    A store is of one catalogue, and the service refuses another. With --relearn the store goes
    over to the catalogue given here: the features of every list in the log are worked out from
    it by the ids of the items, and every user is learnt again. Lists with an item that it does
    not have teach nothing any more, and what was changed of items at run time is dropped but for
    which are retired. Stop the service first; if the command is stopped, give it again. With
    --accept all that was learnt stays, for features and distances that mean what they did.

    \b
    Examples:
        variegate rebuild --check
        variegate rebuild --store postgresql://me@db/shop --catalogue shop.npz
        variegate rebuild --catalogue retrained.npz --relearn
        variegate rebuild --catalogue rounded.npz --accept
    """
    from variegate.cli.output import plain_console, say

    if check + relearn + accept > 1:
        raise click.ClickException("--check, --relearn and --accept exclude each other")
    console, settings = plain_console(), settings_of(store, catalogue, config)
    if relearn or accept:
        say(console, (_relearnt if relearn else _accepted)(settings, console))
    else:
        _held_against_log(settings, console, check)


def _held_against_log(settings: Settings, console: Console, check: bool) -> None:
    from variegate.cli.output import progress_bar, say
    from variegate.engine.replay import check_states

    with served(settings) as executor, progress_bar(console, "Users") as (tell, _):
        with executor.store.reading() as reader:
            users = reader.counts()["users"]
        found = check_states(
            executor.store,
            executor.live,
            executor.experiment,
            lambda done: tell(done, max(users, done)),
        )
        for done, operation in enumerate(() if check else _repairs(found), start=1):
            (outcome,) = executor([operation])
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


def _repairs(found: StateCheck) -> list[RebuildUser | RecountSums]:
    """Return what puts right what was found."""
    from variegate.engine.replay import RebuildUser, RecountSums

    sums = [RecountSums()] if found.wrong_sums else []
    return [*map(RebuildUser, found.wrong), *sums]


def _relearnt(settings: Settings, console: Console) -> str:
    from variegate.cli.output import progress_bar
    from variegate.engine.replay import relearn

    with (
        served(settings, tie=False) as executor,
        progress_bar(console, "Users") as (tell, _),
    ):
        with executor.store.reading() as reader:
            users = reader.counts()["users"]
        done = relearn(
            executor.store,
            executor.live.base,
            executor.experiment,
            lambda number: tell(number, max(users, number)),
        )
    gone = f"; {done.dropped} lists hold items that are gone and teach nothing any more"
    return (
        f"{done.users} users were learnt again from {done.lists} lists"
        f"{gone if done.dropped else ''}."
    )


def _accepted(settings: Settings, _console: Console) -> str:
    from variegate.engine.replay import accept

    with served(settings, tie=False) as executor:
        is_new = accept(executor.store, executor.live.base)
    return (
        "The store is of this catalogue now; what users have learnt stays."
        if is_new
        else "The store is of this catalogue already."
    )
