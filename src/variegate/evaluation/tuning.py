"""Tune the settings of a learner on training users, by cross-validated replay."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from variegate.arrays import (
    FloatArray,
    check_choice,
    check_count,
    check_not_negative,
    check_numbers,
    check_positive,
)
from variegate.data.dataset import Dataset
from variegate.data.splits import split_users
from variegate.errors import DataError, InputError
from variegate.evaluation.metrics import Scores, f_score
from variegate.evaluation.parallel import Workers
from variegate.evaluation.progress import Progress, show_progress
from variegate.evaluation.replay import (
    PROTOCOLS,
    FittedPolicy,
    Protocol,
    ReplayTask,
    replay_task,
)
from variegate.evaluation.runner import evaluate
from variegate.files import atomic_write, read_file
from variegate.model.catalogue import Catalogue
from variegate.policies import PolicySpec
from variegate.policies.ease import DIVERSITY as EASE_DIVERSITY
from variegate.policies.ease import L2
from variegate.prior.item_prior import DIVERSITY, NOISE

FORMAT: Final = "variegate tuned settings"
VERSION: Final = 3

#: The settings of each learner that is tuned: their defaults, and the values to try.
DEFAULTS: Final[Mapping[str, Mapping[str, float]]] = MappingProxyType(
    {
        "lmdp": {"diversity": DIVERSITY, "noise": NOISE},
        "ease": {"diversity": EASE_DIVERSITY, "l2": L2},
    }
)
SPACE: Final[Mapping[str, Mapping[str, tuple[float, ...]]]] = MappingProxyType(
    {
        "lmdp": {"diversity": (0.3, 0.6, 0.9, 1.2, 1.8), "noise": (0.05, 0.1, 0.2, 0.4)},
        "ease": {"diversity": (0.2, 0.45, 0.9, 1.8, 4.5), "l2": (50.0, 100.0, 200.0, 500.0)},
    }
)
#: The defaults are kept unless the score rises by more than this: a tenth of a percent of LMDH's
#: F1, which is less than its standard error.
MIN_GAIN: Final = 0.001
#: Penalty per relative shortfall: a constraint missed by 1% subtracts 0.05 from the score.
PENALTY: Final = 5.0
#: By round, the minimum of recall as a share of LogRank's, and of F1 and F2 as shares of LMDH's.
BOUNDS: Final[Mapping[int, Mapping[str, float]]] = MappingProxyType(
    {t: {"recall": 0.7 if t == 1 else 1.0, "F1": 1.05, "F2": 1.0} for t in (1, 5, 10, 30)}
)
#: With fewer validation users, differences of scores are mostly noise.
MIN_USERS: Final = 50


@dataclass(frozen=True)
class LearnerSettings:
    """Settings of a learner that its training likes do not determine directly.

    Examples
    --------
    >>> settings = LearnerSettings("lmdp", {"noise": 0.4})
    >>> settings.prior_options
    {'diversity': 0.9, 'noise': 0.4}
    >>> settings.policy_spec("prior.npz")
    'lmdp:prior=prior.npz'
    >>> LearnerSettings("ease").policy_spec("prior.npz")
    'ease:prior=prior.npz,diversity=0.9,l2=100'
    """

    #: ``lmdp`` or ``ease``
    policy: str = "lmdp"
    #: Those that are not given have their defaults
    values: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        defaults = DEFAULTS[check_choice("policy", self.policy, DEFAULTS)]
        for name, value in self.values.items():
            check_choice(f"setting of {self.policy}", name, defaults)
            (check_not_negative if name == "diversity" else check_positive)(**{name: value})
        object.__setattr__(self, "values", {**defaults, **self.values})

    def __str__(self) -> str:
        return ",".join(f"{name}={value:g}" for name, value in self.values.items())

    @property
    def prior_options(self) -> dict[str, float]:
        """The options of `fit_prior`; EASE uses only the likes of the prior."""
        return dict(self.values) if self.policy == "lmdp" else {}

    @property
    def fitted_policy(self) -> FittedPolicy:
        """The policy, with a prior that is fitted to the training users of each task."""
        options = {} if self.policy == "lmdp" else dict(self.values)
        return FittedPolicy(PolicySpec(self.policy, options), self.prior_options)

    def policy_spec(self, prior_path: str | Path) -> str:
        """Return the policy as text for commands and services, with the prior at that path."""
        path = str(prior_path)
        if set(path) & set(",[]"):
            raise InputError(f"`prior_path` must have no comma and no bracket, got {path!r}")
        return f"{self.policy}:prior={path}" + ("" if self.policy == "lmdp" else f",{self}")


@dataclass(frozen=True)
class Candidate:
    """Settings that were tried."""

    settings: LearnerSettings
    #: The mean F1 over rounds relative to LMDH's, by data set
    relative: Mapping[str, float]
    #: The constraints that are not met, as text
    violations: tuple[str, ...]
    #: What the violations subtract from the score
    penalty: float

    @property
    def objective(self) -> float:
        """The mean F1 over rounds relative to LMDH's, mean of the data sets."""
        return sum(self.relative.values()) / len(self.relative)

    @property
    def score(self) -> float:
        """What is maximised: the objective minus the penalty."""
        return self.objective - self.penalty


@dataclass(frozen=True)
class TuningResult:
    """The best settings for some data sets, and how they were found."""

    settings: LearnerSettings
    #: All settings tried, the chosen ones first
    candidates: tuple[Candidate, ...]
    #: The number of validation users of each data set, over all folds
    users: Mapping[str, int]
    #: Splits whose test users were excluded
    splits: tuple[int, ...]
    folds: int
    rounds: int
    k: int
    seed: int

    def describe(self, *, max_rows: int = 10) -> tuple[str, ...]:
        """Return a summary as lines of text, with the `max_rows` best and the defaults."""
        best = self.candidates[0]
        counts = ", ".join(f"{name} {count}" for name, count in self.users.items())
        each = ", ".join(f"{name} {value:.3f}" for name, value in best.relative.items())
        splits = ", ".join(map(str, self.splits))
        lines = [
            f"tuned by replaying held-out training users: {counts}; folds: {self.folds}, "
            f"rounds: {self.rounds} of {self.k} items",
            f"test users are excluded, of splits: {splits}"
            if splits
            else "all users are training users: test on others",
            f"mean F1 over rounds, relative to LMDH: {best.objective:.3f} ({each})",
            *(best.violations or ["all constraints are met"]),
        ]
        if min(self.users.values(), default=MIN_USERS) < MIN_USERS:
            lines.append(f"with fewer than {MIN_USERS} users it is mostly noise: use more folds")
        default = LearnerSettings(self.settings.policy)
        rows = [
            f"{one.score:.3f}  {one.objective:7.3f}  {one.penalty:7.3f}  {one.settings}"
            + ("  the defaults" if one.settings == default else "")
            for rank, one in enumerate(self.candidates)
            if rank < max_rows or one.settings == default
        ]
        return (*lines, "", "score  F1/LMDH  penalty  settings", *rows)

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON types."""
        candidates = [
            {**asdict(one), "objective": one.objective, "score": one.score}
            for one in self.candidates
        ]
        return {**asdict(self), "candidates": candidates}

    def save(self, path: str | Path) -> None:
        """Write the result as JSON, atomically."""
        content = {"format": FORMAT, "version": VERSION, **self.as_json()}
        with atomic_write(path) as file:
            file.write(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False).encode())


def load_settings(path: str | Path) -> LearnerSettings:
    """Return the settings in a file that `TuningResult.save` wrote, or raise DataError."""
    text, _ = read_file(path)
    try:
        content = json.loads(text)
        if content["format"] != FORMAT or content["version"] != VERSION:
            raise DataError(f"{path}: not a file of tuned settings of this version")
        return LearnerSettings(**content["settings"])
    except (AttributeError, InputError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"{path}: not a complete file of tuned settings: {error}") from None


def measures_of(folds: Sequence[Scores]) -> dict[str, FloatArray]:
    """Return recall, F1 and F2 of the means over users, (rounds,), mean of the folds.

    Diversity is the mean of the distances.
    """
    both = [(fold.mean_recall, fold.diversity.mean(axis=(0, 1))) for fold in folds]
    return {
        "recall": np.mean([recall for recall, _ in both], axis=0),
        "F1": np.mean([f_score(*one, 1.0) for one in both], axis=0),
        "F2": np.mean([f_score(*one, 2.0) for one in both], axis=0),
    }


def shortfalls(
    ours: Mapping[str, FloatArray], baselines: Mapping[str, Mapping[str, FloatArray]]
) -> Iterator[tuple[str, float]]:
    """Yield each constraint that is not met as text, with the share of the bound that is missing.

    `baselines` are the measures of LogRank and LMDH.
    """
    for name, t in product(ours, BOUNDS):
        if t <= len(ours[name]):
            baseline, share = "LogRank" if name == "recall" else "LMDH", BOUNDS[t][name]
            own, other = ours[name][t - 1], baselines[baseline][name][t - 1]
            if own < share * other:
                text = f"{name} at {t} is {own / other:.1%} of {baseline}'s, not {share:.0%}"
                yield text, 1.0 - own / (share * other)


def tune(
    datasets: Mapping[str, Dataset],
    *,
    policy: str = "lmdp",
    protocol: Protocol | Mapping[str, Protocol] | None = None,
    catalogues: Mapping[str, Catalogue] | None = None,
    split: int | Sequence[int] | None = None,
    folds: int = 1,
    users: int = 200,
    rounds: int = 30,
    k: int = 10,
    seed: int = 0,
    space: Mapping[str, Sequence[float]] | None = None,
    constrained: bool = True,
    workers: Workers = 1,
    cache: str | Path | None = None,
    progress: bool | Progress = True,
) -> TuningResult:
    """Return the settings of a learner with the best score on held-out training users.

    Each data set's training users are split again, 80/20. Embeddings and the prior are fitted to
    the 80%, and the learner is replayed on the others with every combination of settings. The
    score is the mean over rounds of F1 (of mean recall and mean diversity, as in the paper),
    divided by that of the paper's LMDH for the same users; the mean over data sets; minus a
    penalty for each of `BOUNDS` that is not met.

    Parameters
    ----------
    datasets
        By the names that the result uses. One set of settings is chosen for all.
    policy
        ``lmdp`` or ``ease``.
    protocol
        One for all, or by name; the paper's, if not given.
    catalogues
        By name, for data sets whose items have features already: no embeddings are learnt then.
        Features that were learnt from the same likes leak the held-out likes; features of the
        items' content do not.
    split
        Seeds of `split_users`: the test users of these splits are excluded. Without one, all
        users are training users.
    folds
        How often training users are split again, with other seeds.
    users
        At most this many validation users per fold.
    space
        Values to try by setting, in place of `SPACE`; settings that it does not name keep their
        defaults, which are always tried.
    constrained
        False maximises F1 alone, without `BOUNDS`.
    workers, cache, progress
        As for `evaluate`; they do not change the result.
    """
    _check_sizes(datasets, folds=folds, users=users)
    tried = settings_to_try(policy, space)
    splits = () if split is None else (split,) if isinstance(split, int) else tuple(split)
    policies = _policies(tried)
    measured, counts = {}, {}
    with show_progress(progress) as show:
        play = partial(evaluate, rounds=rounds, k=k, seed=seed, workers=workers, progress=show)
        for name, data in datasets.items():
            how = protocol.get(name) if isinstance(protocol, Mapping) else protocol
            training = training_part(data, splits, protocol=how)
            items = (catalogues or {}).get(name)
            learn = partial(replay_task, training, how, users=users, catalogue=items, cache=cache)
            learnt = partial(show, f"Learning {name}")
            tasks = [learn(split=fold_seed(seed, n), progress=learnt) for n in range(folds)]
            _check_distances(name, tasks[0])
            found = play(policies, tasks).scores
            measured[name] = {one: measures_of(scores) for one, scores in found.items()}
            counts[name] = sum(len(task.likes) for task in tasks)
    candidates = _best_first([_candidate(one, measured, constrained) for one in tried])
    best = candidates[0].settings
    return TuningResult(best, tuple(candidates), counts, splits, folds, rounds, k, seed)


def _policies(tried: Sequence[LearnerSettings]) -> dict[str, str | FittedPolicy]:
    """Return what is replayed: the paper's policies for comparison, and the learner."""
    learners = {str(one): one.fitted_policy for one in tried}
    return {"LMDH": "lmdh", "LogRank": "logrank", **learners}


def _check_sizes(datasets: Mapping[str, Dataset], **numbers: int) -> None:
    for name, number in numbers.items():
        check_count(number, 10**6, name=name, of="the most that make sense")
    if not datasets:
        raise InputError("`datasets` must have at least one data set, got none")


def _check_distances(name: str, task: ReplayTask) -> None:
    if not task.catalogue.m:
        raise InputError(f"`protocol` must have at least one distance, got none for {name!r}")


def _best_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates by score; the first, the defaults, unless another gains enough."""
    best = max(candidates, key=lambda one: one.score)
    if best.score <= candidates[0].score + MIN_GAIN:
        best = candidates[0]
    return sorted(candidates, key=lambda one: (one is not best, -one.score))


def settings_to_try(
    policy: str, space: Mapping[str, Sequence[float]] | None = None
) -> list[LearnerSettings]:
    """Return the defaults of a learner, then every other combination of values."""
    known = SPACE[check_choice("policy", policy, SPACE)]
    given = known if space is None else space
    for name, values in given.items():
        check_choice("space", name, known)
        if not len(check_numbers(f"space[{name!r}]", values, ndim=1)):
            raise InputError(f"`space[{name!r}]` must have at least one value, got none")
    names, default = list(given), LearnerSettings(policy)
    combined = product(*(map(float, given[name]) for name in names))
    every = [LearnerSettings(policy, dict(zip(names, one, strict=True))) for one in combined]
    return [default, *(one for one in every if one != default)]


def training_part(
    dataset: Dataset, splits: Sequence[int], *, protocol: Protocol | None = None
) -> Dataset:
    """Return the likes of the users who are training users in every one of the splits.

    A split is the seed of `split_users`. Without one, all users are training users.
    """
    train = (protocol or PROTOCOLS.get(dataset.name, Protocol())).train
    is_training = np.ones(len(dataset.user_ids), dtype=bool)
    for split in splits:
        training = set(split_users(dataset, rng=split, train=train).train.user_ids)
        is_training &= [user in training for user in dataset.user_ids]
    if is_training.sum() < 2:
        raise InputError(
            f"`datasets` {dataset.name!r} must have at least 2 users who are training users in "
            f"every split, got {is_training.sum()}"
        )
    return dataset.of_users(np.flatnonzero(is_training))


def fold_seed(seed: int, number: int) -> int:
    """Return the seed of a fold's split, unlike the small ones that test users are split by."""
    return 1000 * (seed + 1) + number


def _candidate(
    settings: LearnerSettings,
    measured: Mapping[str, Mapping[str, Mapping[str, FloatArray]]],
    constrained: bool,
) -> Candidate:
    """Return settings with their score, from measures by data set and policy."""
    relative, missed = {}, []
    for name, by_policy in measured.items():
        ours, usual = by_policy[str(settings)], by_policy["LMDH"]["F1"].mean()
        if not usual > 0.0:
            raise InputError(
                f"`datasets` {name!r} must have users for whom LMDH's F1 is not 0 in all rounds"
            )
        relative[name] = float(ours["F1"].mean() / usual)
        if constrained:
            missed += [(f"{name}: {text}", share) for text, share in shortfalls(ours, by_policy)]
    penalty = PENALTY * sum(share for _, share in missed) / len(measured)
    return Candidate(settings, relative, tuple(words for words, _ in missed), penalty)
