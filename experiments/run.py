"""Run a plan: every experiment of the paper, and what goes beyond it, one after another."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from experiments.beyond.measuring import measured_beyond
from experiments.folder import ResultsFolder
from experiments.plan import COMPARED, OTHER_READINGS, Plan
from experiments.results import Results, TableRow
from experiments.runner import Runner, Unwatched, Watcher
from experiments.timing import Timed
from variegate.arrays import check_choice
from variegate.data.dataset import Dataset
from variegate.data.download import DATASETS
from variegate.evaluation.metrics import Scores

#: What can be run by itself.
CHAPTERS: Final = ("paper", "beyond")
#: What the lengths of Figure 5 are compared for: the learners of lists.
BANDITS: Final = ("lmdh", "c2ucb", "dc2b")


def reproduce(
    plan: Plan,
    paths: Mapping[str, Path],
    out: str | Path,
    *,
    workers: int = 1,
    cache: Path | None = None,
    watcher: Watcher | None = None,
    command: str | None = None,
    chapters: Sequence[str] = CHAPTERS,
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
    chapters
        The paper's own experiments, what goes beyond them, or both.
    """
    for chapter in chapters:
        check_choice("chapters", chapter, CHAPTERS)
    folder = ResultsFolder(Path(out) / "measured", plan.as_facts())
    data = {name: DATASETS[name].load(paths[name]) for name in plan.datasets}
    runner = Runner(plan, folder, data, workers, cache, watcher or Unwatched())
    timed = Timed(folder)
    table = [_table_row(name, dataset) for name, dataset in data.items()]
    results = Results(plan.quick, {}, table, {}, {}, {}, {}, {})
    if "paper" in chapters:
        results = _with_the_paper(results, runner, timed)
    if "beyond" in chapters:
        results = replace(results, beyond=measured_beyond(runner, timed))
    facts = {"command": command} if command else {}
    return replace(results, facts=facts | _facts(plan, folder, timed.seconds))


def _with_the_paper(results: Results, runner: Runner, timed: Timed) -> Results:
    readings = runner.plan.readings
    return replace(
        results,
        ratios={
            reading: timed(f"ratios, {reading}", runner.ratios, reading) for reading in readings
        },
        regrets={
            reading: timed(f"simulation, {reading}", runner.regret, reading) for reading in readings
        },
        replays={name: timed(f"replay, {name}", _replays, runner, name) for name in runner.data},
        sensitivity=timed("sensitivity", _sensitivity, runner),
        lengths=timed("lengths", _lengths, runner),
    )


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
