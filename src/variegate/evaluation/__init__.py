"""Evaluation: replay, metrics, intervals, simulated users, tuning; `offpolicy` for logs.

Names are imported on first use: the service needs one of them, and `variegate --help` none.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from variegate.evaluation.bootstrap import (
        MEASURES,
        Interval,
        difference,
        interval,
        mean_measure,
        standard_error,
    )
    from variegate.evaluation.metrics import (
        Scores,
        coverage,
        diversity,
        f_score,
        gini,
        hit_rate,
        list_diversity,
        novelty,
        recall,
        scores_of,
    )
    from variegate.evaluation.replay import (
        PROTOCOLS,
        Protocol,
        ReplayTask,
        Trace,
        likes_as_rows,
        replay_task,
        replay_user,
    )
    from variegate.evaluation.runner import Evaluation, evaluate
    from variegate.evaluation.simulation import (
        PAPER_RATIOS,
        SimulatedUser,
        Simulation,
        World,
        approximation_ratios,
        draw_taste,
        draw_world,
        simulate_all,
        simulated_policies,
    )
    from variegate.evaluation.tuning import (
        SPACE,
        Candidate,
        Constraints,
        LearnerSettings,
        TuningResult,
        tune,
    )

__all__ = [
    "MEASURES",
    "PAPER_RATIOS",
    "PROTOCOLS",
    "SPACE",
    "Candidate",
    "Constraints",
    "Evaluation",
    "Interval",
    "LearnerSettings",
    "Protocol",
    "ReplayTask",
    "Scores",
    "SimulatedUser",
    "Simulation",
    "Trace",
    "TuningResult",
    "World",
    "approximation_ratios",
    "coverage",
    "difference",
    "diversity",
    "draw_taste",
    "draw_world",
    "evaluate",
    "f_score",
    "gini",
    "hit_rate",
    "interval",
    "likes_as_rows",
    "list_diversity",
    "mean_measure",
    "novelty",
    "recall",
    "replay_task",
    "replay_user",
    "scores_of",
    "simulate_all",
    "simulated_policies",
    "standard_error",
    "tune",
]

_MODULES = ("bootstrap", "metrics", "replay", "runner", "simulation", "tuning")


def __getattr__(name: str) -> object:
    if name in __all__:
        for module in _MODULES:
            found = import_module(f"{__name__}.{module}")
            if hasattr(found, name):
                value = globals()[name] = getattr(found, name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
