"""The parts of the benchmark, in the order in which they run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from benchmarks import (
    bench_baselines,
    bench_batch,
    bench_cores,
    bench_default,
    bench_growth,
    bench_learning,
    bench_lists,
    bench_peers,
    bench_replay,
    bench_rerankers,
    bench_shortlists,
    bench_startup,
)
from benchmarks.results import Part


@dataclass(frozen=True)
class PartOfRun:
    """A part: its heading on the page, how it is measured, how it is written."""

    heading: str
    #: Given whether to be quick, and the folder of the peers' environments
    measure: Callable[[bool, Path | None], Part]
    section: Callable[[Part], list[str]]


def _alone(measure: Callable[[bool], Part]) -> Callable[[bool, Path | None], Part]:
    return lambda quick, _environments: measure(quick)


PARTS: Final[Mapping[str, PartOfRun]] = MappingProxyType(
    {
        "lists": PartOfRun("LMDH's list", _alone(bench_lists.measure), bench_lists.section),
        "growth": PartOfRun(
            "How the cost grows", _alone(bench_growth.measure), bench_growth.section
        ),
        "learning": PartOfRun(
            "Learning and memory", _alone(bench_learning.measure), bench_learning.section
        ),
        "baselines": PartOfRun(
            "Every policy", _alone(bench_baselines.measure), bench_baselines.section
        ),
        "rerankers": PartOfRun(
            "Re-rankers", _alone(bench_rerankers.measure), bench_rerankers.section
        ),
        "default": PartOfRun(
            "The default learner", _alone(bench_default.measure), bench_default.section
        ),
        "batch": PartOfRun("Many users at once", bench_batch.measure, bench_batch.section),
        "peers": PartOfRun("Peers that learn", bench_peers.measure, bench_peers.section),
        "replay": PartOfRun("Replay", _alone(bench_replay.measure), bench_replay.section),
        "large": PartOfRun(
            "Large catalogues in two stages",
            _alone(bench_shortlists.measure),
            bench_shortlists.section,
        ),
        "cores": PartOfRun("All cores", _alone(bench_cores.measure), bench_cores.section),
        "startup": PartOfRun("Start-up", _alone(bench_startup.measure), bench_startup.section),
    }
)
