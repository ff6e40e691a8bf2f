"""Lists under constraints, for every policy that searches greedily.

Each position takes the best candidate with which the constraints can still be met. Compiled loops
find such a list where they can: a list of the candidates that no constraint forbids so far is
right up to its first forbidden item, and what is forbidden there stays so. The plain search finds
the others.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import InputError
from variegate.model.constraints import Constraints, ListProblem, Progress, list_problem
from variegate.model.feasibility import can_complete, relaxed_problem
from variegate.model.search import SEARCHES, greedy, non_oblivious_greedy
from variegate.model.slate import Slate

if TYPE_CHECKING:
    from variegate.policies.base import Policy


class _StuckError(Exception):
    """No candidate is left for a position, as far as the search looks ahead."""


def constrained_slate(
    policy: "Policy", free: MaskArray, k: int, rng: Any, constraints: Constraints
) -> Slate:
    """Return a list of `k` of the items that are `free`, under constraints.

    Raises InputError if no list meets them, unless they may be relaxed.
    """
    _check_search(policy)
    problem, dropped = list_problem(policy.catalogue, constraints, free, k)
    if not dropped:
        try:
            return _searched(policy, problem, rng)
        except _StuckError:
            pass
    # Slow and exact, where looking ahead by one position is not enough.
    met, relaxed = relaxed_problem(problem, constraints, dropped)
    return replace(_plain_slate(policy, met, rng, looks_ahead=True), relaxed=relaxed)


def _check_search(policy: "Policy") -> None:
    if policy._search not in (greedy, non_oblivious_greedy):
        names = [name for name, search in SEARCHES.items() if search is policy._search]
        raise InputError(
            f"`constraints` must be None for {policy.name} with {', '.join(names)} search, which "
            "does not choose item by item: greedy and non-oblivious search accept them"
        )


def _searched(policy: "Policy", problem: ListProblem, rng: Any) -> Slate:
    """Return the list, or raise _StuckError."""
    if not problem.pins and not policy.is_stochastic:
        slate = _compiled_slate(policy, problem)
        if slate is not None:
            return slate
    return _plain_slate(policy, problem, rng)


def _compiled_slate(policy: "Policy", problem: ListProblem) -> Slate | None:
    """Return the list by the policy's own fast search; None if only the plain one can tell."""
    if policy.catalogue.layout is None:
        return None
    allowed, prefix = problem.free, np.empty(0, dtype=np.intp)
    while True:
        slate, progress = policy._recommend(allowed, problem.k, None), Progress(problem)
        if not np.array_equal(slate.items[: len(prefix)], prefix):
            return None  # a shortlist of fewer candidates can be another one
        taken = _take_allowed(slate.items, progress, allowed, len(prefix))
        if taken == problem.k:
            return slate if progress.is_met else None
        if np.count_nonzero(progress.open) < progress.left:
            raise _StuckError  # the plain search would come here too
        choices = progress.choices()
        if (choices & ~allowed).any() or np.count_nonzero(choices) < progress.left:
            return None  # what is forbidden for this position may be allowed further down
        prefix, allowed = slate.items[:taken], choices.copy()
        allowed[prefix] = True


def _take_allowed(items: IndexArray, progress: Progress, allowed: MaskArray, n_known: int) -> int:
    """Take items up to the first that is forbidden, or that others might precede; return how many.

    The first `n_known` are known to be right; the others are the best of those `allowed`.
    """
    for position, row in enumerate(items.tolist()):
        choices = progress.choices()
        if not choices[row] or (position >= n_known and (choices & ~allowed).any()):
            return position
        progress.take(row)
    return len(items)


def _plain_slate(
    policy: "Policy", problem: ListProblem, rng: Any, *, looks_ahead: bool = False
) -> Slate:
    """Return the list of the plain search, or raise _StuckError; looking ahead, never."""
    rows = np.flatnonzero(problem.free)
    search = greedy if policy._search is greedy else non_oblivious_greedy
    chooser = _ConstrainedChooser(problem, rows, looks_ahead=looks_ahead)
    with np.errstate(over="ignore", invalid="ignore"):  # `finite_slate` checks the scores
        scorer = policy._scorer(rows, problem.k, rng)
        places, scores = search(scorer, problem.k, chooser)
    if not chooser.progress.is_met:
        raise _StuckError
    return policy._slate(rows[places], scores)


class _ConstrainedChooser:
    """Chooses the pinned item of a position, or the best item with which the rest can be met.

    Parameters
    ----------
    rows
        The candidates, sorted; scores are in their order.
    looks_ahead
        Whether to know exactly with which items the rest can be met.
    """

    def __init__(self, problem: ListProblem, rows: IndexArray, *, looks_ahead: bool) -> None:
        self.progress = Progress(problem)
        self._pins, self._rows, self._looks_ahead = problem.pins, rows, looks_ahead
        self._kinds = problem.kinds[rows] if looks_ahead else rows

    def choose(self, position: int, scores: FloatArray) -> int:
        """Return the place of the item for a position."""
        if position in self._pins:  # it counts already
            return int(np.searchsorted(self._rows, self._pins[position]))
        choices = np.flatnonzero(self.progress.choices()[self._rows])
        while len(choices):
            place = int(choices[np.argmax(scores[choices])])
            row = int(self._rows[place])
            if not self._looks_ahead or can_complete(self.progress.after(row)):
                self.progress.take(row)
                return place
            choices = choices[self._kinds[choices] != self._kinds[place]]
        raise _StuckError
