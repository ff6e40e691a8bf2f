"""Measures what a plan asks for, and keeps it as it is measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Protocol

import numpy as np

from variegate.arrays import FloatArray
from variegate.datasets import Dataset
from variegate.evaluation.ratios import approximation_ratios
from variegate.evaluation.replay import ReplayTask
from variegate.evaluation.reproduction.folder import ResultsFolder
from variegate.evaluation.reproduction.plan import Plan
from variegate.evaluation.reproduction.results import Regret
from variegate.evaluation.scores import Scores, scores_of
from variegate.evaluation.simulation import Simulation
from variegate.evaluation.tasks import rated_task
from variegate.evaluation.workers import Settings, replay_all, simulate_all
from variegate.gains import Normaliser
from variegate.policies import LMDH, parse_policy
from variegate.theory import regret_bound

#: The searches whose lists are held against the best.
SEARCHED = ("greedy", "non-oblivious", "local")


class Watcher(Protocol):
    """Is told what is going on; the command line draws it."""

    def stage(self, name: str, total: int) -> Callable[[int], None]:
        """Begin a stage of `total` steps; what comes back is told of steps done."""


class Unwatched:
    """Nobody looks."""

    def stage(self, name: str, total: int) -> Callable[[int], None]:  # noqa: ARG002
        """Begin a stage."""
        return lambda _steps: None


@dataclass(frozen=True)
class Runner:
    """Measures, unless it was measured before."""

    plan: Plan
    folder: ResultsFolder
    data: Mapping[str, Dataset]
    workers: int
    cache: Path | None
    watcher: Watcher

    def replays(
        self, name: str, split: int, policies: Sequence[str], *, k: int | None = None
    ) -> dict[str, Scores]:
        """Return the scores of each policy on one split of a data set."""
        k = self.plan.k if k is None else k
        settings = {policy: self._settings(name, split, policy, k) for policy in policies}
        found = {policy: self.folder.scores(settings[policy]) for policy in policies}
        known = {policy: scores for policy, scores in found.items() if scores is not None}
        missing = [policy for policy in policies if policy not in known]
        if missing:
            task = self._task(name, split)
            step = self.watcher.stage(
                f"{name}, split {split + 1}, K = {k}: {len(missing)} policies",
                len(missing) * len(task.likes),
            )
            for place, trace in replay_all(
                [parse_policy(policy) for policy in missing],
                task,
                Settings(rounds=self.plan.rounds, k=k),
                workers=self.workers,
                progress=step,
            ):
                policy = missing[place]
                known[policy] = scores_of(trace, task, settings[policy])
                self.folder.keep_scores(known[policy])
        return {policy: known[policy] for policy in policies}

    def regret(self, reading: Normaliser) -> Regret:
        """Return the simulated experiment under a reading of the normaliser."""
        rounds, runs = self.plan.simulated_rounds, self.plan.simulated_runs
        settings = {"rounds": rounds, "runs": runs, "reading": reading}
        first = Simulation(rounds=1, runs=[0], normaliser=reading)

        def measure() -> FloatArray:
            return simulate_all(
                runs=runs,
                workers=self.workers,
                progress=self.watcher.stage(f"simulation ({reading})", runs),
                rounds=rounds,
                normaliser=reading,
            )

        regret = self.folder.array("regret", settings, measure)
        return Regret(first.names, first.labels, regret, _bound(first, rounds, reading))

    def ratios(self, reading: Normaliser) -> dict[str, FloatArray]:
        """Return F(found) / F(best) by search, (users, lengths)."""
        users = self.plan.ratio_users

        def measure() -> FloatArray:
            step = self.watcher.stage(f"approximation ratios ({reading})", users)
            measured = []
            for ratios in approximation_ratios(SEARCHED, users=users, normaliser=reading):
                measured.append(ratios)
                step(1)
            return np.array(measured)

        array = self.folder.array("ratios", {"reading": reading, "users": users}, measure)
        return {search: array[:, row] for row, search in enumerate(SEARCHED)}

    def _settings(self, name: str, split: int, policy: str, k: int) -> dict[str, object]:
        return {
            "dataset": name,
            "split": split,
            "policy": policy,
            "rounds": self.plan.rounds,
            "k": k,
            "users": self.plan.users.get(name),
        }

    def _task(self, name: str, split: int) -> ReplayTask:
        steps: list[Callable[[int], None]] = []

        def progress(_done: int, epochs: int) -> None:
            if not steps:
                steps.append(self.watcher.stage(f"{name}: embeddings of split {split + 1}", epochs))
            steps[0](1)

        task = rated_task(
            self.data[name],
            split=split,
            users=self.plan.users.get(name),
            cache=self.cache,
            progress=progress,
        )
        self.folder.fact(f"users left out: {name}, split {split + 1}", task.left_out)
        return task


def _bound(first: Simulation, rounds: int, reading: Normaliser) -> FloatArray:
    """Theorem 2's bound for one of the drawn worlds; eta lies in [0, 0.2]^11."""
    policy = LMDH(first.worlds[0].catalogue, normaliser=reading)
    size = policy.catalogue.d + policy.catalogue.m
    bounds = [
        regret_bound(
            size,
            n,
            first.k,
            ridge=50.0,
            preference_norm=0.2 * sqrt(size),
            feature_norm=policy.feature_norm(first.k),
        )
        for n in range(1, rounds + 1)
    ]
    return np.array(bounds)
