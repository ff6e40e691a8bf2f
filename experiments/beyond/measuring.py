"""Measures the chapter beyond the paper."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from experiments.beyond.dials import DIALS, SETTINGS
from experiments.beyond.distances import several_distances
from experiments.beyond.experiments import played_experiments
from experiments.beyond.methods import METHODS, Items, Method, PriorPolicy
from experiments.beyond.results import Chapter
from variegate.evaluation.metrics import Scores
from variegate.evaluation.replay import (
    PolicyFactory,
    ReplayTask,
)
from variegate.prior import Prior

if TYPE_CHECKING:
    from experiments.runner import Runner
    from experiments.timing import Timed

#: What of the items a method sees.
_seen_as: Mapping[str, Callable[[ReplayTask], ReplayTask]] = {
    "plain": lambda task: task,
    "popularity": ReplayTask.with_popularity,
    "crowd": ReplayTask.with_collaborative_features,
}
#: By data set, by key, one for each split.
Replays = Mapping[str, Sequence[Scores]]


def measured_beyond(runner: "Runner", timed: "Timed") -> Chapter:
    """Measure the chapter: every method, every dial, several distances, simulated users."""
    found = {
        name: timed(f"beyond the paper, {name}", methods_replayed, runner, name)
        for name in runner.data
    }
    return Chapter(
        {name: replays for name, (replays, _) in found.items()},
        {name: frontier for name, (_, frontier) in found.items()},
        timed("several distances", several_distances, runner),
        timed("simulated users", played_experiments, runner),
    )


def methods_replayed(runner: "Runner", name: str) -> tuple[Replays, Mapping[str, Replays]]:
    """Return the scores of every method on one data set, and of every dial as it is turned."""
    plan = runner.plan
    turned = min(plan.frontier_splits, plan.splits)
    splits = [
        _replayed(runner, name, split, (*METHODS, *(SETTINGS if split < turned else ())))
        for split in range(plan.splits)
    ]
    replays = {method.key: [scores[method.key] for scores in splits] for method in METHODS}
    frontier = {
        family: {m.title: [scores[m.key] for scores in splits[:turned]] for m in settings}
        for family, settings in DIALS.items()
    }
    return replays, frontier


def _replayed(
    runner: "Runner", name: str, split: int, methods: Sequence[Method]
) -> dict[str, Scores]:
    found: dict[str, Scores] = {}
    replay = runner.settings(name, split, "", runner.plan.k)
    for items in get_args(Items):
        chosen = {method.key: method for method in methods if method.items == items}

        def prepare(
            missing: Sequence[str], chosen: dict[str, Method] = chosen, items: str = items
        ) -> tuple[ReplayTask, list[PolicyFactory]]:
            task = runner.task(name, split)
            task = _seen_as[items](task)
            return task, factories([chosen[key] for key in missing], task)

        wanted = {key: method.settings(replay) for key, method in chosen.items()}
        title = f"{name}, split {split + 1}, beyond the paper, {items} items"
        found |= runner.measured(title, wanted, prepare)
    return found


def factories(methods: Sequence[Method], task: ReplayTask) -> list[PolicyFactory]:
    """Return what makes each method's policies, with priors fitted to the task's training users."""
    priors: dict[tuple[tuple[str, object], ...], Prior] = {}
    found: list[PolicyFactory] = []
    for method in methods:
        if method.prior is None:
            found.append(method.policy)
            continue
        options = tuple(sorted(method.prior.items()))
        if options not in priors:
            priors[options] = task.fit_prior(**method.prior)
        found.append(PriorPolicy(method.policy, priors[options]))
    return found
