"""Training users split again: to learn from, and to choose by."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, check_count
from variegate.data.dataset import Dataset
from variegate.data.splits import split_users
from variegate.errors import InputError
from variegate.evaluation.metrics import Scores, f_score
from variegate.evaluation.replay import (
    PROTOCOLS,
    Protocol,
    ReplayTask,
    crowd_task,
    fitted_prior,
    liked_rows,
    rated_task,
)
from variegate.evaluation.runner import evaluate
from variegate.evaluation.tuning_result import (
    Candidate,
    Coordinate,
    LearnerSettings,
    TuningResult,
    coordinates,
)
from variegate.model.catalogue import Catalogue
from variegate.policies import PolicySpec
from variegate.prior import Prior


@dataclass(frozen=True, eq=False)
class Fold:
    """Users to choose by, and what was learnt from the others."""

    #: What the data set is called
    name: str
    #: As the paper's policies are played
    plain: ReplayTask
    #: The same users; items have their popularity as one more feature
    popular: ReplayTask
    #: Fitted with a `noise_factor` of 1
    prior: Prior


def training_part(dataset: Dataset, splits: Sequence[int], *, train: float = 0.8) -> Dataset:
    """Return the likes of the users who are training users in every one of the splits.

    A split is the seed of `split_users`. Without one, all users are training users.
    """
    kept = np.ones(len(dataset.user_ids), dtype=bool)
    for split in splits:
        trained = set(split_users(dataset, rng=split, train=train).train.user_ids)
        kept &= [user in trained for user in dataset.user_ids]
    if kept.sum() < 2:
        raise InputError(
            f"`datasets` {dataset.name!r} must have at least 2 users who are training users in "
            f"every split, got {kept.sum()}"
        )
    return dataset.of_users(np.flatnonzero(kept))


def learnt_fold(
    name: str,
    training: Dataset,
    protocol: Protocol,
    *,
    split: int,
    users: int,
    cache: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Fold:
    """Learn embeddings, popularity and a prior from most users, and keep the others' likes."""
    plain = rated_task(training, protocol, split=split, users=users, cache=cache, progress=progress)
    return _fold(name, plain)


def known_fold(
    name: str, training: Dataset, catalogue: Catalogue, *, train: float, split: int, users: int
) -> Fold:
    """Learn popularity and a prior from most users, on the features that a catalogue has."""
    parts = split_users(training, rng=split, train=train)
    learnt, held_out = (liked_rows(part, catalogue.ids) for part in (parts.train, parts.test))
    if not (learnt and held_out):
        raise InputError(
            f"`datasets` {name!r} must have users who like items of its catalogue, both to learn "
            f"from and to choose by, got {len(learnt)} and {len(held_out)}"
        )
    drawn = np.random.default_rng([split, 1]).permutation(len(held_out))[:users]
    plain = ReplayTask(
        name,
        catalogue,
        tuple(held_out[user] for user in np.sort(drawn)),
        len(parts.test.user_ids) - len(held_out),
        np.bincount(np.concatenate(learnt), minlength=len(catalogue)).astype(np.float64),
        len(parts.train.user_ids),
        learnt,
    )
    return _fold(name, plain)


def _fold(name: str, plain: ReplayTask) -> Fold:
    known = crowd_task(plain)
    return Fold(name, plain, known, fitted_prior(known, noise_factor=1.0))


def fold_seed(seed: int, number: int) -> int:
    """Return the seed of a fold's split: never one of the few that test users are drawn by."""
    return 1000 * (seed + 1) + number


#: Rounds that promises are about
ROUNDS: Final = (1, 5, 10, 30)


@dataclass(frozen=True, eq=False)
class Measures:
    """Means over validation users, round by round."""

    #: (rounds,)
    recall: FloatArray
    #: F1 and F2 of the mean recall and of the mean diversity by each distance, (m, rounds)
    f1: FloatArray
    f2: FloatArray

    def relative_to(self, other: "Measures") -> float:
        """Return the mean F1 over rounds, over that of `other`; mean of the distances."""
        return float(np.mean(self.f1.mean(axis=1) / other.f1.mean(axis=1)))


@dataclass(frozen=True)
class Constraints:
    """What is not to be given up for a better mean F1."""

    #: By round, the share of LogRank's recall that recall must reach
    recall: Mapping[int, float] = field(
        default_factory=lambda: MappingProxyType({1: 0.7, 5: 1.0, 10: 1.0, 30: 1.0})
    )
    #: The share of LMDH's F1 and F2 that those must reach at rounds 1, 5, 10 and 30
    f1: float = 1.05
    f2: float = 1.0

    def shortfalls(
        self, ours: Measures, lmdh: Measures, logrank: Measures
    ) -> Iterator[tuple[str, float]]:
        """Yield what falls short, in words, and by which share of what was promised."""
        rounds = len(ours.recall)
        for t, share in self.recall.items():
            if t <= rounds:
                yield from _short(
                    f"recall at {t}", ours.recall[t - 1], logrank.recall[t - 1], share, "LogRank"
                )
        for name, share in (("f1", self.f1), ("f2", self.f2)):
            own, their = getattr(ours, name), getattr(lmdh, name)
            for t in ROUNDS:
                for i in range(len(own) if t <= rounds else 0):
                    words = f"{name.upper()} at {t}" + (f", distance {i + 1}" if i else "")
                    yield from _short(words, own[i, t - 1], their[i, t - 1], share, "LMDH")


def _short(
    words: str, have: float, theirs: float, share: float, whose: str
) -> Iterator[tuple[str, float]]:
    need = share * theirs
    if have < need:
        yield f"{words} is {have / theirs:.1%} of {whose}'s, not {share:.0%}", 1.0 - have / need


def measures_of(scores: Scores) -> Measures:
    """Return the means over the users of one fold."""
    diversity = scores.diversity.mean(axis=1)
    recall = np.broadcast_to(scores.mean_recall, diversity.shape)
    f1, f2 = (f_score(recall, diversity, beta) for beta in (1.0, 2.0))
    return Measures(scores.mean_recall, f1, f2)


def averaged(folds: Sequence[Measures]) -> Measures:
    """Return the mean over folds."""
    return Measures(
        *(
            np.mean([getattr(fold, name) for fold in folds], axis=0)
            for name in ("recall", "f1", "f2")
        )
    )


def check_comparable(name: str, lmdh: Measures, distances: Sequence[str]) -> None:
    """Raise InputError where LMDH's F1 is 0, and nothing can be relative to it."""
    for distance, f1 in zip(distances, lmdh.f1, strict=True):
        if f1.mean() <= 0:
            raise InputError(
                f"`datasets` {name!r} must have users whom LMDH pleases with lists that vary by "
                f"the distance {distance!r}: its F1 is 0 in all rounds"
            )


@dataclass(frozen=True)
class Stage:
    """The folds, and how policies are replayed on them."""

    folds: Sequence[Fold]
    rounds: int
    k: int
    seed: int
    workers: int = 1

    def played(
        self,
        policies: Sequence[Sequence[PolicySpec]],
        *,
        is_plain: bool = False,
        progress: Callable[[int, int], None] = lambda _done, _of: None,
    ) -> list[list[Measures]]:
        """Return what each of a fold's policies is worth, fold by fold.

        `is_plain` shows items without their popularity.
        """
        tasks = [fold.plain if is_plain else fold.popular for fold in self.folds]
        number_of = {task: number for number, task in enumerate(tasks)}

        def specs(task: ReplayTask) -> dict[str, PolicySpec]:
            return {str(place): spec for place, spec in enumerate(policies[number_of[task]])}

        found = evaluate(
            specs,
            tasks,
            rounds=self.rounds,
            k=self.k,
            seed=self.seed,
            workers=self.workers,
            progress=lambda _stage, done, total: progress(done, total),
        )
        return [
            [measures_of(scores[fold]) for scores in found.scores.values()]
            for fold in range(len(tasks))
        ]


#: Is told what is being done, how much of it is done, and how much there is.
Progress: TypeAlias = Callable[[str, int, int], None]

#: What 1 of shortfall costs: a promise missed by 1% takes 0.05 off the score.
PENALTY: Final = 5.0


@dataclass(frozen=True, eq=False)
class Judging:
    """What settings are held against."""

    stage: Stage
    #: By data set
    lmdh: Mapping[str, Measures]
    logrank: Mapping[str, Measures]
    promises: Constraints | None
    progress: Progress

    def __call__(self, settings: Sequence[LearnerSettings], doing: str) -> list[Candidate]:
        """Return the settings with what they are worth, in their order."""
        policies = [
            [one.policy(one.applied(fold.prior)) for one in settings] for fold in self.stage.folds
        ]
        by_fold = self.stage.played(policies, progress=_told(self.progress, f"Trying {doing}"))
        return [
            self._candidate(one, _by_dataset(self.stage.folds, by_fold, place))
            for place, one in enumerate(settings)
        ]

    def _candidate(self, settings: LearnerSettings, ours: Mapping[str, Measures]) -> Candidate:
        relative = {name: own.relative_to(self.lmdh[name]) for name, own in ours.items()}
        missed = [
            (f"{name}: {words}", share)
            for name, own in ours.items()
            for words, share in (
                self.promises.shortfalls(own, self.lmdh[name], self.logrank[name])
                if self.promises
                else ()
            )
        ]
        penalty = PENALTY * sum(share for _, share in missed) / len(ours)
        return Candidate(settings, relative, tuple(words for words, _ in missed), penalty)


def judging_on(stage: Stage, promises: Constraints | None, progress: Progress) -> Judging:
    """Play the paper's LMDH and LogRank, to judge others by."""
    theirs = [PolicySpec("lmdh"), PolicySpec("logrank")]
    by_fold = stage.played(
        [theirs for _ in stage.folds], is_plain=True, progress=_told(progress, "Playing LMDH")
    )
    lmdh, logrank = (_by_dataset(stage.folds, by_fold, place) for place in range(2))
    distances = [h.name for h in stage.folds[0].plain.catalogue.distances]
    for name, measures in lmdh.items():
        check_comparable(name, measures, distances)
    return Judging(stage, lmdh, logrank, promises, progress)


def _by_dataset(
    folds: Sequence[Fold], by_fold: Sequence[Sequence[Measures]], place: int
) -> dict[str, Measures]:
    """Return the measures of the policy at `place`, mean over each data set's folds."""
    own: dict[str, list[Measures]] = {}
    for fold, measures in zip(folds, by_fold, strict=True):
        own.setdefault(fold.name, []).append(measures[place])
    return {name: averaged(measures) for name, measures in own.items()}


def _told(progress: Progress, doing: str) -> Callable[[int, int], None]:
    return lambda done, of: progress(doing, done, of)


#: A setting is changed for a better score by more than this alone: a tenth of a percent of LMDH's
#: F1, less than what is known of it.
LEAST_GAIN: Final = 0.001

#: Scores settings; also told which setting is being looked at.
Judge = Callable[[Sequence[LearnerSettings], str], Sequence[Candidate]]


def coordinate_descent(
    judge: Judge, start: LearnerSettings, searched: Sequence[Coordinate], *, passes: int
) -> tuple[Candidate, ...]:
    """Return all that was tried, the best first, then in the order in which it was tried.

    Every value of one setting is tried beside the best so far, then of the next. When a pass
    through all of them changes nothing, or after `passes`, it ends. Of values with the same
    score the nearest to the present one wins, and of two as near the lower.
    """
    (best,) = judge([start], "defaults")
    tried = {start: best}
    for _ in range(passes):
        before = best
        for coordinate in searched:
            rivals = coordinate.others(best.settings)
            fresh = [settings for settings in rivals if settings not in tried]
            if fresh:
                tried |= zip(fresh, judge(fresh, coordinate.name), strict=True)
            # Of equals, max takes the first.
            rival = max((tried[one] for one in rivals), key=lambda one: one.score, default=best)
            if rival.score > best.score + LEAST_GAIN:
                best = rival
        if best is before:
            break
    return (best, *(one for one in tried.values() if one is not best))


#: The most passes through all settings.
PASSES: Final = 3
#: What is promised unless something else is.
PROMISES: Final = Constraints()


def tune(
    datasets: Mapping[str, Dataset],
    *,
    protocol: Protocol | Mapping[str, Protocol] | None = None,
    catalogues: Mapping[str, Catalogue] | None = None,
    split: int | Sequence[int] | None = None,
    folds: int = 1,
    users: int = 200,
    rounds: int = 30,
    k: int = 10,
    seed: int = 0,
    space: Mapping[str, Sequence[float]] | None = None,
    promises: Constraints | None = PROMISES,
    workers: int = 1,
    cache: str | Path | None = None,
    progress: Progress = lambda _doing, _done, _of: None,
) -> TuningResult:
    """Return the settings of LMDP that do best for training users who were held out.

    *Fitted*, by marginal likelihood, is what likes speak of: the mean and covariance of theta
    and the noise (`fit_prior`). *Chosen*, by replay, is the rest: exploration, the floor under
    variety, what multiplies the noise, the spread of beta, and how distances compare.

    Each data set's training users are split again, 80/20. Embeddings, popularity and the prior
    are learnt from the 80, and LMDP is replayed on the others with each setting tried. The
    score is the mean over rounds of F1 (of mean recall and mean diversity, as in the paper)
    over that of the paper's LMDH for the same users; the mean over distances and data sets;
    less a penalty for `promises` that are missed. The search is coordinate descent from the
    defaults, and of equals the nearest to what was there before wins.

    Parameters
    ----------
    datasets
        By the names that the result calls them. One set of settings is chosen for all.
    protocol
        How they are treated, or by name; the paper's, if not given.
    catalogues
        By name, for data sets whose items have features already: no embeddings are learnt then.
        Features that were learnt from the same likes know what is held out; those of the
        items' content do not.
    split
        Seeds of `split_users`: the test users of these splits have no part in the choice.
        Without one, all users are training users.
    folds
        How often training users are split again, with other seeds.
    users
        At most so many validation users a fold.
    space
        Values to try by setting, in place of `SPACE`; what it does not name stays.
    promises
        None asks for nothing but F1.
    workers, cache
        As for `evaluate` and `fit_bpr`; neither changes what is chosen.
    """
    for name, number in (("folds", folds), ("users", users)):
        check_count(number, 10**6, name=name, of="the most that make sense")
    if not datasets:
        raise InputError("`datasets` must have at least one data set, got none")
    splits = _splits(split)
    folding = _Folding(protocol, catalogues or {}, splits, folds, seed, users, cache)
    parts = [
        fold for name, data in datasets.items() for fold in folding.folds_of(name, data, progress)
    ]
    distances = _distances(parts)
    judge = judging_on(Stage(parts, rounds, k, seed, workers), promises, progress)
    found = coordinate_descent(
        judge, LearnerSettings(), coordinates(space, len(distances)), passes=PASSES
    )
    counts = dict.fromkeys(datasets, 0)
    for fold in parts:
        counts[fold.name] += len(fold.plain.likes)
    return TuningResult(found[0].settings, found, counts, splits, distances, folds, rounds, k, seed)


def _splits(split: int | Sequence[int] | None) -> tuple[int, ...]:
    if split is None:
        return ()
    return (split,) if isinstance(split, int) else tuple(dict.fromkeys(split))


@dataclass(frozen=True)
class _Folding:
    """How the training users of a data set are split again."""

    protocol: Protocol | Mapping[str, Protocol] | None
    catalogues: Mapping[str, Catalogue]
    splits: tuple[int, ...]
    folds: int
    seed: int
    users: int
    cache: str | Path | None

    def folds_of(self, name: str, dataset: Dataset, progress: Progress) -> Iterator[Fold]:
        told = self.protocol
        own = told.get(name) if isinstance(told, Mapping) else told
        own = own or PROTOCOLS.get(dataset.name, Protocol())
        training = training_part(dataset, self.splits, train=own.train)
        for number in range(self.folds):
            tell = partial(progress, f"Learning {name}, fold {number + 1} of {self.folds}")
            drawn = {"split": fold_seed(self.seed, number), "users": self.users}
            if name in self.catalogues:
                yield known_fold(name, training, self.catalogues[name], train=own.train, **drawn)
            else:
                yield learnt_fold(name, training, own, **drawn, cache=self.cache, progress=tell)


def _distances(folds: Sequence[Fold]) -> tuple[str, ...]:
    found = {tuple(h.name for h in fold.plain.catalogue.distances) for fold in folds}
    if len(found) > 1 or not next(iter(found)):
        told = " and ".join(", ".join(names) or "none" for names in sorted(found))
        raise InputError(
            f"`protocol` must give all data sets the same distances, at least one, got {told}"
        )
    return found.pop()
