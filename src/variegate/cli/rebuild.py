"""`variegate rebuild`: recompute user states from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from variegate.cli.open_store import of_a_service, served, settings_of
from variegate.cli.output import counted, plain_console, progress_bar, say

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.engine.replay import RebuildUser, RecountSums, StateCheck
    from variegate.engine.settings import Settings


@click.command()
@of_a_service
@click.option("--check", is_flag=True, help="Compare only, change nothing.")
@click.option("--relearn", is_flag=True, help="Move the store to another catalogue.")
@click.option("--accept", is_flag=True, help="Move to a catalogue with the same meaning.")
def rebuild(
    store: str | None,
    catalogue: str | None,
    config: str | None,
    check: bool,
    relearn: bool,
    accept: bool,
) -> None:
    """Recompute the states of users from the log.

    Stored states that differ are corrected. User states can be recomputed from the log of events at
    any time, also while the service runs, and so can the running sums of the reports; while these
    are recounted the service does not write. With --check nothing is changed, and the exit code is
    1 if any state or sum differs.

    A store belongs to one catalogue, and the service refuses any other. --relearn moves the store
    to the given catalogue: the features of all logged lists are recomputed by item id, and every
    user is relearnt. Lists with an item that the catalogue lacks are ignored, and changes of
    items at run time are dropped, except for which are retired. Stop the service first; an
    interrupted command can be run again. --accept keeps all user states, for a catalogue whose
    features and distances have the same meaning.

    \b
    Examples:
        variegate rebuild --check
        variegate rebuild --store postgresql://me@db/shop --catalogue shop.npz
        variegate rebuild --catalogue retrained.npz --relearn
        variegate rebuild --catalogue rounded.npz --accept
    """
    if check + relearn + accept > 1:
        raise click.ClickException("--check, --relearn and --accept are mutually exclusive")
    console, settings = plain_console(), settings_of(store, catalogue, config)
    if relearn or accept:
        say(console, (_relearn if relearn else _accept)(settings))
    else:
        _check_against_log(settings, console, check)


def _check_against_log(settings: Settings, console: Console, check: bool) -> None:
    from variegate.engine.replay import check_states

    with served(settings) as executor, progress_bar("Users") as (tell, _):
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
    differ = f"{len(found.wrong)} of {counted(found.users, 'state')} differ from the log"
    by = f", by up to {found.largest:.3g}"
    sums = f"{found.wrong_sums} running sums differ from the history"
    wrong = [
        text for text, is_so in ((f"{differ}{by}", found.wrong), (sums, found.wrong_sums)) if is_so
    ]
    if check and wrong:
        raise click.ClickException(f"{'; '.join(wrong)}: run `variegate rebuild` to correct them")
    for text in wrong:
        say(console, f"{text}: corrected.")
    if not wrong:
        say(console, f"All states match the log: {counted(found.users, 'user')}.")


def _repairs(found: StateCheck) -> list[RebuildUser | RecountSums]:
    """Return the commands that correct what differs."""
    from variegate.engine.replay import RebuildUser, RecountSums

    sums = [RecountSums()] if found.wrong_sums else []
    return [*map(RebuildUser, found.wrong), *sums]


def _relearn(settings: Settings) -> str:
    from variegate.engine.replay import relearn

    with (
        served(settings, tie=False) as executor,
        progress_bar("Users") as (tell, _),
    ):
        with executor.store.reading() as reader:
            users = reader.counts()["users"]
        done = relearn(
            executor.store,
            executor.live.base,
            executor.experiment,
            lambda number: tell(number, max(users, number)),
        )
    gone = f"; {done.dropped} lists with missing items are ignored" if done.dropped else ""
    lists = counted(done.lists, "list")
    return f"{counted(done.users, 'user')} relearnt from {lists}{gone}."


def _accept(settings: Settings) -> str:
    from variegate.engine.replay import accept

    with served(settings, tie=False) as executor:
        is_new = accept(executor.store, executor.live.base)
    return (
        "The store now belongs to this catalogue; user states are unchanged."
        if is_new
        else "The store already belongs to this catalogue."
    )
