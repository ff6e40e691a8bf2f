"""Times of calls that take turns, so that whatever else the machine does hits all of them."""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import ceil
from time import perf_counter
from typing import Final

import numpy as np

from benchmarks.results import Comparison, Shape

#: Calls quicker than this are timed several at a time, so that the clock's own cost is lost in it.
TURN: Final = 0.002
#: A first call that took longer needs no second one to warm up.
SLOW: Final = 0.5

#: Seconds of one call, a number for each turn.
Times = list[float]


def alternated(
    calls: Mapping[str, Callable[[], object]],
    *,
    budget: float,
    least: int = 5,
    most: int = 101,
) -> dict[str, Times]:
    """Return the seconds of each call, turn by turn: A B A B, after each has warmed up.

    Parameters
    ----------
    budget
        Seconds after which no further round of turns begins.
    least, most
        Rounds of turns, whatever the budget.
    """
    repeats = {name: _repeats(call) for name, call in calls.items()}
    times: dict[str, Times] = {name: [] for name in calls}
    end = perf_counter() + budget
    with _no_collection():
        for done in range(most):
            if done >= least and perf_counter() > end:
                break
            for name, call in calls.items():
                times[name].append(_seconds(call, repeats[name]))
    return times


def compared(
    other: str,
    job: str,
    shape: Shape,
    theirs: Times,
    ours: Times,
    *,
    task: str = "list",
    note: str = "",
) -> Comparison:
    """Return medians and their ratio, with the spread of the ratios turn by turn."""
    pairs = np.array(theirs) / np.array(ours)
    low, high = np.quantile(pairs, [0.1, 0.9])
    return Comparison(
        other=other,
        job=job,
        task=task,
        shape=shape,
        theirs=float(np.median(theirs)),
        ours=float(np.median(ours)),
        low=float(low),
        high=float(high),
        turns=len(pairs),
        note=note,
    )


def _repeats(call: Callable[[], object]) -> int:
    took = _seconds(call, 1)
    if took < SLOW:
        took = _seconds(call, 1)
    return min(max(ceil(TURN / max(took, 1e-9)), 1), 1000)


def _seconds(call: Callable[[], object], repeats: int) -> float:
    start = perf_counter()
    for _ in range(repeats):
        call()
    return (perf_counter() - start) / repeats


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the collector of cyclic garbage from landing in one call's time."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
