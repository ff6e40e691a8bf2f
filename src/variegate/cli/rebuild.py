"""`variegate rebuild`: what users have learnt, from the log."""

import click

from variegate.cli.served import of_a_service, served, settings_of


@click.command()
@of_a_service
@click.option("--check", is_flag=True, help="Compare only, and change nothing.")
def rebuild(store: str | None, catalogue: str | None, config: str | None, check: bool) -> None:
    """Work out from the log what each user has learnt, and keep it where something else is kept.

    The log of events is the truth, and a user's state can be made from it at any time, also while
    the service runs. With --check nothing is changed, and the exit code is 1 if any state is not
    what the log says.

    \b
    Examples:
        variegate rebuild --check
        variegate rebuild --store postgresql://me@db/shop --catalogue shop.npz
    """
    from variegate.cli.console import plain_console, progress_bar, say
    from variegate.service.desk.rebuilding import Rebuilding, checked

    console, settings = plain_console(), settings_of(store, catalogue, config)
    with served(settings) as settler, progress_bar(console, "Users") as (tell, _):
        with settler.store.reading() as reader:
            users = reader.counts()["users"]
        found = checked(
            settler.store, settler.shelf, settler.arms, lambda done: tell(done, max(users, done))
        )
        for done, user in enumerate(() if check else found.wrong, start=1):
            (outcome,) = settler([Rebuilding(user)])
            if isinstance(outcome, Exception):
                raise outcome
            tell(done, len(found.wrong))
    differ = f"{len(found.wrong)} of {found.users} states differ from the log"
    by = f", by up to {found.largest:.3g}"
    if check and found.wrong:
        raise click.ClickException(f"{differ}{by}: `variegate rebuild` puts them right")
    if found.wrong:
        say(console, f"{differ}{by}: they are now what the log says.")
    else:
        say(console, f"All {found.users} states are what the log says.")
