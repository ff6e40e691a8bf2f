"""Recommendations that learn, from clicks alone, what a user likes and how varied a list."""

from variegate.catalogue import Catalogue
from variegate.errors import VariegateError
from variegate.policies import LMDH, POLICIES, Explanation, Policy, State, make_policy
from variegate.reranking import diversify
from variegate.search import SEARCHES
from variegate.slate import Slate
from variegate.theory import Confidence, confidence_width, regret_bound
from variegate.utility import Preferences, Utility

__version__ = "0.1.0"

__all__ = [
    "LMDH",
    "POLICIES",
    "SEARCHES",
    "Catalogue",
    "Confidence",
    "Explanation",
    "Policy",
    "Preferences",
    "Slate",
    "State",
    "Utility",
    "VariegateError",
    "__version__",
    "confidence_width",
    "diversify",
    "make_policy",
    "regret_bound",
]
