"""`python -m experiments`: run the experiments and write the report."""

import shlex
from dataclasses import replace
from pathlib import Path

import click
from click.core import ParameterSource

from experiments.plan import Plan, quick_plan
from experiments.report import write_docs, write_report
from experiments.run import CHAPTERS
from experiments.run import reproduce as run
from variegate.arrays import check_choice
from variegate.cli.output import PlainErrors, plain_console, say
from variegate.cli.replay_options import workers_option
from variegate.data.bpr import cache_folder
from variegate.data.download import DATASETS, find_dataset
from variegate.errors import DataError, InputError, VariegateError
from variegate.evaluation.parallel import parse_workers
from variegate.evaluation.progress import show_progress


@click.command(cls=PlainErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--quick", is_flag=True, help="A first complete report in minutes, from few users.")
@click.option(
    "--out", default="out/reproduction", show_default=True, help="Folder for results and report."
)
@click.option(
    "--dataset", "datasets", multiple=True, help="Only this data set; repeat for several."
)
@click.option(
    "--users", "max_users", multiple=True, help="The most test users per split: ml-1m=300."
)
@workers_option
@click.option("--docs", help="Also write the pages and their figures to this folder of documents.")
@click.option(
    "--only",
    type=click.Choice(CHAPTERS),
    help="Only the paper's experiments, or only those beyond it.",
)
def reproduce(
    quick: bool,
    out: str,
    datasets: tuple[str, ...],
    max_users: tuple[str, ...],
    workers: str | None,
    docs: str | None,
    only: str | None,
) -> None:
    """Run the paper's experiments and ours; write a report on which claims hold.

    Ours measure LMDP, which starts from a prior fitted to other users, its ablations, and every
    method's trade-off of recall and diversity.

    Needs MovieLens-100K, MovieLens-1M and Anime (variegate fetch explains how to get them);
    missing ones are left out, with a message. An interrupted run resumes where it stopped.

    \b
    Examples:
        python -m experiments --quick
        python -m experiments --out out/full
        python -m experiments --users ml-1m=300 --users anime=300
        python -m experiments --only beyond --dataset ml-100k --docs docs/explanation
    """
    engine = parse_workers(workers)
    console = plain_console()
    paths, missing = _paths(datasets)
    for name, reason in missing.items():
        say(console, f"without {name}: {reason}")
    plan = quick_plan() if quick else Plan()
    users = {**plan.users, **_max_users(max_users)}
    with show_progress() as progress:
        results = run(
            replace(plan, datasets=tuple(paths), users=users),
            paths,
            out,
            workers=engine,
            cache=cache_folder(),
            progress=progress,
            command=_command_line(),
            chapters=CHAPTERS if only is None else (only,),
        )
    report = write_report(results, Path(out))
    say(console, f"Report: {report}")
    if docs is not None:
        for written in write_docs(results, Path(docs), figures=report.parent / "figures"):
            say(console, f"Page: {written}")


def _max_users(texts: tuple[str, ...]) -> dict[str, int]:
    users = {}
    for text in texts:
        name, _, count = text.partition("=")
        check_choice("users", name, DATASETS)
        if not (count.isdigit() and int(count)):
            raise InputError(f"`--users` must be data set=number, got {text!r}")
        users[name] = int(count)
    return users


def _command_line() -> str:
    """Return the command with the options that were given."""
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
    """Return the path of each data set, and the reason why others are missing."""
    paths, missing = {}, {}
    for name in datasets or tuple(DATASETS):
        check_choice("dataset", name, DATASETS)
        try:
            paths[name] = find_dataset(name)
        except VariegateError as error:
            missing[name] = str(error)
    if not paths:
        raise DataError("no data set was found: " + "; ".join(missing.values()))
    return paths, missing


if __name__ == "__main__":
    reproduce(prog_name="python -m experiments")
