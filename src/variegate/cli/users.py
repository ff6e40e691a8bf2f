"""`variegate users`: out of a service, and into one."""

import sys
from contextlib import nullcontext
from typing import IO

import click

from variegate.cli.served import of_a_service, served, settings_of


@click.group()
def users() -> None:
    """Take all that is known of users out of a service's store, or into one.

    A user is a line of JSON: what was learnt, shown, given and answered. Both work while the
    service runs.

    \b
    Examples:
        variegate users export --out users.jsonl
        variegate users import users.jsonl --store postgresql://me@db/shop
    """


@users.command("export")
@of_a_service
@click.option("--out", default="-", metavar="FILE", help="Where to; - is the screen.")
def export(store: str | None, catalogue: str | None, config: str | None, out: str) -> None:
    """Write every user as a line of JSON, each as of one moment.

    \b
    Examples:
        variegate users export > users.jsonl
        variegate users export --store sqlite:///shop.db --catalogue shop.npz --out users.jsonl
    """
    from variegate.cli.moving import exported_lines
    from variegate.files import written_whole

    is_screen, written = out == "-", 0
    with served(settings_of(store, catalogue, config)) as settler:
        screen: IO[bytes] = sys.stdout.buffer
        with nullcontext(screen) if is_screen else written_whole(out) as file:
            for line in exported_lines(settler):
                file.write(line)
                written += 1
    # Beside the output, so that a pipe gets nothing but users.
    click.echo(f"{written} users exported.", err=is_screen)


@users.command("import")
@click.argument("file", metavar="FILE")
@of_a_service
@click.option("--replace", is_flag=True, help="Replace users that are there already.")
def import_(
    file: str, store: str | None, catalogue: str | None, config: str | None, replace: bool
) -> None:
    """Take in the users of FILE, as `users export` wrote them.

    All lines are looked at before the first is taken, so that a broken file changes nothing. Then
    they are taken a hundred at a time, whole or not at all.

    \b
    Examples:
        variegate users import users.jsonl
        variegate users import users.jsonl --replace --store sqlite:///shop.db
    """
    from variegate.cli.console import plain_console, progress_bar, say
    from variegate.cli.moving import imported

    console, settings = plain_console(), settings_of(store, catalogue, config)
    with (
        served(settings, create=True) as settler,
        progress_bar(console, "Users") as (tell, _),
    ):
        number = imported(settler, file, replace=replace, progress=tell)
    say(console, f"{number} users imported.")
