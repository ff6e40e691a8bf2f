"""Off-policy evaluation: the value of a policy, from a log of the lists of another one.

For logs of uniformly random lists `unbiased_replay` evaluates policies that learn; for logs with
propensities the estimators evaluate a fixed policy. Interaction replay, which the paper uses, is
neither: it counts every item that a user did not rate as rejected.
"""

from typing import TYPE_CHECKING

from variegate.lazy import lazy_names

if TYPE_CHECKING:
    from variegate.evaluation.offpolicy.estimators import Estimate as Estimate
    from variegate.evaluation.offpolicy.estimators import RewardModel as RewardModel
    from variegate.evaluation.offpolicy.estimators import cascade_dr as cascade_dr
    from variegate.evaluation.offpolicy.estimators import gain_features as gain_features
    from variegate.evaluation.offpolicy.estimators import iips as iips
    from variegate.evaluation.offpolicy.estimators import prefix_weights as prefix_weights
    from variegate.evaluation.offpolicy.estimators import ridge_model as ridge_model
    from variegate.evaluation.offpolicy.estimators import rips as rips
    from variegate.evaluation.offpolicy.estimators import sips as sips
    from variegate.evaluation.offpolicy.estimators import (
        target_of_distributions as target_of_distributions,
    )
    from variegate.evaluation.offpolicy.estimators import target_of_lists as target_of_lists
    from variegate.evaluation.offpolicy.log_evaluation import LogEvaluation as LogEvaluation
    from variegate.evaluation.offpolicy.log_evaluation import LogSource as LogSource
    from variegate.evaluation.offpolicy.log_evaluation import PolicyValue as PolicyValue
    from variegate.evaluation.offpolicy.log_evaluation import evaluate_log as evaluate_log
    from variegate.evaluation.offpolicy.log_file import log_line as log_line
    from variegate.evaluation.offpolicy.log_file import read_log as read_log
    from variegate.evaluation.offpolicy.log_file import slate_line as slate_line
    from variegate.evaluation.offpolicy.log_file import write_log as write_log
    from variegate.evaluation.offpolicy.logs import LoggedSlate as LoggedSlate
    from variegate.evaluation.offpolicy.logs import PolicyUpdate as PolicyUpdate
    from variegate.evaluation.offpolicy.logs import RelevanceUpdate as RelevanceUpdate
    from variegate.evaluation.offpolicy.logs import SlateLog as SlateLog
    from variegate.evaluation.offpolicy.logs import SlateTerms as SlateTerms
    from variegate.evaluation.offpolicy.logs import UserLog as UserLog
    from variegate.evaluation.offpolicy.logs import slate_log as slate_log
    from variegate.evaluation.offpolicy.logs import user_logs as user_logs
    from variegate.evaluation.offpolicy.open_bandit import read_open_bandit as read_open_bandit
    from variegate.evaluation.offpolicy.pseudo_inverse import SlatePairs as SlatePairs
    from variegate.evaluation.offpolicy.pseudo_inverse import pi as pi
    from variegate.evaluation.offpolicy.pseudo_inverse import (
        pi_weights_independent as pi_weights_independent,
    )
    from variegate.evaluation.offpolicy.pseudo_inverse import (
        pi_weights_uniform as pi_weights_uniform,
    )
    from variegate.evaluation.offpolicy.pseudo_inverse import slate_pairs as slate_pairs
    from variegate.evaluation.offpolicy.replay import Event as Event
    from variegate.evaluation.offpolicy.replay import ReplayResult as ReplayResult
    from variegate.evaluation.offpolicy.replay import unbiased_replay as unbiased_replay
    from variegate.evaluation.offpolicy.replay import uniform_events as uniform_events

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
