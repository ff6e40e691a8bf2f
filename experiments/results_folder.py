"""Results as files, so that an interrupted run resumes where it stopped."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import DataError, InputError
from variegate.evaluation.metrics import Scores
from variegate.files import atomic_write, open_npz


class ResultsFolder:
    """The stored measurements of one plan, each in a file named for its settings.

    Opening a folder that holds results of another plan raises InputError.
    """

    def __init__(self, path: str | Path, plan: Mapping[str, Any]) -> None:
        self.path = Path(path)
        #: The seconds of each stage of this run; a resumed stage has the sum of its runs
        self.seconds: dict[str, float] = {}
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{path}: cannot be made: {error.strerror}") from None
        self._check_plan(dict(plan))

    def load_scores(self, settings: Mapping[str, Any]) -> Scores | None:
        """Return the scores stored under these settings, or None."""
        path = self._path("scores", settings)
        return Scores.load(path) if path.exists() else None

    def save_scores(self, scores: Scores) -> None:
        """Store scores under their settings."""
        scores.save(self._path("scores", scores.settings))

    def array(
        self, name: str, settings: Mapping[str, Any], measure: Callable[[], FloatArray]
    ) -> FloatArray:
        """Return the array stored under these settings; measure and store it if there is none."""
        return self.arrays(name, settings, lambda: {"array": measure()})["array"]

    def arrays(
        self,
        name: str,
        settings: Mapping[str, Any],
        measure: Callable[[], Mapping[str, FloatArray]],
    ) -> dict[str, FloatArray]:
        """Return several stored arrays by name; measure and store them if there are none."""
        path = self._path(name, settings)
        if path.exists():
            with open_npz(path, "results") as stored:
                return {key: np.asarray(stored[key]) for key in stored}
        measured = dict(measure())
        with atomic_write(path) as file:
            np.savez_compressed(file, allow_pickle=False, **measured)
        return measured

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the seconds of a stage to those stored for it."""
        start = perf_counter()
        yield
        name = f"seconds: {stage}"
        self.seconds[stage] = round(self.facts().get(name, 0.0) + perf_counter() - start, 1)
        self.save_fact(name, self.seconds[stage])

    def facts(self, prefix: str = "") -> dict[str, Any]:
        """Return the stored facts whose names start with a prefix, by the rest of their names."""
        path = self.path / "facts.json"
        facts: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return {
            name.removeprefix(prefix): fact
            for name, fact in facts.items()
            if name.startswith(prefix)
        }

    def save_fact(self, name: str, value: Any) -> None:
        """Store a fact."""
        self._write("facts.json", json.dumps({**self.facts(), name: value}, indent=1))

    def _path(self, kind: str, settings: Mapping[str, Any]) -> Path:
        text = json.dumps(settings, sort_keys=True)
        return self.path / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.npz"

    def _check_plan(self, plan: dict[str, Any]) -> None:
        path = self.path / "plan.json"
        stored = json.loads(path.read_text()) if path.exists() else {}
        differ = [
            name for name in {**plan, **stored} if name in stored and stored[name] != plan.get(name)
        ]
        if differ:
            raise InputError(
                f"{self.path} holds results of other settings ({', '.join(differ)} differ): choose "
                "another folder, or delete it"
            )
        # A setting that the stored plan lacks was not measured yet.
        if stored.keys() != plan.keys():
            self._write("plan.json", json.dumps(plan, sort_keys=True, indent=1))

    def _write(self, name: str, text: str) -> None:
        with atomic_write(self.path / name) as file:
            file.write(text.encode())
