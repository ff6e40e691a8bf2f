"""Pairs a NumPy reference with its compiled twin."""

from collections.abc import Callable
from typing import Any, Final, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Every kernel by its name; the tests hold both versions of each to the same answers.
TWINS: Final[dict[str, "Twins[Any, Any]"]] = {}


class Twins(Generic[P, R]):
    """A kernel written twice. Calling it runs the compiled loops.

    numba is imported and the loops are compiled at the first call, not at import, and the
    machine code is kept beside the source (or in numba's cache folder) for the next process.
    """

    def __init__(self, reference: Callable[P, R], loops: Callable[P, R]) -> None:
        self.reference, self._loops = reference, loops
        self._compiled: Callable[P, R] | None = None
        self.__doc__, self.__name__ = loops.__doc__, loops.__name__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._compiled is None:
            from numba import njit  # takes half a second: not at import

            self._compiled = njit(cache=True, nogil=True)(self._loops)
        return self._compiled(*args, **kwargs)


def compiled_twin_of(reference: Callable[P, R]) -> Callable[[Callable[P, R]], Twins[P, R]]:
    """Make the decorated loops the compiled twin of `reference`."""

    def decorate(loops: Callable[P, R]) -> Twins[P, R]:
        twins = Twins(reference, loops)
        TWINS[twins.__name__] = twins
        return twins

    return decorate
