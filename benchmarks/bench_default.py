"""The default learner's list, with a prior fitted to other users, beside LMDH's."""

from collections.abc import Callable
from time import perf_counter
from typing import Final

import numpy as np

from benchmarks.bench_replay import task_of
from benchmarks.markdown import duration, table
from benchmarks.results import Part, Shape
from benchmarks.shares import divide, shares_table
from benchmarks.timing import Times, compared
from variegate import LMDH, LMDP, Policy
from variegate.arrays import MaskArray
from variegate.errors import DataError, MissingExtraError
from variegate.evaluation.replay import ReplayTask
from variegate.kernels import lmdh_list
from variegate.kernels.lmdh import relevance_list
from variegate.model.gains import normalising_factors
from variegate.policies.item_lmdp import ItemLMDP

#: Observations after which a list is measured, and lists of each side then.
STAGES: Final = (50, 300)
TURNS: Final = 60
K: Final = 10
TASK: Final = "default"


def measure(quick: bool) -> Part:
    """Return the list of the default learner after some observations, against LMDH's."""
    part, name = Part(), "ml-100k" if quick else "ml-1m"
    try:
        task = task_of(name)
    except (DataError, MissingExtraError) as error:
        part.skipped.append(f"the default learner on {name}: {error}")
        return part
    prior = task.fit_prior()
    for stage in STAGES:
        sides = LMDH(task.catalogue), LMDP(task.catalogue, prior=prior)
        known = [_taught(policy, task, stage) for policy in sides]
        taken: tuple[Times, Times] = ([], [])
        for _ in range(5 if quick else TURNS):
            for (policy, free), seconds in zip(known, taken, strict=True):
                seconds.append(_seconds(policy, free))
        shape = Shape(len(task.catalogue), task.catalogue.d, K, task.catalogue.m)
        part.comparisons.append(
            compared("LMDH's list", f"{stage} observations", shape, *taken, task=TASK)
        )
        for policy, free in known:
            name = f"{policy.name.upper()}'s list after {stage} observations"
            divide(part, name, _parts(policy, free), shape, 0.2 if quick else 1.0)
    return part


def _taught(policy: Policy, task: ReplayTask, observations: int) -> tuple[Policy, MaskArray]:
    """Return the policy after lists that the user with most likes saw, and what was not shown."""
    likes = max(task.likes, key=len)
    free = np.ones(len(task.catalogue), dtype=bool)
    for _ in range(observations // K):
        slate = policy.recommend(K, candidates=free)
        policy.update(slate, np.isin(slate.items, likes).astype(np.float64))
        free[slate.items] = False
    return policy, free


def _parts(policy: Policy, free: MaskArray) -> dict[str, Callable[[], object]]:
    """Return a whole list and its parts, each from what was learnt."""

    def whole() -> object:
        policy.drop_estimates()
        return policy.recommend(K, candidates=free)

    parts: dict[str, Callable[[], object]] = {"the list": whole}
    layout, factors = policy.catalogue.layout, normalising_factors(policy.normaliser, K)
    if layout is None or not isinstance(policy, LMDH):
        return parts
    if isinstance(policy, ItemLMDP):
        posterior, learner = policy.posterior(), policy
        beta = policy._adjusted_beta(posterior.beta)
        relevance = posterior.relevance
        parts["the posterior"] = lambda: learner.prior.posterior(learner.observations)
        parts["the compiled list"] = lambda: relevance_list(layout, free, relevance, beta, factors)
        return parts
    estimate, width = policy._estimate(), policy.width(K)
    parts["the estimate"] = policy._ridge._solved
    parts["the compiled list"] = lambda: lmdh_list(
        layout, free, estimate.mean, estimate.inverse_root, width, factors
    )
    return parts


def _seconds(policy: Policy, free: MaskArray) -> float:
    """Return the seconds of a list by what was just learnt: nothing of it is kept from before."""
    policy.restore(policy.state())
    start = perf_counter()
    policy.recommend(K, candidates=free)
    return perf_counter() - start


def section(part: Part) -> list[str]:
    """Write what the default learner's list costs."""
    rows = [
        [row.job, duration(row.ours), duration(row.theirs), f"{row.ours / row.theirs:.2f}"]
        for row in part.of_task(TASK)
    ]
    return [
        "LMDP with a prior of items, fitted to the training users of MovieLens, against LMDH: a",
        "list of 10 right after an update, so that what an update puts off is in its time.",
        "",
        *table(["after", "LMDP's list", "LMDH's list", "times LMDH's cost"], rows),
        "Where that time goes; here the state is not read back first, as it is above.",
        "",
        *shares_table(part),
    ]
