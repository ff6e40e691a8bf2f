"""Tune the settings of a learner on training users, by cross-validated replay."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray, check_choice, check_count, check_numbers
from variegate.data.dataset import Dataset
from variegate.data.splits import split_users
from variegate.errors import InputError
from variegate.evaluation.metrics import Scores, f_score
from variegate.evaluation.parallel import Workers
from variegate.evaluation.progress import Progress, show_progress
from variegate.evaluation.replay import (
    PROTOCOLS,
    PolicyFactory,
    Protocol,
    ReplayTask,
    likes_as_rows,
    replay_task,
)
from variegate.evaluation.runner import evaluate
from variegate.evaluation.tuning_result import Candidate, LearnerSettings, TuningResult
from variegate.model.catalogue import Catalogue
from variegate.policies import PolicySpec

#: By learner, the values to try of each setting, in the order in which settings are searched.
SPACE: Final[Mapping[str, Mapping[str, tuple[float, ...]]]] = MappingProxyType(
    {
        "lmdp": {
            "diversity": (0.3, 0.45, 0.6, 0.9, 1.2, 1.8),
            "noise": (0.05, 0.1, 0.2, 0.4, 0.8),
        },
        "ease": {
            "diversity": (0.2, 0.45, 0.9, 1.8, 2.7, 4.5),
            "l2": (50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0),
        },
    }
)

#: The maximum number of passes through all settings.
MAX_PASSES: Final = 3
#: A setting changes only if the score rises by more than this: a tenth of a percent of LMDH's F1,
#: which is less than its standard error.
MIN_GAIN: Final = 0.001
#: Penalty per relative shortfall: a constraint missed by 1% subtracts 0.05 from the score.
PENALTY: Final = 5.0
#: Rounds at which F1 and F2 are constrained.
CONSTRAINED_ROUNDS: Final = (1, 5, 10, 30)


@dataclass(frozen=True, eq=False)
class Measures:
    """Means over validation users, round by round."""

    #: (rounds,)
    recall: FloatArray
    #: F1 and F2 of the mean recall and of the mean diversity by each distance, (m, rounds)
    f1: FloatArray
    f2: FloatArray

    @classmethod
    def of(cls, scores: Scores) -> "Measures":
        """Return the means over the users of one fold."""
        diversity = scores.diversity.mean(axis=1)
        recall = np.broadcast_to(scores.mean_recall, diversity.shape)
        f1, f2 = (f_score(recall, diversity, beta) for beta in (1.0, 2.0))
        return cls(scores.mean_recall, f1, f2)

    @classmethod
    def mean(cls, folds: Sequence["Measures"]) -> "Measures":
        """Return the mean over folds."""
        return cls(
            np.mean([fold.recall for fold in folds], axis=0),
            np.mean([fold.f1 for fold in folds], axis=0),
            np.mean([fold.f2 for fold in folds], axis=0),
        )

    def relative_to(self, other: "Measures") -> float:
        """Return the mean F1 over rounds divided by that of `other`, mean of the distances."""
        return float(np.mean(self.f1.mean(axis=1) / other.f1.mean(axis=1)))


@dataclass(frozen=True)
class Constraints:
    """Lower bounds on recall, F1 and F2, relative to LogRank and LMDH."""

    #: By round, the minimum recall as a share of LogRank's
    recall: Mapping[int, float] = field(
        default_factory=lambda: MappingProxyType({1: 0.7, 5: 1.0, 10: 1.0, 30: 1.0})
    )
    #: The minimum F1 and F2 at rounds 1, 5, 10 and 30, as a share of LMDH's
    f1: float = 1.05
    f2: float = 1.0

    def shortfalls(
        self, ours: Measures, lmdh: Measures, logrank: Measures
    ) -> Iterator[tuple[str, float]]:
        """Yield each violation as text, with the share of the bound that is missing."""
        rounds = len(ours.recall)
        for t, share in self.recall.items():
            if t <= rounds:
                yield from _shortfall(
                    f"recall at {t}", ours.recall[t - 1], logrank.recall[t - 1], share, "LogRank"
                )
        for name, share in (("f1", self.f1), ("f2", self.f2)):
            own, their = getattr(ours, name), getattr(lmdh, name)
            for t in CONSTRAINED_ROUNDS:
                for i in range(len(own) if t <= rounds else 0):
                    words = f"{name.upper()} at {t}" + (f", distance {i + 1}" if i else "")
                    yield from _shortfall(words, own[i, t - 1], their[i, t - 1], share, "LMDH")


def _shortfall(
    words: str, ours: float, theirs: float, share: float, baseline: str
) -> Iterator[tuple[str, float]]:
    bound = share * theirs
    if ours < bound:
        text = f"{words} is {ours / theirs:.1%} of {baseline}'s, not {share:.0%}"
        yield text, 1.0 - ours / bound


#: The constraints that apply by default.
CONSTRAINTS: Final = Constraints()


def tune(
    datasets: Mapping[str, Dataset],
    *,
    policy: str = "lmdp",
    protocol: Protocol | Mapping[str, Protocol] | None = None,
    catalogues: Mapping[str, Catalogue] | None = None,
    split: int | Sequence[int] | None = None,
    folds: int = 1,
    users: int = 200,
    rounds: int = 30,
    k: int = 10,
    seed: int = 0,
    space: Mapping[str, Sequence[float]] | None = None,
    constraints: Constraints | None = CONSTRAINTS,
    workers: Workers = 1,
    cache: str | Path | None = None,
    progress: bool | Progress = True,
) -> TuningResult:
    """Return the settings of a learner with the best score on held-out training users.

    Each data set's training users are split again, 80/20. Embeddings and the prior are fitted to
    the 80%, and the learner is replayed on the others with each setting tried. The score
    is the mean over rounds of F1 (of mean recall and mean diversity, as in the paper), divided by
    that of the paper's LMDH for the same users; the mean over distances and data sets; minus a
    penalty for `constraints` that are not met. The search is coordinate descent from the defaults.

    Parameters
    ----------
    datasets
        By the names that the result uses. One set of settings is chosen for all.
    policy
        ``lmdp`` or ``ease``.
    protocol
        One for all, or by name; the paper's, if not given.
    catalogues
        By name, for data sets whose items have features already: no embeddings are learnt then.
        Features that were learnt from the same likes leak the held-out likes; features of the
        items' content do not.
    split
        Seeds of `split_users`: the test users of these splits are excluded. Without one, all
        users are training users.
    folds
        How often training users are split again, with other seeds.
    users
        At most this many validation users per fold.
    space
        Values to try by setting, in place of `SPACE`; settings that it does not name keep their
        defaults.
    constraints
        None maximises F1 alone.
    workers, cache, progress
        As for `evaluate`; they do not change the result.
    """
    for name, number in (("folds", folds), ("users", users)):
        check_count(number, 10**6, name=name, of="the most that make sense")
    if not datasets:
        raise InputError("`datasets` must have at least one data set, got none")
    start, searched = LearnerSettings(policy), coordinates(policy, space)
    splits, seeds = _splits(split), range(fold_seed(seed, 0), fold_seed(seed, folds))
    with show_progress(progress) as show:
        learn = partial(_folds, splits=splits, seeds=seeds, users=users, cache=cache, progress=show)
        parts = [
            fold
            for name, data in datasets.items()
            for fold in learn(name, data, _protocol(protocol, name), (catalogues or {}).get(name))
        ]
        distances = _distances(parts)
        objective = Objective(
            parts, constraints, show, rounds=rounds, k=k, seed=seed, workers=workers
        )
        candidates = coordinate_descent(objective, start, searched)
    best, counts = candidates[0].settings, dict.fromkeys(datasets, 0)
    for fold in parts:
        counts[fold.name] += len(fold.task.likes)
    return TuningResult(best, candidates, counts, splits, distances, folds, rounds, k, seed)


@dataclass(frozen=True, eq=False)
class Fold:
    """Validation users of a data set, and what was learnt from its other users."""

    name: str
    task: ReplayTask


def training_part(dataset: Dataset, splits: Sequence[int], *, train: float = 0.8) -> Dataset:
    """Return the likes of the users who are training users in every one of the splits.

    A split is the seed of `split_users`. Without one, all users are training users.
    """
    is_training = np.ones(len(dataset.user_ids), dtype=bool)
    for split in splits:
        training = set(split_users(dataset, rng=split, train=train).train.user_ids)
        is_training &= [user in training for user in dataset.user_ids]
    if is_training.sum() < 2:
        raise InputError(
            f"`datasets` {dataset.name!r} must have at least 2 users who are training users in "
            f"every split, got {is_training.sum()}"
        )
    return dataset.of_users(np.flatnonzero(is_training))


def fold_seed(seed: int, number: int) -> int:
    """Return the seed of a fold's split, unlike the small ones that test users are split by."""
    return 1000 * (seed + 1) + number


def _folds(
    name: str,
    dataset: Dataset,
    protocol: Protocol | None,
    catalogue: Catalogue | None,
    *,
    splits: tuple[int, ...],
    seeds: range,
    users: int,
    cache: str | Path | None,
    progress: Progress,
) -> Iterator[Fold]:
    protocol = protocol or PROTOCOLS.get(dataset.name, Protocol())
    training = training_part(dataset, splits, train=protocol.train)
    for number, seed in enumerate(seeds, start=1):
        show = partial(progress, f"Learning {name}, fold {number} of {len(seeds)}")
        if catalogue is None:
            task = replay_task(
                training, protocol, split=seed, users=users, cache=cache, progress=show
            )
        else:
            task = _catalogue_task(name, training, catalogue, protocol.train, seed, users)
        yield Fold(name, task)


def _catalogue_task(
    name: str, training: Dataset, catalogue: Catalogue, train: float, seed: int, users: int
) -> ReplayTask:
    """Return the replay task of some of the users with the features that a catalogue has."""
    parts = split_users(training, rng=seed, train=train)
    learnt, held_out = (likes_as_rows(part, catalogue.ids) for part in (parts.train, parts.test))
    if not (learnt and held_out):
        raise InputError(
            f"`datasets` {name!r} must have users who like items of its catalogue, both to learn "
            f"from and to validate on, got {len(learnt)} and {len(held_out)}"
        )
    drawn = np.random.default_rng([seed, 1]).permutation(len(held_out))[:users]
    return ReplayTask(
        name,
        catalogue,
        tuple(held_out[user] for user in np.sort(drawn)),
        len(parts.test.user_ids) - len(held_out),
        np.bincount(np.concatenate(learnt), minlength=len(catalogue)).astype(np.float64),
        len(parts.train.user_ids),
        learnt,
    )


def _protocol(protocol: Protocol | Mapping[str, Protocol] | None, name: str) -> Protocol | None:
    return protocol.get(name) if isinstance(protocol, Mapping) else protocol


def _splits(split: int | Sequence[int] | None) -> tuple[int, ...]:
    if split is None:
        return ()
    return (split,) if isinstance(split, int) else tuple(dict.fromkeys(split))


def _distances(folds: Sequence[Fold]) -> tuple[str, ...]:
    found = {tuple(h.name for h in fold.task.catalogue.distances) for fold in folds}
    if len(found) > 1 or not next(iter(found)):
        names = " and ".join(", ".join(names) or "none" for names in sorted(found))
        raise InputError(
            f"`protocol` must give all data sets the same distances, at least one, got {names}"
        )
    return found.pop()


class Objective:
    """Scores settings by replay on the folds, relative to LMDH and LogRank on the same users."""

    def __init__(
        self,
        folds: Sequence[Fold],
        constraints: Constraints | None,
        progress: Progress,
        **replay_options: Any,
    ) -> None:
        self.folds, self.constraints, self.progress = folds, constraints, progress
        self._replay_options = replay_options
        baselines = [PolicySpec("lmdh"), PolicySpec("logrank")]
        self.lmdh, self.logrank = self._measure(baselines, "Replaying LMDH and LogRank")
        distances = [h.name for h in folds[0].task.catalogue.distances]
        for name, measures in self.lmdh.items():
            check_comparable(name, measures, distances)

    def __call__(self, settings: Sequence[LearnerSettings], setting: str) -> list[Candidate]:
        """Return the settings with their scores, in their order; progress names `setting`."""
        measured = self._measure([one.fitted_policy for one in settings], f"Trying {setting}")
        return [self._candidate(one, ours) for one, ours in zip(settings, measured, strict=True)]

    def _candidate(self, settings: LearnerSettings, ours: Mapping[str, Measures]) -> Candidate:
        relative = {name: own.relative_to(self.lmdh[name]) for name, own in ours.items()}
        missed = [
            (f"{name}: {words}", share)
            for name, own in ours.items()
            for words, share in (
                self.constraints.shortfalls(own, self.lmdh[name], self.logrank[name])
                if self.constraints
                else ()
            )
        ]
        penalty = PENALTY * sum(share for _, share in missed) / len(ours)
        return Candidate(settings, relative, tuple(words for words, _ in missed), penalty)

    def _measure(self, policies: Sequence[PolicyFactory], stage: str) -> list[dict[str, Measures]]:
        """Return, for each policy, its measures by data set, means over the folds."""
        found = evaluate(
            {str(number): policy for number, policy in enumerate(policies)},
            [fold.task for fold in self.folds],
            progress=lambda _stage, done, total: self.progress(stage, done, total),
            **self._replay_options,
        )
        return [self._by_dataset(scores) for scores in found.scores.values()]

    def _by_dataset(self, scores: Sequence[Scores]) -> dict[str, Measures]:
        found: dict[str, list[Measures]] = {}
        for fold, one in zip(self.folds, scores, strict=True):
            found.setdefault(fold.name, []).append(Measures.of(one))
        return {name: Measures.mean(measures) for name, measures in found.items()}


def check_comparable(name: str, lmdh: Measures, distances: Sequence[str]) -> None:
    """Raise InputError where LMDH's F1 is 0, and nothing can be relative to it."""
    for distance, f1 in zip(distances, lmdh.f1, strict=True):
        if f1.mean() <= 0:
            raise InputError(
                f"`datasets` {name!r} must have users for whom LMDH's F1 with the distance "
                f"{distance!r} is not 0 in all rounds"
            )


@dataclass(frozen=True)
class Coordinate:
    """One setting, and the values to try."""

    name: str
    values: tuple[float, ...]

    def alternatives(self, settings: LearnerSettings) -> list[LearnerSettings]:
        """Return the settings with each other value, nearest first, of two the lower."""
        current = settings.values[self.name]
        ranks = sorted({current, *self.values})
        here = ranks.index(current)
        order = sorted(range(len(ranks)), key=lambda rank: (abs(rank - here), rank))
        return [settings.with_value(self.name, ranks[rank]) for rank in order if rank != here]


def coordinates(
    policy: str, space: Mapping[str, Sequence[float]] | None = None
) -> tuple[Coordinate, ...]:
    """Return the coordinates of a search space, in the order of the search, or raise."""
    known = SPACE[check_choice("policy", policy, SPACE)]
    given = known if space is None else space
    for name, values in given.items():
        check_choice("space", name, known)
        if not len(check_numbers(f"space[{name!r}]", values, ndim=1)):
            raise InputError(f"`space[{name!r}]` must have at least one value, got none")
    return tuple(
        Coordinate(name, tuple(map(float, given[name]))) for name in known if name in given
    )


def coordinate_descent(
    objective: Callable[[Sequence[LearnerSettings], str], Sequence[Candidate]],
    start: LearnerSettings,
    coordinates: Sequence[Coordinate],
    *,
    max_passes: int = MAX_PASSES,
) -> tuple[Candidate, ...]:
    """Return all candidates: the best, then the others in the order in which they were tried.

    Every value of one setting is tried with the best of the others, then every value of the next
    setting. The search ends when a pass through all settings changes nothing, or after
    `max_passes`. Of values with the same score the nearest to the current one wins, and of two as
    near the lower.
    """
    (best,) = objective([start], "defaults")
    tried = {start: best}
    for _ in range(max_passes):
        before = best
        for coordinate in coordinates:
            rivals = coordinate.alternatives(best.settings)
            fresh = [settings for settings in rivals if settings not in tried]
            if fresh:
                tried |= zip(fresh, objective(fresh, coordinate.name), strict=True)
            # Of equals, max takes the first.
            rival = max((tried[one] for one in rivals), key=lambda one: one.score, default=best)
            if rival.score > best.score + MIN_GAIN:
                best = rival
        if best is before:
            break
    return (best, *(one for one in tried.values() if one is not best))
