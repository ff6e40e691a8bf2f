"""Simulated experiments whose truth is known: what each thing beyond the paper is good for."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from experiments.beyond.simulated.beginning import PRIOR_SIZES, PriorGain, prior
from experiments.beyond.simulated.caring import DISTANCES_SIZES, Distances, distances
from experiments.beyond.simulated.drifting import DRIFT_SIZES, Drift, drift
from experiments.beyond.simulated.looking import ATTENTION_SIZES, Attention, attention
from experiments.beyond.simulated.world import Progress, Size, Sizes, silent

__all__ = [
    "EXPERIMENTS",
    "Attention",
    "Distances",
    "Drift",
    "Experiment",
    "PriorGain",
    "Size",
    "attention",
    "distances",
    "drift",
    "prior",
    "simulated_experiments",
]


class Experiment(NamedTuple):
    """A simulated experiment: its function, and how much of it is played."""

    play: Callable[..., Any]
    sizes: Sizes


#: By name, as `simulated_experiments` gives what they find. All fields of that are arrays.
EXPERIMENTS: Final[Mapping[str, Experiment]] = MappingProxyType(
    {
        "drift": Experiment(drift, DRIFT_SIZES),
        "attention": Experiment(attention, ATTENTION_SIZES),
        "distances": Experiment(distances, DISTANCES_SIZES),
        "prior": Experiment(prior, PRIOR_SIZES),
    }
)


def simulated_experiments(
    *,
    quick: bool = False,
    seed: int = 0,
    workers: int = 1,
    stage: Callable[[str, int], Progress] = lambda _name, _runs: silent,
) -> dict[str, Any]:
    """Play all of them; return a `Drift`, an `Attention`, a `Distances` and a `PriorGain`.

    Parameters
    ----------
    workers
        Processes to share the runs out over; the numbers are the same with any.
    stage
        Is told of each experiment and its runs, and returns what is told of runs done.
    """
    found = {}
    for name, (play, sizes) in EXPERIMENTS.items():
        size = sizes.quick if quick else sizes.full
        progress = stage(name, size.runs)
        found[name] = play(size, seed=seed, workers=workers, progress=progress)
    return found
