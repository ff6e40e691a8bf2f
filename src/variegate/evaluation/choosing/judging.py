"""Settings scored beside LMDH and LogRank on the same users."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from variegate.evaluation.choosing.chosen import Candidate
from variegate.evaluation.choosing.folds import Fold
from variegate.evaluation.choosing.measures import (
    Constraints,
    Measures,
    averaged,
    check_comparable,
)
from variegate.evaluation.choosing.playing import Stage
from variegate.evaluation.choosing.settings import LearnerSettings
from variegate.policies import PolicySpec

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
