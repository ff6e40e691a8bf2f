"""`variegate replay`: policies on users with held-out likes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from variegate.cli.output import (
    ERRORS,
    others,
    plain,
    plain_console,
    print_json,
    print_left_out,
    print_measure,
    print_rows,
    result_table,
    say,
    write_out,
)
from variegate.cli.replay_options import replay_policies, replaying

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.evaluation.metrics import Scores

DEFAULT_POLICIES = ("lmdh", "lmdh-greedy", "logrank", "mmr", "epsilon-greedy", "c2ucb", "dc2b")


@click.command()
@replaying
@click.option(
    "--policy",
    "policies",
    multiple=True,
    help="A policy: name, name:option=value,... or module:Class. Repeat to compare.",
)
def replay(
    data: str,
    policies: Sequence[str],
    **options: Any,
) -> None:
    """Replay policies on users whose likes are known.

    DATA is ml-100k, ml-1m or anime, or a table of your own (CSV, TSV, Parquet). Users are split
    80/20; embeddings are fitted to the 80%, and each of the other users is shown a sequence of
    lists. An item is shown at most once, and an item that the user does not like gets reward 0.
    With prior=fit, lmdp starts from a prior that is fitted to the 80%, as by
    `variegate fit-prior`; ease always does.

    \b
    Examples:
        variegate replay ml-100k
        variegate replay ml-100k --policy lmdh --policy lmdh:normaliser=none --splits 5
        variegate replay ml-100k --policy lmdp:prior=fit --policy ease --out results.tex
        variegate replay clicks.csv --user uid --item sku --policy lmdh --policy mine:MyPolicy
    """
    scores, extent = replay_policies(data, policies or DEFAULT_POLICIES, options)
    write_out(extent, lambda: result_table(f"Replay on {data}, lists of {extent.k}", scores))
    if extent.as_json:
        print_json({name: plain(splits) for name, splits in scores.items()})
        return
    from variegate.evaluation.bootstrap import MEASURES

    console = plain_console()
    print_left_out(console, next(iter(scores.values())))
    say(console, ERRORS)
    for measure in MEASURES:
        print_measure(console, scores, measure, extent.rounds)
    _print_others(console, scores)


def _print_others(console: "Console", scores: Mapping[str, Sequence["Scores"]]) -> None:
    found = {name: others(splits) for name, splits in scores.items()}
    columns = list(next(iter(found.values())))
    rows = {name: [f"{one[column]:.3f}" for column in columns] for name, one in found.items()}
    print_rows(console, "all rounds", columns, rows)
