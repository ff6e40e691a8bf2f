"""Estimates of what policies earn, with what makes them hard to trust."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from variegate.arrays import FloatArray
from variegate.cli.logs.replaying import Trial, Tried
from variegate.evaluation.offpolicy import Estimate, cascade_dr, ridge_model, rips, sips
from variegate.evaluation.offpolicy.estimate import estimated

Estimator = Literal["rips", "sips", "dr"]
#: Fewer lists than this say little, however large the log.
FEW_LISTS: Final = 50
#: Intervals from fewer users than this are too narrow.
FEW_USERS: Final = 20
#: Weights whose mean is so many standard errors away from 1 do not cover the policy.
FAR: Final = 4.0


@dataclass(frozen=True)
class Value:
    """What a policy earns with a list, and why not to believe it."""

    policy: str
    #: None where nothing of what it would show was logged
    estimate: Estimate | None
    warnings: tuple[str, ...] = ()


def logged_value(tried: Tried) -> Estimate:
    """Return what the lists earned that were shown."""
    totals = tried.log.totals[:, None]
    return estimated(np.ones_like(totals), totals, groups=_groups(tried))


def value_of(tried: Tried, trial: Trial, estimator: Estimator, *, self_normalised: bool) -> Value:
    """Return what a policy would have earned."""
    target = np.array(trial.chances)
    weights = np.cumprod(target / tried.log.propensities, axis=1, dtype=np.float64)
    if not (weights > 0).any(axis=0).all():
        words = "what it would show is not in the log: nothing can be said of it"
        return Value(str(trial.spec), None, (words,))
    estimate = _estimate(tried, trial, target, estimator, self_normalised)
    return Value(str(trial.spec), estimate, tuple(_warnings(tried, trial, weights, estimate)))


def warnings_of_log(tried: Tried) -> list[str]:
    """Return what is wrong with all estimates from a log."""
    users = len(set(tried.groups))
    if users == 1:
        return ["all lists are one user's: the intervals speak of that user alone"]
    if users < FEW_USERS:
        return [f"intervals from {users} users are too narrow: gather {FEW_USERS} at least"]
    return []


def _estimate(
    tried: Tried, trial: Trial, target: FloatArray, estimator: Estimator, self_normalised: bool
) -> Estimate:
    log, groups = tried.log, _groups(tried)
    if estimator == "dr":
        model = ridge_model(log, np.array(trial.taken), np.array(trial.means), groups=groups)
        return cascade_dr(log, target, model, self_normalised=self_normalised, groups=groups)
    value = sips if estimator == "sips" else rips
    return value(log, target, self_normalised=self_normalised, groups=groups)


def _groups(tried: Tried) -> Sequence[str] | None:
    """Return whose each list is, unless there is one user alone."""
    return tried.groups if len(set(tried.groups)) > 1 else None


def _warnings(tried: Tried, trial: Trial, weights: FloatArray, estimate: Estimate) -> list[str]:
    found = []
    size = estimate.effective_sample_size
    if size < FEW_LISTS:
        found.append(
            f"the log says as much of it as {size:.0f} lists of its own would: too few to trust"
        )
    last = estimated(weights[:, -1:], np.ones((len(weights), 1)), groups=_groups(tried))
    if abs(last.value - 1.0) > FAR * last.standard_error + 1e-9:
        found.append(
            f"its weights come to {last.value:.2f} where 1 is right: it would show what the log "
            "could not, or hardly ever"
        )
    if trial.unlearnt:
        found.append(f"it could not learn from {trial.unlearnt} lists of other policies")
    return found
