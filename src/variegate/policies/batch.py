"""Lists for many users at once, on several cores."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import MaskArray, check_count
from variegate.kernels.layout import Layout
from variegate.kernels.lmdh import lmdh_lists
from variegate.model.gains import normalising_factors
from variegate.model.slate import Slate, ids_of
from variegate.policies.base import Policy
from variegate.policies.lmdh import LMDH

#: Users whose lists are selected in one call of the compiled loops.
AT_A_TIME: Final = 128
#: Limit of `workers`: more threads than any machine has cores.
MAX_WORKERS: Final = 1024


def recommend_many(
    policies: Sequence[Policy],
    k: int,
    candidates: ArrayLike | None = None,
    exclude: ArrayLike | None = None,
    *,
    user_ids: Sequence[str] | None = None,
    workers: int = 1,
) -> list[Slate]:
    """Return what `recommend` of each policy returns, in their order.

    The policies are of one kind and one catalogue, and do not sample. Lists of LMDH are selected on
    several cores; those of other policies one after another.

    Parameters
    ----------
    k, candidates, exclude
        As for `Policy.recommend`, the same for all.
    user_ids
        The users whom the lists are made for, one for each policy.
    workers
        The number of threads.
    """
    users: Sequence[str | None] = [None] * len(policies) if user_ids is None else user_ids
    threads = check_count(workers, MAX_WORKERS, name="workers", of="the most that make sense")
    compiled = [policy for policy in policies if isinstance(policy, LMDH) and _is_compiled(policy)]
    layout = compiled[0].catalogue.layout if compiled else None
    if layout is None or len(compiled) < len(policies):
        return [
            policy.recommend(k, candidates, exclude).for_user(user)
            for policy, user in zip(policies, users, strict=True)
        ]
    catalogue = compiled[0].catalogue
    free = catalogue.candidate_mask(candidates, exclude)
    count = check_count(k, int(np.count_nonzero(free)))
    groups = range(0, len(compiled), AT_A_TIME)

    def slates_of(start: int) -> list[Slate]:
        group = slice(start, start + AT_A_TIME)
        return _slates(layout, compiled[group], users[group], free, count)

    if threads == 1:
        return [slate for start in groups for slate in slates_of(start)]
    with ThreadPoolExecutor(threads, thread_name_prefix="variegate-lists") as pool:
        return [slate for found in pool.map(slates_of, groups) for slate in found]


def _is_compiled(policy: LMDH) -> bool:
    """Return whether a policy's lists are those of `lmdh_lists`."""
    return (
        type(policy)._compiled_list is LMDH._compiled_list
        and not policy.is_stochastic
        and policy.search == "greedy"
        and policy.shortlist is None
        and not policy.catalogue.is_open
    )


def _slates(
    layout: Layout,
    policies: Sequence[LMDH],
    users: Sequence[str | None],
    free: MaskArray,
    k: int,
) -> list[Slate]:
    catalogue = policies[0].catalogue
    estimates = [policy._estimate() for policy in policies]
    rows, scores, x, is_whole = lmdh_lists(
        layout,
        free,
        np.array([estimate.mean for estimate in estimates]),
        np.array([estimate.inverse_root for estimate in estimates]),
        np.array([policy.width(k) for policy in policies]),
        normalising_factors(policies[0].normaliser, k),
    )
    # What can be done for all at once, before a loop that holds the interpreter lock.
    features = catalogue.features.take(np.where(is_whole[:, None], rows, 0), axis=0)
    is_good, covered = is_whole & np.isfinite(scores).all(axis=1), x[:, :, :0]
    parts = users, rows.tolist(), rows, features, x, scores, is_good.tolist()
    return [
        Slate(items, ids_of(catalogue, places), z, gains, values, covered[n], user)
        if good
        else policies[n].recommend(k, free).for_user(user)  # or the error that it raises
        for n, (user, places, items, z, gains, values, good) in enumerate(zip(*parts, strict=True))
    ]
