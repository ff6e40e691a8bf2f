"""Operations that have a transaction to themselves."""

from collections.abc import Callable
from typing import Any, NamedTuple


def _nothing() -> None:
    return


class Done(NamedTuple):
    """What such an operation comes to.

    Parameters
    ----------
    answer
        Given once all is kept.
    then
        Called right before: what this process shall remember of it.
    """

    answer: dict[str, Any]
    then: Callable[[], object] = _nothing
