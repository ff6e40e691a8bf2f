"""All that was measured beyond the paper, before anyone judges it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from variegate.arrays import FloatArray
from variegate.evaluation.metrics import Scores


@dataclass(frozen=True, eq=False)
class SeveralDistances:
    """Our learner with each distance alone and with all of them, by every distance."""

    #: The distances, as the scores have them
    names: tuple[str, ...]
    #: By what the learner knew of, one for each split, measured by all distances
    scores: Mapping[str, Sequence[Scores]]
    #: By what the learner knew of: each user's beta after the last list, (users, m)
    betas: Mapping[str, FloatArray]
    #: What it believed of each beta beforehand: mean and deviation
    believed: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Chapter:
    """The chapter beyond the paper, measured. Scores are one for each split."""

    #: By data set, by the key of the method
    replays: Mapping[str, Mapping[str, Sequence[Scores]]]
    #: By data set, by the method that is turned, by its setting
    frontier: Mapping[str, Mapping[str, Mapping[str, Sequence[Scores]]]]
    distances: SeveralDistances | None = None
    #: What the simulated experiments found, by their names
    simulated: Mapping[str, Any] = field(default_factory=dict)
