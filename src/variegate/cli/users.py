"""`variegate users`: out of a service, and into one."""

import sys
from contextlib import nullcontext
from typing import IO, Final

import click

from variegate.cli.open_store import of_a_service, served, settings_of
from variegate.cli.output import Progress
from variegate.engine.executor import Executor
from variegate.engine.export_schema import ImportFile
from variegate.engine.import_commands import ImportUsers
from variegate.engine.import_plan import plan_import, unfinished
from variegate.errors import VariegateError


@click.group()
def users() -> None:
    """Back up a service's store as lines of JSON, or restore it.

    An export has the users, with all that was learnt, shown, given and answered, the items that
    were added, changed or retired at run time, and fitted priors. Keys are not in it. Both
    commands work while the service runs.

    \b
    Examples:
        variegate users export --out users.jsonl
        variegate users import users.jsonl --store postgresql://me@db/shop
    """


@users.command("export")
@of_a_service
@click.option("--out", default="-", metavar="FILE", help="Where to; - is the screen.")
def export(store: str | None, catalogue: str | None, config: str | None, out: str) -> None:
    """Write a backup: a header, changed items, fitted priors, then every user.

    Each user is as of one moment. Restore it with `users import`, into a store of either kind over
    the same catalogue.

    \b
    Examples:
        variegate users export > users.jsonl
        variegate users export --store sqlite:///shop.db --catalogue shop.npz --out users.jsonl
    """
    from variegate.engine.export import USER, export_lines
    from variegate.files import atomic_write

    is_screen, written = out == "-", 0
    with served(settings_of(store, catalogue, config)) as executor:
        screen: IO[bytes] = sys.stdout.buffer
        with nullcontext(screen) if is_screen else atomic_write(out) as file:
            for line in export_lines(executor.store, executor.live):
                file.write(line)
                written += line.startswith(USER)
    # Beside the output, so that a pipe gets nothing but the export.
    click.echo(f"{written} users exported.", err=is_screen)


@users.command("import")
@click.argument("file", metavar="FILE")
@of_a_service
@click.option("--replace", is_flag=True, help="Replace what is there already and differs.")
def import_(
    file: str, store: str | None, catalogue: str | None, config: str | None, replace: bool
) -> None:
    """Take in the lines of FILE, as `users export` wrote them.

    All lines are checked before any is written, so that a broken file changes nothing. Then they
    are taken in by pieces, each user whole or not at all. What is there already with the same
    content stays, so that an import that was interrupted is finished by running it again.

    \b
    Examples:
        variegate users import users.jsonl
        variegate users import users.jsonl --replace --store sqlite:///shop.db
    """
    from variegate.cli.output import plain_console, progress_bar, say

    console, settings = plain_console(), settings_of(store, catalogue, config)
    with (
        served(settings, create=True) as executor,
        progress_bar(console, "Users") as (tell, _),
    ):
        users, items = imported(executor, file, replace=replace, progress=tell)
    more = f", {items} items and priors" if items else ""
    say(console, f"{users} users{more} imported.")


#: Bytes for one parsed line: a process of its own may take more than a service.
_MAX_COST: Final = 2**31


def imported(
    executor: Executor,
    path: str,
    *,
    replace: bool = False,
    progress: Progress = lambda _done, _of: None,
) -> tuple[int, int]:
    """Take in a file's lines; return how many users, and how many items and priors.

    Every line is checked first; what can be wrong with one alone changes nothing.
    """
    file = ImportFile(path, f"{path}:", _MAX_COST)
    plan = plan_import(
        file, executor.store, executor.live, executor.experiment, replace=replace, max_entries=None
    )
    done = 0
    for piece in plan.pieces(replace=replace):
        (outcome,) = executor([piece])
        if isinstance(outcome, VariegateError):
            raise unfinished(outcome, done)
        done += len(piece.entries) if isinstance(piece, ImportUsers) else 0
        progress(done, len(plan.users))
    return len(plan.users), plan.items_and_priors
