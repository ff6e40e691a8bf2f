"""`variegate import-interactions`: teach users from a table of past interactions."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from variegate.cli.open_store import of_a_service, served, settings_of
from variegate.cli.output import counted, csv_file, plain_console, progress_bar, say
from variegate.cli.replay_options import column_options

if TYPE_CHECKING:
    from variegate.data.interactions import InteractionColumns
    from variegate.engine.import_interactions import ImportReport


@click.command("import-interactions")
@click.argument("file", metavar="FILE")
@of_a_service
@column_options
@click.option(
    "--reward",
    default="reward",
    show_default=True,
    metavar="COLUMN",
    help="Column of rewards from 0 to 1, or one number for all lines, such as 1 if all are likes.",
)
@click.option("--threshold", type=float, help="A value above this is a reward of 1, others of 0.")
@click.option("--time", metavar="COLUMN", help="Column of times.  [default: time, if there is one]")
@click.option(
    "--unit",
    type=click.Choice(["s", "ms"]),
    default="s",
    show_default=True,
    help="Unit of times that are numbers, since 1970; others are ISO 8601.",
)
@click.option("--columns", metavar="NAMES", help="Columns of a file without a header, as a,b,c.")
@click.option("--separator", help="Separator of a text file.  [default: by the suffix]")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of a text file.")
@click.option("--allow-repeats", is_flag=True, help="Let the items be recommended at once.")
@click.option("--rejected", metavar="FILE", help="File to write all rejected lines to.")
@click.option("--check", is_flag=True, help="Check the lines only, import nothing.")
def import_interactions(
    file: str, store: str | None, catalogue: str | None, config: str | None, **options: Any
) -> None:
    """Teach users from past clicks, purchases or ratings.

    Each line of FILE is one user's reward of one item: CSV, TSV or Parquet of any size, read in
    pieces. It teaches what users like; how varied a list they want is learnt from their lists.
    Users who do not exist are created. The items count as seen, so they are not recommended for
    `memory_days` from now on, unless --allow-repeats is given.

    Lines with an unknown item, or a reward or time that is invalid, are rejected and reported, and
    all others imported. Each is imported exactly once: an interrupted command is completed by
    running it again, and so is a file that has grown. Lines with the same user, item, value and
    time are one interaction. The service may run meanwhile.

    A user's lines are learnt by time within 20,000 lines, and in the order of the file beyond:
    sort large files by time if users have more than 500 interactions, since a prior of items uses
    the latest 500.

    \b
    Examples:
        variegate import-interactions clicks.csv
        variegate import-interactions orders.parquet --user customer --item sku --reward 1
        variegate import-interactions ratings.csv --user userId --item movieId --reward rating \\
            --threshold 3 --time timestamp
        variegate import-interactions u.data --separator '\\t' --columns user,item,rating,time \\
            --reward rating --threshold 3
    """
    settings = settings_of(store, catalogue, config)
    report = _import(settings, file, options)
    console = plain_console()
    for kind, count in report.reasons.most_common():
        more = ", ..." if count > len(report.examples[kind]) else ""
        examples = "; ".join(report.examples[kind])
        say(console, f"{counted(count, 'line')} rejected: {kind} ({examples}{more})")
    done = f"{counted(report.imported, 'interaction')} imported"
    if options["check"]:
        done = "Nothing was imported"
    elif report.known:
        done += f", {report.known} were known"
    if report.rejected and (options["check"] or not (report.imported or report.known)):
        raise click.ClickException(f"{done}: {counted(report.rejected, 'invalid line')}")
    say(console, f"{done}, {counted(report.rejected, 'line')} rejected.")


def _import(settings: Any, file: str, options: dict[str, Any]) -> "ImportReport":
    from pathlib import Path

    from variegate.data.interactions import read_interactions
    from variegate.engine.import_interactions import import_interactions as run

    names = None if options["columns"] is None else options["columns"].split(",")
    separator = options["separator"]
    chunks = read_interactions(
        file,
        _columns(options),
        names=names,
        separator="\t" if separator == "\\t" else separator,
        encoding=options["encoding"],
    )
    total = Path(file).stat().st_size if Path(file).is_file() else 0
    with ExitStack() as stack:
        # The file of rejected lines first: it appears only if the command ends.
        note = stack.enter_context(csv_file(options["rejected"], "line", "reason"))
        executor = stack.enter_context(served(settings, create=True))
        tell, _ = stack.enter_context(progress_bar("Interactions", in_bytes=True))
        return run(
            executor,
            chunks,
            allow_repeats=options["allow_repeats"],
            dry_run=options["check"],
            on_rejected=lambda line: note(line.number, "; ".join(line.reasons)),
            progress=lambda done: tell(done, total),
        )


def _columns(options: dict[str, Any]) -> "InteractionColumns":
    from variegate.data.interactions import InteractionColumns

    names = ("user", "item", "threshold", "time", "unit")
    try:
        reward: str | float = float(options["reward"])
    except ValueError:
        reward = options["reward"]
    return InteractionColumns(reward=reward, **{name: options[name] for name in names})
