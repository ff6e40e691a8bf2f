"""`variegate replay`: policies against held-out likes."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from variegate.cli.experiments.options import (
    dataset_of,
    extent_of,
    replayed,
    replaying,
    shown_rounds,
)

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.evaluation.scores import Scores

DEFAULT_POLICIES = ("lmdh", "lmdh-greedy", "logrank", "mmr", "epsilon-greedy", "c2ucb", "dc2b")


@click.command()
@replaying
@click.option(
    "--policy",
    "policies",
    multiple=True,
    help="A policy: name, name:option=value,... or module:Class. Repeat to compare.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def replay(
    data: str,
    user: str,
    item: str,
    rating: str | None,
    above: float | None,
    policies: Sequence[str],
    as_json: bool,
    **options: Any,
) -> None:
    """Replay policies against users whose held-out likes are known.

    DATA is ml-100k, ml-1m or anime, or a table of your own (CSV, TSV, Parquet). Users are
    split 80/20, embeddings are learnt from the 80, and each of the others is shown list after
    list; an item once shown leaves, and every item not liked counts as rejected.

    \b
    Examples:
        variegate replay ml-100k
        variegate replay ml-100k --policy lmdh --policy lmdh:normaliser=none --splits 5
        variegate replay clicks.csv --user uid --item sku --policy lmdh --policy mine:MyPolicy
    """
    extent = extent_of(options)
    chosen = tuple(policies) or DEFAULT_POLICIES
    scores = replayed(dataset_of(data, user, item, rating, above), chosen, extent)
    if as_json:
        click.echo(json.dumps({name: _plain(splits) for name, splits in scores.items()}))
        return
    from variegate.cli.console import plain_console

    console = plain_console()
    for measure in ("recall", "diversity", "F1", "F2"):
        _print_measure(console, scores, measure, extent.rounds)
    _print_others(console, scores)


def _print_measure(
    console: "Console", scores: Mapping[str, Sequence["Scores"]], measure: str, rounds: int
) -> None:
    from variegate.cli.console import plain_table
    from variegate.evaluation.comparing import mean_measure, standard_error

    columns = [f"t = {t}" for t in shown_rounds(rounds)]
    table = plain_table(measure, *columns, right=tuple(columns))
    for name, splits in scores.items():
        mean, error = mean_measure(splits, measure), standard_error(splits, measure)
        cells = [f"{mean[t - 1]:.3f} ±{error[t - 1]:.3f}" for t in shown_rounds(rounds)]
        table.add_row(name, *cells)
    console.print(table)
    console.print()


def _print_others(console: "Console", scores: Mapping[str, Sequence["Scores"]]) -> None:
    from variegate.cli.console import plain_table

    columns = ("coverage", "Gini", "novelty", "hits first", "hits last")
    table = plain_table("all rounds", *columns, right=columns)
    for name, splits in scores.items():
        others = _others(splits)
        table.add_row(name, *(f"{others[column]:.3f}" for column in columns))
    console.print(table)


def _others(splits: Sequence["Scores"]) -> dict[str, float]:
    import numpy as np

    return {
        "coverage": float(np.mean([s.coverage[-1] for s in splits])),
        "Gini": float(np.mean([s.gini for s in splits])),
        "novelty": float(np.mean([s.novelty[:, -1].mean() for s in splits])),
        "hits first": float(np.mean([s.hits[0] for s in splits])),
        "hits last": float(np.mean([s.hits[-1] for s in splits])),
    }


def _plain(splits: Sequence["Scores"]) -> dict[str, Any]:
    from variegate.evaluation.comparing import MEASURES, mean_measure, standard_error

    plain: dict[str, Any] = {"label": splits[0].label, "users": [len(s.recall) for s in splits]}
    for measure in MEASURES:
        plain[measure] = {
            "mean": mean_measure(splits, measure).tolist(),
            "standard_error": standard_error(splits, measure).tolist(),
        }
    return plain | _others(splits)
