"""`variegate compare`: whether one policy is ahead of another."""

from typing import Any

import click

from variegate.cli.experiments.options import (
    dataset_of,
    extent_of,
    replayed,
    replaying,
    shown_rounds,
)


@click.command()
@replaying
@click.argument("ours")
@click.argument("theirs", nargs=-1, required=True)
def compare(
    data: str,
    ours: str,
    theirs: tuple[str, ...],
    user: str,
    item: str,
    rating: str | None,
    above: float | None,
    **options: Any,
) -> None:
    """Say how far the policy OURS is ahead of each of THEIRS, with paired 95% intervals.

    The same users are drawn anew for both, 2,000 times. A star marks an interval that leaves
    out zero.

    \b
    Examples:
        variegate compare ml-100k lmdh c2ucb logrank
        variegate compare ml-1m lmdh lmdh:exploration=0 --users 300 --splits 5
    """
    from variegate.cli.console import plain_console, plain_table
    from variegate.evaluation.comparing import MEASURES, difference

    extent = extent_of(options)
    dataset = dataset_of(data, user, item, rating, above)
    scores = replayed(dataset, (ours, *theirs), extent)
    console = plain_console()
    columns = [*(f"t = {t}" for t in shown_rounds(extent.rounds)), "all rounds"]
    for other in theirs:
        table = plain_table(f"{ours} less {other}", *columns, right=tuple(columns))
        for measure in MEASURES:
            ahead = difference(scores[ours], scores[other], measure)
            cells = [
                _interval(ahead.mean[t - 1], ahead.low[t - 1], ahead.high[t - 1])
                for t in shown_rounds(extent.rounds)
            ]
            table.add_row(measure, *cells, _interval(*ahead.overall))
        console.print(table)
        console.print()


def _interval(mean: float, low: float, high: float) -> str:
    return f"{mean:+.3f} ±{(high - low) / 2:.3f}{'*' if low > 0 or high < 0 else ' '}"
