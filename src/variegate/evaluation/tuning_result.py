"""What can be chosen of LMDP and of its prior."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from variegate.arrays import check_choice, check_not_negative, check_numbers, check_positive
from variegate.errors import DataError, InputError
from variegate.files import atomic_write
from variegate.policies import PolicySpec
from variegate.policies.lmdp import EXPLORATION, FLOOR
from variegate.prior import Prior
from variegate.prior.fit import BETA_VARIANCE, NOISE_FACTOR


@dataclass(frozen=True)
class LearnerSettings:
    """Settings of LMDP and of its prior that data cannot be asked for directly.

    Examples
    --------
    >>> settings = LearnerSettings(0.5, opening=0.5, full=0.8, half=50, scales=(3,))
    >>> settings.policy_line("prior.npz")
    'lmdp:prior=prior.npz,exploration=0.5,floor=[0.5,0.8,50]'
    >>> settings.beta(2)
    (0.125, 0.375)
    """

    #: Standard deviations added to an item's estimated reward
    exploration: float = EXPLORATION
    #: The `Floor`: before anything was seen, what it rises to, positions until half of that
    opening: float = FLOOR[0]
    full: float = FLOOR[1]
    half: float = FLOOR[2]
    #: What the fitted noise is multiplied by
    noise_factor: float = NOISE_FACTOR
    #: How far users' betas are believed to spread
    beta_variance: float = BETA_VARIANCE
    #: How much each distance after the first weighs beside it; those not told weigh as much
    scales: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        scales = [float(scale) for scale in self.scales]
        while scales and scales[-1] == 1.0:
            scales.pop()  # so that settings which mean the same are equal
        object.__setattr__(self, "scales", tuple(scales))
        check_not_negative(exploration=self.exploration, opening=self.opening, full=self.full)
        check_positive(
            half=self.half, noise_factor=self.noise_factor, beta_variance=self.beta_variance
        )
        for scale in self.scales:
            check_positive(scales=scale)

    @property
    def floor(self) -> list[float]:
        """The floor as a policy's option says it."""
        return [self.opening, self.full, self.half]

    def beta(self, distances: int) -> tuple[float, ...]:
        """Return the mean of beta: the floor's opening, shared out by the scales."""
        scales = [1.0, *self.scales[: distances - 1]] if distances else []
        scales += [1.0] * (distances - len(scales))
        return tuple(self.opening * scale / sum(scales) for scale in scales)

    def prior_options(self, distances: int) -> dict[str, Any]:
        """Return what `fit_prior` is to be told."""
        return {
            "noise_factor": self.noise_factor,
            "beta": self.beta(distances),
            "beta_variance": self.beta_variance,
        }

    def applied(self, prior: Prior) -> Prior:
        """Return what `fit_prior` would with these settings, from its answer for a factor of 1."""
        louder = replace(prior, noise=self.noise_factor * prior.noise)
        return louder.with_beta(self.beta(prior.m), self.beta_variance)

    def policy(self, prior: Prior) -> PolicySpec:
        """Return the policy from a prior that `applied` gave."""
        options = {"prior": prior, "exploration": self.exploration, "floor": self.floor}
        return PolicySpec("lmdp", options)

    def policy_line(self, prior_path: str | Path) -> str:
        """Return the policy as commands and services are told it."""
        path = str(prior_path)
        if set(path) & set(",[]"):
            raise InputError(f"`prior_path` must have no comma and no bracket, got {path!r}")
        floor = ",".join(f"{number:g}" for number in self.floor)
        return f"lmdp:prior={path},exploration={self.exploration:g},floor=[{floor}]"


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


#: With fewer users held out, scores differ by chance as much as by settings.
FEW: Final = 50
_HEAD: Final = ("score", "F1/LMDH", "penalty", "exploration", "floor", "noise", "beta var.")


def described(chosen: "TuningResult", most: int) -> tuple[str, ...]:
    """Return the lines of `TuningResult.describe`."""
    best = chosen.candidates[0]
    counts = ", ".join(f"{name} {count}" for name, count in chosen.users.items())
    each = ", ".join(f"{name} {value:.3f}" for name, value in best.relative.items())
    lines = [
        f"chosen by replaying training users who were held out: {counts}; "
        f"{_counted(chosen.folds, 'fold')}, {_counted(chosen.rounds, 'round')} of {chosen.k} items",
        _kept_out(chosen),
        f"mean F1 over rounds, LMDH's = 1: {best.objective:.3f} ({each})",
        *(best.broken or ["all promises are kept"]),
    ]
    if min(chosen.users.values(), default=FEW) < FEW:
        lines.append(
            f"with fewer than {FEW} users held out it is luck as much as choice: more folds help"
        )
    return (*lines, "", *_table(chosen, most))


def _kept_out(chosen: "TuningResult") -> str:
    if not chosen.splits:
        return "all users are training users: test on others"
    splits = ", ".join(map(str, chosen.splits))
    return f"test users of split{'s' * (len(chosen.splits) > 1)} {splits} had no part in it"


def _table(chosen: "TuningResult", most: int) -> Iterator[str]:
    several = len(chosen.distances) - 1
    ranked = sorted(chosen.candidates, key=lambda one: -one.score)
    ranked.sort(key=lambda one: one is not chosen.candidates[0])  # it wins ties
    shown = ranked[:most]
    # The defaults are what one would have without a search.
    defaults = [one for one in ranked[most:] if one.settings == LearnerSettings()]
    rows = [_row(one, several) for one in [*shown, *defaults]]
    head = [*_HEAD, *(["scales"] if several else []), ""]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in [head, *rows]:
        yield "  ".join(cell.rjust(w) for cell, w in zip(row[:-1], widths, strict=False)) + (
            f"  {row[-1]}" if row[-1] else ""
        )
    left = len(ranked) - len(rows)
    if left:
        yield f"and {left} more"


def _row(one: "Candidate", several: int) -> list[str]:
    settings = one.settings
    floor = "[" + ",".join(f"{number:g}" for number in settings.floor) + "]"
    return [
        f"{one.score:.3f}",
        f"{one.objective:.3f}",
        f"{one.penalty:.3f}",
        f"{settings.exploration:g}",
        floor,
        f"{settings.noise_factor:g}",
        f"{settings.beta_variance:g}",
        *([_scales(settings, several)] if several else []),
        "the defaults" if settings == LearnerSettings() else "",
    ]


def _scales(settings: LearnerSettings, others: int) -> str:
    scales = [1.0, *settings.scales, *[1.0] * (others - len(settings.scales))]
    return ":".join(f"{scale:g}" for scale in scales)


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


FORMAT: Final = "variegate chosen settings"
VERSION: Final = 1


@dataclass(frozen=True)
class Candidate:
    """Settings that were tried."""

    settings: LearnerSettings
    #: The mean F1 over rounds relative to LMDH's, by data set
    relative: Mapping[str, float]
    #: Which promises are not kept, in words
    broken: tuple[str, ...]
    #: What broken promises take off
    penalty: float

    @property
    def objective(self) -> float:
        """The mean F1 over rounds relative to LMDH's, mean of the data sets."""
        return sum(self.relative.values()) / len(self.relative)

    @property
    def score(self) -> float:
        """The one number that is maximised: the objective less the penalty."""
        return self.objective - self.penalty


@dataclass(frozen=True)
class TuningResult:
    """The best settings for some data sets, and how they were found."""

    settings: LearnerSettings
    #: All that was tried: first the best, then in the order in which it was tried
    candidates: tuple[Candidate, ...]
    #: How many validation users each data set had, all folds together
    users: Mapping[str, int]
    #: Splits whose test users were kept out
    splits: tuple[int, ...]
    #: The distances that beta weighs
    distances: tuple[str, ...]
    folds: int
    rounds: int
    k: int
    seed: int

    def policy_line(self, prior_path: str | Path) -> str:
        """Return the policy as commands and services are told it, with the prior at that path."""
        return self.settings.policy_line(prior_path)

    def describe(self, *, most: int = 10) -> tuple[str, ...]:
        """Return what was chosen and how, in lines of words, with the `most` best as a table."""
        return described(self, most)

    def save(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all."""
        plain = {"format": FORMAT, "version": VERSION, **self.plain()}
        with atomic_write(path) as file:
            file.write(json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False).encode())

    def plain(self) -> dict[str, Any]:
        """Return it as JSON can say it."""
        return {
            **asdict(self),
            "candidates": [
                {**asdict(one), "objective": one.objective, "score": one.score}
                for one in self.candidates
            ],
        }

    @classmethod
    def load(cls, path: str | Path) -> "TuningResult":
        """Read what `save` wrote, or raise DataError."""
        try:
            found = json.loads(Path(path).read_bytes())
            if found["format"] != FORMAT or found["version"] != VERSION:
                raise DataError(f"{path}: not settings that this variegate chose")
            return _read(found)
        except FileNotFoundError:
            raise DataError(f"no chosen settings at {path}") from None
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from None
        except (AttributeError, InputError, LookupError, TypeError, ValueError) as error:
            raise DataError(f"{path}: not a complete file of chosen settings: {error}") from None


def _read(found: Mapping[str, Any]) -> TuningResult:
    candidates = [
        Candidate(
            LearnerSettings(**one["settings"]),
            dict(one["relative"]),
            tuple(one["broken"]),
            float(one["penalty"]),
        )
        for one in found["candidates"]
    ]
    return TuningResult(
        LearnerSettings(**found["settings"]),
        tuple(candidates),
        dict(found["users"]),
        tuple(found["splits"]),
        tuple(found["distances"]),
        *(int(found[name]) for name in ("folds", "rounds", "k", "seed")),
    )
