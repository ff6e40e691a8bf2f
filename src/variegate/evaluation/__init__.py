"""What is measured: policies against users, and pictures of it."""

from variegate.evaluation.runner import Evaluation, evaluate
from variegate.evaluation.simulation import (
    PAPER_RATIOS,
    Simulation,
    World,
    approximation_ratios,
    draw_taste,
    draw_world,
    simulated_policies,
)

__all__ = [
    "PAPER_RATIOS",
    "Evaluation",
    "Simulation",
    "World",
    "approximation_ratios",
    "draw_taste",
    "draw_world",
    "evaluate",
    "simulated_policies",
]
