"""What settings are worth on users whose likes are known, in one number."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.evaluation import metrics
from variegate.evaluation.scores import Scores

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
    f1, f2 = (metrics.f_score(recall, diversity, beta) for beta in (1.0, 2.0))
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
