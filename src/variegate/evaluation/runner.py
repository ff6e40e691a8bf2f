"""Evaluate policies by interaction replay: policies x splits x workers -> scores."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, check_count
from variegate.data.dataset import Dataset
from variegate.errors import InputError
from variegate.evaluation.bootstrap import MEASURES, Interval, difference, interval, standard_error
from variegate.evaluation.metrics import Scores, pair_distances, scores_of
from variegate.evaluation.parallel import Shared, Workers, parallel_map, share
from variegate.evaluation.progress import Progress, show_progress
from variegate.evaluation.replay import (
    FittedPolicy,
    PolicyFactory,
    Protocol,
    ReplayTask,
    Trace,
    replay,
    replay_task,
)

#: Users per job: enough to outweigh the overhead of a job, few enough to balance the workers.
CHUNK: Final = 16

#: A policy as text (see `parse_policy`), or a class or function that makes one from a catalogue.
PolicyLike: TypeAlias = str | PolicyFactory
#: Policies by name; as text; or a function that returns them for each split.
Policies: TypeAlias = (
    Mapping[str, PolicyLike] | Sequence[str] | Callable[[ReplayTask], Mapping[str, PolicyLike]]
)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The scores of several policies on the same users; its `repr` is a table."""

    #: By policy, one `Scores` for each split
    scores: Mapping[str, tuple[Scores, ...]]

    def __getitem__(self, policy: str) -> tuple[Scores, ...]:
        return self.scores[policy]

    def interval(self, policy: str, measure: str = "F1") -> Interval:
        """Return a measure of one policy in each round, with 95% intervals.

        Measures are ``recall``, ``diversity``, ``F1`` and ``F2``.
        """
        return interval(self.scores[policy], measure)

    def difference(self, ours: str, theirs: str, measure: str = "F1") -> Interval:
        """Return a measure of `ours` minus that of `theirs`, with paired 95% intervals."""
        return difference(self.scores[ours], self.scores[theirs], measure)

    def records(self) -> list[dict[str, Any]]:
        """Return one record per policy, measure and round, as for `pandas.DataFrame`."""
        return [
            {
                "policy": policy,
                "measure": measure,
                "round": t,
                "mean": mean,
                "low": low,
                "high": high,
            }
            for policy in self.scores
            for measure in MEASURES
            for t, mean, low, high in self.interval(policy, measure).by_round()
        ]

    def __repr__(self) -> str:
        splits = next(iter(self.scores.values()))
        users, rounds = sum(len(one.recall) for one in splits), splits[0].recall.shape[1]
        width = max(map(len, self.scores))
        title = f"after {_count(rounds, 'round')}, {_count(users, 'user')}"
        lines = [
            f"Evaluation: mean ± standard error {title}, {_count(len(splits), 'split')}",
            " " * width + "".join(f"{measure:>15}" for measure in MEASURES),
        ]
        for policy, scores in self.scores.items():
            cells = [
                f"{interval(scores, measure).mean[-1]:.3f} "
                f"±{standard_error(scores, measure)[-1]:.3f}"
                for measure in MEASURES
            ]
            lines.append(f"{policy:<{width}}" + "".join(f"{cell:>15}" for cell in cells))
        return "\n".join(lines)


def evaluate(
    policies: Policies,
    data: Dataset | ReplayTask | Iterable[ReplayTask],
    *,
    k: int = 10,
    rounds: int = 30,
    splits: int = 1,
    users: int | None = None,
    protocol: Protocol | None = None,
    cache: str | Path | None = None,
    seed: int = 0,
    workers: Workers = 1,
    progress: bool | Progress = True,
    on_scores: Callable[[str, int, Scores], object] = lambda _policy, _split, _scores: None,
) -> Evaluation:
    """Replay policies against users whose held-out likes are known, and score them.

    Each user has a new policy, and a random generator from the seed and the user's number, so
    results are bit-identical for any number of workers, on this machine or on Ray.

    Parameters
    ----------
    policies
        By name: a policy as text such as ``"lmdh:ridge=1"``, or a class or function that makes one
        from a catalogue. Or a list of texts. Or a function that returns them for a split.
        ``"lmdp:prior=fit"`` has a prior fitted to the training users of each split. With several
        workers they must be picklable.
    data
        A data set, which is split into training and test users, or the splits themselves.
    k
        Items in a list.
    rounds
        Lists per user.
    splits, users, protocol, cache
        For a data set: the number of splits; the maximum number of test users per split; how to
        split and learn embeddings; and where to cache embeddings. See `replay_task`.
    seed
        Seed of the policies' random numbers. Splits are seeded by their number.
    workers
        The number of processes. With more than one, a script needs
        ``if __name__ == "__main__":``. Or ``"ray"``, or the address of a Ray cluster.
    progress
        True draws a progress bar on a terminal. A function is called with the stage, the steps
        done and the total.
    on_scores
        Called with the policy, the split and its scores as each replay completes.

    Returns
    -------
    Evaluation
        The scores of each policy on each split.

    Examples
    --------
    >>> import numpy as np
    >>> from variegate import Catalogue
    >>> from variegate.policies import LMDH
    >>> rng = np.random.default_rng(0)
    >>> items = Catalogue(range(30), rng.normal(size=(30, 4)), "cosine")
    >>> likes = [np.flatnonzero(items.features @ rng.normal(size=4) > 1.0) for _ in range(20)]
    >>> task = ReplayTask("example", items, likes)
    >>> policies = {"lmdh": "lmdh:ridge=1", "mine": LMDH, "random": "uniform"}
    >>> found = evaluate(policies, task, rounds=4, k=3)
    >>> found
    Evaluation: mean ± standard error after 4 rounds, 20 users, 1 split
                   recall      diversity             F1             F2
    lmdh     0.676 ±0.040   1.156 ±0.017   0.853 ±0.032   0.737 ±0.038
    mine     0.668 ±0.042   1.114 ±0.033   0.835 ±0.032   0.726 ±0.039
    random   0.425 ±0.041   0.954 ±0.043   0.588 ±0.042   0.478 ±0.042
    >>> found["lmdh"][0].recall.shape
    (20, 4)
    >>> bool(found.difference("lmdh", "random", "recall").low[-1] > 0)
    True
    """
    for name, count in (("k", k), ("rounds", rounds), ("splits", splits)):
        check_count(count, 10**6, name=name, of="the most that make sense")
    make = _parse(policies)
    with show_progress(progress) as show:
        tasks = list(_tasks(data, splits, users, protocol, cache, show))
        played = [make(task) for task in tasks]
        found: dict[str, dict[int, Scores]] = {name: {} for name in played[0]}
        # Those of one split at a time: they can take 200 MB.
        pairs = lru_cache(maxsize=1)(_pairs)
        how = {"rounds": rounds, "k": k, "seed": seed}
        for split, policy, trace in _replays(played, tasks, how, workers, show):
            task = tasks[split]
            settings = {"policy": policy, "split": split, "left_out": task.left_out}
            scores = scores_of(trace, task, settings, pairs=pairs(task, k))
            found[policy][split] = scores
            on_scores(policy, split, scores)
    return Evaluation(
        {name: tuple(one[split] for split in range(len(tasks))) for name, one in found.items()}
    )


def _parse(policies: Policies) -> Callable[[ReplayTask], dict[str, PolicyFactory]]:
    """Return a function from a split to its policies; raise InputError for invalid texts."""
    if callable(policies):
        return lambda task: _factories(policies(task))
    given = policies if isinstance(policies, Mapping) else {text: text for text in policies}
    if not given:
        raise InputError("`policies` must have at least one policy, got none")
    factories = _factories(given)
    return lambda _task: factories


def _factories(policies: Mapping[str, PolicyLike]) -> dict[str, PolicyFactory]:
    return {
        name: FittedPolicy.parse(policy) if isinstance(policy, str) else policy
        for name, policy in policies.items()
    }


def _tasks(
    data: Dataset | ReplayTask | Iterable[ReplayTask],
    splits: int,
    users: int | None,
    protocol: Protocol | None,
    cache: str | Path | None,
    progress: Progress,
) -> Iterator[ReplayTask]:
    """Yield the splits of a data set, or the given tasks."""
    if isinstance(data, ReplayTask):
        yield data
    elif not isinstance(data, Dataset):
        yield from data
    else:
        for split in range(splits):
            stage = partial(progress, f"Learning embeddings, split {split + 1} of {splits}")
            yield replay_task(data, protocol, split=split, users=users, cache=cache, progress=stage)


def _replays(
    policies: Sequence[Mapping[str, PolicyFactory]],
    tasks: Sequence[ReplayTask],
    how: Mapping[str, int],
    workers: Workers,
    progress: Progress,
) -> Iterator[tuple[int, str, Trace]]:
    """Yield the split, the policy and the trace of each replay as it completes."""
    keys, jobs = [], []
    with share(tasks, workers) as shared:
        for split, (task, place) in enumerate(zip(tasks, shared, strict=True)):
            everyone = range(len(task.likes))
            chunks = [everyone[start : start + CHUNK] for start in everyone[::CHUNK]]
            for name, make in policies[split].items():
                keys += [(split, name, len(chunks))] * len(chunks)
                jobs += [(place, make, chunk, how) for chunk in chunks]
        total, done = sum(len(chunk) for _, _, chunk, _ in jobs), 0
        parts: dict[tuple[int, str], dict[int, Trace]] = {}
        for number, trace in parallel_map(_replay, jobs, workers=workers):
            split, name, count = keys[number]
            done += len(trace.lists)
            progress("Replaying", done, total)
            own = parts.setdefault((split, name), {})
            own[number] = trace
            if len(own) == count:
                yield split, name, _concatenate([part for _, part in sorted(own.items())])
                del parts[split, name]


def _replay(
    task: Shared[ReplayTask], make: PolicyFactory, users: Sequence[int], how: Mapping[str, int]
) -> Trace:
    return replay(make, task.get(), users=users, **how)


def _concatenate(traces: Sequence[Trace]) -> Trace:
    return Trace(
        traces[0].label,
        np.concatenate([trace.lists for trace in traces]),
        np.concatenate([trace.clicks for trace in traces]),
    )


def _pairs(task: ReplayTask, k: int) -> list[FloatArray | None]:
    return [pair_distances(h, k) for h in task.catalogue.distances]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
