"""Policies that learn from a log as it was recorded, and their probabilities of its lists."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.errors import InputError, StateError
from variegate.evaluation.offpolicy.logs import (
    LoggedSlate,
    PolicyUpdate,
    RelevanceUpdate,
    SkipReason,
    SlateLog,
    SlateTerms,
    UserLog,
    slate_log,
)
from variegate.evaluation.offpolicy.pseudo_inverse import (
    SlatePairs,
    is_enumerable,
    slate_pairs,
    uniform_weight,
)
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Gains
from variegate.policies import Policy, PolicySpec, slate_propensities

Estimator = Literal["rips", "sips", "dr", "pi"]
#: Propensities that differ by a larger share than this are not the same.
_CLOSE: Final = 1e-6


@dataclass(frozen=True, eq=False)
class ReplayOptions:
    """Which lists are evaluated, and how.

    Parameters
    ----------
    k
        The length of the lists to evaluate; the others are only learnt from.
    mix
        The share of random items in the policies' lists; None: as in each logged list.
    estimator
        It determines what is computed for each list.
    logging
        The policies that made the log by their names, for `pi`.
    """

    k: int
    mix: float | None = None
    estimator: Estimator = "rips"
    logging: Mapping[str, PolicySpec] = field(default_factory=dict)

    def mix_of(self, terms: SlateTerms) -> float:
        """Return the share of random items in the policies' lists, in place of the logged one."""
        return (terms.mix or 0.0) if self.mix is None else self.mix


@dataclass(eq=False)
class Trial:
    """One policy on the log; all lists have one entry for each evaluated list."""

    spec: PolicySpec
    #: The probability of each logged item given those above it, (K,)
    probabilities: list[FloatArray] = field(default_factory=list)
    #: For `dr`: features of the logged items, and their means over the policy's choice, (K, p)
    taken: list[FloatArray] = field(default_factory=list)
    means: list[FloatArray] = field(default_factory=list)
    #: For `pi`
    weights: list[float] = field(default_factory=list)
    #: Lists that it could not learn from, since another kind of policy made them
    n_not_learnt: int = 0
    #: Lists with a dial, which it does not take
    n_without_dial: int = 0
    #: For stochastic policies: the same log gives the same result
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))


@dataclass(frozen=True, eq=False)
class ReplayedLog:
    """The lists that are evaluated, and the trial of each policy."""

    log: SlateLog
    #: The user of each list
    groups: tuple[str, ...]
    trials: tuple[Trial, ...]
    #: How many lists are not evaluated, only learnt from, by reason
    skipped: Counter[SkipReason]


def replay_log(
    logs: Iterable[UserLog],
    specs: Sequence[PolicySpec],
    options: ReplayOptions,
    progress: Callable[[int], None] = lambda _done: None,
) -> ReplayedLog | Counter[SkipReason]:
    """Replay each user's log with each policy; return the reasons if no list can be evaluated."""
    trials = tuple(Trial(spec) for spec in specs)
    evaluated: list[tuple[LoggedSlate, _Evaluated]] = []
    users: list[str | None] = []
    skipped: Counter[SkipReason] = Counter()
    for done, log in enumerate(logs, start=1):
        found = _evaluable(log, options, skipped)
        evaluated += found.items()
        users += [log.user] * len(found)
        for trial in trials:
            _replay(trial, log, found, options)
        progress(done)
    if not evaluated:
        return skipped
    groups = tuple(f"#{at}" if user is None else f"={user}" for at, user in enumerate(users))
    return ReplayedLog(_join(evaluated, users), groups, trials, skipped)


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """A list that is evaluated."""

    items: IndexArray
    propensities: FloatArray
    terms: SlateTerms
    #: For `pi` Gamma^+ 1_s, (K, N); None where the list was drawn uniformly
    inverse: FloatArray | None = None


def _evaluable(
    log: UserLog, options: ReplayOptions, skipped: Counter[SkipReason]
) -> dict[LoggedSlate, _Evaluated]:
    """Return the lists of a user to evaluate, and count the others that have propensities."""
    found: dict[LoggedSlate, _Evaluated] = {}
    is_pi = options.estimator == "pi"
    learners = {name: _Learner(spec) for name, spec in options.logging.items() if is_pi}
    for step in log.steps:
        if isinstance(step, PolicyUpdate | RelevanceUpdate):
            for learner in learners.values():
                learner.learn(step)
        elif step.has_feedback and step.propensities is not None and len(step.slate) == options.k:
            one = _with_terms(step, step.propensities)
            if is_pi and isinstance(one, _Evaluated):
                one = _with_inverse(one, step.catalogue, learners)
            if isinstance(one, _Evaluated):
                found[step] = one
            else:
                skipped[one] += 1
    return found


def _with_terms(logged: LoggedSlate, propensities: FloatArray) -> _Evaluated | SkipReason:
    """Return a list with its terms, unless its propensities contradict them."""
    terms, items = logged.terms, logged.slate.items
    if not isinstance(terms, SlateTerms):
        return terms
    left = int(np.count_nonzero(terms.candidates)) - np.arange(len(items))
    if left[-1] < 1 or not terms.candidates[items].all():
        return "contradiction"
    if terms.mix is not None:
        own = propensities - terms.mix / left
        if (own < -_CLOSE * propensities).any() or (own > 1.0 - terms.mix + _CLOSE).any():
            return "contradiction"
    return _Evaluated(items, propensities, terms)


def _with_inverse(
    one: _Evaluated, catalogue: Catalogue, learners: Mapping[str, "_Learner"]
) -> _Evaluated | SkipReason:
    """Return a list with Gamma^+ 1_s, which requires the policy that chose it."""
    terms, k = one.terms, len(one.items)
    count = int(np.count_nonzero(terms.candidates))
    if _are_close(one.propensities, 1.0 / (count - np.arange(k))):
        return one
    if terms.policy is None or terms.policy not in learners or not terms.mix:
        return "no policy"
    if not is_enumerable(count, k):
        return "too many"
    policy = learners[terms.policy].at(catalogue)
    if policy.is_stochastic:
        return "no policy"
    how = terms.mix, terms.candidates
    if not _are_close(
        slate_propensities(policy, one.items, *how, dial=terms.dial)[0], one.propensities
    ):
        return "no policy"
    return replace(one, inverse=slate_pairs(policy, k, *how, terms.dial).solution(one.items))


def _are_close(ours: FloatArray, theirs: FloatArray) -> bool:
    return bool(np.allclose(ours, theirs, rtol=_CLOSE, atol=0.0))


class _Learner:
    """A policy that learns from one user's log while the catalogue changes."""

    def __init__(self, spec: PolicySpec) -> None:
        self._spec = spec
        self._policy: Policy | None = None
        self._updates: list[PolicyUpdate | RelevanceUpdate] = []

    def at(self, catalogue: Catalogue) -> Policy:
        """Return the policy in its current state, for these items."""
        before = self._policy
        if before is not None and before.catalogue is catalogue:
            return before
        policy = self._spec(catalogue)
        if before is not None:
            self._move(before, policy)
        self._policy = policy
        return policy

    def learn(self, update: PolicyUpdate | RelevanceUpdate) -> bool:
        """Learn from a list or an item; return False where this kind of policy cannot."""
        catalogue, now = _catalogue_of(update), self._policy
        # Items keep their rows, so a larger catalogue has every list of a smaller one.
        if now is not None and len(now.catalogue) >= len(catalogue):
            catalogue = now.catalogue
        policy = self.at(catalogue)
        if not _learn(policy, update):
            return False
        self._updates.append(update)
        return True

    def _move(self, before: Policy, policy: Policy) -> None:
        try:
            policy.restore(before.state())
        except StateError:
            # Its state has rows that these items do not have.
            for update in self._updates:
                _learn(policy, update)


def _catalogue_of(update: PolicyUpdate | RelevanceUpdate) -> Catalogue:
    return update.logged.catalogue if isinstance(update, PolicyUpdate) else update.catalogue


def _learn(policy: Policy, update: PolicyUpdate | RelevanceUpdate) -> bool:
    try:
        if isinstance(update, RelevanceUpdate):
            policy.learn_relevance(update.slate, update.rewards)
            return True
        slate = update.logged.slate_for(policy.normaliser)
        policy.update(slate, update.rewards, update.seen)
    except InputError:
        return False
    return True


def _replay(
    trial: Trial, log: UserLog, lists: Mapping[LoggedSlate, _Evaluated], options: ReplayOptions
) -> None:
    learner = _Learner(trial.spec)
    for step in log.steps:
        if isinstance(step, PolicyUpdate | RelevanceUpdate):
            trial.n_not_learnt += not learner.learn(step)
        elif step in lists:
            _evaluate(trial, learner.at(step.catalogue), lists[step], options)


def _evaluate(trial: Trial, policy: Policy, one: _Evaluated, options: ReplayOptions) -> None:
    mix, free, dial = options.mix_of(one.terms), one.terms.candidates, one.terms.dial
    if dial is not None and not policy.takes_dial:
        trial.n_without_dial += 1
        dial = None
    if options.estimator == "pi":
        target = slate_pairs(policy, len(one.items), mix, free, dial)
        trial.weights.append(_pi_weight(one, target))
        return
    probabilities, choices = slate_propensities(
        policy, one.items, mix, free, rng=trial.rng, dial=dial
    )
    trial.probabilities.append(probabilities)
    if options.estimator == "dr":
        rows = np.flatnonzero(free)
        gains = Gains(policy.catalogue, rows, len(one.items), "none")
        items, own = np.searchsorted(rows, one.items), np.searchsorted(rows, choices)
        taken, means = _features(gains, items, own, mix)
        trial.taken.append(taken)
        trial.means.append(means)


def _pi_weight(one: _Evaluated, target: SlatePairs) -> float:
    if one.inverse is not None:
        return float((one.inverse * target.marginals).sum())
    places = np.searchsorted(target.rows, one.items)
    return uniform_weight(places, target.marginals, len(target.rows))


def _features(
    gains: Gains, items: IndexArray, choices: IndexArray, mix: float
) -> tuple[FloatArray, FloatArray]:
    """Return (1, z, x) of each logged item, and its mean over the policy's choice."""
    taken, means, left = [], [], np.ones(len(gains.z), dtype=np.bool_)
    for item, choice in zip(items.tolist(), choices.tolist(), strict=True):
        table = np.hstack([np.ones((len(left), 1)), gains.z, gains.x])
        taken.append(table[item])
        means.append(mix * table[left].mean(axis=0) + (1.0 - mix) * table[choice])
        left[item] = False
        gains.take(item)
    return np.array(taken), np.array(means)


def _join(lists: Sequence[tuple[LoggedSlate, _Evaluated]], users: Sequence[str | None]) -> SlateLog:
    return slate_log(
        [one.items for _, one in lists],
        [logged.rewards for logged, _ in lists],
        [one.propensities for _, one in lists],
        seen=[logged.seen for logged, _ in lists],
        users=users,
    )
