"""What we claim of our learner, with the rules that judge it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from experiments.claims.verdict import Claim, Evidence, Status, Verdict, not_measured
from experiments.frontier import Point, moments, point_title, points
from experiments.intervals import interval_text, student_interval
from experiments.methods import (
    ALL_BASELINES,
    EASE,
    LMDH,
    METHOD_TITLES,
    method_title,
)
from experiments.results import PAPER_TABLE, Replays, Results
from experiments.simulated import (
    cold_start,
    drift,
    examination,
    first_picks,
    multi_distance,
    variety,
)
from variegate.arrays import FloatArray
from variegate.evaluation.bootstrap import difference, mean_measure

#: The rounds at which F1 and F2 are compared.
ROUNDS: Final = (1, 5, 10, 30)
#: The least share of LogRank's recall in the first list.
FIRST_SHARE: Final = 0.7
#: From this round on, recall must not be below LogRank's.
FROM_ROUND: Final = 5
#: The forgetting whose gain and cost are judged.
FORGETTING: Final = 0.98

#: The least share of users of whom the right statement about variety is made, and the largest of
#: whom a wrong one is.
RIGHT_SHARE: Final = 0.8
WRONG_SHARE: Final = 0.05
#: The least diversity of the second list as a share of the first's, and the most films of one
#: series in it.
SECOND_SHARE: Final = 0.85
MAX_OF_ONE_SERIES: Final = 2

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


@dataclass(frozen=True)
class SimulatedAbove:
    """Rule: the interval of each mean over simulated users lies above a bound."""

    experiment: str
    #: From the results of the experiment to shares by part, one for each run
    shares: Callable[[Any], Mapping[str, FloatArray]]
    bound: float = 0.0

    def __call__(self, results: Results, _ours: str) -> Verdict:
        """Judge the claim."""
        if self.experiment not in results.beyond.simulated:
            return Verdict.of([not_measured("simulated users")])
        parts = []
        for where, shares in self.shares(results.beyond.simulated[self.experiment]).items():
            mean, low, high = student_interval(shares).at()
            status = Status.of(low > self.bound, in_part=mean > self.bound)
            text = interval_text(100 * mean, 100 * low, 100 * high, "+.1f", unit="%")
            parts.append(Evidence(where, status, text, {"mean": mean, "low": low, "high": high}))
        return Verdict.of(parts)


def forgetting_gains(kinds: Sequence[str], found: drift.Drift) -> dict[str, FloatArray]:
    """Return what forgetting adds to the share of the best clicks, by learner and kind."""
    place = drift.FORGETTING.index(FORGETTING)
    return {
        f"{method_title(learner)}, {title}": found.differences()[:, number, row, place]
        for row, learner in enumerate(drift.LEARNERS)
        for number, (kind, title) in enumerate(drift.KINDS.items())
        if kind in kinds
    }


def examination_gains(measure: str, found: examination.Examination) -> dict[str, FloatArray]:
    """Return the gain of the right model of what users examine, in error or in clicks."""
    last = -found.relative_errors()[..., -1] if measure == "error" else found.shares()
    users = ("users stop at the first click", "users skip positions")
    return {user: last[:, number, 0] - last[:, number, 1] for number, user in enumerate(users)}


def distance_gains(found: multi_distance.MultiDistance) -> dict[str, FloatArray]:
    """Return the gain in clicks of all distances over none and over their average."""
    shares = dict(zip(multi_distance.LEARNERS, found.shares().T, strict=True))
    return {f"over {other}": shares["all"] - shares[other] for other in ("none", "average")}


def distance_cost(found: multi_distance.MultiDistance) -> dict[str, FloatArray]:
    """Return the gain in clicks of all distances over the right one alone."""
    shares = dict(zip(multi_distance.LEARNERS, found.shares().T, strict=True))
    return {"over the right one alone": shares["all"] - shares["right"]}


def cold_start_gains(found: cold_start.ColdStart) -> dict[str, FloatArray]:
    """Return the gain in clicks of a fitted prior, over all lists and in the first."""
    every = dict(zip(cold_start.LEARNERS, found.shares().mean(axis=2).T, strict=True))
    first = dict(zip(cold_start.LEARNERS, found.shares()[:, :, 0].T, strict=True))
    others = {"lmdh": "LMDH", "lmdh tuned": "LMDH with its best λ", "lmdp guessed": "a guess"}
    gains = {f"over {t}": every["lmdp fitted"] - every[name] for name, t in others.items()}
    return {**gains, "over LMDH, first list": first["lmdp fitted"] - first["lmdh"]}


def right_statements(results: Results, _ours: str) -> Verdict:
    """Judge the shares of users of whom the right, and a wrong, sure statement was made."""
    if "variety" not in results.beyond.simulated:
        return Verdict.of([not_measured("simulated users")])
    found: variety.Variety = results.beyond.simulated["variety"]
    right, wrong = found.right(), found.wrong()
    parts = []
    for kind in variety.USERS:
        share, misled = float(right[kind][:, -1].mean()), float(wrong[kind][:, -1].mean())
        status = Status.of(share >= RIGHT_SHARE and misled <= WRONG_SHARE)
        finding = f"right for {share:.0%}, ever wrong for {misled:.0%}"
        parts.append(Evidence(kind, status, finding, {"right": share, "wrong": misled}))
    return Verdict.of(parts)


def diverse_second_lists(results: Results, _ours: str) -> Verdict:
    """Judge the diversity of the list after random first picks, and its films of one series."""
    if "first_picks" not in results.beyond.simulated:
        return Verdict.of([not_measured("simulated users")])
    found: first_picks.FirstPicks = results.beyond.simulated["first_picks"]
    first, second = found.distances.mean(axis=0).tolist()
    share, most = second / first, int(found.of_one_series.max())
    diverse = Evidence(
        "mean distance",
        Status.of(share >= SECOND_SHARE),
        f"{second:.3f} within the second list, {first:.3f} within the first ({share:.0%})",
        {"first": first, "second": second},
    )
    series = Evidence(
        "films of one series",
        Status.of(most <= MAX_OF_ONE_SERIES),
        f"at most {most} of ten, over {len(found.of_one_series)} users",
        {"most": most},
    )
    return Verdict.of([diverse, series])


def guess_gains(found: first_picks.FirstPicks) -> dict[str, FloatArray]:
    """Return the relative gain in clicks of LMDP from a guess over LMDH and over chance."""
    ours, lmdh, chance = found.earned.mean(axis=2).T
    return {"over LMDH, λ = 1": ours / lmdh - 1.0, "over chance": ours / chance - 1.0}


_SIMULATED: Final = "simulated users"
_ABOVE_0: Final = (
    "the paired 95% intervals over simulated users lie above 0 (in part: the means do)"
)
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
        "At the same diversity, recall is on or above that of LMDH and of every baseline of the "
        "paper, at t = 1, 5, 10 and 30",
        "all data sets, every sweep",
        _UNDER,
        partial(frontier_above, lambda method: method != EASE),
    ),
    Claim(
        "frontier-ease",
        "The same holds against EASE with MSD",
        "all data sets, every sweep",
        _UNDER,
        partial(frontier_above, lambda method: method == EASE),
    ),
    Claim(
        "forgetting",
        "Forgetting (0.98) wins clicks where tastes change",
        _SIMULATED,
        _ABOVE_0,
        SimulatedAbove("drift", partial(forgetting_gains, ("walk", "jumps"))),
    ),
    Claim(
        "forgetting-cost",
        "Forgetting (0.98) costs less than 3% of the clicks where tastes stay",
        _SIMULATED,
        "the paired 95% intervals lie above -3% (in part: the means do)",
        SimulatedAbove("drift", partial(forgetting_gains, ("still",)), bound=-0.03),
    ),
    Claim(
        "examination-error",
        "A model of what users examine makes the error of the estimates smaller",
        _SIMULATED,
        _ABOVE_0,
        SimulatedAbove("examination", partial(examination_gains, "error")),
    ),
    Claim(
        "examination-clicks",
        "A model of what users examine wins clicks",
        _SIMULATED,
        _ABOVE_0,
        SimulatedAbove("examination", partial(examination_gains, "clicks")),
    ),
    Claim(
        "distance-found",
        "Of three distances, the learner finds the one that a user values more often than chance",
        _SIMULATED,
        "the 95% interval of the share of users lies above a third (in part: the share does)",
        SimulatedAbove(
            "multi_distance", lambda found: {"after the last list": found.right()[:, -1]}, 1 / 3
        ),
    ),
    Claim(
        "distance-clicks",
        "Learning the weights of several distances wins clicks",
        _SIMULATED,
        _ABOVE_0,
        SimulatedAbove("multi_distance", distance_gains),
    ),
    Claim(
        "distance-cost",
        "Not knowing which distance a user values costs less than 3% of the clicks",
        _SIMULATED,
        "the paired 95% interval lies above -3% (in part: the mean does)",
        SimulatedAbove("multi_distance", distance_cost, bound=-0.03),
    ),
    Claim(
        "cold-start",
        "A prior fitted to other users wins clicks, from the first list on",
        _SIMULATED,
        _ABOVE_0,
        SimulatedAbove("cold_start", cold_start_gains),
    ),
    Claim(
        "variety-statements",
        "Within 10 lists of the film demo, users read whether they want varied lists",
        _SIMULATED,
        "of users whose total weight of diversity is at least 0.5 and of users for whom it is at "
        "most 0, the right sure statement is made for at least 80% and a wrong one, at any time, "
        "for at most 5%",
        right_statements,
    ),
    Claim(
        "second-list",
        "Without a fitted prior, one to three picks do not narrow the second list of films",
        _SIMULATED,
        "over users who pick one to three of the first ten films at random, the mean distance "
        "within the second list is at least 85% of that within the first, and at most two of its "
        "films are of one series",
        diverse_second_lists,
    ),
    Claim(
        "guess-clicks",
        "Without a fitted prior, LMDP wins clicks on the films over LMDH and over chance",
        _SIMULATED,
        _ABOVE_0,
        SimulatedAbove("first_picks", guess_gains),
    ),
)
