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
from variegate.policies.base import Policy, finite_slate
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
    workers: int = 1,
) -> list[Slate]:
    """Return what `recommend` of each policy returns, in their order.

    The policies are of one kind and one catalogue, and do not sample. Lists of LMDH are selected on
    several cores; those of other policies one after another.

    Parameters
    ----------
    k, candidates, exclude
        As for `Policy.recommend`, the same for all.
    workers
        The number of threads.
    """
    threads = check_count(workers, MAX_WORKERS, name="workers", of="the most that make sense")
    compiled = [policy for policy in policies if isinstance(policy, LMDH) and _is_compiled(policy)]
    layout = compiled[0].catalogue.layout if compiled else None
    if layout is None or len(compiled) < len(policies):
        return [policy.recommend(k, candidates, exclude) for policy in policies]
    catalogue = compiled[0].catalogue
    free = catalogue.candidate_mask(candidates, exclude)
    count = check_count(k, int(np.count_nonzero(free)))
    groups = [compiled[at : at + AT_A_TIME] for at in range(0, len(compiled), AT_A_TIME)]

    def slates_of(group: Sequence[LMDH]) -> list[Slate]:
        return _slates(layout, group, free, count)

    if threads == 1:
        return [slate for group in groups for slate in slates_of(group)]
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


def _slates(layout: Layout, policies: Sequence[LMDH], free: MaskArray, k: int) -> list[Slate]:
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
    # One copy of the features for all of them: the interpreter lock is held here.
    features = catalogue.features.take(np.where(is_whole[:, None], rows, 0), axis=0)
    covered, parts = x[:, :, :0], (rows.tolist(), rows, features, x, scores, is_whole.tolist())
    return [
        finite_slate(Slate(items, ids_of(catalogue, places), z, gains, values, covered[n]))
        if whole
        else policies[n].recommend(k, free)
        for n, (places, items, z, gains, values, whole) in enumerate(zip(*parts, strict=True))
    ]
