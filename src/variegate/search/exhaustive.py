"""The best list of all, for sets small enough to look at every one."""

from collections.abc import Iterator
from itertools import combinations, islice, permutations
from math import comb, perm

import numpy as np

from variegate.arrays import FloatArray, IndexArray, check_count
from variegate.errors import InputError
from variegate.search.base import Scorer

#: Lists looked at in one go: bounds the memory.
BATCH = 20_000


def exhaustive(
    scorer: Scorer, k: int, *, ordered: bool = False, most: int = 2_000_000
) -> tuple[IndexArray, FloatArray]:
    """Take the set of `k` candidates with the highest value, looking at all of them.

    Each set is valued in the order of its places, which is the set's value for any score
    whose value does not depend on the order; `ordered` looks at every order. More than `most`
    lists raise InputError.
    """
    k = check_count(k, len(scorer))
    lists_in_all = perm(len(scorer), k) if ordered else comb(len(scorer), k)
    if lists_in_all > most:
        raise InputError(
            f"`k` = {k} of {len(scorer)} candidates makes {lists_in_all:,} lists, more than "
            f"`most` = {most:,}: take greedy or local search"
        )
    best, best_value = np.empty(0, dtype=np.intp), -np.inf
    for lists in _batches(len(scorer), k, ordered):
        values = scorer.values(lists)
        place = int(np.argmax(values))
        if values[place] > best_value:
            best, best_value = lists[place], float(values[place])
    return best, scorer.along(best)


def _batches(n: int, k: int, ordered: bool) -> Iterator[IndexArray]:
    every = permutations(range(n), k) if ordered else combinations(range(n), k)
    while batch := list(islice(every, BATCH)):
        yield np.array(batch, dtype=np.intp)
