"""All that a reproduction of the paper measured, before anyone judges it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.beyond.results import Chapter
from variegate.arrays import FloatArray
from variegate.evaluation.metrics import Scores


@dataclass(frozen=True)
class TableRow:
    """One data set in the paper's Table 1, as it was read here."""

    dataset: str
    users: int
    items: int
    interactions: int
    categories: int
    density: float


@dataclass(frozen=True, eq=False)
class Regret:
    """The simulated experiment under one reading of the distance's normaliser."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    #: F(A*) - F(A_t) of each policy, run and round, (policies, runs, rounds)
    regret: FloatArray
    #: Theorem 2's bound in each round, for LMDH with the width of Lemma 2, (rounds,)
    bound: FloatArray


@dataclass(frozen=True, eq=False)
class Results:
    """Every experiment of the paper, measured.

    Policies are keyed by their spec as text (`str(PolicySpec)`), such as ``lmdh`` or
    ``lmdh:normaliser=none``; their `Scores` are one for each split, the same users in the same
    order for every policy.
    """

    #: Whether it was the quick version: fewer users, splits, rounds and runs
    quick: bool
    #: Settings, seeds, versions, machine, seconds of each stage
    facts: Mapping[str, Any]
    table1: Sequence[TableRow]
    #: By data set, by policy: K = 10, 30 rounds (Figures 1 to 4, and the three readings)
    replays: Mapping[str, Mapping[str, Sequence[Scores]]]
    #: By option ("ridge", "exploration"), by value: LMDH on ML-100K (Figure 5)
    sensitivity: Mapping[str, Mapping[float, Sequence[Scores]]]
    #: By list length, by policy: ML-100K (Figure 5)
    lengths: Mapping[int, Mapping[str, Sequence[Scores]]]
    #: By reading of the normaliser (Figure 6)
    regrets: Mapping[str, Regret]
    #: By reading of the normaliser, by search: F(found) / F(best), (users, lengths 2 to 5)
    ratios: Mapping[str, Mapping[str, FloatArray]]
    #: What goes beyond the paper, if it was measured
    beyond: Chapter | None = None

    @property
    def is_of_the_paper(self) -> bool:
        """Whether the paper's own experiments are in it, or nothing is."""
        return bool(self.replays or self.regrets or self.ratios) or self.beyond is None
