"""Compare one method with others, round by round.

In a round a method is *ahead* of another if the paired 95% interval of the difference lies
above 0, *behind* if it lies below, and *level* otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.claims.verdict import Evidence, Status, Verdict, not_measured
from experiments.methods import BASELINES, method_title
from experiments.results import PAPER_TABLE, Replays, Results
from variegate.arrays import MaskArray
from variegate.evaluation.bootstrap import Interval, difference, mean_measure

#: The share of rounds that "usually" asks for.
USUALLY: Final = 0.75
#: The share of rounds below which a claim does not even hold in part.
IN_PART: Final = 0.5


@dataclass(frozen=True, eq=False)
class Comparison:
    """One method against each of several others, by one measure, in some of the rounds."""

    differences: Mapping[str, Interval]
    #: Rounds compared, from 0
    rounds: range

    @property
    def ahead(self) -> MaskArray:
        """Whether it is ahead of each other method, (others, rounds)."""
        return np.array([d.low[self.rounds] > 0.0 for d in self.differences.values()])

    @property
    def behind(self) -> MaskArray:
        """Whether it is behind each other method, (others, rounds)."""
        return np.array([d.high[self.rounds] < 0.0 for d in self.differences.values()])

    @property
    def numbers(self) -> dict[str, object]:
        """The difference to each other method in each round, with its interval."""
        return {
            name: {
                "rounds": [t + 1 for t in self.rounds],
                **{
                    key: [round(float(value), 6) for value in values[self.rounds]]
                    for key, values in (("difference", d.mean), ("low", d.low), ("high", d.high))
                },
            }
            for name, d in self.differences.items()
        }

    def describe(self, won: MaskArray, words: str) -> str:
        """Describe in which rounds `won` is true, and where the method is behind or level."""
        share = f"{won.sum()} of {len(won)} rounds ({round_ranges(won, self.rounds)})"
        if won.all() or not won.any():
            share = f"{'all' if won.all() else 'none of'} {len(won)} rounds"
        behind = self._describe_others("Behind", self.behind)
        level = self._describe_others("Level with", ~self.ahead & ~self.behind)
        return ". ".join(filter(None, [f"{words} in {share}", behind, level]))

    def _describe_others(self, word: str, rounds: MaskArray) -> str:
        by_rounds: dict[str, list[str]] = {}
        for name, row in zip(self.differences, rounds, strict=True):
            by_rounds.setdefault(round_ranges(row, self.rounds), []).append(method_title(name))
        parts = [f"{join_names(names)} in {when}" for when, names in by_rounds.items() if when]
        return f"{word} {'; '.join(parts)}" if parts else ""


def compare(
    replays: Replays,
    ours: str,
    others: Sequence[str],
    measure: str,
    rounds: tuple[int, int] | None = None,
) -> Comparison | None:
    """Compare `ours` with those of `others` that were replayed; None if none was.

    `rounds` are the first and the last round, from 1; all, if not given.
    """
    measured = [name for name in others if name in replays and name != ours]
    if ours not in replays or not measured:
        return None
    played = len(mean_measure(replays[ours], measure))
    first, last = rounds or (1, played)
    found = {name: difference(replays[ours], replays[name], measure) for name in measured}
    return Comparison(found, range(first - 1, min(last, played)))


def ahead_in_rounds(where: str, found: Comparison | None, *, needed: float = 1.0) -> Evidence:
    """Return whether our method is ahead of all others in the `needed` share of rounds.

    In fewer rounds it holds in part, and in less than half of them it does not hold.
    """
    if found is None:
        return not_measured(where)
    won: MaskArray = np.asarray(found.ahead.all(axis=0))
    several = len(found.differences) > 1
    others = "all" if several else method_title(next(iter(found.differences)))
    finding = found.describe(won, f"ahead of {others}")
    return Evidence(where, status_by_share(won, needed), finding, found.numbers)


@dataclass(frozen=True)
class AheadOf:
    """Rule: ahead of every rival by a measure, in the needed share of rounds, on each data set."""

    measure: str
    rivals: Sequence[str] = BASELINES
    datasets: Sequence[str] = tuple(PAPER_TABLE)
    #: The first and the last round; all, if not given
    rounds: tuple[int, int] | None = None
    needed: float = 1.0

    def __call__(self, results: Results, ours: str) -> Verdict:
        """Judge the claim."""
        return Verdict.of(
            ahead_in_rounds(
                results.dataset_title(dataset),
                compare(
                    results.replays.get(dataset, {}), ours, self.rivals, self.measure, self.rounds
                ),
                needed=self.needed,
            )
            for dataset in self.datasets
        )


def status_by_share(won: MaskArray, needed: float) -> Status:
    """Return the status for the share of rounds in which something is true."""
    share = float(won.mean())
    return Status.of(share >= needed, in_part=share >= IN_PART)


def round_ranges(rounds: MaskArray, numbers: range) -> str:
    """Return the numbers (from 1) of the rounds that are true, as ranges.

    Examples
    --------
    >>> round_ranges(np.array([True, True, False, True]), range(4))
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


def join_names(names: Sequence[str]) -> str:
    """Return names as in a sentence.

    Examples
    --------
    >>> join_names(["LogRank", "MMR", "C2UCB"])
    'LogRank, MMR and C2UCB'
    """
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last
