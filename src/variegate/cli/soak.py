"""`variegate soak`: kill the service again and again, and see that nothing is lost."""

import click


@click.command()
@click.option("--store", metavar="URL", help="An empty store.  [default: a new SQLite file]")
@click.option("--workers", default=1, show_default=True, help="Processes that answer.")
@click.option("--kills", default=20, show_default=True, help="How often to kill it.")
@click.option("--clients", default=8, show_default=True, help="Connections at once.")
@click.option("--users", default=40, show_default=True, help="Users the lists are for.")
@click.option("--longest", default=0.6, show_default=True, help="Seconds of load, at most.")
@click.option("--seed", default=0, show_default=True, help="Same seed, same moments to kill at.")
def soak(
    store: str | None,
    workers: int,
    kills: int,
    clients: int,
    users: int,
    longest: float,
    seed: int,
) -> None:
    """Kill a service under load with SIGKILL, start it again, and check all that it kept.

    Clients ask for lists and report, now and then twice, in parts or at the same time. After
    each start the store is held against what they were told: every acknowledged report is in
    the log once, no position has taught twice, no list is lost, and every user's state is what
    the log says, to 1e-9. Exit code 1 if not, with what is wrong.

    \b
    Examples:
        variegate soak
        variegate soak --kills 1000 --store postgresql://me@localhost/soak --workers 2
    """
    import tempfile
    from pathlib import Path

    from variegate.arrays import check_positive
    from variegate.cli.console import plain_console, say
    from variegate.cli.serve import check_installed

    check_positive(workers=workers, kills=kills, clients=clients, users=users, longest=longest)
    check_installed()
    from variegate.loadtest.soak import Plan, soaked
    from variegate.loadtest.soak.results import HEADER, line, summary

    console = plain_console()
    plan = Plan(kills, workers, clients, users, seed, min(0.05, longest), longest)
    say(console, HEADER)
    with tempfile.TemporaryDirectory(prefix="variegate-soak-") as folder:
        url = store or f"sqlite:///{Path(folder) / 'soak.db'}"
        found = soaked(url, plan, lambda kill: say(console, line(kill)))
    say(console, "")
    for text in summary(found):
        say(console, text)
    for fact in found.wrong[:20]:
        say(console, f"WRONG: {fact}")
    if found.wrong:
        raise click.ClickException(f"{len(found.wrong)} wrong; the first: {found.wrong[0]}")
