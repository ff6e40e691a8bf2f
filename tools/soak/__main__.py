"""`python -m tools.soak`: kill a service under load and check that nothing is lost."""

import click

from variegate.cli.output import PlainErrors


@click.command(cls=PlainErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--store", metavar="URL", help="An empty store.  [default: a new SQLite file]")
@click.option("--workers", default=1, show_default=True, help="Worker processes of the service.")
@click.option("--kills", default=20, show_default=True, help="Number of kills.")
@click.option("--clients", default=8, show_default=True, help="Concurrent connections.")
@click.option("--users", default=40, show_default=True, help="Number of users.")
@click.option(
    "--longest", default=0.6, show_default=True, help="Maximum seconds of load before a kill."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the times of the kills.")
def main(
    store: str | None,
    workers: int,
    kills: int,
    clients: int,
    users: int,
    longest: float,
    seed: int,
) -> None:
    """Kill a service under load with SIGKILL, start it again, and check everything in the store.

    Clients request lists and send feedback, sometimes twice, in parts or concurrently. After
    each restart the store is compared with the answers they got: every acknowledged feedback
    is in the log once, no position was learned from twice, no list is lost, and every user's
    state equals the replay of the log, to 1e-9. Exit code 1 with the differences if not.

    \b
    Examples:
        python -m tools.soak
        python -m tools.soak --kills 1000 --store postgresql://me@localhost/soak --workers 2
    """
    import tempfile
    from pathlib import Path

    from variegate.arrays import check_positive
    from variegate.cli.output import plain_console, say
    from variegate.cli.serve import check_installed

    check_positive(workers=workers, kills=kills, clients=clients, users=users, longest=longest)
    check_installed()
    from tools.soak.results import HEADER, Plan, line, summary
    from tools.soak.run import soaked

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


if __name__ == "__main__":
    main()
