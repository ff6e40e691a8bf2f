"""Recommendations that learn, from clicks alone, what a user likes and how varied a list."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from variegate.errors import VariegateError
    from variegate.model.catalogue import Catalogue
    from variegate.model.reranking import diversify
    from variegate.model.search import SEARCHES
    from variegate.model.slate import Slate
    from variegate.model.theory import Confidence, confidence_width, regret_bound
    from variegate.model.utility import Preferences, Utility
    from variegate.policies import (
        LMDH,
        LMDP,
        LMDT,
        POLICIES,
        Dial,
        Explanation,
        Floor,
        Policy,
        State,
        make_policy,
    )
    from variegate.prior import (
        Prior,
        add_collaborative_features,
        add_popularity_feature,
        add_svd_features,
        default_prior,
        fit_prior,
    )

__version__ = "0.1.0"

__all__ = [
    "LMDH",
    "LMDP",
    "LMDT",
    "POLICIES",
    "SEARCHES",
    "Catalogue",
    "Confidence",
    "Dial",
    "Explanation",
    "Floor",
    "Policy",
    "Preferences",
    "Prior",
    "Slate",
    "State",
    "Utility",
    "VariegateError",
    "__version__",
    "add_collaborative_features",
    "add_popularity_feature",
    "add_svd_features",
    "confidence_width",
    "default_prior",
    "diversify",
    "fit_prior",
    "make_policy",
    "regret_bound",
]

#: Where each public name lives. It is imported when it is asked for, so that `variegate --help`
#: does not wait for NumPy and SciPy.
_PLACES = {
    "Catalogue": "model.catalogue",
    "VariegateError": "errors",
    **dict.fromkeys(
        (
            "LMDH",
            "LMDP",
            "LMDT",
            "POLICIES",
            "Dial",
            "Explanation",
            "Floor",
            "Policy",
            "State",
            "make_policy",
        ),
        "policies",
    ),
    **dict.fromkeys(
        (
            "Prior",
            "add_collaborative_features",
            "add_popularity_feature",
            "add_svd_features",
            "default_prior",
            "fit_prior",
        ),
        "prior",
    ),
    "diversify": "model.reranking",
    "SEARCHES": "model.search",
    "Slate": "model.slate",
    **dict.fromkeys(("Confidence", "confidence_width", "regret_bound"), "model.theory"),
    **dict.fromkeys(("Preferences", "Utility"), "model.utility"),
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"variegate.{_PLACES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
