"""Options shared by the commands that replay: data, size, processes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from variegate.cli.output import all_of, import_from_working_directory
from variegate.errors import InputError

if TYPE_CHECKING:
    from variegate.data.dataset import Dataset
    from variegate.evaluation.metrics import Scores
    from variegate.evaluation.parallel import Workers
    from variegate.evaluation.replay import FittedPolicy, PolicyFactory
    from variegate.policies import PolicySpec

#: Longer lists make no sense.
MOST_ITEMS = 100_000


@dataclass(frozen=True)
class Extent:
    """Size of a replay, and how its results are printed."""

    rounds: int
    k: int
    splits: int
    users: int | None
    workers: "Workers"
    as_json: bool
    out: str | None = None


#: Where to run: processes of this machine, or Ray.
workers_option: Final = click.option(
    "--workers",
    help="Number of processes, or `ray`, or the address of a Ray cluster.  "
    "[default: number of cores]",
)

#: Where results go too.
out_option: Final = click.option(
    "--out",
    metavar="FILE",
    help="Also write the results: .csv or .json has all rounds, .tex a table, .png, .svg or .pdf "
    "a plot, .html both.",
)

#: Adds the options that describe a table of likes; `dataset_of` takes their values.
table_options: Final = all_of(
    click.option("--user", default="user", help="Column of users, for your own table."),
    click.option("--item", default="item", help="Column of items, for your own table."),
    click.option("--rating", help="Column of ratings, if the table has one."),
    click.option("--threshold", type=float, help="A rating above this is a like."),
)

#: Adds the options that name the columns of users and items.
column_options: Final = all_of(
    click.option("--user", default="user", show_default=True, help="Column of users."),
    click.option("--item", default="item", show_default=True, help="Column of items."),
)

#: Adds the argument DATA and the options of every replay.
replaying: Final = all_of(
    click.argument("data"),
    table_options,
    click.option("--rounds", default=30, show_default=True, help="Lists per user."),
    click.option("--k", default=10, show_default=True, help="Items per list."),
    click.option(
        "--splits", default=1, show_default=True, help="Number of random splits of the users."
    ),
    click.option("--users", type=int, help="Maximum test users per split."),
    workers_option,
    click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables."),
    out_option,
)


def take_table(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the values of `table_options` from `options`, and return them."""
    return {name: options.pop(name) for name in ("user", "item", "rating", "threshold")}


def dataset_of(data: str, table: Mapping[str, Any]) -> "Dataset":
    """Return the data set that DATA names: a known data set, or a table file.

    `table` is what `take_table` returns.
    """
    from variegate.arrays import check_choice
    from variegate.data.download import DATASETS, find_dataset
    from variegate.data.tables import load_table

    if data in DATASETS:
        return DATASETS[data].load(find_dataset(data))
    for known in DATASETS.values():
        # A path to a known archive is read as what it is.
        if Path(data).name in (known.archive, known.folder):
            return known.load(data)
    if not (Path(data).suffix or Path(data).exists()):
        check_choice("data", data, DATASETS)
    return load_table(data, **table)


def extent_of(options: Mapping[str, Any]) -> Extent:
    """Return the checked size of a replay."""
    from variegate.arrays import check_count
    from variegate.evaluation.parallel import parse_workers
    from variegate.evaluation.result_table import check_format

    for name, most in (("rounds", 100_000), ("k", MOST_ITEMS), ("splits", 1000)):
        check_count(options[name], most, name=name, of="the most that make sense")
    if options["users"] is not None:
        check_count(options["users"], 10_000_000, name="users", of="the most that make sense")
    if options.get("out") is not None:
        check_format(options["out"])
    return Extent(**{**options, "workers": parse_workers(options["workers"])})


def replay_policies(
    data: str, policies: Iterable[str], options: dict[str, Any]
) -> tuple[Mapping[str, Sequence["Scores"]], Extent]:
    """Return the scores of policies by their specs, and the size of the replay."""
    table, extent = take_table(options), extent_of(options)
    specs = policies_of(policies)
    return replayed(dataset_of(data, table), specs, extent), extent


def replayed(
    dataset: "Dataset", policies: Mapping[str, "PolicyFactory"], extent: Extent
) -> Mapping[str, Sequence["Scores"]]:
    """Replay each policy on each split, with a progress bar; return scores by policy."""
    from variegate.data.bpr import cache_folder
    from variegate.evaluation import evaluate

    return evaluate(
        policies,
        dataset,
        k=extent.k,
        rounds=extent.rounds,
        splits=extent.splits,
        users=extent.users,
        cache=cache_folder(),
        workers=extent.workers,
    ).scores


def policies_of(texts: Iterable[str]) -> "dict[str, PolicySpec | FittedPolicy]":
    """Return policies by their text, or raise InputError for one that is invalid.

    This is checked before embeddings are fitted, which can take minutes.
    """
    import numpy as np

    from variegate.evaluation.replay import FittedPolicy, ReplayTask
    from variegate.model.catalogue import Catalogue

    import_from_working_directory()
    items, likes = Catalogue(["a", "b"], np.eye(2), "cosine"), (np.arange(2),)
    trial = ReplayTask("trial", items, likes, training_likes=likes)
    found = {text: FittedPolicy.parse(text) for text in texts}
    for text, policy in found.items():
        make = policy.for_task(trial) if isinstance(policy, FittedPolicy) else policy
        if ":" not in make.name and isinstance(make.options.get("prior"), str):
            raise InputError(
                f"`prior` must be fit in {text!r}: no file suits the items and the embeddings of "
                "every split"
            )
        # A custom class, or a list of numbers per item, may not fit a catalogue of two items.
        if ":" not in make.name and not any(isinstance(v, list) for v in make.options.values()):
            make(items)
    return found
