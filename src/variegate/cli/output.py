"""Output of the commands: consoles, tables, progress bars, JSON."""

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import click

from variegate.errors import VariegateError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from variegate.cli.replay_options import Extent
    from variegate.evaluation.metrics import Scores
    from variegate.evaluation.result_table import ResultTable

#: Called with the number of steps done and the total, or None if the total is unknown
Progress: TypeAlias = Callable[[int, int | None], None]

#: What tables of measures have behind ±.
ERRORS: Final = "± standard error over users (bootstrap, 1,000 resamples), mean over splits."

F = TypeVar("F", bound=Callable[..., Any])


def counted(number: int, what: str) -> str:
    """Return the number and the noun, as "1 user" or "2 users"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def all_of(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds several options to a command, in this order."""

    def decorate(command: F) -> F:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


class PlainErrors(click.Command):
    """A command that turns the package's own errors into one line on stderr and exit code 1."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except VariegateError as error:
            raise click.ClickException(str(error)) from error


#: The commands of a group by the title under which its help lists them.
Sections: TypeAlias = Mapping[str, Sequence[click.Command]]


class Commands(PlainErrors, click.Group):
    """A group of such commands, listed in sections."""

    def __init__(self, *args: Any, sections: Sections, **options: Any) -> None:
        super().__init__(*args, **options)
        self._sections = sections
        for command in (command for section in sections.values() for command in section):
            self.add_command(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections, with the descriptions in one column."""
        width = max(map(len, self.commands))
        for title, section in self._sections.items():
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (f"{one.name:<{width}}", one.get_short_help_str(formatter.width))
                        for one in section
                    ]
                )


def import_from_working_directory() -> None:
    """Let Python import modules of the working directory: a policy may be a custom class.

    Appended at the end of the path, so that no file there shadows a module of the package.
    """
    if (folder := os.getcwd()) not in sys.path:
        sys.path.append(folder)


def plain_console() -> "Console":
    """Return a console that prints text literally, without interpreting markup."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def say(console: "Console", text: str, *, style: str | None = None) -> None:
    """Print a line without wrapping it, so that paths and commands can be copied."""
    console.print(text, style=style, soft_wrap=True)


def plain_table(*columns: str, right: tuple[str, ...] = ()) -> "Table":
    """Return a table without borders; the columns in `right` are right-aligned.

    A cell that is too wide ends in an ellipsis, so that each row is one line.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        is_number = column in right
        table.add_column(
            column,
            justify="right" if is_number else "left",
            overflow="ellipsis",
            no_wrap=True,
            min_width=len(column) if is_number else None,
        )
    return table


@contextmanager
def progress_bar(doing: str, *, in_bytes: bool = False) -> Iterator[tuple[Progress, list[int]]]:
    """Yield a function that updates a progress bar, and a list that holds its last value.

    The list is empty if the function was never called. The bar is drawn only on a terminal, and
    removed at the end.
    """
    from variegate.evaluation.progress import show_progress

    last: list[int] = []
    with show_progress(in_bytes=in_bytes) as show:

        def update(done: int, total: int | None) -> None:
            last[:] = [done]
            show(doing, done, total or 0)

        show(doing, 0, 0)
        yield update, last


@contextmanager
def csv_file(path: str | None, *columns: str) -> Iterator[Callable[..., object]]:
    """Yield a function that writes a row of a CSV file with these columns.

    The file appears at the end, unless there was an error; without a path, nothing is written.
    """
    from variegate.files import atomic_write

    if path is None:
        yield lambda *_row: None
        return
    with atomic_write(path) as file:
        text = io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="")
        table = csv.writer(text, lineterminator="\n")
        table.writerow(columns)
        yield lambda *row: table.writerow(row)
        text.flush()
        text.detach()


def one_line(text: object) -> str:
    """Return text from a file without control characters and line breaks."""
    printable = "".join(sign if sign.isprintable() else " " for sign in str(text))
    return " ".join(printable.split())


def shortened(text: object, width: int) -> str:
    """Return the text on one line of at most `width` columns, cut with an ellipsis."""
    from rich.text import Text

    line = Text(one_line(text))
    line.truncate(max(width, 1), overflow="ellipsis")
    return line.plain


def size_of(path: Path) -> str:
    """Return the size of a file in a unit that suits it."""
    size = float(path.stat().st_size)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def shown_rounds(rounds: int) -> list[int]:
    """Return the rounds that tables show: 1, 5, 10 and 30 as far as they exist, and the last."""
    return sorted({t for t in (1, 5, 10, 30) if t <= rounds} | {rounds})


def print_left_out(console: "Console", splits: Sequence["Scores"]) -> None:
    """Print how many users of each split could not be measured, if there are any."""
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


def result_table(
    title: str, rows: Mapping[str, Sequence["Scores"]], measures: Sequence[str] = ()
) -> "ResultTable":
    """Return the measures of policies, by their names, as `write_results` writes them."""
    from variegate.evaluation.bootstrap import MEASURES, interval, standard_error
    from variegate.evaluation.result_table import ResultTable, Series

    series = []
    for name, splits in rows.items():
        for measure in measures or MEASURES:
            one, error = interval(splits, measure), standard_error(splits, measure)
            series.append(Series(name, measure, one.mean, error, one.low, one.high))
    return ResultTable(
        title, f"{ERRORS} Bands, low and high: 95% intervals.", "standard error", series
    )


def write_out(extent: "Extent", table: Callable[[], "ResultTable"]) -> None:
    """Write results to the file of `--out`, if there is one, and say so on standard error."""
    if extent.out is not None:
        from variegate.evaluation.result_table import write_results

        write_results(table(), extent.out)
        click.echo(f"Results: {extent.out}", err=True)


def print_rows(
    console: "Console", title: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]
) -> None:
    """Print a table of numbers; where it is too wide, names are cut, never numbers."""
    widths = [max(map(len, column)) for column in zip(columns, *rows.values(), strict=True)]
    # Two spaces between columns; names need at least 8 columns to be distinguishable.
    available = max(console.width - sum(width + 2 for width in widths), 8)
    table = plain_table(shortened(title, available), *columns, right=tuple(columns))
    for name, cells in rows.items():
        table.add_row(shortened(name, available), *cells)
    console.print(table)
    console.print()


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False))


def plain(splits: Sequence["Scores"]) -> dict[str, Any]:
    """Return all measures of a policy as plain data."""
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
    """Return the measures over all rounds of a policy: means over the splits."""
    import numpy as np

    return {
        "coverage": float(np.mean([scores.coverage[-1] for scores in splits])),
        "Gini": float(np.mean([scores.gini for scores in splits])),
        "novelty": float(np.mean([scores.novelty[:, -1].mean() for scores in splits])),
        "hits first": float(np.mean([scores.hits[0] for scores in splits])),
        "hits last": float(np.mean([scores.hits[-1] for scores in splits])),
    }
