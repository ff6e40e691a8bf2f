"""`variegate tune`: settings of lmdp or ease, chosen on training users."""

import shlex
from typing import TYPE_CHECKING, Any

import click

from variegate.cli.build_options import check_place
from variegate.cli.datasets import available_datasets
from variegate.cli.output import plain_console, print_json, say
from variegate.cli.replay_options import dataset_of, table_options, take_table, workers_option
from variegate.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from variegate.data.dataset import Dataset
    from variegate.evaluation.replay import Protocol
    from variegate.evaluation.tuning import TuningResult


@click.command()
@click.argument("datasets", nargs=-1)
@click.option("--policy", default="lmdp", show_default=True, help="lmdp or ease.")
@table_options
@click.option(
    "--split",
    "splits",
    type=int,
    multiple=True,
    metavar="N",
    help="Exclude the test users of this split; repeatable.  [default: use all users]",
)
@click.option("--folds", default=1, show_default=True, help="Splits of the training users.")
@click.option("--users", default=200, show_default=True, help="Maximum users per fold.")
@click.option("--rounds", default=30, show_default=True, help="Lists per user.")
@click.option("--k", default=10, show_default=True, help="Items per list.")
@click.option("--seed", default=0, show_default=True, help="Random seed.")
@click.option(
    "--distance",
    "distances",
    multiple=True,
    metavar="NAME",
    help="cosine, angular, euclidean, genres or years; repeatable.  [default: cosine]",
)
@click.option("--no-constraints", is_flag=True, help="Maximise F1 alone.")
@workers_option
@click.option("--out", metavar="FILE", help="Save all settings tried, such as tuned.json.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def tune(
    datasets: tuple[str, ...],
    splits: tuple[int, ...],
    distances: tuple[str, ...],
    no_constraints: bool,
    workers: str | None,
    out: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Tune the settings of lmdp or ease on training users.

    The result is one set for all DATASETS. A data set is ml-100k, ml-1m or anime, or a table of
    your own (CSV, TSV, Parquet); by default all in the data folder. Its users are split 80/20;
    embeddings and a prior are fitted to the 80%, and the others are replayed with every combination
    of some values of two settings.

    The score of a setting is its mean F1 over rounds divided by that of lmdh, minus 5 times the
    relative violation of each constraint: recall at rounds 5, 10 and 30 at least that of logrank,
    and at round 1 at least 70% of it; F1 at rounds 1, 5, 10 and 30 at least 105% of lmdh's, and F2
    at least lmdh's. The defaults are kept unless the score rises by 0.001.

    \b
    Examples:
        variegate tune ml-100k ml-1m anime --split 0 --out tuned.json
        variegate tune clicks.csv --user uid --item sku --folds 3
        variegate tune ml-1m --policy ease --split 0
        variegate fit-prior clicks.csv --settings tuned.json --out prior.npz
    """
    from variegate.data.bpr import cache_folder
    from variegate.evaluation.parallel import parse_workers
    from variegate.evaluation.progress import show_progress
    from variegate.evaluation.tuning import tune

    target, count = None if out is None else check_place(out, *datasets), parse_workers(workers)
    table = take_table(options)
    console = plain_console()
    with console.status("Reading"):
        found = _read(datasets, table)
    with show_progress() as show:
        chosen = tune(
            found,
            protocol=_protocols(found, distances),
            split=splits,
            constrained=not no_constraints,
            workers=count,
            cache=cache_folder(),
            progress=show,
            **options,
        )
    if target is not None:
        chosen.save(target)
    if as_json:
        print_json(chosen.as_json())
        return
    _print(console, chosen, target, next(iter(datasets or found)))


def _print(console: "Console", chosen: "TuningResult", target: "Path | None", first: str) -> None:
    for line in chosen.describe():
        say(console, line)
    say(console, f"\n{chosen.settings.policy_spec('prior.npz')}", style="bold")
    if target is None:
        say(console, "Save it with --out tuned.json")
        return
    # The settings of lmdp are part of its prior.
    words = ["variegate", "fit-prior", first, "--settings", str(target), "--out", "prior.npz"]
    say(console, f"{target}: all settings tried")
    say(console, f"Next: {shlex.join(words)}")


def _read(names: tuple[str, ...], table: dict[str, Any]) -> "dict[str, Dataset]":
    if not names:
        return {known.name: known.load(path) for known, path in available_datasets()}
    found: dict[str, Dataset] = {}
    for name in names:
        data = dataset_of(name, table)
        if data.name in found:
            raise InputError(f"`datasets` must be distinct, got {data.name!r} twice")
        found[data.name] = data
    return found


def _protocols(
    datasets: "dict[str, Dataset]", distances: tuple[str, ...]
) -> "dict[str, Protocol] | None":
    from dataclasses import replace

    from variegate.evaluation.replay import PROTOCOLS, Protocol

    if not distances:
        return None
    return {
        name: replace(PROTOCOLS.get(name, Protocol()), distances=distances) for name in datasets
    }
