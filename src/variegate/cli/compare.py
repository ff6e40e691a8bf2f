"""`variegate compare`: paired differences between policies."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from variegate.cli.output import (
    plain_console,
    print_json,
    print_left_out,
    print_rows,
    say,
    shown_rounds,
    write_out,
)
from variegate.cli.replay_options import replay_policies, replaying

if TYPE_CHECKING:
    from variegate.evaluation.bootstrap import Interval
    from variegate.evaluation.result_table import ResultTable

#: What tables of differences have behind ±.
ERROR_NOTE: Final = "± half of the 95% interval over users (1,000 paired resamples); * without 0."


@click.command()
@replaying
@click.argument("ours")
@click.argument("theirs", nargs=-1, required=True)
def compare(
    data: str,
    ours: str,
    theirs: tuple[str, ...],
    **options: Any,
) -> None:
    """Compare policies, with paired 95% intervals.

    OURS is compared with each of THEIRS. Intervals are from 1,000 paired bootstrap samples of the
    users. A star marks an interval that excludes zero.

    \b
    Examples:
        variegate compare ml-100k lmdh c2ucb logrank
        variegate compare ml-1m lmdh lmdh:exploration=0 --users 300 --splits 5
        variegate compare ml-100k lmdp:prior=fit ease lmdh --out differences.html
    """
    from variegate.evaluation.bootstrap import MEASURES, difference

    scores, extent = replay_policies(data, (ours, *theirs), options)
    ahead = {
        other: {name: difference(scores[ours], scores[other], name) for name in MEASURES}
        for other in dict.fromkeys(theirs)
    }
    write_out(extent, lambda: _table(f"{ours} minus others on {data}", ours, ahead))
    if extent.as_json:
        print_json([_plain(ours, other, found) for other, found in ahead.items()])
        return
    console = plain_console()
    print_left_out(console, scores[ours])
    say(console, ERROR_NOTE)
    for other, found in ahead.items():
        say(console, f"{ours} minus {other}")
        print_rows(console, "", list(MEASURES), _rows(found, extent.rounds))


def _table(title: str, ours: str, ahead: "Mapping[str, Mapping[str, Interval]]") -> "ResultTable":
    from variegate.evaluation.result_table import ResultTable, Series

    series = [
        Series(f"{ours} - {other}", name, one.mean, (one.high - one.low) / 2, one.low, one.high)
        for other, found in ahead.items()
        for name, one in found.items()
    ]
    return ResultTable(title, ERROR_NOTE, "half interval", series, is_difference=True)


def _rows(found: Mapping[str, "Interval"], rounds: int) -> dict[str, list[str]]:
    rows = {
        f"t = {t}": [
            _interval(one.mean[t - 1], one.low[t - 1], one.high[t - 1]) for one in found.values()
        ]
        for t in shown_rounds(rounds)
    }
    return {**rows, "all rounds": [_interval(*one.overall) for one in found.values()]}


def _interval(mean: float, low: float, high: float) -> str:
    return f"{'*' if low > 0 or high < 0 else ''}{mean:+.3f} ±{(high - low) / 2:.3f}"


def _plain(ours: str, theirs: str, found: Mapping[str, "Interval"]) -> dict[str, Any]:
    plain: dict[str, Any] = {"ours": ours, "theirs": theirs}
    for measure, one in found.items():
        plain[measure] = {
            "mean": one.mean.tolist(),
            "low": one.low.tolist(),
            "high": one.high.tolist(),
            "all rounds": dict(zip(("mean", "low", "high"), one.overall, strict=True)),
        }
    return plain
