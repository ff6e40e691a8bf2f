"""Simulated experiments with known truth, one for each extension beyond the paper."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from experiments.simulated import (
    cold_start,
    drift,
    examination,
    first_picks,
    multi_distance,
    variety,
)
from experiments.simulated.world import Experiment

#: In the order of the report.
EXPERIMENTS: Final[Mapping[str, Experiment[Any]]] = MappingProxyType(
    {
        "drift": drift.EXPERIMENT,
        "examination": examination.EXPERIMENT,
        "multi_distance": multi_distance.EXPERIMENT,
        "cold_start": cold_start.EXPERIMENT,
        "variety": variety.EXPERIMENT,
        "first_picks": first_picks.EXPERIMENT,
    }
)
