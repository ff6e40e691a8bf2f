"""Run a plan: the paper's experiments, then those beyond it."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from experiments.methods import (
    EASE,
    METHODS,
    OURS,
    PRIOR_OPTIONS,
    SWEEPS,
    Method,
)
from experiments.plan import BANDITS, COMPARED, OTHER_READINGS, Plan
from experiments.results import BeyondResults, Regret, Replays, Results, SeveralDistances
from experiments.results_folder import ResultsFolder
from experiments.runner import Runner
from experiments.simulated import EXPERIMENTS
from variegate.arrays import FloatArray, check_choice
from variegate.data.download import DATASETS
from variegate.errors import DataError
from variegate.evaluation.metrics import Scores, scores_of
from variegate.evaluation.parallel import Workers
from variegate.evaluation.progress import Progress
from variegate.evaluation.replay import (
    PROTOCOLS,
    FittedPolicy,
    PolicyFactory,
    PolicyMaker,
    Protocol,
    ReplayTask,
    Trace,
    replay_user,
)
from variegate.model.catalogue import Catalogue
from variegate.policies import PolicySpec

#: The parts that can be run alone.
CHAPTERS: Final = ("paper", "beyond")
#: The data set of Figure 5 and of the experiment with several distances.
SMALL_DATASET: Final = "ml-100k"
#: Distances between embeddings and between sets of genres.
DISTANCES: Final = ("cosine", "genres")


def reproduce(
    plan: Plan,
    paths: Mapping[str, Path],
    out: str | Path,
    *,
    workers: Workers = 1,
    cache: Path | None = None,
    progress: Progress = lambda _stage, _done, _total: None,
    command: str | None = None,
    chapters: Sequence[str] = CHAPTERS,
) -> Results:
    """Measure everything in `plan`; what is stored in `out` is not measured again.

    Parameters
    ----------
    paths
        The path of each data set of the plan.
    out
        The folder for results.
    workers
        The number of processes.
    cache
        The folder for embeddings.
    progress
        Called with the stage, the steps done and the total of the stage.
    command
        How the run was started, for the report.
    chapters
        ``paper`` for the paper's own experiments, ``beyond`` for ours, or both.
    """
    for chapter in chapters:
        check_choice("chapters", chapter, CHAPTERS)
    folder = ResultsFolder(Path(out) / "measured", plan.as_facts())
    data = {name: DATASETS[name].load(paths[name]) for name in plan.datasets}
    runner = Runner(plan, folder, data, workers, cache, progress)
    results = Results(plan.quick, table1={name: rows.counts for name, rows in data.items()})
    if "paper" in chapters:
        results = _paper(results, runner)
    if "beyond" in chapters:
        results = replace(results, beyond=_beyond(runner))
    facts = {"command": command} if command else {}
    return replace(results, facts=facts | _facts(plan, folder))


def _paper(results: Results, runner: Runner) -> Results:
    """Add the paper's experiments to the results."""
    timed, replays = runner.folder.timed, {}
    ratios: dict[str, Mapping[str, FloatArray]] = {}
    regrets: dict[str, Regret] = {}
    for reading in runner.plan.readings:
        with timed(f"ratios, {reading}"):
            ratios[reading] = runner.ratios(reading)
    for reading in runner.plan.readings:
        with timed(f"simulation, {reading}"):
            regrets[reading] = runner.regret(reading)
    for name in runner.data:
        with timed(f"replay, {name}"):
            policies, splits = (*COMPARED, *OTHER_READINGS), runner.plan.splits
            replays[name] = _replays(runner, name, splits, policies)
    with timed("sensitivity"):
        sensitivity = _sensitivity(runner)
    with timed("lengths"):
        lengths = _lengths(runner)
    return replace(
        results,
        ratios=ratios,
        regrets=regrets,
        replays=replays,
        sensitivity=sensitivity,
        lengths=lengths,
    )


def _replays(
    runner: Runner, name: str, splits: int, policies: Sequence[str], *, k: int | None = None
) -> dict[str, list[Scores]]:
    found = [runner.replays(name, split, policies, k=k) for split in range(splits)]
    return {policy: [scores[policy] for scores in found] for policy in policies}


def _sensitivity(runner: Runner) -> dict[str, dict[float, list[Scores]]]:
    plan = runner.plan
    if SMALL_DATASET not in plan.datasets:
        return {}
    options = {"ridge": plan.ridges, "exploration": plan.explorations}
    specs = {(o, v): f"lmdh:{o}={v}" for o, values in options.items() for v in values}
    found = _replays(runner, SMALL_DATASET, plan.sensitivity_splits, tuple(specs.values()))
    return {
        option: {value: found[specs[option, value]] for value in values}
        for option, values in options.items()
    }


def _lengths(runner: Runner) -> dict[int, dict[str, list[Scores]]]:
    plan = runner.plan
    if SMALL_DATASET not in plan.datasets:
        return {}
    return {
        k: _replays(runner, SMALL_DATASET, plan.sensitivity_splits, BANDITS, k=k)
        for k in plan.lengths
    }


def _beyond(runner: Runner) -> BeyondResults:
    """Measure every method, every sweep, several distances and the simulated experiments."""
    timed, replays, frontier = runner.folder.timed, {}, {}
    for name in runner.data:
        with timed(f"beyond the paper, {name}"):
            replays[name], frontier[name] = _methods_and_sweeps(runner, name)
    with timed("several distances"):
        distances = _several_distances(runner)
    with timed("simulated users"):
        simulated = {name: runner.simulated(name) for name in EXPERIMENTS}
    return BeyondResults(replays, frontier, distances, simulated)


def _methods_and_sweeps(runner: Runner, name: str) -> tuple[Replays, Mapping[str, Replays]]:
    """Return the scores of every method on one data set, and of every setting of each sweep."""
    plan = runner.plan
    swept = min(plan.frontier_splits, plan.splits)
    sizes = {method: plan.splits if method in (OURS, EASE) else swept for method in SWEEPS}
    splits = []
    for split in range(plan.splits):
        sweeps = [SWEEPS[method] for method, size in sizes.items() if split < size]
        splits.append(_method_scores(runner, name, split, (*METHODS, *chain(*sweeps))))
    replays = {method.key: [scores[method.key] for scores in splits] for method in METHODS}
    frontier = {
        method: {m.title: [scores[m.key] for scores in splits[: sizes[method]]] for m in settings}
        for method, settings in SWEEPS.items()
    }
    return replays, frontier


def _method_scores(
    runner: Runner, name: str, split: int, methods: Sequence[Method]
) -> dict[str, Scores]:
    chosen = {method.key: method for method in methods}
    replay = runner.settings(name, split, "", runner.plan.k)

    def prepare(missing: Sequence[str]) -> tuple[ReplayTask, list[PolicyFactory]]:
        return runner.task(name, split), [chosen[key].factory for key in missing]

    wanted = {key: method.settings(replay) for key, method in chosen.items()}
    return runner.scores(f"{name}, split {split + 1}, beyond the paper", wanted, prepare)


def _several_distances(runner: Runner) -> SeveralDistances | None:
    """Measure our learner with each distance and with both, on MovieLens-100K."""
    if SMALL_DATASET not in runner.plan.datasets:
        return None
    splits = range(min(runner.plan.frontier_splits, runner.plan.splits))
    found = {
        " and ".join(known): [_with_distances(runner, split, known) for split in splits]
        for known in (*((name,) for name in DISTANCES), DISTANCES)
    }
    return SeveralDistances(
        DISTANCES,
        {known: [scores for scores, _ in each] for known, each in found.items()},
        {known: np.concatenate([betas for _, betas in each]) for known, each in found.items()},
        (0.0, float(np.sqrt(PRIOR_OPTIONS["beta_variance"]))),
    )


def _with_distances(runner: Runner, split: int, known: Sequence[str]) -> tuple[Scores, FloatArray]:
    """Return the scores on one split by every distance, and each user's beta at the end."""
    folder = runner.folder
    settings = {
        **runner.settings(SMALL_DATASET, split, OURS, runner.plan.k),
        "prior": dict(PRIOR_OPTIONS),
        "distances": list(known),
        "measured by": list(DISTANCES),
    }

    def measure() -> FloatArray:
        protocol = replace(PROTOCOLS.get(SMALL_DATASET, Protocol()), distances=DISTANCES)
        whole = runner.task(SMALL_DATASET, split, protocol)
        items = whole.catalogue
        kept = [h for h, name in zip(items.distances, DISTANCES, strict=True) if name in known]
        catalogue = Catalogue(items.ids, items.features, kept, feature_names=items.feature_names)
        task = replace(whole, catalogue=catalogue)
        title = f"{SMALL_DATASET}, split {split + 1}: variety by {' and '.join(known)}"
        make = FittedPolicy(PolicySpec(OURS)).for_task(task)
        trace, betas = _replay_with_betas(runner, make, task, title)
        # Before the betas: where the betas are stored, the scores are too.
        folder.save_scores(scores_of(trace, whole, settings))
        return betas

    betas = folder.array("betas", settings, measure)
    scores = folder.load_scores(settings)
    if scores is None:
        raise DataError(f"{folder.path}: holds betas without their scores: delete it")
    return scores, betas


def _replay_with_betas(
    runner: Runner, make: PolicyMaker, task: ReplayTask, title: str
) -> tuple[Trace, FloatArray]:
    """Replay every user; return what was shown, and each user's final beta, (users, m)."""
    plan, betas, played = runner.plan, [], []
    step = runner.counter(title, len(task.likes))
    for user, likes in enumerate(task.likes):
        policy = make(task.catalogue)
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(user,)))
        played.append(replay_user(policy, likes, rounds=plan.rounds, k=plan.k, rng=rng))
        betas.append(policy.preferences.diversity)
        step(1)
    lists, clicks = zip(*played, strict=True)
    return Trace("LMDP", np.array(lists), np.array(clicks)), np.array(betas)


def _facts(plan: Plan, folder: ResultsFolder) -> dict[str, Any]:
    return {
        "plan": plan.as_facts(),
        # The defaults of `evaluate`, `Simulation` and `approximation_ratios` are 0.
        "seeds": {"splits": list(range(plan.splits)), "replay": 0, "simulation": 0, "ratios": 0},
        "seconds": dict(folder.seconds),
        "users left out": folder.facts("users left out: "),
        "machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        "versions": {name: _version(name) for name in ("variegate", "numpy", "scipy", "cornac")},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
