"""Real data with several distances at once: what the learner makes of each."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.beyond.methods import OURS, PRIOR_OPTIONS, PriorPolicy, with_defaults
from experiments.beyond.results import SeveralDistances
from variegate.arrays import FloatArray
from variegate.errors import DataError
from variegate.evaluation.metrics import Scores, scores_of
from variegate.evaluation.replay import (
    PROTOCOLS,
    Protocol,
    ReplayTask,
    Trace,
    replay_user,
)
from variegate.model.catalogue import Catalogue

if TYPE_CHECKING:
    from experiments.runner import Runner

#: Distances between embeddings and between sets of genres.
DISTANCES: Final = ("cosine", "genres")
DATASET: Final = "ml-100k"
#: What the learner knows of: the first alone, the second alone, both.
KNOWN: Final = (("cosine",), ("genres",), DISTANCES)


def several_distances(runner: "Runner") -> SeveralDistances | None:
    """Measure our learner with each distance and with both, on MovieLens-100K."""
    if DATASET not in runner.plan.datasets:
        return None
    splits = range(min(runner.plan.frontier_splits, runner.plan.splits))
    found = {
        " and ".join(known): [_measured(runner, split, known) for split in splits]
        for known in KNOWN
    }
    return SeveralDistances(
        DISTANCES,
        {known: [scores for scores, _ in each] for known, each in found.items()},
        {known: np.concatenate([betas for _, betas in each]) for known, each in found.items()},
        (PRIOR_OPTIONS["beta"], float(np.sqrt(PRIOR_OPTIONS["beta_variance"]))),
    )


def _measured(runner: "Runner", split: int, known: Sequence[str]) -> tuple[Scores, FloatArray]:
    """Return the scores on one split by every distance, and each user's beta at the end."""
    policy = with_defaults(OURS)
    settings = {
        **runner.settings(DATASET, split, str(policy), runner.plan.k),
        "items": "crowd",
        "prior": dict(PRIOR_OPTIONS),
        "distances": list(known),
        "measured by": list(DISTANCES),
    }

    def measure() -> FloatArray:
        protocol = replace(PROTOCOLS.get(DATASET, Protocol()), distances=DISTANCES)
        whole = runner.task(DATASET, split, protocol).with_collaborative_features()
        task = _knowing(whole, known)
        make = PriorPolicy(policy, task.fit_prior())
        title = f"{DATASET}, split {split + 1}: variety by {' and '.join(known)}"
        trace, betas = _played(make, task, runner, runner.watcher.stage(title, len(task.likes)))
        # Before the betas: where those are kept, the scores are.
        runner.folder.keep_scores(scores_of(trace, whole, settings))
        return betas

    betas = runner.folder.array("betas", settings, measure)
    scores = runner.folder.scores(settings)
    if scores is None:
        raise DataError(f"{runner.folder.path}: holds betas without their scores: delete it")
    return scores, betas


def _knowing(task: ReplayTask, known: Sequence[str]) -> ReplayTask:
    """Return the task over items with some of their distances alone."""
    catalogue = task.catalogue
    kept = [h for h, name in zip(catalogue.distances, DISTANCES, strict=True) if name in known]
    names = catalogue.feature_names
    return replace(
        task, catalogue=Catalogue(catalogue.ids, catalogue.features, kept, feature_names=names)
    )


def _played(
    make: PriorPolicy, task: ReplayTask, runner: "Runner", step: Callable[[int], None]
) -> tuple[Trace, FloatArray]:
    """Play every user; return what was shown, and beta as it was learnt, (users, m)."""
    plan, betas, played = runner.plan, [], []
    for user, likes in enumerate(task.likes):
        policy = make(task.catalogue)
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(user,)))
        played.append(replay_user(policy, likes, rounds=plan.rounds, k=plan.k, rng=rng))
        betas.append(policy.preferences.diversity)
        step(1)
    lists, clicks = zip(*played, strict=True)
    return Trace("LMDP", np.array(lists), np.array(clicks)), np.array(betas)
