"""Progress bars: drawn on a terminal, silent elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

#: Called with the stage, the steps done and the total of the stage, 0 if it is not known.
Progress: TypeAlias = Callable[[str, int, int], None]


@contextmanager
def show_progress(
    progress: bool | Progress = True, *, in_bytes: bool = False
) -> Iterator[Progress]:
    """Yield a function that shows the progress of a stage; the next stage replaces its bar.

    Parameters
    ----------
    progress
        True draws a bar if the output is a terminal and `rich` is installed; False draws
        nothing; a function is yielded as it is.
    in_bytes
        Show steps as sizes, with the speed of a transfer.
    """
    if callable(progress):
        yield progress
        return
    bar = _bar(in_bytes) if progress else None
    if bar is None:
        yield lambda _stage, _done, _total: None
        return
    with bar:
        task = bar.add_task("", total=None)

        def show(stage: str, done: int, total: int) -> None:
            if bar.tasks[task].description != stage:
                bar.reset(task, description=stage)
            bar.update(task, completed=done, total=total or None)

        yield show


def _bar(in_bytes: bool) -> "Bar | None":
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as Bar
    except ImportError:
        return None
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        return None
    amounts = (DownloadColumn(), TransferSpeedColumn()) if in_bytes else (MofNCompleteColumn(),)
    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(complete_style="bold", finished_style="bold"),
        *amounts,
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
