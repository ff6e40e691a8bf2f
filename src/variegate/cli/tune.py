"""`variegate choose`: settings that suit one's users, without a sweep."""

import shlex
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from variegate.cli.build_options import check_place
from variegate.cli.output import print_json
from variegate.cli.replay_options import dataset_of
from variegate.errors import DataError, InputError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from variegate.data.dataset import Dataset
    from variegate.evaluation.replay import Protocol
    from variegate.evaluation.tuning_result import TuningResult


@click.command()
@click.argument("datasets", nargs=-1)
@click.option("--user", default="user", help="Column of users, for your own table.")
@click.option("--item", default="item", help="Column of items, for your own table.")
@click.option("--rating", help="Column of ratings, if the table has one.")
@click.option("--threshold", type=float, help="A rating above this is a like.")
@click.option(
    "--split",
    "splits",
    type=int,
    multiple=True,
    metavar="N",
    help="Keep the test users of this split out; repeat for several.  [default: use all users]",
)
@click.option("--folds", default=1, show_default=True, help="Splits of the training users.")
@click.option("--users", default=200, show_default=True, help="At most so many users a fold.")
@click.option("--rounds", default=30, show_default=True, help="Lists a user.")
@click.option("--k", default=10, show_default=True, help="Items in a list.")
@click.option("--seed", default=0, show_default=True, help="Same seed, same choice.")
@click.option(
    "--distance",
    "distances",
    multiple=True,
    metavar="NAME",
    help="cosine, angular, euclidean, genres or years; repeat for several.  [default: cosine]",
)
@click.option("--no-promises", is_flag=True, help="Nothing but F1 counts.")
@click.option("--workers", type=int, help="Processes; as many as cores by default.")
@click.option("--out", metavar="FILE", help="Save all that was tried, such as chosen.json.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def choose(
    datasets: tuple[str, ...],
    splits: tuple[int, ...],
    distances: tuple[str, ...],
    no_promises: bool,
    workers: int | None,
    out: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Choose settings of lmdp on training users alone, one set for all DATASETS.

    A data set is ml-100k, ml-1m or anime, or a table of your own (CSV, TSV, Parquet); if none
    is given, all that are in the data folder are used. Its users are split 80/20, vectors, a
    prior and popularity are learnt from the 80, and the others are shown lists, with other
    settings each time: one setting after the other, from the defaults, until none gets better.

    The best settings have the highest score: mean F1 over rounds, that of lmdh being 1, less
    5 times the share by which each of these is missed: recall at rounds 5, 10 and 30 no lower
    than that of logrank and at 1 at least 70% of it; F1 at 1, 5, 10 and 30 at least 105% of
    lmdh's and F2 no lower. A setting stays as it is unless the score rises by 0.001.

    \b
    Examples:
        variegate choose ml-100k ml-1m anime --split 0 --out chosen.json
        variegate choose clicks.csv --user uid --item sku --folds 3
        variegate fit-prior clicks.csv --settings chosen.json --out prior.npz
    """
    from variegate.cli.fit_prior import bars, checked_workers
    from variegate.cli.output import plain_console
    from variegate.data.bpr import cache_folder
    from variegate.evaluation.tuning import Constraints, tune

    target, count = None if out is None else check_place(out, *datasets), checked_workers(workers)
    table = [options.pop(name) for name in ("user", "item", "rating", "threshold")]
    console = plain_console()
    with console.status("Reading"):
        found = _read(datasets, table)
    with bars(console) as tell:
        chosen = tune(
            found,
            protocol=_protocols(found, distances),
            split=splits,
            constraints=None if no_promises else Constraints(),
            workers=count,
            cache=cache_folder(),
            progress=tell,
            **options,
        )
    if target is not None:
        chosen.save(target)
    if as_json:
        print_json(chosen.as_json())
        return
    _tell(console, chosen, target, next(iter(datasets or found)))


def _tell(console: "Console", chosen: "TuningResult", target: "Path | None", first: str) -> None:
    from variegate.cli.output import say

    for line in chosen.describe():
        say(console, line)
    say(console, f"\n{chosen.settings.policy_spec('prior.npz')}", style="bold")
    if target is None:
        say(console, "Keep it with --out chosen.json")
        return
    # The noise and the spread of beta are in the prior, not in the policy's line.
    words = ["variegate", "fit-prior", first, "--settings", str(target), "--out", "prior.npz"]
    say(console, f"{target}: all that was tried")
    say(console, f"Next: {shlex.join(words)}")


def _read(names: tuple[str, ...], table: list[Any]) -> "dict[str, Dataset]":
    from variegate.data.download import DATASETS, find_dataset

    found: dict[str, Dataset] = {}
    if not names:
        for name, known in DATASETS.items():
            with suppress(DataError):
                found[name] = known.load(find_dataset(name))
        if not found:
            raise DataError("no data set is there: run `variegate fetch`, or give a table")
    for name in names:
        data = dataset_of(name, *table)
        if data.name in found:
            raise InputError(f"`datasets` must be given once each, got {data.name!r} twice")
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
