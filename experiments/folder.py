"""Results as files, so that an interrupted run goes on where it stopped."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import DataError, InputError
from variegate.evaluation.metrics import Scores
from variegate.files import atomic_write, open_npz


class ResultsFolder:
    """The measurements of one plan. What is there is not measured again.

    Opening a folder that holds results of another plan raises InputError.
    """

    def __init__(self, path: str | Path, plan: Mapping[str, Any]) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{path}: cannot be made: {error.strerror}") from None
        self._check_plan(dict(plan))

    def scores(self, settings: Mapping[str, Any]) -> Scores | None:
        """Return the scores measured with these settings, or None."""
        place = self._place("scores", settings)
        return Scores.load(place) if place.exists() else None

    def keep_scores(self, scores: Scores) -> None:
        """Keep scores under their settings."""
        scores.save(self._place("scores", scores.settings))

    def array(
        self, name: str, settings: Mapping[str, Any], measure: Callable[[], FloatArray]
    ) -> FloatArray:
        """Return the array measured with these settings, measuring it if it is not there."""
        return self.arrays(name, settings, lambda: {"array": measure()})["array"]

    def arrays(
        self,
        name: str,
        settings: Mapping[str, Any],
        measure: Callable[[], Mapping[str, FloatArray]],
    ) -> dict[str, FloatArray]:
        """Return several arrays by their names, measuring them if they are not there."""
        place = self._place(name, settings)
        if place.exists():
            with open_npz(place, "results") as arrays:
                return {key: np.asarray(arrays[key]) for key in arrays}
        found = dict(measure())
        with atomic_write(place) as target:
            np.savez_compressed(target, allow_pickle=False, **found)
        return found

    def fact(self, name: str, value: Any = None) -> Any:
        """Keep a fact, or return it (None where it is not known) if no value is given."""
        facts = self._facts()
        if value is None:
            return facts.get(name)
        facts[name] = value
        with atomic_write(self.path / "facts.json") as file:
            file.write(json.dumps(facts, indent=1).encode())
        return value

    def facts_about(self, start: str) -> dict[str, Any]:
        """Return the facts whose names start so, by the rest of their names."""
        return {
            name.removeprefix(start): fact
            for name, fact in self._facts().items()
            if name.startswith(start)
        }

    def _facts(self) -> dict[str, Any]:
        place = self.path / "facts.json"
        facts: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
        return facts

    def _place(self, kind: str, settings: Mapping[str, Any]) -> Path:
        text = json.dumps(settings, sort_keys=True)
        return self.path / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.npz"

    def _check_plan(self, plan: dict[str, Any]) -> None:
        place = self.path / "plan.json"
        text = json.dumps(plan, sort_keys=True, indent=1)
        if not place.exists():
            self._write_plan(text)
            return
        known = json.loads(place.read_text())
        told = [name for name in {**plan, **known} if name in known]
        other = [name for name in told if known[name] != plan.get(name)]
        if other:
            raise InputError(
                f"{self.path} holds results of other settings ({', '.join(other)} differ): choose "
                "another folder, or delete it"
            )
        if known.keys() != plan.keys():
            # What the folder was not told of was not measured yet.
            self._write_plan(text)

    def _write_plan(self, text: str) -> None:
        with atomic_write(self.path / "plan.json") as file:
            file.write(text.encode())
