"""Settings of LMDP that `tune` chooses, and the result of a search for them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from variegate.arrays import check_not_negative, check_positive
from variegate.errors import DataError, InputError
from variegate.files import atomic_write
from variegate.policies import PolicySpec
from variegate.policies.lmdp import EXPLORATION, FLOOR
from variegate.prior import Prior
from variegate.prior.fit import BETA_VARIANCE, NOISE_FACTOR

FORMAT: Final = "variegate tuned settings"
VERSION: Final = 1

#: With fewer validation users, differences of scores are mostly noise.
MIN_USERS: Final = 50

_COLUMNS: Final = ("score", "F1/LMDH", "penalty", "exploration", "floor", "noise", "beta var.")


@dataclass(frozen=True)
class LearnerSettings:
    """Settings of LMDP and of its prior that cannot be fitted to likes directly.

    Examples
    --------
    >>> settings = LearnerSettings(0.5, opening=0.5, full=0.8, half=50, scales=(3,))
    >>> settings.policy_spec("prior.npz")
    'lmdp:prior=prior.npz,exploration=0.5,floor=[0.5,0.8,50]'
    >>> settings.beta(2)
    (0.125, 0.375)
    """

    #: Standard deviations added to an item's estimated reward
    exploration: float = EXPLORATION
    #: The `Floor`: its value at the start, its limit, and the positions until half of that
    opening: float = FLOOR[0]
    full: float = FLOOR[1]
    half: float = FLOOR[2]
    #: Factor of the fitted noise
    noise_factor: float = NOISE_FACTOR
    #: Variance of beta over users
    beta_variance: float = BETA_VARIANCE
    #: Weight of each distance after the first, relative to the first; 1 where it is missing
    scales: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        scales = [float(scale) for scale in self.scales]
        while scales and scales[-1] == 1.0:
            scales.pop()  # so that settings with the same meaning are equal
        object.__setattr__(self, "scales", tuple(scales))
        check_not_negative(exploration=self.exploration, opening=self.opening, full=self.full)
        check_positive(
            half=self.half, noise_factor=self.noise_factor, beta_variance=self.beta_variance
        )
        for scale in self.scales:
            check_positive(scales=scale)

    @property
    def floor(self) -> list[float]:
        """The option `floor` of LMDP."""
        return [self.opening, self.full, self.half]

    def beta(self, distances: int) -> tuple[float, ...]:
        """Return the prior mean of beta: the floor's opening, divided in proportion to scales."""
        scales = [1.0, *self.scales[: distances - 1]] if distances else []
        scales += [1.0] * (distances - len(scales))
        return tuple(self.opening * scale / sum(scales) for scale in scales)

    def prior_options(self, distances: int) -> dict[str, Any]:
        """Return the options of `fit_prior`."""
        return {
            "noise_factor": self.noise_factor,
            "beta": self.beta(distances),
            "beta_variance": self.beta_variance,
        }

    def apply(self, prior: Prior) -> Prior:
        """Return the prior of `fit_prior` with these settings, from one with `noise_factor` 1."""
        scaled = replace(prior, noise=self.noise_factor * prior.noise)
        return scaled.with_beta(self.beta(prior.m), self.beta_variance)

    def policy(self, prior: Prior) -> PolicySpec:
        """Return the policy with a prior that `apply` returned."""
        options = {"prior": prior, "exploration": self.exploration, "floor": self.floor}
        return PolicySpec("lmdp", options)

    def policy_spec(self, prior_path: str | Path) -> str:
        """Return the policy as text for commands and services, with the prior at that path."""
        path = str(prior_path)
        if set(path) & set(",[]"):
            raise InputError(f"`prior_path` must have no comma and no bracket, got {path!r}")
        return f"lmdp:prior={path},exploration={self.exploration:g},floor={_floor_text(self)}"


@dataclass(frozen=True)
class Candidate:
    """Settings that were tried."""

    settings: LearnerSettings
    #: The mean F1 over rounds relative to LMDH's, by data set
    relative: Mapping[str, float]
    #: The constraints that are not met, as text
    violations: tuple[str, ...]
    #: What the violations subtract from the score
    penalty: float

    @property
    def objective(self) -> float:
        """The mean F1 over rounds relative to LMDH's, mean of the data sets."""
        return sum(self.relative.values()) / len(self.relative)

    @property
    def score(self) -> float:
        """What is maximised: the objective minus the penalty."""
        return self.objective - self.penalty


@dataclass(frozen=True)
class TuningResult:
    """The best settings for some data sets, and how they were found."""

    settings: LearnerSettings
    #: All settings tried: the best, then the others in the order in which they were tried
    candidates: tuple[Candidate, ...]
    #: The number of validation users of each data set, over all folds
    users: Mapping[str, int]
    #: Splits whose test users were excluded
    splits: tuple[int, ...]
    #: The distances that beta weighs
    distances: tuple[str, ...]
    folds: int
    rounds: int
    k: int
    seed: int

    def describe(self, *, max_rows: int = 10) -> tuple[str, ...]:
        """Return a summary as lines of text, with a table of the `max_rows` best candidates."""
        best = self.candidates[0]
        counts = ", ".join(f"{name} {count}" for name, count in self.users.items())
        each = ", ".join(f"{name} {value:.3f}" for name, value in best.relative.items())
        lines = [
            f"tuned by replaying held-out training users: {counts}; "
            f"{_count(self.folds, 'fold')}, {_count(self.rounds, 'round')} of {self.k} items",
            self._excluded_users(),
            f"mean F1 over rounds, relative to LMDH: {best.objective:.3f} ({each})",
            *(best.violations or ["all constraints are met"]),
        ]
        if min(self.users.values(), default=MIN_USERS) < MIN_USERS:
            lines.append(
                f"with fewer than {MIN_USERS} held-out users the result is mostly noise: use more "
                "folds"
            )
        return (*lines, "", *self._table(max_rows))

    def _excluded_users(self) -> str:
        if not self.splits:
            return "all users are training users: test on others"
        splits = ", ".join(map(str, self.splits))
        return f"test users of split{'s' * (len(self.splits) > 1)} {splits} are excluded"

    def _table(self, max_rows: int) -> Iterator[str]:
        scales = len(self.distances) - 1
        ranked = sorted(self.candidates, key=lambda one: -one.score)
        ranked.sort(key=lambda one: one is not self.candidates[0])  # it wins ties
        # The defaults are always shown: they are what you have without tuning.
        defaults = [one for one in ranked[max_rows:] if one.settings == LearnerSettings()]
        rows = [_table_row(one, scales) for one in [*ranked[:max_rows], *defaults]]
        head = [*_COLUMNS, *(["scales"] if scales else []), ""]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in [head, *rows]:
            cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
            yield "  ".join(cells[:-1]) + (f"  {row[-1]}" if row[-1] else "")
        if len(ranked) > len(rows):
            yield f"and {len(ranked) - len(rows)} more"

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON types."""
        return {
            **asdict(self),
            "candidates": [
                {**asdict(one), "objective": one.objective, "score": one.score}
                for one in self.candidates
            ],
        }

    def save(self, path: str | Path) -> None:
        """Write the result as JSON, atomically."""
        content = {"format": FORMAT, "version": VERSION, **self.as_json()}
        with atomic_write(path) as file:
            file.write(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False).encode())

    @classmethod
    def load(cls, path: str | Path) -> "TuningResult":
        """Read a file that `save` wrote, or raise DataError."""
        try:
            content = json.loads(Path(path).read_bytes())
            if content["format"] != FORMAT or content["version"] != VERSION:
                raise DataError(f"{path}: not a file of tuned settings of this version")
            return cls._from_json(content)
        except FileNotFoundError:
            raise DataError(f"no tuned settings at {path}") from None
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from None
        except (AttributeError, InputError, LookupError, TypeError, ValueError) as error:
            raise DataError(f"{path}: not a complete file of tuned settings: {error}") from None

    @classmethod
    def _from_json(cls, content: Mapping[str, Any]) -> "TuningResult":
        candidates = [
            Candidate(
                LearnerSettings(**one["settings"]),
                dict(one["relative"]),
                tuple(one["violations"]),
                float(one["penalty"]),
            )
            for one in content["candidates"]
        ]
        return cls(
            LearnerSettings(**content["settings"]),
            tuple(candidates),
            dict(content["users"]),
            tuple(content["splits"]),
            tuple(content["distances"]),
            *(int(content[name]) for name in ("folds", "rounds", "k", "seed")),
        )


def _table_row(one: Candidate, scales: int) -> list[str]:
    settings = one.settings
    weights = [1.0, *settings.scales, *[1.0] * (scales - len(settings.scales))]
    return [
        f"{one.score:.3f}",
        f"{one.objective:.3f}",
        f"{one.penalty:.3f}",
        f"{settings.exploration:g}",
        _floor_text(settings),
        f"{settings.noise_factor:g}",
        f"{settings.beta_variance:g}",
        *([":".join(f"{weight:g}" for weight in weights)] if scales else []),
        "the defaults" if settings == LearnerSettings() else "",
    ]


def _floor_text(settings: LearnerSettings) -> str:
    return "[" + ",".join(f"{number:g}" for number in settings.floor) + "]"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
