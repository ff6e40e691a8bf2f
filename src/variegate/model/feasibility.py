"""Whether a list can meet its constraints, exactly: an integer program over kinds of items.

It runs only where a greedy search cannot go on, so its milliseconds are rarely spent.
"""

from bisect import bisect_left
from dataclasses import replace

import numpy as np
import scipy  # its parts load when they are first used

from variegate.arrays import IndexArray
from variegate.errors import InputError
from variegate.model.constraints import Constraints, ListProblem, Progress, Relaxed


def can_complete(progress: Progress) -> bool:
    """Return whether the positions that are left can be filled so that everything is met."""
    if progress.exceeds:
        return False
    if progress.left == 0:
        return progress.is_met
    places = np.flatnonzero(progress.open)
    if len(places) < progress.left:
        return False
    kinds = progress.problem.kinds[places]
    _, first, counts = np.unique(kinds, return_index=True, return_counts=True)
    rows = places[first]
    table, low, high = _program(progress, rows)
    result = scipy.optimize.milp(
        np.zeros(len(rows)),
        integrality=np.ones(len(rows), dtype=np.intp),
        bounds=scipy.optimize.Bounds(0, np.minimum(counts, progress.left)),
        constraints=scipy.optimize.LinearConstraint(table, low, high),
    )
    return bool(result.status == 0)


def _program(
    progress: Progress, rows: IndexArray
) -> tuple["scipy.sparse.csr_array[np.float64]", IndexArray, IndexArray]:
    """Return a row of the program for the length, each value and each condition, with bounds."""
    sizes = [len(capacity) for capacity in progress.capacities]
    starts = np.cumsum([1, *sizes])
    across, down = list[int](), list[int]()
    for column, row in enumerate(rows.tolist()):
        values, groups = progress.memberships(row)
        places = [0, *(int(starts[at]) + int(c) for at, codes in enumerate(values) for c in codes)]
        places += (np.flatnonzero(groups) + starts[-1]).tolist()
        down += places
        across += [column] * len(places)
    n_rows = int(starts[-1]) + len(progress.unmet)
    table = scipy.sparse.csr_array((np.ones(len(down)), (down, across)), shape=(n_rows, len(rows)))
    low = np.concatenate([[progress.left], np.zeros(sum(sizes), dtype=np.intp), progress.unmet])
    everything = np.full(len(progress.unmet), progress.left)
    high = np.concatenate([[progress.left], *progress.capacities, everything])
    return table, low.astype(np.intp), high.astype(np.intp)


def is_feasible(problem: ListProblem) -> bool:
    """Return whether any list meets the constraints."""
    return can_complete(Progress(problem))


def relaxed_problem(
    problem: ListProblem, constraints: Constraints, dropped: list[Relaxed]
) -> tuple[ListProblem, tuple[Relaxed, ...]]:
    """Return the constraints that can be met, and what was relaxed for it.

    Each number is changed as little as the constraints before it require. Raises InputError with
    what would do, unless the constraints may be relaxed.
    """
    relaxed = list(dropped)
    met = replace(problem, at_most=(), at_least=())
    for name, column, asked in problem.at_most:
        met = _with_limit(replace(met, at_most=(*met.at_most, (name, column, asked))))
        used = met.at_most[-1][2]
        relaxed += [] if used == asked else [Relaxed(name, asked, used)]
    for name, mask, asked in problem.at_least:
        met = _with_need(replace(met, at_least=(*met.at_least, (name, mask, asked))))
        used = met.at_least[-1][2]
        relaxed += [] if used == asked else [Relaxed(name, asked, used)]
    if relaxed and not constraints.relax:
        raise InputError(
            f"{'; '.join(_reason(one, problem.k) for one in relaxed)}: change the constraints, or "
            "set `relax` to let them be changed so"
        )
    return met, tuple(relaxed)


def _reason(relaxed: Relaxed, k: int) -> str:
    """Return why a constraint cannot be met in a list of `k` items, and what could."""
    if relaxed.used is None and int(relaxed.constraint.removeprefix("pins.")) > k:
        return f"`constraints.{relaxed.constraint}`: the list has {k} positions only"
    return str(relaxed)


def _with_limit(problem: ListProblem) -> ListProblem:
    """Return the problem with the lowest number, from the one asked, for its last `at_most`."""
    name, column, asked = problem.at_most[-1]

    def limited(n: int) -> ListProblem:
        return replace(problem, at_most=(*problem.at_most[:-1], (name, column, n)))

    numbers = range(asked, problem.k)
    return limited(asked + bisect_left(numbers, True, key=lambda n: is_feasible(limited(n))))


def _with_need(problem: ListProblem) -> ListProblem:
    """Return the problem with the highest number, up to the one asked, for its last `at_least`."""
    name, mask, asked = problem.at_least[-1]

    def needing(n: int) -> ListProblem:
        return replace(problem, at_least=(*problem.at_least[:-1], (name, mask, n)))

    numbers = range(1, min(asked, problem.k) + 1)
    return needing(bisect_left(numbers, True, key=lambda n: not is_feasible(needing(n))))
