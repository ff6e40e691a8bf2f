"""What is asked of our learner on real data, against LMDH and the paper's baselines."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from experiments.beyond.methods import BASELINES, PAPERS, TITLES
from experiments.claims.verdict import Evidence, Status, Verdict
from experiments.names import PAPER_TABLE, dataset_title
from experiments.results import Results
from variegate.evaluation.bootstrap import difference, mean_measure
from variegate.evaluation.metrics import Scores

#: The rounds that are looked at.
MOMENTS: Final = (1, 5, 10, 30)
#: How far F1 shall be above LMDH's.
AHEAD: Final = 0.05
#: The share of LogRank's recall that the first list shall have.
FIRST_SHARE: Final = 0.7
#: From this round on, recall shall be no less than LogRank's.
FROM_ROUND: Final = 5

Replays: TypeAlias = Mapping[str, Sequence[Scores]]


def f1_above(results: Results, ours: str) -> Verdict:
    """Judge "F1 at least 5% above LMDH's at t = 1, 5, 10, 30"."""
    return _each(results, (ours, PAPERS), lambda replays: _relative(replays, ours, "F1", AHEAD))


def f2_no_lower(results: Results, ours: str) -> Verdict:
    """Judge "F2 no lower than LMDH's at t = 1, 5, 10, 30"."""
    return _each(results, (ours, PAPERS), lambda replays: _relative(replays, ours, "F2", 0.0))


def apart_over_rounds(results: Results, ours: str) -> Verdict:
    """Judge "the paired 95% interval of the mean over rounds lies above 0", for F1 and F2."""

    def judged(replays: Replays) -> tuple[Status, str, dict[str, object]]:
        found = {m: difference(replays[ours], replays[PAPERS], m).overall for m in ("F1", "F2")}
        told = [
            f"{m} {mean:+.4f} ({low:+.4f} to {high:+.4f})" for m, (mean, low, high) in found.items()
        ]
        holds = all(low > 0.0 for _, low, _ in found.values())
        return _status(holds), ", ".join(told), dict(found)

    return _each(results, (ours, PAPERS), judged)


def no_baseline_ahead(results: Results, ours: str) -> Verdict:
    """Judge "no baseline of the paper is ahead in F1 or F2 at t = 5, 10, 30"."""
    return _each(results, (ours,), lambda replays: _against_baselines(replays, ours))


def early_recall(results: Results, ours: str) -> Verdict:
    """Judge "recall of the first list at least 70% of LogRank's, and no less from t = 5 on"."""

    def judged(replays: Replays) -> tuple[Status, str, dict[str, object]]:
        mine, theirs = (mean_measure(replays[name], "recall") for name in (ours, "logrank"))
        shares = mine / theirs
        later = shares[FROM_ROUND - 1 :]
        told, holds = f"t = 1: {shares[0]:.0%} of LogRank's", bool(shares[0] >= FIRST_SHARE)
        if len(later):
            least = int(np.argmin(later))
            told += (
                f"; from t = {FROM_ROUND} on: least {later[least]:.1%}, at t = {least + FROM_ROUND}"
            )
            holds = holds and bool(later[least] >= 1.0)
        return _status(holds), told, {"shares": [round(float(s), 6) for s in shares]}

    return _each(results, (ours, "logrank"), judged)


def _relative(
    replays: Replays, ours: str, measure: str, needed: float
) -> tuple[Status, str, dict[str, object]]:
    mine, theirs = (mean_measure(replays[name], measure) for name in (ours, PAPERS))
    gains = {t: float(mine[t - 1] / theirs[t - 1] - 1.0) for t in MOMENTS if t <= len(mine)}
    told = ", ".join(
        f"t = {t}: {mine[t - 1]:.3f} against {theirs[t - 1]:.3f} ({gain:+.1%})"
        for t, gain in gains.items()
    )
    return _status(all(gain >= needed for gain in gains.values())), told, {"gains": gains}


def _against_baselines(replays: Replays, ours: str) -> tuple[Status, str, dict[str, object]]:
    """Level by the paired interval holds in part."""
    margins, ahead, clear = {}, [], False
    for name in [name for name in BASELINES if name in replays]:
        for measure in ("F1", "F2"):
            found = difference(replays[ours], replays[name], measure)
            for t in [t for t in MOMENTS[1:] if t <= len(found.mean)]:
                mean, low, high = (float(v[t - 1]) for v in (found.mean, found.low, found.high))
                margins[f"{TITLES[name]}, {measure}, t = {t}"] = mean
                if mean < 0.0:
                    told = f"{TITLES[name]} in {measure} at t = {t} by {-mean:.4f}"
                    ahead.append(f"{told} (interval {-high:+.4f} to {-low:+.4f})")
                    clear = clear or high < 0.0
    if not margins:
        return Status.NOT_MEASURED, "not measured", {}
    if ahead:
        status = Status.FAILS if clear else Status.IN_PART
        return status, f"ahead of it: {'; '.join(ahead)}", {"margins": margins}
    nearest = min(margins, key=lambda name: margins[name])
    return (
        Status.HOLDS,
        f"none; nearest {nearest}, {margins[nearest]:.4f} below",
        {"margins": margins},
    )


def _each(
    results: Results,
    needed: Sequence[str],
    judge: Callable[[Replays], tuple[Status, str, dict[str, object]]],
) -> Verdict:
    """Judge every data set on which what is needed was replayed."""
    replays = {} if results.beyond is None else results.beyond.replays
    parts = []
    for dataset in {**PAPER_TABLE, **replays}:
        found = replays.get(dataset, {})
        judged = (
            judge(found) if set(needed) <= set(found) else (Status.NOT_MEASURED, "not measured", {})
        )
        parts.append(Evidence(dataset_title(results, dataset), *judged))
    return Verdict.of(parts)


def _status(holds: bool) -> Status:
    return Status.HOLDS if holds else Status.FAILS
