"""What the commands print with: plain text, quiet colours, bars only where someone watches."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from variegate.errors import VariegateError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn
    from rich.table import Table

    from variegate.evaluation.metrics import Scores

#: Is told how much is done, and how much there is if that is known
Progress: TypeAlias = Callable[[int, int | None], None]


class PlainErrors(click.Command):
    """A command that turns the package's own errors into one line on stderr and exit code 1."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except VariegateError as error:
            raise click.ClickException(str(error)) from error


def plain_console() -> "Console":
    """Return a console that prints titles as they are: brackets are no markup there."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def say(console: "Console", text: str, *, style: str | None = None) -> None:
    """Print a line that is not folded, so that paths and commands can be copied."""
    console.print(text, style=style, soft_wrap=True)


def plain_table(*columns: str, right: tuple[str, ...] = ()) -> "Table":
    """Return a table without lines, its columns of numbers (`right`) flush right.

    A cell that is too wide ends in dots, so that a row stays a line.
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
def progress_bar(
    console: "Console", doing: str, *, in_bytes: bool = False
) -> Iterator[tuple[Progress, list[int]]]:
    """Give a function to tell how much is done, and a list of the last number it was told.

    The list is empty if it was told nothing. The bar is drawn on a terminal only, and goes
    when all is done.
    """
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    parts: list[ProgressColumn] = [
        TextColumn("{task.description}", markup=False),
        BarColumn(complete_style="bold", finished_style="bold"),
    ]
    bar = Bar(
        *(*parts, *_amounts(in_bytes), TimeRemainingColumn()),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    told: list[int] = []
    with bar:
        task = bar.add_task(doing, total=None)

        def tell(done: int, total: int | None) -> None:
            told[:] = [done]
            bar.update(task, completed=done, total=total)

        yield tell, told


def one_line(text: object) -> str:
    """Return text that came from a file without what would move the cursor or break a row."""
    printable = "".join(sign if sign.isprintable() else " " for sign in str(text))
    return " ".join(printable.split())


def shortened(text: object, width: int) -> str:
    """Return the text on one line of at most `width` columns, with dots for what was cut."""
    from rich.text import Text

    line = Text(one_line(text))
    line.truncate(max(width, 1), overflow="ellipsis")
    return line.plain


def size_of(path: Path) -> str:
    """Return how large a file is, as people say it."""
    size = float(path.stat().st_size)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _amounts(in_bytes: bool) -> "tuple[ProgressColumn, ...]":
    from rich.progress import DownloadColumn, MofNCompleteColumn, TransferSpeedColumn

    return (DownloadColumn(), TransferSpeedColumn()) if in_bytes else (MofNCompleteColumn(),)


def shown_rounds(rounds: int) -> list[int]:
    """Return the rounds that tables show: of 1, 5, 10 and 30 those that there are, and the last."""
    return sorted({t for t in (1, 5, 10, 30) if t <= rounds} | {rounds})


def print_left_out(console: "Console", splits: Sequence["Scores"]) -> None:
    """Say how many users could not be measured, split by split, if there are any."""
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


def print_rows(
    console: "Console", title: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]
) -> None:
    """Print a table of numbers; where it is too wide, names are cut and numbers are not."""
    widths = [max(map(len, column)) for column in zip(columns, *rows.values(), strict=True)]
    # Two spaces between columns; a name of a few letters is the least that tells rows apart.
    room = max(console.width - sum(width + 2 for width in widths), 8)
    table = plain_table(shortened(title, room), *columns, right=tuple(columns))
    for name, cells in rows.items():
        table.add_row(shortened(name, room), *cells)
    console.print(table)
    console.print()


def print_json(found: Any) -> None:
    """Print what was found as one line of JSON."""
    click.echo(json.dumps(found, ensure_ascii=False, allow_nan=False))


def plain(splits: Sequence["Scores"]) -> dict[str, Any]:
    """Return all measures of a policy as JSON can say them."""
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
    """Return what else is asked of a policy, over all rounds, mean of the splits."""
    import numpy as np

    return {
        "coverage": float(np.mean([scores.coverage[-1] for scores in splits])),
        "Gini": float(np.mean([scores.gini for scores in splits])),
        "novelty": float(np.mean([scores.novelty[:, -1].mean() for scores in splits])),
        "hits first": float(np.mean([scores.hits[0] for scores in splits])),
        "hits last": float(np.mean([scores.hits[-1] for scores in splits])),
    }
