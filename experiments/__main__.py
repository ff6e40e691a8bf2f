"""`python -m experiments`: the paper's experiments and ours, judged."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from variegate.cli.output import PlainErrors

if TYPE_CHECKING:
    from rich.progress import Progress

    from experiments.plan import Plan


@click.command(cls=PlainErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--quick", is_flag=True, help="A first full report in minutes, from few users.")
@click.option(
    "--out", default="out/reproduction", show_default=True, help="Folder for results and report."
)
@click.option(
    "--dataset", "datasets", multiple=True, help="Only this data set; repeat for several."
)
@click.option(
    "--users", "most", multiple=True, help="At most so many test users a split: ml-1m=300."
)
@click.option("--workers", type=int, help="Processes; as many as cores by default.")
@click.option("--docs", help="Also write the pages and their figures to this folder of documents.")
@click.option(
    "--only",
    type=click.Choice(["paper", "beyond"]),
    help="Only the paper's experiments, or only what goes beyond them.",
)
def reproduce(
    quick: bool,
    out: str,
    datasets: tuple[str, ...],
    most: tuple[str, ...],
    workers: int | None,
    docs: str | None,
    only: str | None,
) -> None:
    """Run all of the paper's experiments and write a report that says which claims hold.

    One more chapter goes beyond the paper: LMDP, which begins with what is known of other users,
    its parts one by one, and every method's dial turned between recall and diversity.

    Needs MovieLens-100K, MovieLens-1M and Anime (variegate fetch says how to get them); those
    that are not there are left out, and said to be. A run that is broken off goes on where it
    stopped when it is started again.

    \b
    Examples:
        python -m experiments --quick
        python -m experiments --out out/full
        python -m experiments --users ml-1m=300 --users anime=300
        python -m experiments --only beyond --dataset ml-100k --docs docs
    """
    from experiments.report import write_docs, write_report
    from experiments.run import CHAPTERS
    from experiments.run import reproduce as run
    from variegate.arrays import check_count
    from variegate.cli.output import plain_console, say
    from variegate.data.bpr import cache_folder
    from variegate.evaluation.parallel import default_workers

    if workers is not None:
        check_count(workers, 10_000, name="workers", of="the most that make sense")
    console = plain_console()
    paths, missing = _paths(datasets)
    for name, why in missing.items():
        say(console, f"without {name}: {why}")
    plan = _plan_of(tuple(paths), _most_users(most), quick=quick)
    with _progress() as progress:
        results = run(
            plan,
            paths,
            out,
            workers=workers or default_workers(),
            cache=cache_folder(),
            watcher=_Bars(progress),
            command=_as_typed(),
            chapters=CHAPTERS if only is None else (only,),
        )
    report = write_report(results, Path(out))
    say(console, f"Report: {report}")
    if docs is not None:
        for written in write_docs(results, Path(docs)):
            say(console, f"Page: {written}")


def _plan_of(datasets: tuple[str, ...], users: dict[str, int], *, quick: bool) -> "Plan":
    from dataclasses import replace

    from experiments.plan import Plan, quick_plan

    plan = quick_plan() if quick else Plan()
    return replace(plan, datasets=datasets, users={**plan.users, **users})


def _most_users(most: tuple[str, ...]) -> dict[str, int]:
    from variegate.arrays import check_choice
    from variegate.data.download import DATASETS
    from variegate.errors import InputError

    users = {}
    for text in most:
        name, _, count = text.partition("=")
        check_choice("users", name, DATASETS)
        if not (count.isdigit() and int(count)):
            raise InputError(f"`--users` must read data set=number, got {text!r}")
        users[name] = int(count)
    return users


def _as_typed() -> str:
    """Return the command with the options that were given to it."""
    context = click.get_current_context()
    words = ["python", "-m", "experiments"]
    for option in context.command.params:
        name = option.name or ""
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            given = context.params[name]
            for value in given if isinstance(given, tuple) else (given,):
                words += [option.opts[0]] if value is True else [option.opts[0], str(value)]
    return shlex.join(words)


def _paths(datasets: tuple[str, ...]) -> tuple[dict[str, Path], dict[str, str]]:
    """Return where each data set is, and why those that are not there are not."""
    from variegate.arrays import check_choice
    from variegate.data.download import DATASETS, find_dataset
    from variegate.errors import DataError, VariegateError

    paths, missing = {}, {}
    for name in datasets or tuple(DATASETS):
        check_choice("dataset", name, DATASETS)
        try:
            paths[name] = find_dataset(name)
        except VariegateError as error:
            missing[name] = str(error)
    if not paths:
        raise DataError("no data set is there: " + "; ".join(missing.values()))
    return paths, missing


def _progress() -> "Progress":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


class _Bars:
    """A bar for each stage; the last stage's bar goes when the next begins."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress

    def stage(self, name: str, total: int) -> Callable[[int], None]:
        for done in self._progress.task_ids:
            self._progress.update(done, visible=False)
        task = self._progress.add_task(name, total=total)
        return lambda steps: self._progress.advance(task, steps)


if __name__ == "__main__":
    reproduce(prog_name="python -m experiments")
