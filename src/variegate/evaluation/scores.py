"""What a replay was worth, user by user and round by round, and as a file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from variegate.arrays import FloatArray
from variegate.evaluation import metrics
from variegate.evaluation.replay import ReplayTask, Trace
from variegate.files import atomic_write, open_npz


@dataclass(frozen=True, eq=False)
class Scores:
    """The measures of one policy on one task."""

    label: str
    #: Recall(t) of each user, (users, rounds)
    recall: FloatArray
    #: Div(t) of each user, for each distance of the catalogue, (m, users, rounds)
    diversity: FloatArray
    #: Share of the catalogue that was shown to anyone by round t, (rounds,)
    coverage: FloatArray
    #: Mean surprise of the items shown, (users, rounds); nan where popularity is not known
    novelty: FloatArray
    #: Share of clicks at each position, (K,)
    hits: FloatArray
    #: How unevenly showings fall on the items
    gini: float
    #: What the diversities are measured by
    distances: tuple[str, ...]
    #: The settings that these scores are of
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def mean_recall(self) -> FloatArray:
        """Recall(t), mean over users, (rounds,)."""
        return np.asarray(self.recall.mean(axis=0))

    @property
    def mean_diversity(self) -> FloatArray:
        """Div(t) by the first distance, mean over users, (rounds,)."""
        return np.asarray(self.diversity[0].mean(axis=0))

    def f_score(self, beta: float = 1.0) -> FloatArray:
        """F_beta(t) of the mean recall and diversity, (rounds,)."""
        return metrics.f_score(self.mean_recall, self.mean_diversity, beta)

    def save(self, path: str | Path) -> None:
        """Write the scores to a file, whole or not at all."""
        header = {
            "label": self.label,
            "gini": self.gini,
            "distances": self.distances,
            "settings": dict(self.settings),
        }
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        with atomic_write(path) as file:
            np.savez_compressed(file, allow_pickle=False, header=text, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Scores":
        """Read what `save` wrote, or raise DataError."""
        with open_npz(path, "scores") as arrays:
            header = json.loads(arrays["header"].tobytes())
            return cls(
                label=header["label"],
                gini=header["gini"],
                distances=tuple(header["distances"]),
                settings=header["settings"],
                **{name: arrays[name] for name in _ARRAYS},
            )


_ARRAYS = tuple(f.name for f in fields(Scores) if f.type is FloatArray)


def scores_of(
    trace: Trace,
    task: ReplayTask,
    settings: Mapping[str, Any] | None = None,
    *,
    pairs: Sequence[FloatArray | None] | None = None,
) -> Scores:
    """Return the measures of what a policy showed.

    `pairs` are the `pair_distances` of the catalogue's distances, if they are known already.
    """
    catalogue = task.catalogue
    known = [None] * catalogue.m if pairs is None else pairs
    diversity = [
        metrics.diversity(trace.lists, h, each)
        for h, each in zip(catalogue.distances, known, strict=True)
    ]
    novelty = np.full(trace.lists.shape[:2], np.nan)
    if task.popularity is not None:
        novelty = metrics.novelty(trace.lists, task.popularity, task.training_users)
    return Scores(
        trace.label,
        metrics.recall(trace.clicks, task.liked),
        np.array(diversity).reshape(len(diversity), *trace.lists.shape[:2]),
        metrics.coverage(trace.lists, len(catalogue)),
        novelty,
        metrics.hit_rate(trace.lists, trace.clicks),
        metrics.gini(trace.lists, len(catalogue)),
        tuple(h.name for h in catalogue.distances),
        settings or {},
    )
