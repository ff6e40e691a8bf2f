"""How long each stage of a reproduction took."""

from collections.abc import Callable
from time import perf_counter
from typing import ParamSpec, TypeVar

from experiments.folder import ResultsFolder

P = ParamSpec("P")
R = TypeVar("R")


class Timed:
    """Runs stages and keeps how long each took when it was first measured."""

    def __init__(self, folder: ResultsFolder) -> None:
        self._folder = folder
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, stage: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a stage; return what it does."""
        start = perf_counter()
        result = stage(*args, **kwargs)
        taken = perf_counter() - start
        # A stage that was resumed took what it took in all: the parts are added up.
        before = self._folder.fact(f"seconds: {name}") or 0.0
        self.seconds[name] = self._folder.fact(f"seconds: {name}", round(before + taken, 1))
        return result
