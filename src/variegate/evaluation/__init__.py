"""What is measured: policies against users, and pictures of it."""

from variegate.evaluation.ratios import PAPER_RATIOS, approximation_ratios
from variegate.evaluation.simulation import (
    SIMULATED_POLICIES,
    Simulation,
    World,
    draw_taste,
    draw_world,
)

__all__ = [
    "PAPER_RATIOS",
    "SIMULATED_POLICIES",
    "Simulation",
    "World",
    "approximation_ratios",
    "draw_taste",
    "draw_world",
]
