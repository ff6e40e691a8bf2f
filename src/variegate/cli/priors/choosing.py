"""How commands choose settings: with a bar for each stage, where someone watches."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.cli.builds.training import Training
    from variegate.cli.priors.sources import Source
    from variegate.evaluation.choosing import Chosen


@contextmanager
def bars(console: "Console") -> Iterator[Callable[[str, int, int], None]]:
    """Give a function to tell what is being done, and how much of it is done, of how much."""
    from variegate.cli.console import Progress, progress_bar

    shown: dict[str, Progress] = {}
    with ExitStack() as drawn:

        def tell(doing: str, done: int, of: int) -> None:
            if doing not in shown:
                drawn.close()  # two bars cannot be drawn at once
                shown.clear()
                shown[doing], _ = drawn.enter_context(progress_bar(console, doing))
            shown[doing](done, of)

        yield tell


def checked_workers(workers: int | None) -> int:
    """Return how many processes are asked for, or raise InputError."""
    from variegate.arrays import check_count
    from variegate.evaluation.parallel import default_workers

    if workers is None:
        return default_workers()
    return check_count(workers, 10_000, name="workers", of="the most that make sense")


def chosen_for(
    console: "Console",
    source: "Source",
    training: "Training | None",
    *,
    users: int,
    workers: int | None,
) -> "Chosen":
    """Choose settings for the users that a prior is fitted to.

    `training` says how vectors are learnt; without it the catalogue's features stay.
    """
    from variegate.data.bpr import cache_folder
    from variegate.evaluation.choosing import choose_settings
    from variegate.evaluation.tasks import Protocol

    name, count = source.data.name, checked_workers(workers)
    protocol = None
    if training:
        protocol = Protocol(
            d=training.d,
            normalise=training.normalise,
            distances=training.distances,
            most_popular=training.most_popular,
        )
    with bars(console) as tell:
        return choose_settings(
            {name: source.data},
            protocol=protocol,
            catalogues=None if training else {name: source.catalogue},
            users=users,
            seed=training.seed if training else 0,
            workers=count,
            cache=None if training and training.no_cache else cache_folder(),
            progress=tell,
        )
