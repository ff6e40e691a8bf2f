"""Measures what a plan asks for, and keeps it as it is measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Protocol as Interface

import numpy as np

from experiments.folder import ResultsFolder
from experiments.plan import Plan
from experiments.results import Regret
from variegate.arrays import FloatArray
from variegate.data.dataset import Dataset
from variegate.evaluation.metrics import Scores
from variegate.evaluation.replay import PolicyFactory, Protocol, ReplayTask, replay_task
from variegate.evaluation.runner import evaluate
from variegate.evaluation.simulation import Simulation, approximation_ratios, simulate_all
from variegate.model.gains import Normaliser
from variegate.model.theory import regret_bound
from variegate.policies import LMDH, parse_policy

#: The searches whose lists are held against the best.
SEARCHED = ("greedy", "non-oblivious", "local")


class Watcher(Interface):
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
        return self.measured(
            f"{name}, split {split + 1}, K = {k}",
            {policy: self.settings(name, split, policy, k) for policy in policies},
            lambda missing: (self.task(name, split), [parse_policy(text) for text in missing]),
            k=k,
        )

    def measured(
        self,
        title: str,
        wanted: Mapping[str, Mapping[str, object]],
        prepare: Callable[[Sequence[str]], tuple[ReplayTask, Sequence[PolicyFactory]]],
        *,
        k: int | None = None,
    ) -> dict[str, Scores]:
        """Return the scores kept under each of the settings, measuring what is not there.

        Parameters
        ----------
        title
            What the watcher is told.
        wanted
            By any name, the settings that its scores are kept under.
        prepare
            For the names that are missing, gives the task and what makes each one's policies.
        """
        found = {name: self.folder.scores(settings) for name, settings in wanted.items()}
        known = {name: scores for name, scores in found.items() if scores is not None}
        missing = [name for name in wanted if name not in known]
        if missing:
            task, factories = prepare(missing)
            stage = self.watcher.stage(
                f"{title}: {len(missing)} policies", len(missing) * len(task.likes)
            )

            def keep(name: str, _split: int, scores: Scores) -> None:
                known[name] = replace(scores, settings=wanted[name])
                self.folder.keep_scores(known[name])

            evaluate(
                dict(zip(missing, factories, strict=True)),
                task,
                k=self.plan.k if k is None else k,
                rounds=self.plan.rounds,
                workers=self.workers,
                progress=_steps(stage),
                on_scores=keep,
            )
        return {name: known[name] for name in wanted}

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

    def settings(self, name: str, split: int, policy: str, k: int) -> dict[str, object]:
        """Return what the replay of a policy is kept under."""
        return {
            "dataset": name,
            "split": split,
            "policy": policy,
            "rounds": self.plan.rounds,
            "k": k,
            "users": self.plan.users.get(name),
        }

    def task(self, name: str, split: int, protocol: Protocol | None = None) -> ReplayTask:
        """Return the test users of one split of a data set, as the paper's protocol has them."""
        steps: list[Callable[[int], None]] = []

        def progress(_done: int, epochs: int) -> None:
            if not steps:
                steps.append(self.watcher.stage(f"{name}: embeddings of split {split + 1}", epochs))
            steps[0](1)

        task = replay_task(
            self.data[name],
            protocol,
            split=split,
            users=self.plan.users.get(name),
            cache=self.cache,
            progress=progress,
        )
        self.folder.fact(f"users left out: {name}, split {split + 1}", task.left_out)
        return task


def _steps(stage: Callable[[int], None]) -> Callable[[str, int, int], None]:
    """Return a progress function for a stage that counts the steps since the last call."""
    before = 0

    def progress(_stage: str, done: int, _total: int) -> None:
        nonlocal before
        stage(done - before)
        before = done

    return progress


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
