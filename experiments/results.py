"""The results of the experiments, before they are judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from variegate.arrays import FloatArray
from variegate.data.dataset import Counts
from variegate.data.download import DATASETS
from variegate.evaluation.metrics import Scores

#: Scores by method, one for each split; the same users in the same order for every method.
Replays: TypeAlias = Mapping[str, Sequence[Scores]]

_DATASETS: Final[Mapping[str, str]] = MappingProxyType(
    {"ml-100k": "MovieLens-100K", "ml-1m": "MovieLens-1M", "anime": "Anime"}
)
#: Table 1 of the paper.
PAPER_TABLE: Final[Mapping[str, Counts]] = MappingProxyType(
    {name: known.paper for name, known in DATASETS.items()}
)


def full_name(dataset: str) -> str:
    """Return the full name of a data set."""
    return _DATASETS.get(dataset, dataset)


@dataclass(frozen=True, eq=False)
class Regret:
    """The paper's simulation under one reading of the normaliser."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    #: F(A*) - F(A_t) of each policy, run and round, (policies, runs, rounds)
    regret: FloatArray
    #: Theorem 2's bound in each round, for LMDH with the width of Lemma 2, (rounds,)
    bound: FloatArray


@dataclass(frozen=True, eq=False)
class SeveralDistances:
    """Our learner with each distance alone and with all of them, measured by every distance."""

    #: The distances, as in the scores
    names: tuple[str, ...]
    #: By the distances of the learner
    scores: Replays
    #: By the distances of the learner: each user's beta after the last list, (users, m)
    betas: Mapping[str, FloatArray]
    #: Mean and standard deviation of each beta under the prior
    prior: tuple[float, float]


@dataclass(frozen=True, eq=False)
class BeyondResults:
    """The experiments beyond the paper."""

    #: By data set, by the key of the method
    replays: Mapping[str, Replays] = field(default_factory=dict)
    #: By data set, by method, by its setting
    frontier: Mapping[str, Mapping[str, Replays]] = field(default_factory=dict)
    distances: SeveralDistances | None = None
    #: The results of the simulated experiments, by name
    simulated: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_measured(self) -> bool:
        """Whether it holds anything."""
        return bool(self.replays or self.frontier or self.distances or self.simulated)


@dataclass(frozen=True, eq=False)
class Results:
    """The results of every experiment.

    Methods have their spec as text (`str(PolicySpec)`) for key, such as ``lmdh`` or
    ``lmdh:normaliser=none``.
    """

    #: Whether it was the quick version: fewer users, splits, rounds and runs
    quick: bool = False
    #: Settings, seeds, versions, machine, seconds of each stage
    facts: Mapping[str, Any] = field(default_factory=dict)
    #: The paper's Table 1 of the data sets as they were read here
    table1: Mapping[str, Counts] = field(default_factory=dict)
    #: By data set: K = 10, 30 rounds (Figures 1 to 4, and the three readings)
    replays: Mapping[str, Replays] = field(default_factory=dict)
    #: By option ("ridge", "exploration"), by value: LMDH on ML-100K (Figure 5)
    sensitivity: Mapping[str, Mapping[float, Sequence[Scores]]] = field(default_factory=dict)
    #: By list length: ML-100K (Figure 5)
    lengths: Mapping[int, Replays] = field(default_factory=dict)
    #: By reading of the normaliser (Figure 6)
    regrets: Mapping[str, Regret] = field(default_factory=dict)
    #: By reading of the normaliser, by search: F(found) / F(best), (users, lengths 2 to 5)
    ratios: Mapping[str, Mapping[str, FloatArray]] = field(default_factory=dict)
    beyond: BeyondResults = field(default_factory=BeyondResults)

    @property
    def is_synthetic(self) -> bool:
        """Whether the likes are generated, not those of the data set of this name."""
        return bool(self.facts.get("plan", {}).get("synthetic"))

    @property
    def has_paper(self) -> bool:
        """Whether it holds the paper's own experiments, or nothing at all."""
        return bool(self.replays or self.regrets or self.ratios) or not self.beyond.is_measured

    def is_sample(self, dataset: str) -> bool:
        """Return whether the data set has less than half of the paper's users."""
        if not {dataset} <= self.table1.keys() & PAPER_TABLE.keys():
            return False
        return 2 * self.table1[dataset].users < PAPER_TABLE[dataset].users

    def dataset_title(self, dataset: str) -> str:
        """Return the name of a data set in tables and figures; a sample is marked."""
        if self.is_synthetic:
            return "Generated likes"
        title = full_name(dataset)
        return f"{title} (sample)" if self.is_sample(dataset) else title
