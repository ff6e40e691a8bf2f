"""A made chapter beyond the paper, whose right verdicts are known."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.beyond.methods import METHODS
from experiments.beyond.results import Chapter, SeveralDistances
from experiments.results import Results
from tests.evaluation.making import ROUNDS
from tests.experiments.making import made_replays, made_results
from variegate.evaluation.metrics import Scores

_T = np.arange(1, ROUNDS + 1) / ROUNDS

#: LMDP ahead of everything from the first list on; every other method the same.
RECALLS: Mapping[str, Any] = {
    method.key: 0.2 + 0.7 * _T if method.key == "lmdp" else 0.1 + 0.5 * _T for method in METHODS
}
#: Recall and diversity of each setting of each method.
POINTS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "lmdp": {"floor 0": (0.8, 0.4), "its own floor, rising": (0.7, 0.7), "floor 2": (0.5, 0.9)},
    "lmdh": {"no floor": (0.6, 0.6), "floor 2": (0.3, 0.85)},
    "c2ucb-prior": {"entropy weight 0": (0.7, 0.3)},
    "mmr": {"trade off 1": (0.4, 0.3)},
}


def made_frontier(**changes: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Return two splits of scores for each setting."""
    return {
        family: {name: _scores(*point) for name, point in settings.items()}
        for family, settings in {**POINTS, **changes}.items()
    }


def made_chapter(recalls: Mapping[str, Any] | None = None, **changes: Any) -> Chapter:
    """Return a chapter on all data sets in which everything that is asked holds."""
    replays = made_replays({**RECALLS, **(recalls or {})})
    parts: dict[str, Any] = {
        "replays": dict.fromkeys(("ml-100k", "ml-1m", "anime"), replays),
        "frontier": dict.fromkeys(("ml-100k", "ml-1m", "anime"), made_frontier()),
        "distances": _distances(),
    }
    return Chapter(**{**parts, **changes})


def beyond_results(
    chapter: Chapter | None = None, *, paper: bool = False, **changes: Any
) -> Results:
    """Return results of the chapter, alone or beside the paper's."""
    nothing: dict[str, Any] = {
        "replays": {},
        "sensitivity": {},
        "lengths": {},
        "regrets": {},
        "ratios": {},
    }
    found = made_chapter() if chapter is None else chapter
    return made_results(**({} if paper else nothing), beyond=found, **changes)


def _scores(recall: float, diversity: float) -> list[Scores]:
    return made_replays({"one": recall}, {"one": diversity})["one"]


def _distances() -> SeveralDistances:
    found = {}
    for known in ("cosine", "genres", "cosine and genres"):
        found[known] = [
            replace(
                one, diversity=np.concatenate([one.diversity] * 2), distances=("cosine", "genres")
            )
            for one in _scores(0.5, 0.6)
        ]
    betas = {
        "cosine": np.full((4, 1), 0.1),
        "genres": np.full((4, 1), 0.2),
        "cosine and genres": np.tile([0.3, -0.4], (4, 1)),
    }
    return SeveralDistances(("cosine", "genres"), found, betas, (0.35, 0.2))
