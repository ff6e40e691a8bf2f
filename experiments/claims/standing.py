"""How one method stands against others, round by round.

In a round our method is *ahead* of another if the paired 95% interval of the difference lies
above 0, *behind* if it lies below, and *level* otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.claims.verdict import Evidence, Status
from experiments.names import method_title
from variegate.arrays import MaskArray
from variegate.evaluation.bootstrap import Interval, difference, mean_measure
from variegate.evaluation.metrics import Scores

#: The share of rounds that "usually" asks for.
USUALLY: Final = 0.75
#: The share of rounds below which a claim does not even hold in part.
IN_PART: Final = 0.5


@dataclass(frozen=True, eq=False)
class Standing:
    """Our method against each of the others, by one measure, in some of the rounds."""

    differences: Mapping[str, Interval]
    #: Rounds looked at, from 0
    rounds: range

    @property
    def ahead(self) -> MaskArray:
        """Whether it is ahead of each other method, (others, rounds)."""
        return np.array([d.low[self.rounds] > 0.0 for d in self.differences.values()])

    @property
    def behind(self) -> MaskArray:
        """Whether it is behind each other method, (others, rounds)."""
        return np.array([d.high[self.rounds] < 0.0 for d in self.differences.values()])

    def told(self, won: MaskArray, word: str) -> str:
        """Say in which rounds `won` is so, and to whom our method is not ahead in the others."""
        told = f"{word} in {_share(won, self.rounds)}"
        behind = self._told_of("Behind", self.behind)
        level = self._told_of("Level with", ~self.ahead & ~self.behind)
        return ". ".join(filter(None, [told, behind, level]))

    def _told_of(self, word: str, rounds: MaskArray) -> str:
        by_rounds: dict[str, list[str]] = {}
        for name, row in zip(self.differences, rounds, strict=True):
            by_rounds.setdefault(spans(row, self.rounds), []).append(method_title(name))
        parts = [f"{listed(names)} in {when}" for when, names in by_rounds.items() if when]
        return f"{word} {'; '.join(parts)}" if parts else ""

    @property
    def numbers(self) -> dict[str, object]:
        """The difference to each other method in each round, with its interval."""
        return {
            name: {
                "rounds": [t + 1 for t in self.rounds],
                "difference": _rounded(d.mean[self.rounds]),
                "low": _rounded(d.low[self.rounds]),
                "high": _rounded(d.high[self.rounds]),
            }
            for name, d in self.differences.items()
        }


def standing(
    replays: Mapping[str, Sequence[Scores]],
    ours: str,
    others: Sequence[str],
    measure: str,
    rounds: tuple[int, int] | None = None,
) -> Standing | None:
    """Return how `ours` stands against those of `others` that were replayed; None if none was.

    `rounds` are the first and the last one to look at, from 1; all, if not given.
    """
    there = [name for name in others if name in replays and name != ours]
    if ours not in replays or not there:
        return None
    played = len(mean_measure(replays[ours], measure))
    first, last = rounds or (1, played)
    found = {name: difference(replays[ours], replays[name], measure) for name in there}
    return Standing(found, range(first - 1, min(last, played)))


def best_in_rounds(where: str, found: Standing | None, *, needed: float = 1.0) -> Evidence:
    """Return the evidence that our method is ahead of all others in the `needed` share of rounds.

    With fewer rounds it holds in part, and with less than half of them it does not hold.
    """
    if found is None:
        return Evidence(where, Status.NOT_MEASURED, "not measured")
    won: MaskArray = np.asarray(found.ahead.all(axis=0))
    several = len(found.differences) > 1
    word = "ahead of all" if several else f"ahead of {method_title(next(iter(found.differences)))}"
    return Evidence(where, by_share(won, needed), found.told(won, word), found.numbers)


def by_share(won: MaskArray, needed: float) -> Status:
    """Return the status for the share of rounds in which something was so."""
    share = float(won.mean())
    if share >= needed:
        return Status.HOLDS
    return Status.IN_PART if share >= IN_PART else Status.FAILS


def spans(rounds: MaskArray, numbers: range) -> str:
    """Return the numbers (from 1) of the rounds that are true, as spans.

    Examples
    --------
    >>> spans(np.array([True, True, False, True]), range(4))
    '1-2, 4'
    """
    chosen = [number + 1 for number, yes in zip(numbers, rounds, strict=True) if yes]
    parts: list[list[int]] = []
    for number in chosen:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    Examples
    --------
    >>> listed(["LogRank", "MMR", "C2UCB"])
    'LogRank, MMR and C2UCB'
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _share(won: MaskArray, rounds: range) -> str:
    if won.all():
        return f"all {len(won)} rounds"
    if not won.any():
        return f"none of {len(won)} rounds"
    return f"{won.sum()} of {len(won)} rounds ({spans(won, rounds)})"


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(value), 6) for value in values]
