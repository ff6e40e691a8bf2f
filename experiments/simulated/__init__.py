"""Simulated experiments with known truth, one for each extension beyond the paper."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from experiments.simulated import (
    cold_start,
    drift,
    examination,
    first_picks,
    multi_distance,
    variety,
)
from experiments.simulated.world import Sizes


class Experiment(NamedTuple):
    """A simulated experiment."""

    #: From a `Size`, `seed`, `workers` and `progress` to a `result`
    play: Callable[..., Any]
    #: A dataclass whose fields are arrays
    result: type[Any]
    sizes: Sizes
    #: What is played, so that stored results of other learners are not taken for theirs
    learners: Sequence[str]


#: In the order of the report.
EXPERIMENTS: Final[Mapping[str, Experiment]] = MappingProxyType(
    {
        "drift": Experiment(
            drift.play,
            drift.Drift,
            drift.SIZES,
            [*drift.KINDS, *drift.LEARNERS, *map(str, drift.FORGETTING)],
        ),
        "examination": Experiment(
            examination.play,
            examination.Examination,
            examination.SIZES,
            [*examination.USERS, *examination.LEARNERS],
        ),
        "multi_distance": Experiment(
            multi_distance.play,
            multi_distance.MultiDistance,
            multi_distance.SIZES,
            [*multi_distance.DISTANCES, *multi_distance.LEARNERS],
        ),
        "cold_start": Experiment(
            cold_start.play,
            cold_start.ColdStart,
            cold_start.SIZES,
            [f"{policy}, {start}" for policy, start in cold_start.LEARNERS.values()],
        ),
        "variety": Experiment(variety.play, variety.Variety, variety.SIZES, list(variety.USERS)),
        "first_picks": Experiment(
            first_picks.play, first_picks.FirstPicks, first_picks.SIZES, first_picks.LEARNERS
        ),
    }
)
