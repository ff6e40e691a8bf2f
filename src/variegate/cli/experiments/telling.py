"""What was measured, as tables and as JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.evaluation.scores import Scores


def shown_rounds(rounds: int) -> list[int]:
    """Return the rounds that tables show: of 1, 5, 10 and 30 those that there are, and the last."""
    return sorted({t for t in (1, 5, 10, 30) if t <= rounds} | {rounds})


def print_left_out(console: "Console", splits: Sequence["Scores"]) -> None:
    """Say how many users could not be measured, split by split, if there are any."""
    from variegate.cli.console import say

    for number, scores in enumerate(splits, start=1):
        if scores.settings["left_out"]:
            say(
                console,
                f"split {number} of {len(splits)}: {scores.settings['left_out']} test users like "
                "no candidate and are left out",
            )


def print_measure(
    console: "Console", rows: Mapping[str, Sequence["Scores"]], measure: str, rounds: int
) -> None:
    """Print a measure's mean and standard error at some rounds, with a row for each key."""
    from variegate.evaluation.bootstrap import mean_measure, standard_error

    shown = shown_rounds(rounds)
    cells = {}
    for name, splits in rows.items():
        mean, error = mean_measure(splits, measure), standard_error(splits, measure)
        cells[name] = [f"{mean[t - 1]:.3f} ±{error[t - 1]:.3f}" for t in shown]
    print_rows(console, measure, [f"t = {t}" for t in shown], cells)


def print_rows(
    console: "Console", title: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]
) -> None:
    """Print a table of numbers; where it is too wide, names are cut and numbers are not."""
    from variegate.cli.console import plain_table, shortened

    widths = [max(map(len, column)) for column in zip(columns, *rows.values(), strict=True)]
    # Two spaces between columns; a name of a few letters is the least that tells rows apart.
    room = max(console.width - sum(width + 2 for width in widths), 8)
    table = plain_table(shortened(title, room), *columns, right=tuple(columns))
    for name, cells in rows.items():
        table.add_row(shortened(name, room), *cells)
    console.print(table)
    console.print()


def print_json(found: Any) -> None:
    """Print what was found as one line of JSON."""
    click.echo(json.dumps(found, ensure_ascii=False, allow_nan=False))


def plain(splits: Sequence["Scores"]) -> dict[str, Any]:
    """Return all measures of a policy as JSON can say them."""
    from variegate.evaluation.bootstrap import MEASURES, mean_measure, standard_error

    found: dict[str, Any] = {
        "label": splits[0].label,
        "users": [len(scores.recall) for scores in splits],
        "left_out": [scores.settings["left_out"] for scores in splits],
    }
    for measure in MEASURES:
        found[measure] = {
            "mean": mean_measure(splits, measure).tolist(),
            "standard_error": standard_error(splits, measure).tolist(),
        }
    return found | others(splits)


def others(splits: Sequence["Scores"]) -> dict[str, float]:
    """Return what else is asked of a policy, over all rounds, mean of the splits."""
    import numpy as np

    return {
        "coverage": float(np.mean([scores.coverage[-1] for scores in splits])),
        "Gini": float(np.mean([scores.gini for scores in splits])),
        "novelty": float(np.mean([scores.novelty[:, -1].mean() for scores in splits])),
        "hits first": float(np.mean([scores.hits[0] for scores in splits])),
        "hits last": float(np.mean([scores.hits[-1] for scores in splits])),
    }
