"""What we claim of our learner, with the rules that judge it."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from experiments.claims.verdict import Claim, Evidence, Status, Verdict, not_measured
from experiments.frontier import Point, moments, point_title, points
from experiments.intervals import interval_text
from experiments.methods import (
    ALL_BASELINES,
    C2UCB_WITH_PRIOR,
    LMDH,
    METHOD_TITLES,
)
from experiments.results import PAPER_TABLE, Replays, Results
from variegate.evaluation.bootstrap import difference, mean_measure

#: The rounds at which F1 and F2 are compared.
ROUNDS: Final = (1, 5, 10, 30)
#: The least share of LogRank's recall in the first list.
FIRST_SHARE: Final = 0.7
#: From this round on, recall must not be below LogRank's.
FROM_ROUND: Final = 5

#: From the replays of a data set and the judged method to status, finding and numbers.
Judged: TypeAlias = tuple[Status, str, dict[str, object]]


@dataclass(frozen=True)
class OnEachDataset:
    """Rule: judge every data set on which the needed methods were replayed."""

    judge: Callable[[Replays, str], Judged]
    #: Methods that must have been replayed, beside the judged one
    needed: Sequence[str] = ()

    def __call__(self, results: Results, ours: str) -> Verdict:
        """Judge the claim."""
        parts, replays = [], results.beyond.replays
        for dataset in {**PAPER_TABLE, **replays}:
            where, found = results.dataset_title(dataset), replays.get(dataset, {})
            if {ours, *self.needed} <= set(found):
                parts.append(Evidence(where, *self.judge(found, ours)))
            else:
                parts.append(not_measured(where))
        return Verdict.of(parts)


def relative_gain(measure: str, needed: float, replays: Replays, ours: str) -> Judged:
    """Judge whether a measure is above LMDH's by the needed share at each of the rounds."""
    mine, theirs = (mean_measure(replays[name], measure) for name in (ours, LMDH))
    gains = {t: float(mine[t - 1] / theirs[t - 1] - 1.0) for t in ROUNDS if t <= len(mine)}
    finding = ", ".join(
        f"t = {t}: {mine[t - 1]:.3f} against {theirs[t - 1]:.3f} ({gain:+.1%})"
        for t, gain in gains.items()
    )
    return Status.of(all(gain >= needed for gain in gains.values())), finding, {"gains": gains}


def ahead_over_rounds(replays: Replays, ours: str) -> Judged:
    """Judge whether the paired 95% interval of the mean over rounds lies above 0."""
    found = {m: difference(replays[ours], replays[LMDH], m).overall for m in ("F1", "F2")}
    finding = ", ".join(f"{m} {interval_text(*each, '+.4f')}" for m, each in found.items())
    return Status.of(all(low > 0.0 for _, low, _ in found.values())), finding, dict(found)


def no_baseline_ahead(replays: Replays, ours: str) -> Judged:
    """Judge whether a baseline is ahead; level by the paired interval holds in part."""
    margins, ahead, clear = {}, [], False
    for name in [name for name in ALL_BASELINES if name in replays]:
        for measure in ("F1", "F2"):
            found = difference(replays[ours], replays[name], measure)
            for t in [t for t in ROUNDS[1:] if t <= len(found.mean)]:
                mean, low, high = (float(v[t - 1]) for v in (found.mean, found.low, found.high))
                margins[f"{METHOD_TITLES[name]}, {measure}, t = {t}"] = mean
                if mean < 0.0:
                    text = f"{METHOD_TITLES[name]} in {measure} at t = {t} by {-mean:.4f}"
                    ahead.append(f"{text} (interval {-high:+.4f} to {-low:+.4f})")
                    clear = clear or high < 0.0
    if not margins:
        return Status.NOT_MEASURED, "not measured", {}
    nearest = min(margins, key=lambda name: margins[name])
    finding = f"none; nearest {nearest}, {margins[nearest]:.4f} below"
    if ahead:
        finding = f"ahead of it: {'; '.join(ahead)}"
    return Status.of(not ahead, in_part=not clear), finding, {"margins": margins}


def early_recall(replays: Replays, ours: str) -> Judged:
    """Judge whether recall is near LogRank's in the first list and above it later."""
    mine, theirs = (mean_measure(replays[name], "recall") for name in (ours, "logrank"))
    shares = mine / theirs
    later = shares[FROM_ROUND - 1 :]
    finding, holds = f"t = 1: {shares[0]:.0%} of LogRank's", bool(shares[0] >= FIRST_SHARE)
    if len(later):
        least = int(np.argmin(later))
        at = f"at t = {least + FROM_ROUND}"
        finding += f"; from t = {FROM_ROUND} on: least {later[least]:.1%}, {at}"
        holds = holds and bool(later[least] >= 1.0)
    return Status.of(holds), finding, {"shares": [round(float(s), 6) for s in shares]}


def frontier_above(is_rival: Callable[[str], bool], results: Results, _ours: str) -> Verdict:
    """Judge whether every setting of the rivals lies on or under our frontier."""
    parts, frontiers = [], results.beyond.frontier
    for dataset in {**PAPER_TABLE, **frontiers}:
        title, frontier = results.dataset_title(dataset), frontiers.get(dataset, {})
        if not moments(frontier):
            parts.append(not_measured(title))
        for t in moments(frontier):
            rivals = [point for point in points(frontier, t) if is_rival(point.method)]
            if rivals:
                parts.append(_frontier_evidence(f"{title}, t = {t}", rivals))
    return Verdict.of(parts)


def _frontier_evidence(where: str, rivals: list[Point]) -> Evidence:
    above = [point for point in rivals if point.is_above]
    clear = [point for point in above if point.is_clearly_above]
    nearest = min(rivals, key=lambda point: point.margin)
    finding = (
        f"above it: {len(above)} of {len(rivals)} settings ({len(clear)} by the paired interval); "
        f"farthest {point_title(nearest)}, by {-nearest.margin:.4f}"
    )
    if not above:
        finding = (
            f"all {len(rivals)} settings lie under it; nearest {point_title(nearest)}, "
            f"{nearest.margin:.4f} below"
        )
    numbers = [asdict(point) for point in rivals]
    for point in numbers:
        del point["moment"]
    status = Status.of(not above, in_part=not clear)
    return Evidence(where, status, finding, {"points": numbers})


_AT_EACH_ROUND: Final = "means over splits, at each of the rounds"
_UNDER: Final = (
    "every setting lies under our frontier; in part, if those above it are level by their paired "
    "intervals"
)

#: What we claim of LMDP, in the order of the report.
BEYOND_CLAIMS: Final = (
    Claim(
        "f1",
        "F1 is at least 5% above LMDH's at t = 1, 5, 10 and 30",
        "all data sets",
        _AT_EACH_ROUND,
        OnEachDataset(partial(relative_gain, "F1", 0.05), (LMDH,)),
    ),
    Claim(
        "f2",
        "F2 is no lower than LMDH's at t = 1, 5, 10 and 30",
        "all data sets",
        _AT_EACH_ROUND,
        OnEachDataset(partial(relative_gain, "F2", 0.0), (LMDH,)),
    ),
    Claim(
        "apart",
        "F1 and F2, mean over the rounds, are ahead of LMDH's beyond chance",
        "all data sets",
        "the paired 95% intervals of both differences lie above 0",
        OnEachDataset(ahead_over_rounds, (LMDH,)),
    ),
    Claim(
        "baselines",
        "No baseline of the paper is ahead in F1 or F2 at t = 5, 10 and 30",
        "all data sets",
        "means over splits; in part, if what is ahead is level by its paired interval",
        OnEachDataset(no_baseline_ahead),
    ),
    Claim(
        "recall",
        "Recall is at least 70% of LogRank's at t = 1, and no less than it from t = 5 on",
        "all data sets",
        "means over splits, in every round from 5 on",
        OnEachDataset(early_recall, ("logrank",)),
    ),
    Claim(
        "frontier",
        "At the same diversity, recall is on or above that of LMDH and of every baseline, at t = "
        "10 and 30",
        "all data sets, every dial turned",
        _UNDER,
        partial(frontier_above, lambda method: method != C2UCB_WITH_PRIOR.key),
    ),
    Claim(
        "frontier-prior",
        "The same holds against C2UCB that begins at our prior and sees what the crowd knows",
        "all data sets, every dial turned",
        _UNDER,
        partial(frontier_above, lambda method: method == C2UCB_WITH_PRIOR.key),
    ),
)
