"""Run a plan: every experiment of the paper, one after another."""

import platform
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any, ParamSpec, TypeVar

from variegate.datasets import DATASETS, Dataset
from variegate.evaluation.reproduction.folder import ResultsFolder
from variegate.evaluation.reproduction.plan import COMPARED, OTHER_READINGS, Plan
from variegate.evaluation.reproduction.results import Results, TableRow
from variegate.evaluation.reproduction.runner import Runner, Unwatched, Watcher
from variegate.evaluation.scores import Scores

P = ParamSpec("P")
R = TypeVar("R")

#: What the lengths of Figure 5 are compared for: the learners of lists.
BANDITS = ("lmdh", "c2ucb", "dc2b")


def reproduce(
    plan: Plan,
    paths: Mapping[str, Path],
    out: str | Path,
    *,
    workers: int = 1,
    cache: Path | None = None,
    watcher: Watcher | None = None,
    command: str | None = None,
) -> Results:
    """Measure everything that `plan` asks for; what `out` holds already is not measured again.

    Parameters
    ----------
    paths
        Where each data set of the plan is.
    out
        A folder for results.
    workers
        Processes to share users and runs out over.
    cache
        Where embeddings are kept.
    watcher
        Is told what is going on.
    command
        How it was started, for the report to tell.
    """
    folder = ResultsFolder(Path(out) / "measured", plan.as_facts())
    data = {name: DATASETS[name].load(paths[name]) for name in plan.datasets}
    runner = Runner(plan, folder, data, workers, cache, watcher or Unwatched())
    timed = _Timed(folder)
    results = Results(
        quick=plan.quick,
        facts={},
        table1=[_table_row(name, dataset) for name, dataset in data.items()],
        ratios={
            reading: timed(f"ratios, {reading}", runner.ratios, reading)
            for reading in plan.readings
        },
        regrets={
            reading: timed(f"simulation, {reading}", runner.regret, reading)
            for reading in plan.readings
        },
        replays={name: timed(f"replay, {name}", _replays, runner, name) for name in data},
        sensitivity=timed("sensitivity", _sensitivity, runner),
        lengths=timed("lengths", _lengths, runner),
    )
    facts = {"command": command} if command else {}
    return replace(results, facts=facts | _facts(plan, folder, timed.seconds))


class _Timed:
    """Runs stages and keeps how long each took when it was first measured."""

    def __init__(self, folder: ResultsFolder) -> None:
        self._folder = folder
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, stage: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        start = perf_counter()
        result = stage(*args, **kwargs)
        taken = perf_counter() - start
        # A stage that was resumed took what it took in all: the parts are added up.
        before = self._folder.fact(f"seconds: {name}") or 0.0
        self.seconds[name] = self._folder.fact(f"seconds: {name}", round(before + taken, 1))
        return result


def _replays(runner: Runner, name: str) -> dict[str, list[Scores]]:
    policies = (*COMPARED, *OTHER_READINGS)
    splits = [runner.replays(name, split, policies) for split in range(runner.plan.splits)]
    return {policy: [scores[policy] for scores in splits] for policy in policies}


def _sensitivity(runner: Runner) -> dict[str, dict[float, list[Scores]]]:
    plan = runner.plan
    if "ml-100k" not in plan.datasets:
        return {}
    options = {"ridge": plan.ridges, "exploration": plan.explorations}
    specs = {(o, v): f"lmdh:{o}={v}" for o, values in options.items() for v in values}
    splits = [
        runner.replays("ml-100k", split, tuple(specs.values()))
        for split in range(plan.sensitivity_splits)
    ]
    return {
        option: {value: [scores[specs[option, value]] for scores in splits] for value in values}
        for option, values in options.items()
    }


def _lengths(runner: Runner) -> dict[int, dict[str, list[Scores]]]:
    plan = runner.plan
    if "ml-100k" not in plan.datasets:
        return {}
    found = {}
    for k in plan.lengths:
        splits = [
            runner.replays("ml-100k", split, BANDITS, k=k)
            for split in range(plan.sensitivity_splits)
        ]
        found[k] = {policy: [scores[policy] for scores in splits] for policy in BANDITS}
    return found


def _table_row(name: str, dataset: Dataset) -> TableRow:
    return TableRow(
        name,
        len(dataset.user_ids),
        len(dataset.item_ids),
        len(dataset),
        len(dataset.category_names),
        dataset.density,
    )


def _facts(plan: Plan, folder: ResultsFolder, seconds: Mapping[str, float]) -> dict[str, Any]:
    return {
        "plan": plan.as_facts(),
        # The defaults of `Settings`, `Simulation` and `approximation_ratios` are 0.
        "seeds": {"splits": list(range(plan.splits)), "replay": 0, "simulation": 0, "ratios": 0},
        "seconds": dict(seconds),
        "users left out": folder.facts_about("users left out: "),
        "machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        "versions": {name: _version(name) for name in ("variegate", "numpy", "scipy", "cornac")},
    }


def _version(package: str) -> Any:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
