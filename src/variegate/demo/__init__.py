"""Try a policy: a session without a terminal, and the views and routes of the page."""

from typing import TYPE_CHECKING

from variegate.lazy import lazy_names

if TYPE_CHECKING:
    from variegate.demo.session import Answer as Answer
    from variegate.demo.session import Command as Command
    from variegate.demo.session import Contrast as Contrast
    from variegate.demo.session import DiversityEvidence as DiversityEvidence
    from variegate.demo.session import Session as Session
    from variegate.demo.session import Turn as Turn
    from variegate.demo.session import distinguishing_distances as distinguishing_distances
    from variegate.demo.session import diversity_evidence as diversity_evidence
    from variegate.demo.session import mean_distances_above as mean_distances_above
    from variegate.demo.session import parse_answer as parse_answer
    from variegate.demo.session import short_values as short_values
    from variegate.demo.session import shown_attributes as shown_attributes
    from variegate.demo.session import typical_distances as typical_distances
    from variegate.policies.beliefs import Statement as Statement
    from variegate.policies.beliefs import Taste as Taste
    from variegate.policies.beliefs import TotalDiversity as TotalDiversity
    from variegate.policies.beliefs import WeightEstimate as WeightEstimate
    from variegate.policies.beliefs import describe_diversity as describe_diversity
    from variegate.policies.beliefs import describe_diversity_weight as describe_diversity_weight
    from variegate.policies.beliefs import describe_taste as describe_taste
    from variegate.policies.beliefs import describe_total_diversity as describe_total_diversity
    from variegate.policies.beliefs import learnt_diversity as learnt_diversity
    from variegate.policies.beliefs import learnt_taste as learnt_taste
    from variegate.policies.beliefs import learnt_total_diversity as learnt_total_diversity

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
