"""Policies: LMDH, its variants and the baselines, one lightweight object per user."""

from variegate.policies.base import Explanation, Policy
from variegate.policies.c2ucb import C2UCB
from variegate.policies.comblin import CombLinTS, CombLinUCB
from variegate.policies.dc2b import DC2B
from variegate.policies.dial import Dial
from variegate.policies.ease import EASE
from variegate.policies.epsilon_greedy import EpsilonGreedy
from variegate.policies.linucb import LinUCB
from variegate.policies.lmdh import LMDH
from variegate.policies.lmdp import LMDP
from variegate.policies.lmdt import LMDT
from variegate.policies.logrank import LogRank
from variegate.policies.lsb import LSB
from variegate.policies.mmr import MMR
from variegate.policies.popular import Popular
from variegate.policies.propensities import (
    choices_below,
    explore_slate,
    has_propensities,
    slate_propensities,
)
from variegate.policies.registry import (
    POLICIES,
    PolicySpec,
    make_policy,
    parse_policy,
    policy_options,
)
from variegate.policies.ridge_policy import RidgePolicy
from variegate.policies.state import STATE_VERSION, State
from variegate.policies.uniform import Uniform

__all__ = [
    "C2UCB",
    "DC2B",
    "EASE",
    "LMDH",
    "LMDP",
    "LMDT",
    "LSB",
    "MMR",
    "POLICIES",
    "STATE_VERSION",
    "CombLinTS",
    "CombLinUCB",
    "Dial",
    "EpsilonGreedy",
    "Explanation",
    "LinUCB",
    "LogRank",
    "Policy",
    "PolicySpec",
    "Popular",
    "RidgePolicy",
    "State",
    "Uniform",
    "choices_below",
    "explore_slate",
    "has_propensities",
    "make_policy",
    "parse_policy",
    "policy_options",
    "slate_propensities",
]
