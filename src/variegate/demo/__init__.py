"""Try a policy: a session without a terminal, and the views and routes of the page."""

from variegate.demo.session import (
    Answer,
    Command,
    Contrast,
    DiversityEvidence,
    Session,
    Turn,
    distinguishing_distances,
    diversity_evidence,
    mean_distances_above,
    parse_answer,
    short_values,
    shown_attributes,
    typical_distances,
)
from variegate.policies.beliefs import (
    Taste,
    WeightEstimate,
    describe_diversity,
    describe_diversity_weight,
    describe_taste,
    learnt_diversity,
    learnt_taste,
)

__all__ = [
    "Answer",
    "Command",
    "Contrast",
    "DiversityEvidence",
    "Session",
    "Taste",
    "Turn",
    "WeightEstimate",
    "describe_diversity",
    "describe_diversity_weight",
    "describe_taste",
    "distinguishing_distances",
    "diversity_evidence",
    "learnt_diversity",
    "learnt_taste",
    "mean_distances_above",
    "parse_answer",
    "short_values",
    "shown_attributes",
    "typical_distances",
]
