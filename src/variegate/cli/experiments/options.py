"""What the commands that replay share: which data, how much of it, how many at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from variegate.datasets import Dataset
    from variegate.evaluation.scores import Scores

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Extent:
    """How much is replayed."""

    rounds: int
    k: int
    splits: int
    users: int | None
    workers: int


def replaying(command: F) -> F:
    """Give a command the argument DATA and the options that every replay has."""
    for decorate in reversed(
        (
            click.argument("data"),
            click.option("--user", default="user", help="Column of users, for your own table."),
            click.option("--item", default="item", help="Column of items, for your own table."),
            click.option("--rating", help="Column of ratings, if the table has one."),
            click.option("--above", type=float, help="A rating above this is a like."),
            click.option("--rounds", default=30, show_default=True, help="Lists a user."),
            click.option("--k", default=10, show_default=True, help="Items in a list."),
            click.option("--splits", default=1, show_default=True, help="Splits of the users."),
            click.option("--users", type=int, help="At most so many test users a split."),
            click.option("--workers", type=int, help="Processes; as many as cores by default."),
        )
    ):
        command = decorate(command)
    return command


def dataset_of(
    data: str, user: str, item: str, rating: str | None, above: float | None
) -> "Dataset":
    """Return the data set that DATA names: a known one, or a table of one's own."""
    from variegate.datasets import DATASETS, find, load_table

    if data in DATASETS:
        return DATASETS[data].load(find(data))
    for known in DATASETS.values():
        # A path to a known archive is read as what it is.
        if Path(data).name in (known.archive, known.folder):
            return known.load(data)
    return load_table(data, user=user, item=item, rating=rating, above=above)


def extent_of(options: Mapping[str, Any]) -> Extent:
    """Return how much is asked for, or raise InputError."""
    from variegate.arrays import check_count
    from variegate.evaluation.workers import default_workers

    for name, most in (("rounds", 100_000), ("k", 100_000), ("splits", 1000)):
        check_count(options[name], most, name=name, of="the most that make sense")
    for name in ("users", "workers"):
        if options[name] is not None:
            check_count(options[name], 10_000_000, name=name, of="the most that make sense")
    workers = default_workers() if options["workers"] is None else options["workers"]
    return Extent(options["rounds"], options["k"], options["splits"], options["users"], workers)


def replayed(
    dataset: "Dataset", policies: Sequence[str], extent: Extent
) -> dict[str, list["Scores"]]:
    """Replay each policy on each split, with a bar on a terminal; return scores by policy."""
    from variegate.cli.console import plain_console, progress_bar, say
    from variegate.embeddings import cache_folder
    from variegate.evaluation.scores import scores_of
    from variegate.evaluation.tasks import rated_task
    from variegate.evaluation.workers import Settings, replay_all
    from variegate.policies import parse_policy

    console, specs = plain_console(), [parse_policy(policy) for policy in policies]
    found: dict[str, list[Scores]] = {policy: [] for policy in policies}
    for split in range(extent.splits):
        of = f"split {split + 1} of {extent.splits}"
        with progress_bar(console, f"Learning embeddings, {of}") as (tell, _):
            task = rated_task(
                dataset, split=split, users=extent.users, cache=cache_folder(), progress=tell
            )
        if task.left_out:
            say(console, f"{of}: {task.left_out} test users like no candidate and are left out")
        with progress_bar(console, f"Replaying, {of}") as (tell, told):
            total = len(task.likes) * len(specs)

            def step(users: int) -> None:
                tell((told or [0])[-1] + users, total)  # noqa: B023 - called within this turn

            for place, trace in replay_all(
                specs,
                task,
                Settings(rounds=extent.rounds, k=extent.k),
                workers=extent.workers,
                progress=step,
            ):
                settings = {"dataset": dataset.name, "split": split, "policy": policies[place]}
                found[policies[place]].append(scores_of(trace, task, settings))
    return found


def shown_rounds(rounds: int) -> list[int]:
    """Return the rounds that tables show: of 1, 5, 10 and 30 those that there are, and the last."""
    return sorted({t for t in (1, 5, 10, 30) if t <= rounds} | {rounds})
