"""What was chosen, and what it was chosen from."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from variegate.errors import DataError, InputError
from variegate.evaluation.choosing.settings import LearnerSettings
from variegate.evaluation.choosing.words import described
from variegate.files import atomic_write

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
class Chosen:
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
    def load(cls, path: str | Path) -> "Chosen":
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


def _read(found: Mapping[str, Any]) -> Chosen:
    candidates = [
        Candidate(
            LearnerSettings(**one["settings"]),
            dict(one["relative"]),
            tuple(one["broken"]),
            float(one["penalty"]),
        )
        for one in found["candidates"]
    ]
    return Chosen(
        LearnerSettings(**found["settings"]),
        tuple(candidates),
        dict(found["users"]),
        tuple(found["splits"]),
        tuple(found["distances"]),
        *(int(found[name]) for name in ("folds", "rounds", "k", "seed")),
    )
