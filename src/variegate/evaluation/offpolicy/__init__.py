"""What a policy would earn, from a log of what another one showed.

For logs of uniformly random choices `unbiased_replay` lets even a policy that learns play;
for logs with propensities the estimators value a fixed policy. Interaction replay, which the
paper uses, is neither: it takes every item that a user did not rate for a rejection.
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
    Question,
    evaluate_log,
)
from variegate.evaluation.offpolicy.log_file import line_of, log_line, read_log, write_log
from variegate.evaluation.offpolicy.logs import (
    Lesson,
    LoggedSlate,
    SlateLog,
    SlateTerms,
    UserLog,
    slate_log,
    user_logs,
)
from variegate.evaluation.offpolicy.pseudo_inverse import (
    SlatePairs,
    mixed_pairs,
    pi,
    pi_weights_independent,
    pi_weights_uniform,
)
from variegate.evaluation.offpolicy.replay import Event, Replayed, events_of, unbiased_replay

__all__ = [
    "Estimate",
    "Event",
    "Lesson",
    "LogEvaluation",
    "LogSource",
    "LoggedSlate",
    "PolicyValue",
    "Question",
    "Replayed",
    "RewardModel",
    "SlateLog",
    "SlatePairs",
    "SlateTerms",
    "UserLog",
    "cascade_dr",
    "evaluate_log",
    "events_of",
    "gain_features",
    "iips",
    "line_of",
    "log_line",
    "mixed_pairs",
    "pi",
    "pi_weights_independent",
    "pi_weights_uniform",
    "prefix_weights",
    "read_log",
    "ridge_model",
    "rips",
    "sips",
    "slate_log",
    "target_of_distributions",
    "target_of_lists",
    "unbiased_replay",
    "user_logs",
    "write_log",
]
