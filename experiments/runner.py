"""Measures one result at a time, and stores it; what is stored is not measured again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np

from experiments.methods import OURS
from experiments.plan import Plan
from experiments.results import Regret
from experiments.results_folder import ResultsFolder
from experiments.simulated import EXPERIMENTS
from experiments.simulated.world import Size
from variegate.arrays import FloatArray
from variegate.data.dataset import Dataset
from variegate.evaluation.metrics import Scores
from variegate.evaluation.parallel import Workers
from variegate.evaluation.progress import Progress
from variegate.evaluation.replay import PolicyFactory, Protocol, ReplayTask, replay_task
from variegate.evaluation.runner import evaluate
from variegate.evaluation.simulation import Simulation, approximation_ratios, simulate_all
from variegate.model.gains import Normaliser
from variegate.model.theory import regret_bound
from variegate.policies import LMDH, parse_policy

#: The searches whose lists are compared with the best.
SEARCHES: Final = ("greedy", "non-oblivious", "local")


@dataclass(frozen=True)
class Runner:
    """Measures what is not in the results folder."""

    plan: Plan
    folder: ResultsFolder
    data: Mapping[str, Dataset]
    workers: Workers
    cache: Path | None
    progress: Progress

    def replays(
        self, name: str, split: int, policies: Sequence[str], *, k: int | None = None
    ) -> dict[str, Scores]:
        """Return the scores of each policy on one split of a data set."""
        k = self.plan.k if k is None else k
        return self.scores(
            f"{name}, split {split + 1}, K = {k}",
            {policy: self.settings(name, split, policy, k) for policy in policies},
            lambda missing: (self.task(name, split), [parse_policy(text) for text in missing]),
            k=k,
        )

    def scores(
        self,
        title: str,
        wanted: Mapping[str, Mapping[str, object]],
        prepare: Callable[[Sequence[str]], tuple[ReplayTask, Sequence[PolicyFactory]]],
        *,
        k: int | None = None,
    ) -> dict[str, Scores]:
        """Return the scores stored under each of the settings, measuring what is missing.

        Parameters
        ----------
        title
            The stage that `progress` shows.
        wanted
            By any name, the settings that its scores are stored under.
        prepare
            From the missing names to the task and the factory of each one's policies.
        """
        stored = {name: self.folder.load_scores(settings) for name, settings in wanted.items()}
        found = {name: scores for name, scores in stored.items() if scores is not None}
        missing = [name for name in wanted if name not in found]
        if missing:
            task, factories = prepare(missing)
            stage = f"{title}: {len(missing)} policies"
            self.progress(stage, 0, len(missing) * len(task.likes))

            def save(name: str, _split: int, scores: Scores) -> None:
                found[name] = replace(scores, settings=wanted[name])
                self.folder.save_scores(found[name])

            evaluate(
                dict(zip(missing, factories, strict=True)),
                task,
                k=self.plan.k if k is None else k,
                rounds=self.plan.rounds,
                workers=self.workers,
                progress=lambda _stage, done, total: self.progress(stage, done, total),
                on_scores=save,
            )
        return {name: found[name] for name in wanted}

    def regret(self, reading: Normaliser) -> Regret:
        """Return the paper's simulation under a reading of the normaliser."""
        rounds, runs = self.plan.simulated_rounds, self.plan.simulated_runs
        first = Simulation(rounds=1, runs=[0], normaliser=reading)
        regret = self.folder.array(
            "regret",
            {"rounds": rounds, "runs": runs, "reading": reading},
            lambda: simulate_all(
                runs=runs,
                workers=self.workers,
                progress=self.counter(f"simulation ({reading})", runs),
                rounds=rounds,
                normaliser=reading,
            ),
        )
        return Regret(first.names, first.labels, regret, _bound(first, rounds, reading))

    def ratios(self, reading: Normaliser) -> dict[str, FloatArray]:
        """Return F(found) / F(best) by search, (users, lengths)."""
        users = self.plan.ratio_users

        def measure() -> FloatArray:
            step = self.counter(f"approximation ratios ({reading})", users)
            measured = []
            for ratios in approximation_ratios(SEARCHES, users=users, normaliser=reading):
                measured.append(ratios)
                step(1)
            return np.array(measured)

        array = self.folder.array("ratios", {"reading": reading, "users": users}, measure)
        return {search: array[:, row] for row, search in enumerate(SEARCHES)}

    def simulated(self, name: str) -> Any:
        """Return the result of a simulated experiment beyond the paper."""
        experiment = EXPERIMENTS[name]
        size = experiment.sizes.quick if self.plan.quick else experiment.sizes.full
        if self.plan.experiment_size is not None:
            size = Size(*self.plan.experiment_size)
        settings = {
            "experiment": name,
            "runs": size.runs,
            "rounds": size.rounds,
            "policy": OURS,
            "learners": experiment.learners,
        }

        def measure() -> dict[str, FloatArray]:
            progress = self.counter(f"simulated users: {name}", size.runs)
            result = experiment.play(size, workers=self.workers, progress=progress)
            return {name: getattr(result, name) for name in names}

        names = [field.name for field in fields(experiment.result)]
        stored = self.folder.arrays("experiment", settings, measure)
        return experiment.result(**{name: stored[name] for name in names})

    def settings(self, name: str, split: int, policy: str, k: int) -> dict[str, object]:
        """Return the settings that the replay of a policy is stored under."""
        return {
            "dataset": name,
            "split": split,
            "policy": policy,
            "rounds": self.plan.rounds,
            "k": k,
            "users": self.plan.users.get(name),
        }

    def task(self, name: str, split: int, protocol: Protocol | None = None) -> ReplayTask:
        """Return the test users of one split of a data set, by the paper's protocol."""
        task = replay_task(
            self.data[name],
            protocol,
            split=split,
            users=self.plan.users.get(name),
            cache=self.cache,
            progress=partial(self.progress, f"{name}: embeddings of split {split + 1}"),
        )
        self.folder.save_fact(f"users left out: {name}, split {split + 1}", task.left_out)
        return task

    def counter(self, stage: str, total: int) -> Callable[[int], None]:
        """Return a function that adds steps to those done of a stage, and shows the progress."""
        done = 0
        self.progress(stage, 0, total)

        def step(steps: int) -> None:
            nonlocal done
            done += steps
            self.progress(stage, done, total)

        return step


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
