"""What policies would have earned with the lists of a log, with what limits the estimates."""

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
    estimated,
    ridge_model,
    rips,
    sips,
)
from variegate.evaluation.offpolicy.log_replay import (
    Estimator,
    ReplayedLog,
    ReplayOptions,
    Trial,
    replay_log,
)
from variegate.evaluation.offpolicy.logs import LoggedSlate, Obstacle, SlateTerms, UserLog
from variegate.evaluation.offpolicy.pseudo_inverse import MAX_PAIRS, MAX_PREFIXES, pi
from variegate.policies import PolicySpec, choices_below, parse_policy, slate_propensities

#: Fewer lists than this are too few for an estimate, however large the log.
MIN_LISTS: Final = 50
#: Intervals from fewer users than this are too narrow.
MIN_USERS: Final = 20
#: A mean weight is near 1 if it is off by less than this, or by fewer standard errors than that.
NEAR: Final = 0.05
STANDARD_ERRORS: Final = 4.0

_OBSTACLES: Final[Mapping[Obstacle, str]] = {
    "no terms": "they do not record what they were chosen from, as older versions of the service "
    "did not",
    "no items": "the items of their time are not known",
    "contradiction": "their propensities contradict the candidates that the log gives them",
    "no policy": "their propensities are not those of a policy in the service's settings, which "
    "`pi` needs (--config)",
    "too many": f"`pi` enumerates at most {MAX_PREFIXES} beginnings of a list and {MAX_PAIRS} "
    "pairs of position and candidate (use rips or dr)",
}


@dataclass(frozen=True, eq=False)
class LogSource:
    """A log that can be read more than once.

    Parameters
    ----------
    name
        The name that messages use.
    logs
        Reads it.
    logging
        The policies that made the lists, by the names in their terms; only `pi` needs them.
    """

    name: str
    logs: Callable[[], Iterator[UserLog]]
    logging: Mapping[str, PolicySpec] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """Which policies to evaluate, and how.

    Parameters
    ----------
    policies
        As text; see `parse_policy`.
    mix
        The share of random items in their lists; None: as in each logged list.
    k
        The length of the lists to evaluate; None: the most frequent.
    """

    policies: Sequence[str]
    mix: float | None = None
    k: int | None = None
    estimator: Estimator = "rips"
    self_normalised: bool = False

    def __post_init__(self) -> None:
        check_choice("estimator", self.estimator, get_args(Estimator))
        if self.mix is not None:
            check_fraction(mix=self.mix)


@dataclass(frozen=True)
class PolicyValue:
    """What a list of a policy earns, and what limits the estimate."""

    policy: str
    #: None where the log has nothing that the policy shows
    estimate: Estimate | None
    #: The mean importance weight of whole lists
    mean_weight: float
    #: Whether it is near 1, as it must be if the log covers what the policy shows
    is_covered: bool
    warnings: tuple[str, ...] = ()

    @property
    def effective_sample_size(self) -> float | None:
        """The estimate's; None where lists are missing from the log, whose weights nobody knows."""
        if self.estimate is None or not self.is_covered:
            return None
        return self.estimate.effective_sample_size


@dataclass(frozen=True)
class LogEvaluation:
    """What was found."""

    lists: int
    k: int
    users: int
    #: The shares of random items in the evaluated lists
    mixes: tuple[float, ...]
    #: What the logged lists earned
    logged: Estimate
    values: tuple[PolicyValue, ...]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the same as JSON can hold it."""
        return {
            "lists": self.lists,
            "k": self.k,
            "users": self.users,
            "mixes": list(self.mixes),
            "logged": _plain(self.logged),
            "policies": {value.policy: _plain_value(value) for value in self.values},
            "notes": list(self.notes),
        }


@dataclass(eq=False)
class Survey:
    """What a log holds."""

    users: int = 0
    lists: int = 0
    with_propensities: int = 0
    #: How many lists of each length have propensities and feedback
    lengths: Counter[int] = field(default_factory=Counter)
    #: By length: the shares of random items, and how many lists do not record their candidates
    mixes: dict[int, set[float]] = field(default_factory=dict)
    assumed: Counter[int] = field(default_factory=Counter)
    #: The first list of each length that can be evaluated
    first: dict[int, LoggedSlate] = field(default_factory=dict)

    def length(self, name: str, k: int | None) -> int:
        """Return the length of the lists to evaluate, or raise what makes that impossible."""
        if not self.lists:
            raise DataError(f"{name}: there are no lists yet")
        if not self.with_propensities:
            raise DataError(
                f"{name}: no propensities on {_lists(self.lists)}: serve with --mix 0.05 first"
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
    question: Question,
    *,
    keep: Callable[[UserLog, LoggedSlate], object] = lambda _log, _given: None,
    progress: Callable[[int, int], None] = lambda _done, _users: None,
) -> LogEvaluation:
    """Estimate what lists of the policies would have earned in place of the logged ones.

    The log is read twice: for what it holds, and with the policies.

    Parameters
    ----------
    keep
        Called for each list with propensities and feedback, as to write it to a file.
    progress
        Called with the number of users done, and of all.
    """
    survey = survey_log(source.logs(), keep)
    k = survey.length(source.name, question.k)
    specs = [parse_policy(line) for line in dict.fromkeys(question.policies)]
    if k in survey.first:
        _check_policies(specs, survey.first[k], question.estimator)
    options = ReplayOptions(k, question.mix, question.estimator, source.logging)
    found = replay_log(source.logs(), specs, options, lambda done: progress(done, survey.users))
    if not isinstance(found, ReplayedLog):
        raise DataError(f"{source.name}: no list can be evaluated: {'; '.join(_reasons(found))}")
    return LogEvaluation(
        len(found.log),
        k,
        len(set(found.groups)),
        tuple(sorted(survey.mixes.get(k, ()))),
        _logged_value(found),
        tuple(_value(found, trial, question) for trial in found.trials),
        tuple(_notes(survey, k, found)),
    )


def survey_log(
    logs: Iterator[UserLog],
    keep: Callable[[UserLog, LoggedSlate], object] = lambda _log, _given: None,
) -> Survey:
    """Return what there is in a log."""
    found = Survey()
    for log in logs:
        found.users += 1
        for given in log.slates():
            found.lists += 1
            found.with_propensities += given.propensities is not None
            if given.propensities is not None and given.answered:
                keep(log, given)
                k = len(given.slate)
                found.lengths[k] += 1
                if isinstance(given.terms, SlateTerms):
                    found.first.setdefault(k, given)
                    found.assumed[k] += given.terms.is_assumed
                    if given.terms.mix is not None:
                        found.mixes.setdefault(k, set()).add(given.terms.mix)
    return found


def _check_policies(specs: Sequence[PolicySpec], given: LoggedSlate, estimator: Estimator) -> None:
    """Raise InputError for a policy whose lists have no probabilities."""
    for spec in specs:
        policy = spec(given.catalogue)
        if estimator == "pi":
            choices_below(policy, 1, np.empty((1, 0), dtype=np.intp))
        else:
            slate_propensities(policy, [0], 0.0)


def _value(found: ReplayedLog, trial: Trial, question: Question) -> PolicyValue:
    weights, name = _weights(found, trial), str(trial.spec)
    if not (weights != 0).any(axis=0).all():
        limit = "the log has no list that it would show: no estimate"
        return PolicyValue(name, None, 0.0, False, (limit,))
    estimate = _estimate(found, trial, question)
    whole = estimated(weights[:, -1:], np.ones((len(weights), 1)), groups=_groups(found))
    is_covered = is_near_one(whole)
    words = tuple(_limits(trial, estimate, whole, is_covered))
    return PolicyValue(name, estimate, whole.value, is_covered, words)


def is_near_one(mean_weight: Estimate) -> bool:
    """Return whether a mean importance weight is 1 as far as can be told."""
    off = abs(mean_weight.value - 1.0)
    return off <= max(NEAR, STANDARD_ERRORS * mean_weight.standard_error)


def _limits(
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
    if trial.unlearnt:
        yield f"it could not learn from {_lists(trial.unlearnt)} of other policies"
    if trial.without_dial:
        yield f"{_lists(trial.without_dial)} with a dial, which it does not take: evaluated without"


def _weights(found: ReplayedLog, trial: Trial) -> FloatArray:
    """Return the weights of each list, position by position (n, K), or for `pi` (n, 1)."""
    if trial.weights:
        return np.array(trial.weights)[:, None]
    ratios = np.array(trial.chances) / found.log.propensities
    weights: FloatArray = np.cumprod(ratios, axis=1, dtype=np.float64)
    return weights


def _estimate(found: ReplayedLog, trial: Trial, question: Question) -> Estimate:
    log, groups, normalised = found.log, _groups(found), question.self_normalised
    if question.estimator == "pi":
        return pi(log, trial.weights, self_normalised=normalised, groups=groups)
    target = np.array(trial.chances)
    if question.estimator == "dr":
        model = ridge_model(log, np.array(trial.taken), np.array(trial.means), groups=groups)
        return cascade_dr(log, target, model, self_normalised=normalised, groups=groups)
    value = sips if question.estimator == "sips" else rips
    return value(log, target, self_normalised=normalised, groups=groups)


def _logged_value(found: ReplayedLog) -> Estimate:
    totals = found.log.totals[:, None]
    return estimated(np.ones_like(totals), totals, groups=_groups(found))


def _groups(found: ReplayedLog) -> Sequence[str] | None:
    """Return whose each list is, unless there is only one user."""
    return found.groups if len(set(found.groups)) > 1 else None


def _notes(survey: Survey, k: int, found: ReplayedLog) -> Iterator[str]:
    others = survey.lengths.total() - survey.lengths[k]
    if others:
        yield f"{_lists(others)} of other lengths: learnt from only (--k evaluates them)"
    if survey.assumed[k]:
        yield (
            f"{_lists(survey.assumed[k])} without candidates in the log: taken as chosen from all "
            f"{len(survey.first[k].catalogue)} items of the catalogue"
        )
    yield from (f"{words}: learnt from only" for words in _reasons(found.obstacles))
    users = len(set(found.groups))
    if users == 1:
        yield "all lists are one user's: the intervals are about that user only"
    elif users < MIN_USERS:
        yield f"intervals from {users} users are too narrow: at least {MIN_USERS} are needed"


def _reasons(obstacles: Counter[Obstacle]) -> Iterator[str]:
    return (f"{_lists(count)}: {_OBSTACLES[name]}" for name, count in obstacles.items())


def _lists(count: int) -> str:
    return f"{count} list" if count == 1 else f"{count} lists"


def _plain_value(value: PolicyValue) -> dict[str, Any]:
    found = {} if value.estimate is None else _plain(value.estimate)
    return {
        **found,
        "effective_sample_size": value.effective_sample_size,
        "mean_weight": value.mean_weight,
        "warnings": list(value.warnings),
    }


def _plain(one: Estimate) -> dict[str, Any]:
    return {
        "value": one.value,
        "standard_error": one.standard_error,
        "low": one.interval[0],
        "high": one.interval[1],
        "effective_sample_size": one.effective_sample_size,
    }
