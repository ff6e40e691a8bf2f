"""`variegate recommend-all`: lists for all users of a table, written to Parquet."""

from time import perf_counter

import click

from variegate.cli.output import plain_console, say
from variegate.cli.replay_options import column_options, workers_option


@click.command("recommend-all")
@click.option("--users", required=True, help="Table of interactions (.parquet or .csv).")
@click.option("--catalogue", required=True, help="File of the catalogue.")
@click.option("--out", required=True, help="Folder to write the lists to, as Parquet.")
@click.option("--policy", default="lmdp", show_default=True, help="A policy with its options.")
@click.option("--k", default=10, show_default=True, help="Items per list.")
@column_options
@click.option(
    "--reward",
    default="reward",
    show_default=True,
    help="Column of rewards from 0 to 1; without it in the table, every row is a like.",
)
@click.option("--allow-repeats", is_flag=True, help="Recommend items of the user's rows again.")
@workers_option
def recommend_all(
    users: str,
    catalogue: str,
    out: str,
    policy: str,
    k: int,
    user: str,
    item: str,
    reward: str,
    allow_repeats: bool,
    workers: str | None,
) -> None:
    """Make a list for every user of a table, and write them to Parquet.

    Each user's policy learns the user's rows of the table (user, item, reward) and makes one list.
    A table without items makes the lists of new users. The table may be larger than memory. A run
    that was interrupted goes on where it stopped when it is started again.

    \b
    Examples:
        variegate recommend-all --users clicks.parquet --catalogue shop.npz --out lists.parquet
        variegate recommend-all --users clicks.csv --user uid --item sku --catalogue shop.npz \\
            --policy lmdp:prior=prior.npz --out lists.parquet --workers ray
    """
    from variegate.batch import Columns
    from variegate.batch import recommend_all as make_lists
    from variegate.evaluation.parallel import parse_workers
    from variegate.model.catalogue import Catalogue

    engine, start = parse_workers(workers), perf_counter()
    found = make_lists(
        Catalogue.load(catalogue),
        users,
        out,
        policy=policy,
        k=k,
        columns=Columns(user=user, item=item, reward=reward),
        allow_repeats=allow_repeats,
        workers=engine,
    )
    console = plain_console()
    rate = found.made / (perf_counter() - start)
    if found.unknown_items:
        say(console, f"{found.unknown_items} rows skipped: their item is not in the catalogue")
    if found.made < found.users:
        say(console, f"{found.users - found.made} users were there from an earlier run")
    say(console, f"{found.made} lists made, {rate:,.0f} per second: {out}")
