"""Progress bars: drawn on a terminal, silent elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

#: Called with the stage, the steps done and the total of the stage.
Progress: TypeAlias = Callable[[str, int, int], None]


@contextmanager
def show_progress(progress: bool | Progress = True) -> Iterator[Progress]:
    """Give a function that shows how far a stage is; the bar of a stage replaces the last one's.

    Parameters
    ----------
    progress
        True draws a bar if the output is a terminal and `rich` is installed; False draws
        nothing; a function is called as it is.
    """
    if callable(progress):
        yield progress
        return
    bar = _bar() if progress else None
    if bar is None:
        yield lambda _stage, _done, _total: None
        return
    with bar:
        task = bar.add_task("", total=None)

        def show(stage: str, done: int, total: int) -> None:
            if bar.tasks[task].description != stage:
                bar.reset(task, description=stage, total=total)
            bar.update(task, completed=done, total=total)

        yield show


def _bar() -> "Bar | None":
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar
    except ImportError:
        return None
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        return None
    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(complete_style="bold", finished_style="bold"),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
