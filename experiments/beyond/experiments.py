"""The simulated experiments of the chapter, kept as they are played."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from experiments.beyond.methods import OURS, with_defaults
from experiments.beyond.simulated import (
    EXPERIMENTS,
    Attention,
    Distances,
    Drift,
    Experiment,
    PriorGain,
    Size,
    beginning,
    caring,
    drifting,
    looking,
)
from variegate.arrays import FloatArray

if TYPE_CHECKING:
    from experiments.runner import Runner

#: What each experiment finds; all fields are arrays.
FOUND: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {"drift": Drift, "attention": Attention, "distances": Distances, "prior": PriorGain}
)

#: Who is played, so that what was kept of others is not taken for theirs.
_LEARNERS: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "drift": [*drifting.KINDS, *drifting.LEARNERS, *map(str, drifting.FORGETTING)],
        "attention": [*looking.USERS, *looking.LEARNERS],
        "distances": [*caring.DISTANCES, *caring.LEARNERS],
        "prior": [f"{policy}, {start}" for policy, start in beginning.LEARNERS.values()],
    }
)


def played_experiments(runner: "Runner") -> dict[str, Any]:
    """Return what every simulated experiment found, playing those that are not there."""
    return {name: _played(runner, name, experiment) for name, experiment in EXPERIMENTS.items()}


def _played(runner: "Runner", name: str, experiment: Experiment) -> Any:
    size = experiment.sizes.quick if runner.plan.quick else experiment.sizes.full
    if runner.plan.experiment_size is not None:
        size = Size(*runner.plan.experiment_size)
    settings = {
        "experiment": name,
        "runs": size.runs,
        "rounds": size.rounds,
        "policy": str(with_defaults(OURS)),
        "learners": _LEARNERS[name],
    }

    def measure() -> dict[str, FloatArray]:
        progress = runner.watcher.stage(f"simulated users: {name}", size.runs)
        found = experiment.play(size, seed=0, workers=runner.workers, progress=progress)
        return {field.name: getattr(found, field.name) for field in fields(found)}

    return FOUND[name](**runner.folder.arrays("experiment", settings, measure))
