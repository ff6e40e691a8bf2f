"""`variegate prepare`: likes larger than memory, filtered, split and counted."""

from time import perf_counter
from typing import Any

import click

from variegate.cli.output import plain_console, progress_bar, say
from variegate.cli.replay_options import table_options, take_table


@click.command()
@click.argument("data")
@click.option("--out", required=True, metavar="FOLDER", help="New folder to write to.")
@table_options
@click.option(
    "--min-item-likes", default=1, show_default=True, help="Users who like an item, at least."
)
@click.option(
    "--min-user-likes", default=1, show_default=True, help="Items that a user likes, at least."
)
@click.option("--train", default=0.8, show_default=True, help="Share of users for training.")
@click.option(
    "--sample-users", default=100_000, show_default=True, help="Users in the sample, at most."
)
@click.option("--seed", default=0, show_default=True, help="Random seed of the split.")
def prepare(data: str, out: str, **options: Any) -> None:
    """Filter, split and count a table of likes of any size.

    DATA is a Parquet or CSV file, which may be larger than memory. FOLDER gets train.parquet and
    test.parquet, which have no user in common, items.parquet with the number of training users who
    like each item, and sample.parquet with the likes of some training users. Embeddings and priors
    are fitted to the sample: the share of users who like an item is then known to within 0.2%.

    \b
    Examples:
        variegate prepare clicks.parquet --out clicks
        variegate prepare ratings.csv --rating stars --threshold 3 --min-item-likes 5 --out ratings
        variegate fit-prior --catalogue shop.npz --likes clicks/sample.parquet --out prior.npz
    """
    from variegate.data.large import LikesColumns, prepare_likes

    start, columns = perf_counter(), LikesColumns(**take_table(options))
    with progress_bar("Filtering") as (update, _last):
        found = prepare_likes(data, out, columns=columns, progress=update, **options)
    console, seconds = plain_console(), perf_counter() - start
    say(console, f"{found.rows:,} rows, {found.likes:,} likes, {found.kept_likes:,} kept")
    say(
        console,
        f"{found.training_users:,} training users ({found.sampled_users:,} in the sample), "
        f"{found.test_users:,} test users, {found.items:,} items",
    )
    say(console, f"{out}: {found.rows / seconds:,.0f} rows per second")
