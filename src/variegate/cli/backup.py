"""`variegate backup` and `variegate restore`."""

import sys
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING, Final

import click

from variegate.cli.open_store import of_a_service, served, settings_of
from variegate.cli.output import Progress, counted, plain_console, progress_bar, say
from variegate.errors import VariegateError

if TYPE_CHECKING:
    from variegate.engine.executor import Executor


@click.command()
@of_a_service
@click.option("--out", default="-", metavar="FILE", help="File to write; - is standard output.")
@click.option("--without-keys", is_flag=True, help="Leave out the hashes of the API keys.")
def backup(
    store: str | None, catalogue: str | None, config: str | None, out: str, without_keys: bool
) -> None:
    """Write a backup of users, lists, items and keys.

    It is lines of JSON: changed items, fitted priors, keys, and all users with their states, slates
    and feedback. Keys are hashes: restored, the same keys are
    valid. The service can run meanwhile.

    The file holds personal data, so only its owner can read it. Each user is written consistently,
    in one transaction. Restore the file with `variegate restore`, into a store of either kind over
    the same catalogue.

    \b
    Examples:
        variegate backup > backup.jsonl
        variegate backup --store sqlite:///shop.db --catalogue shop.npz --out backup.jsonl
    """
    from variegate.engine.export import USER, export_lines
    from variegate.files import atomic_write

    is_screen, written = out == "-", 0
    with served(settings_of(store, catalogue, config)) as executor:
        screen: IO[bytes] = sys.stdout.buffer
        with nullcontext(screen) if is_screen else atomic_write(out, private=True) as file:
            for line in export_lines(executor.store, executor.live, keys=not without_keys):
                file.write(line)
                written += line.startswith(USER)
    # On stderr, so that a pipe receives only the export.
    click.echo(f"{counted(written, 'user')} written.", err=is_screen)


@click.command()
@click.argument("file", metavar="FILE")
@of_a_service
@click.option("--replace", is_flag=True, help="Replace existing users and items that differ.")
def restore(
    file: str, store: str | None, catalogue: str | None, config: str | None, replace: bool
) -> None:
    """Restore a FILE written by `variegate backup`.

    All lines are checked before any is written, so a broken file changes nothing. Each user is
    restored completely or not at all. Existing users with the same content are kept, so an
    interrupted command can be completed by running it again. The service can run meanwhile.

    \b
    Examples:
        variegate restore backup.jsonl --store postgresql://me@db/shop
        variegate restore backup.jsonl --replace --store sqlite:///shop.db
    """
    console, settings = plain_console(), settings_of(store, catalogue, config)
    with (
        served(settings, create=True) as executor,
        progress_bar("Users") as (tell, _),
    ):
        users, items = import_users(executor, file, replace=replace, progress=tell)
    more = f", {items} items, priors and keys" if items else ""
    say(console, f"{counted(users, 'user')}{more} restored.")


#: Maximum bytes of one parsed line; larger than in the service, since this is a separate process
_MAX_COST: Final = 2**31


def import_users(
    executor: "Executor",
    path: str,
    *,
    replace: bool = False,
    progress: Progress = lambda _done, _of: None,
) -> tuple[int, int]:
    """Import a file; return the number of users, and of items, priors and keys.

    All lines are checked first, so an invalid line changes nothing.
    """
    from variegate.engine.export_schema import ImportFile
    from variegate.engine.import_commands import ImportUsers
    from variegate.engine.import_plan import incomplete_import, plan_import

    file = ImportFile(path, f"{path}:", _MAX_COST)
    plan = plan_import(
        file, executor.store, executor.live, executor.experiment, replace=replace, max_entries=None
    )
    done = 0
    for command in plan.commands():
        (outcome,) = executor([command])
        if isinstance(outcome, VariegateError):
            raise incomplete_import(outcome, done)
        done += len(command.entries) if isinstance(command, ImportUsers) else 0
        progress(done, len(plan.users))
    return len(plan.users), plan.items_and_priors
