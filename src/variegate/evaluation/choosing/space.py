"""Which values of each setting are tried."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from variegate.arrays import check_choice, check_numbers
from variegate.errors import InputError
from variegate.evaluation.choosing.settings import LearnerSettings

#: What is tried of each setting, in the order in which settings are searched; `scale` is for
#: every distance after the first. The defaults of LMDP and `fit_prior` are among it.
SPACE: Final[Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        "full": (0.4, 0.6, 0.8, 1.0, 1.3, 1.7),
        "opening": (0.2, 0.35, 0.5),
        "half": (15.0, 50.0, 150.0),
        "exploration": (0.0, 0.1, 0.25, 0.5, 1.0),
        "noise_factor": (1.0, 2.0, 4.0, 6.0, 10.0),
        "beta_variance": (0.005, 0.02, 0.05, 0.1),
        "scale": (0.25, 0.5, 1.0, 2.0, 4.0),
    }
)
_SCALE: Final = "scale"


@dataclass(frozen=True)
class Coordinate:
    """One setting, and the values that it can have."""

    name: str
    values: tuple[float, ...]
    #: Of the distances after the first, the one whose scale is meant
    place: int = 0

    def of(self, settings: LearnerSettings) -> float:
        """Return the value that the settings have."""
        if self.name != _SCALE:
            return float(getattr(settings, self.name))
        return (*settings.scales, *[1.0] * (self.place + 1))[self.place]

    def changed(self, settings: LearnerSettings, value: float) -> LearnerSettings:
        """Return the settings with another value."""
        if self.name != _SCALE:
            change: dict[str, Any] = {self.name: value}
            return replace(settings, **change)
        scales = [*settings.scales, *[1.0] * (self.place + 1 - len(settings.scales))]
        scales[self.place] = value
        return replace(settings, scales=tuple(scales))

    def others(self, settings: LearnerSettings) -> list[LearnerSettings]:
        """Return the settings with each other value, the nearest first and of two the lower."""
        now = self.of(settings)
        ranks = sorted({now, *self.values})
        here = ranks.index(now)
        order = sorted(range(len(ranks)), key=lambda rank: (abs(rank - here), rank))
        return [self.changed(settings, ranks[rank]) for rank in order if rank != here]


def coordinates(
    space: Mapping[str, Sequence[float]] | None, distances: int
) -> tuple[Coordinate, ...]:
    """Return what is searched, in its order, or raise for a space that makes no sense."""
    given = SPACE if space is None else space
    for name, values in given.items():
        check_choice("space", name, SPACE)
        if not len(check_numbers(f"space[{name!r}]", values, ndim=1)):
            raise InputError(f"`space[{name!r}]` must have at least one value, got none")
    found = []
    for name in SPACE:
        values = tuple(map(float, given.get(name, ())))
        places = max(distances - 1, 0) if name == _SCALE else 1
        found += [Coordinate(name, values, place) for place in range(places) if values]
    return tuple(found)
