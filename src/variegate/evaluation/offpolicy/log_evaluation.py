"""Estimates of the value of policies from the log of a service, with warnings on their limits."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, get_args

import numpy as np

from variegate.arrays import FloatArray, check_choice, check_fraction
from variegate.errors import DataError, InputError
from variegate.evaluation.offpolicy.estimators import (
    Estimate,
    cascade_dr,
    ridge_model,
    rips,
    sips,
    weighted_estimate,
)
from variegate.evaluation.offpolicy.log_replay import (
    Estimator,
    ReplayedLog,
    ReplayOptions,
    Trial,
    replay_log,
)
from variegate.evaluation.offpolicy.logs import LoggedSlate, SkipReason, SlateTerms, UserLog
from variegate.evaluation.offpolicy.pseudo_inverse import MAX_PAIRS, MAX_PREFIXES, pi
from variegate.model.catalogue import Catalogue
from variegate.policies import PolicySpec, choices_below, parse_policy, slate_propensities

#: The minimum effective sample size.
MIN_LISTS: Final = 50
#: Intervals from fewer users than this are too narrow.
MIN_USERS: Final = 20
#: A mean weight is near 1 if it differs by less than this, or by fewer standard errors than that.
MAX_DIFFERENCE: Final = 0.05
MAX_STANDARD_ERRORS: Final = 4.0

_REASONS: Final[Mapping[SkipReason, str]] = {
    "no terms": "they do not record what they were chosen from, as older versions of the service "
    "did not",
    "no items": "the items of their time are not known",
    "contradiction": "their propensities contradict the candidates that the log gives them",
    "no policy": "their propensities are not those of a policy in the service's settings, which "
    "`pi` needs (--config)",
    "too many": f"`pi` enumerates at most {MAX_PREFIXES} prefixes of a list and {MAX_PAIRS} "
    "pairs of position and candidate (use rips or dr)",
}


@dataclass(frozen=True, eq=False)
class LogSource:
    """A log that can be read more than once.

    Parameters
    ----------
    name
        The name in messages.
    logs
        Returns the log, user by user.
    logging
        The policies that chose the lists, by the names in their terms; only `pi` needs them.
    """

    name: str
    logs: Callable[[], Iterator[UserLog]]
    logging: Mapping[str, PolicySpec] = field(default_factory=dict)


@dataclass(frozen=True)
class PolicyValue:
    """The mean reward of a list of a policy, with warnings on its limits."""

    policy: str
    #: None where the log has no list that the policy shows
    estimate: Estimate | None
    #: The mean importance weight of whole lists
    mean_weight: float
    #: Whether it is near 1, as it must be if the log covers the lists of the policy
    is_covered: bool
    warnings: tuple[str, ...] = ()

    @property
    def effective_sample_size(self) -> float | None:
        """That of the estimate; None where lists, and so weights, are missing from the log."""
        if self.estimate is None or not self.is_covered:
            return None
        return self.estimate.effective_sample_size


@dataclass(frozen=True)
class LogEvaluation:
    """The result of `evaluate_log`."""

    lists: int
    k: int
    users: int
    #: The shares of random items in the evaluated lists
    mixes: tuple[float, ...]
    #: The reward of the logged lists
    logged: Estimate
    values: tuple[PolicyValue, ...]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON types."""
        return {
            "lists": self.lists,
            "k": self.k,
            "users": self.users,
            "mixes": list(self.mixes),
            "logged": _estimate_json(self.logged),
            "policies": {value.policy: _value_json(value) for value in self.values},
            "notes": list(self.notes),
        }


@dataclass(eq=False)
class LogSummary:
    """Counts of the lists of a log."""

    users: int = 0
    lists: int = 0
    with_propensities: int = 0
    #: Lists under constraints or of a request's own candidates, which have no propensities
    constrained: int = 0
    #: How many lists of each length have propensities and feedback
    lengths: Counter[int] = field(default_factory=Counter)
    #: By length: the shares of random items, and how many lists do not record their candidates
    mixes: dict[int, set[float]] = field(default_factory=dict)
    assumed: Counter[int] = field(default_factory=Counter)
    #: The first list of each length that can be evaluated
    first: dict[int, LoggedSlate] = field(default_factory=dict)

    def length(self, name: str, k: int | None) -> int:
        """Return the length of the lists to evaluate, or raise if there are none."""
        if not self.lists:
            raise DataError(f"{name}: there are no lists yet")
        if not self.with_propensities:
            raise DataError(
                f"{name}: no propensities on {_lists(self.lists)}: serve with --mix 0.05 first"
                + (f" ({_constrained(self.constrained)})" if self.constrained else "")
            )
        if not self.lengths:
            count = self.with_propensities
            raise DataError(f"{name}: no feedback on {_lists(count)} with propensities yet")
        if k is not None and k not in self.lengths:
            there = ", ".join(map(str, sorted(self.lengths)))
            raise InputError(f"`k` must be a length of lists with feedback ({there}), got {k}")
        return self.lengths.most_common(1)[0][0] if k is None else k


def evaluate_log(
    source: LogSource,
    policies: Sequence[str],
    *,
    estimator: Estimator = "rips",
    mix: float | None = None,
    k: int | None = None,
    self_normalised: bool = False,
    on_slate: Callable[[UserLog, LoggedSlate], object] = lambda _log, _logged: None,
    progress: Callable[[int, int], None] = lambda _done, _users: None,
) -> LogEvaluation:
    """Estimate what lists of the policies would have earned in place of the logged ones.

    The log is read twice: for its summary, and with the policies.

    Parameters
    ----------
    policies
        As text; see `parse_policy`.
    estimator
        ``rips``, ``sips``, ``dr`` or ``pi``.
    mix
        The share of random items in their lists; None: as in each logged list.
    k
        The length of the lists to evaluate; None: the most frequent.
    self_normalised
        Divide by the sum of the weights.
    on_slate
        Called for each list with propensities and feedback, for example to write it to a file.
    progress
        Called with the number of users done and the number of all users.
    """
    check_choice("estimator", estimator, get_args(Estimator))
    if mix is not None:
        check_fraction(mix=mix)
    summary = summarise_log(source.logs(), on_slate)
    k = summary.length(source.name, k)
    specs = [parse_policy(text) for text in dict.fromkeys(policies)]
    if k in summary.first:
        _check_policies(specs, summary.first[k].catalogue, estimator)
    options = ReplayOptions(k, mix, estimator, source.logging)
    found = replay_log(source.logs(), specs, options, lambda done: progress(done, summary.users))
    if not isinstance(found, ReplayedLog):
        raise DataError(f"{source.name}: no list can be evaluated: {'; '.join(_reasons(found))}")
    totals = found.log.totals[:, None]
    return LogEvaluation(
        len(found.log),
        k,
        len(set(found.groups)),
        tuple(sorted(summary.mixes.get(k, ()))),
        weighted_estimate(np.ones_like(totals), totals, groups=_groups(found)),
        tuple(_policy_value(found, trial, estimator, self_normalised) for trial in found.trials),
        tuple(_notes(summary, k, found)),
    )


def summarise_log(
    logs: Iterator[UserLog],
    on_slate: Callable[[UserLog, LoggedSlate], object] = lambda _log, _logged: None,
) -> LogSummary:
    """Return the counts of a log's lists."""
    found = LogSummary()
    for log in logs:
        found.users += 1
        for logged in log.slates():
            found.lists += 1
            found.with_propensities += logged.propensities is not None
            found.constrained += logged.is_constrained
            if logged.propensities is not None and logged.has_feedback:
                on_slate(log, logged)
                k = len(logged.slate)
                found.lengths[k] += 1
                if isinstance(logged.terms, SlateTerms):
                    found.first.setdefault(k, logged)
                    found.assumed[k] += logged.terms.is_assumed
                    if logged.terms.mix is not None:
                        found.mixes.setdefault(k, set()).add(logged.terms.mix)
    return found


def _check_policies(
    specs: Sequence[PolicySpec], catalogue: Catalogue, estimator: Estimator
) -> None:
    """Raise InputError for a policy whose lists have no known probabilities."""
    for spec in specs:
        policy = spec(catalogue)
        if estimator == "pi":
            choices_below(policy, 1, np.empty((1, 0), dtype=np.intp))
        else:
            slate_propensities(policy, [0], 0.0)


def _policy_value(
    found: ReplayedLog, trial: Trial, estimator: Estimator, self_normalised: bool
) -> PolicyValue:
    weights, name = _weights(found, trial), str(trial.spec)
    if not (weights != 0).any(axis=0).all():
        warning = "the log has no list that it would show: no estimate"
        return PolicyValue(name, None, 0.0, False, (warning,))
    estimate = _estimate(found, trial, estimator, self_normalised)
    whole = weighted_estimate(weights[:, -1:], np.ones((len(weights), 1)), groups=_groups(found))
    is_covered = is_near_one(whole)
    warnings = tuple(_warnings(trial, estimate, whole, is_covered))
    return PolicyValue(name, estimate, whole.value, is_covered, warnings)


def is_near_one(mean_weight: Estimate) -> bool:
    """Return whether a mean importance weight is 1 up to its standard error."""
    difference = abs(mean_weight.value - 1.0)
    return difference <= max(MAX_DIFFERENCE, MAX_STANDARD_ERRORS * mean_weight.standard_error)


def _warnings(
    trial: Trial, estimate: Estimate, mean_weight: Estimate, is_covered: bool
) -> Iterator[str]:
    size = estimate.effective_sample_size
    if not is_covered:
        yield (
            f"mean importance weight {mean_weight.value:.2f} (should be near 1): the log has too "
            "few of the lists that it shows"
        )
    elif size < MIN_LISTS:
        yield f"effective sample size: {_lists(round(size))}, too few (at least {MIN_LISTS})"
    if trial.n_not_learnt:
        yield f"cannot learn from {_lists(trial.n_not_learnt)} of other policies"
    if trial.n_without_dial:
        yield f"{_lists(trial.n_without_dial)} with a dial, which it ignores"


def _weights(found: ReplayedLog, trial: Trial) -> FloatArray:
    """Return the weights of each list, position by position (n, K), or for `pi` (n, 1)."""
    if trial.weights:
        return np.array(trial.weights)[:, None]
    ratios = np.array(trial.probabilities) / found.log.propensities
    weights: FloatArray = np.cumprod(ratios, axis=1, dtype=np.float64)
    return weights


def _estimate(
    found: ReplayedLog, trial: Trial, estimator: Estimator, self_normalised: bool
) -> Estimate:
    log, groups = found.log, _groups(found)
    if estimator == "pi":
        return pi(log, trial.weights, self_normalised=self_normalised, groups=groups)
    target = np.array(trial.probabilities)
    if estimator == "dr":
        model = ridge_model(log, np.array(trial.taken), np.array(trial.means), groups=groups)
        return cascade_dr(log, target, model, self_normalised=self_normalised, groups=groups)
    ips = sips if estimator == "sips" else rips
    return ips(log, target, self_normalised=self_normalised, groups=groups)


def _groups(found: ReplayedLog) -> Sequence[str] | None:
    """Return the user of each list, or None if there is only one user."""
    return found.groups if len(set(found.groups)) > 1 else None


def _notes(summary: LogSummary, k: int, found: ReplayedLog) -> Iterator[str]:
    others = summary.lengths.total() - summary.lengths[k]
    if others:
        yield f"{_lists(others)} of other lengths: only learnt from (--k evaluates them)"
    if summary.constrained:
        yield f"{_constrained(summary.constrained)}: only learnt from"
    if summary.assumed[k]:
        yield (
            f"{_lists(summary.assumed[k])} without candidates in the log: assumed to be chosen "
            f"from all {len(summary.first[k].catalogue)} items of the catalogue"
        )
    yield from (f"{words}: only learnt from" for words in _reasons(found.skipped))
    users = len(set(found.groups))
    if users == 1:
        yield "all lists are one user's: the intervals are about that user only"
    elif users < MIN_USERS:
        yield f"intervals from {users} users are too narrow: at least {MIN_USERS} are needed"


def _reasons(reasons: Counter[SkipReason]) -> Iterator[str]:
    return (f"{_lists(count)}: {_REASONS[name]}" for name, count in reasons.items())


def _lists(count: int) -> str:
    return f"{count} list" if count == 1 else f"{count} lists"


def _constrained(count: int) -> str:
    return f"{_lists(count)} under constraints or with scores, which have no propensities"


def _value_json(value: PolicyValue) -> dict[str, Any]:
    found = {} if value.estimate is None else _estimate_json(value.estimate)
    return {
        **found,
        "effective_sample_size": value.effective_sample_size,
        "mean_weight": value.mean_weight,
        "warnings": list(value.warnings),
    }


def _estimate_json(one: Estimate) -> dict[str, Any]:
    return {
        "value": one.value,
        "standard_error": one.standard_error,
        "low": one.interval[0],
        "high": one.interval[1],
        "effective_sample_size": one.effective_sample_size,
    }
