"""`variegate recommend-all`: lists for all users of a table or a service, written to Parquet."""

from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from variegate.cli.open_store import served, settings_of
from variegate.cli.output import plain_console, say
from variegate.cli.replay_options import column_options, workers_option
from variegate.errors import InputError

if TYPE_CHECKING:
    from variegate.batch import BatchResult


@click.command("recommend-all")
@click.option("--users", help="Table of interactions (.parquet or .csv).")
@click.option("--catalogue", help="File of the catalogue.")
@click.option("--store", metavar="URL", help="The store of a service, in place of --users.")
@click.option("--config", metavar="FILE", help="Settings file of the service, with --store.")
@click.option("--out", required=True, help="Folder to write the lists to, as Parquet.")
@click.option("--policy", help="A policy with its options, with --users.  [default: lmdp]")
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
    users: str | None,
    catalogue: str | None,
    store: str | None,
    config: str | None,
    out: str,
    k: int,
    allow_repeats: bool,
    workers: str | None,
    **table: str | None,
) -> None:
    """Make a list for every user, in Parquet files.

    Users are those of a table or of a service. With --users each user's policy learns the user's
    rows of the table (user, item, reward) and makes one list. A table without items makes the lists
    of new users. The table may be larger than memory.

    With --store each user's policy makes a list from the state that a service has stored. Items
    that were retired, or that the user was shown lately, are left out. Nothing is written to the
    store, and the service may run.

    A run that was interrupted goes on where it stopped when it is started again.

    \b
    Examples:
        variegate recommend-all --users clicks.parquet --catalogue shop.npz --out lists.parquet
        variegate recommend-all --users clicks.csv --user uid --item sku --catalogue shop.npz \\
            --policy lmdp:prior=prior.npz --out lists.parquet --workers ray
        variegate recommend-all --store postgresql://me@db/shop --catalogue shop.npz --out lists
    """
    from variegate.evaluation.parallel import parse_workers

    engine, start = parse_workers(workers), perf_counter()
    how: dict[str, Any] = {"k": k, "allow_repeats": allow_repeats, "workers": engine}
    if users is not None and store is None and config is None:
        found = _from_table(users, catalogue, out, table, how)
    elif users is None and (store or config) and table["policy"] is None:
        found = _from_states(store, catalogue, config, out, how)
    else:
        raise InputError("give --users with --catalogue, or --store without --policy")
    console = plain_console()
    rate = found.made / (perf_counter() - start)
    if found.unknown_items:
        say(console, f"{found.unknown_items} rows skipped: their item is not in the catalogue")
    if found.made < found.users:
        say(console, f"{found.users - found.made} users were there from an earlier run")
    say(console, f"{found.made} lists made, {rate:,.0f} per second: {out}")


def _from_table(
    users: str,
    catalogue: str | None,
    out: str,
    table: dict[str, str | None],
    how: dict[str, Any],
) -> "BatchResult":
    from variegate.batch import Columns
    from variegate.batch import recommend_all as make_lists
    from variegate.model.catalogue import Catalogue

    if catalogue is None:
        raise InputError("`--catalogue` is needed with --users")
    names = {name: text for name, text in table.items() if name != "policy" and text is not None}
    policy = table["policy"] or "lmdp"
    columns = Columns(**names)
    return make_lists(Catalogue.load(catalogue), users, out, policy=policy, columns=columns, **how)


def _from_states(
    store: str | None, catalogue: str | None, config: str | None, out: str, how: dict[str, Any]
) -> "BatchResult":
    from variegate.batch.states import recommend_all_states

    with served(settings_of(store, catalogue, config)) as executor:
        return recommend_all_states(executor, out, **how)
