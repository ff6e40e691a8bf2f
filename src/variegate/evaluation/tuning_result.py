"""Settings of a learner that `tune` chooses, and the result of a search for them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from variegate.arrays import check_choice, check_not_negative, check_positive
from variegate.errors import DataError, InputError
from variegate.evaluation.replay import FittedPolicy
from variegate.files import atomic_write
from variegate.policies import PolicySpec
from variegate.policies.ease import DIVERSITY as EASE_DIVERSITY
from variegate.policies.ease import L2
from variegate.prior.item_prior import DIVERSITY, NOISE

FORMAT: Final = "variegate tuned settings"
VERSION: Final = 2

#: With fewer validation users, differences of scores are mostly noise.
MIN_USERS: Final = 50

_COLUMNS: Final = ("score", "F1/LMDH", "penalty", "settings")


#: The settings of each learner that is tuned, with their defaults.
DEFAULTS: Final[Mapping[str, Mapping[str, float]]] = MappingProxyType(
    {
        "lmdp": {"diversity": DIVERSITY, "noise": NOISE},
        "ease": {"diversity": EASE_DIVERSITY, "l2": L2},
    }
)


@dataclass(frozen=True)
class LearnerSettings:
    """Settings of a learner that its training likes do not determine directly.

    Examples
    --------
    >>> settings = LearnerSettings("lmdp", noise=0.4)
    >>> settings.prior_options
    {'diversity': 0.9, 'noise': 0.4}
    >>> settings.policy_spec("prior.npz")
    'lmdp:prior=prior.npz'
    >>> LearnerSettings("ease").policy_spec("prior.npz")
    'ease:prior=prior.npz,diversity=0.9,l2=100'
    """

    #: ``lmdp`` or ``ease``
    policy: str
    values: Mapping[str, float]

    def __init__(self, policy: str = "lmdp", **values: float) -> None:
        defaults = DEFAULTS[check_choice("policy", policy, DEFAULTS)]
        for name, value in values.items():
            check_choice(f"setting of {policy}", name, defaults)
            (check_not_negative if name == "diversity" else check_positive)(**{name: value})
        object.__setattr__(self, "policy", policy)
        object.__setattr__(self, "values", {**defaults, **values})

    def __hash__(self) -> int:
        return hash((self.policy, *self.values.values()))

    def with_value(self, name: str, value: float) -> "LearnerSettings":
        """Return the settings with another value of one of them."""
        return LearnerSettings(self.policy, **{**self.values, name: value})

    @property
    def prior_options(self) -> dict[str, float]:
        """The options of `fit_prior`; EASE uses only the likes of the prior."""
        return dict(self.values) if self.policy == "lmdp" else {}

    @property
    def fitted_policy(self) -> FittedPolicy:
        """The policy, with a prior that is fitted to the training users of each task."""
        options = {} if self.policy == "lmdp" else dict(self.values)
        return FittedPolicy(PolicySpec(self.policy, options), self.prior_options)

    def policy_spec(self, prior_path: str | Path) -> str:
        """Return the policy as text for commands and services, with the prior at that path."""
        path = str(prior_path)
        if set(path) & set(",[]"):
            raise InputError(f"`prior_path` must have no comma and no bracket, got {path!r}")
        options = "" if self.policy == "lmdp" else f",{_values_text(self)}"
        return f"{self.policy}:prior={path}{options}"


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
        ranked = sorted(self.candidates, key=lambda one: -one.score)
        ranked.sort(key=lambda one: one is not self.candidates[0])  # it wins ties
        # The defaults are always shown: they are what you have without tuning.
        default = LearnerSettings(self.settings.policy)
        defaults = [one for one in ranked[max_rows:] if one.settings == default]
        rows = [_table_row(one) for one in [*ranked[:max_rows], *defaults]]
        head = [*_COLUMNS, ""]
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
                _settings_of(one["settings"]),
                dict(one["relative"]),
                tuple(one["violations"]),
                float(one["penalty"]),
            )
            for one in content["candidates"]
        ]
        return cls(
            _settings_of(content["settings"]),
            tuple(candidates),
            dict(content["users"]),
            tuple(content["splits"]),
            tuple(content["distances"]),
            *(int(content[name]) for name in ("folds", "rounds", "k", "seed")),
        )


def _table_row(one: Candidate) -> list[str]:
    settings = one.settings
    return [
        f"{one.score:.3f}",
        f"{one.objective:.3f}",
        f"{one.penalty:.3f}",
        _values_text(settings),
        "the defaults" if settings == LearnerSettings(settings.policy) else "",
    ]


def _values_text(settings: LearnerSettings) -> str:
    return ",".join(f"{name}={value:g}" for name, value in settings.values.items())


def _settings_of(content: Mapping[str, Any]) -> LearnerSettings:
    return LearnerSettings(content["policy"], **content["values"])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
