"""`python -m experiments`: run the experiments and write the report."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
from click.core import ParameterSource

from experiments.plan import Plan, quick_plan
from experiments.report import write_docs, write_report
from experiments.results import Results
from experiments.run import CHAPTERS
from experiments.run import reproduce as run
from experiments.synthetic import NAME as SYNTHETIC
from experiments.synthetic import Truth, compared_with, write_synthetic
from variegate.arrays import check_choice
from variegate.cli.output import PlainErrors, plain_console, say
from variegate.cli.replay_options import workers_option
from variegate.data.bpr import cache_folder
from variegate.data.download import DATASETS, data_folder, find_dataset
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
    "--synthetic",
    is_flag=True,
    help="On likes drawn from known preferences, without any archive.",
)
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
    synthetic: bool,
    only: str | None,
) -> None:
    """Run the paper's experiments and ours; write a report on which claims hold.

    Ours measure LMDP, which starts from a prior fitted to other users, its ablations, and every
    method's trade-off of recall and diversity.

    Needs MovieLens-100K, MovieLens-1M and Anime (variegate fetch explains how to get them);
    missing ones are left out, with a message. An interrupted run resumes where it stopped.

    With --synthetic all of it runs on generated likes in the files of MovieLens-100K; in the end
    the recall of each method stands beside that of the preferences that the likes were drawn from.

    \b
    Examples:
        python -m experiments --quick
        python -m experiments --quick --synthetic --out out/synthetic
        python -m experiments --out out/full
        python -m experiments --users ml-1m=300 --users anime=300
        python -m experiments --only beyond --dataset ml-100k --docs docs/explanation
    """
    engine = parse_workers(workers)
    console = plain_console()
    paths, missing, truth = _inputs(datasets, docs, Path(out) if synthetic else None)
    for name, reason in missing.items():
        say(console, f"without {name}: {reason}")
    plan = replace(quick_plan() if quick else Plan(), synthetic=synthetic)
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
    for line in _beside_truth(truth, results, plan):
        say(console, line)
    if docs is not None:
        for written in write_docs(results, Path(docs), figures=report.parent / "figures"):
            say(console, f"Page: {written}")


def _inputs(
    datasets: tuple[str, ...], docs: str | None, synthetic: Path | None
) -> tuple[dict[str, Path], dict[str, str], Truth | None]:
    """Return the paths of the data sets, why others are missing, and what likes are drawn from.

    `synthetic` is the folder in which likes are generated, if they are.
    """
    if synthetic is None:
        return *_paths(datasets), None
    if datasets or docs:
        raise InputError("`--synthetic` has likes of its own: leave out --dataset and --docs")
    return {SYNTHETIC: synthetic / "likes"}, {}, write_synthetic(synthetic / "likes")


def _beside_truth(truth: Truth | None, results: Results, plan: Plan) -> Iterator[str]:
    if truth is not None:
        replays = results.replays or results.beyond.replays
        yield from compared_with(truth, replays[SYNTHETIC], rounds=plan.rounds, k=plan.k)


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
        raise DataError(
            f"no data set was found in {data_folder()}: `variegate fetch ml-100k` gets the "
            "smallest one, and `python -m experiments --synthetic` needs none"
        )
    return paths, missing


if __name__ == "__main__":
    reproduce(prog_name="python -m experiments")
