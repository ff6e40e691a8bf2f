"""Off-policy evaluation: the value of a policy, from a log of the lists of another one.

For logs of uniformly random lists `unbiased_replay` evaluates policies that learn; for logs with
propensities the estimators evaluate a fixed policy. Interaction replay, which the paper uses, is
neither: it counts every item that a user did not rate as rejected.
"""

from variegate.evaluation.offpolicy.estimators import (
    Estimate,
    RewardModel,
    cascade_dr,
    gain_features,
    iips,
    prefix_weights,
    ridge_model,
    rips,
    sips,
    target_of_distributions,
    target_of_lists,
)
from variegate.evaluation.offpolicy.log_evaluation import (
    LogEvaluation,
    LogSource,
    PolicyValue,
    evaluate_log,
)
from variegate.evaluation.offpolicy.log_file import log_line, read_log, slate_line, write_log
from variegate.evaluation.offpolicy.logs import (
    LoggedSlate,
    PolicyUpdate,
    RelevanceUpdate,
    SlateLog,
    SlateTerms,
    UserLog,
    slate_log,
    user_logs,
)
from variegate.evaluation.offpolicy.pseudo_inverse import (
    SlatePairs,
    pi,
    pi_weights_independent,
    pi_weights_uniform,
    slate_pairs,
)
from variegate.evaluation.offpolicy.replay import (
    Event,
    ReplayResult,
    unbiased_replay,
    uniform_events,
)

__all__ = [
    "Estimate",
    "Event",
    "LogEvaluation",
    "LogSource",
    "LoggedSlate",
    "PolicyUpdate",
    "PolicyValue",
    "RelevanceUpdate",
    "ReplayResult",
    "RewardModel",
    "SlateLog",
    "SlatePairs",
    "SlateTerms",
    "UserLog",
    "cascade_dr",
    "evaluate_log",
    "gain_features",
    "iips",
    "log_line",
    "pi",
    "pi_weights_independent",
    "pi_weights_uniform",
    "prefix_weights",
    "read_log",
    "ridge_model",
    "rips",
    "sips",
    "slate_line",
    "slate_log",
    "slate_pairs",
    "target_of_distributions",
    "target_of_lists",
    "unbiased_replay",
    "uniform_events",
    "user_logs",
    "write_log",
]
