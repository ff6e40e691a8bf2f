"""The best list of all, for sets small enough to look at every one."""

from collections.abc import Iterator
from itertools import combinations, islice
from math import comb

import numpy as np

from variegate.arrays import FloatArray, IndexArray, check_count
from variegate.errors import InputError
from variegate.search.base import Scorer

#: Lists looked at in one go: bounds the memory.
BATCH = 20_000


def exhaustive(scorer: Scorer, k: int, *, most: int = 2_000_000) -> tuple[IndexArray, FloatArray]:
    """Take the set of `k` candidates with the highest value, looking at all of them.

    Each set is valued in the order of its places, which is the set's value for any score
    whose value does not depend on the order. More than `most` sets raise InputError.
    """
    k = check_count(k, len(scorer))
    if comb(len(scorer), k) > most:
        raise InputError(
            f"`k` = {k} of {len(scorer)} candidates makes {comb(len(scorer), k):,} sets, more "
            f"than `most` = {most:,}: take greedy or local search"
        )
    best, best_value = np.empty(0, dtype=np.intp), -np.inf
    for lists in _batches(len(scorer), k):
        values = scorer.values(lists)
        place = int(np.argmax(values))
        if values[place] > best_value:
            best, best_value = lists[place], float(values[place])
    return best, scorer.along(best)


def _batches(n: int, k: int) -> Iterator[IndexArray]:
    sets = combinations(range(n), k)
    while batch := list(islice(sets, BATCH)):
        yield np.array(batch, dtype=np.intp)
