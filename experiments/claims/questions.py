"""What the paper does not ask: whether exploring pays, and what the normaliser changes."""

from collections.abc import Mapping, Sequence

from experiments.claims.simulated import READING, paired_interval
from experiments.claims.verdict import Claim, Evidence, Status, Verdict
from experiments.names import ABLATION, PAPER_TABLE, READINGS, dataset_title
from experiments.results import Results
from variegate.evaluation.bootstrap import difference


def exploring_pays(results: Results, ours: str) -> Verdict:
    """Judge whether LMDH does better than itself without exploration."""
    parts = [
        _replayed(results, dataset, ours, measure)
        for dataset in PAPER_TABLE
        for measure in ("recall", "F1")
    ]
    return Verdict.of([*parts, *_simulated(results)])


def verdicts_by_reading(
    results: Results, claims: Sequence[Claim]
) -> Mapping[Claim, Mapping[str, Verdict]]:
    """Return the verdict on each claim that the normaliser may change, under each reading."""
    return {
        claim: {reading: claim.judge(results, ours) for reading, ours in READINGS.items()}
        for claim in claims
        if claim.by_reading
    }


def _replayed(results: Results, dataset: str, ours: str, measure: str) -> Evidence:
    where = f"{dataset_title(results, dataset)}, {measure}"
    replays = results.replays.get(dataset, {})
    if ours not in replays or ABLATION not in replays:
        return Evidence(where, Status.NOT_MEASURED, "not measured")
    mean, low, high = difference(replays[ours], replays[ABLATION], measure).overall
    told = f"{mean:+.4f} ({low:+.4f} to {high:+.4f}), mean over rounds"
    return _paid(where, told, low=low, high=high, mean=mean)


def _simulated(results: Results) -> list[Evidence]:
    regret = results.regrets.get(READING)
    if regret is None or not {"lmdh", ABLATION} <= set(regret.names):
        return [Evidence("simulation", Status.NOT_MEASURED, "not measured")]
    totals = regret.regret.sum(axis=2)
    ours, greedy = (totals[regret.names.index(name)] for name in ("lmdh", ABLATION))
    mean, low, high = paired_interval(greedy - ours)
    told = f"{mean:+.1f} regret saved ({low:+.1f} to {high:+.1f})"
    return [_paid("simulation", told, low=low, high=high, mean=mean)]


def _paid(where: str, told: str, **numbers: float) -> Evidence:
    if numbers["low"] > 0.0:
        return Evidence(where, Status.HOLDS, f"{told}: it pays", numbers)
    word = "it costs" if numbers["high"] < 0.0 else "not apart from 0"
    status = Status.IN_PART if numbers["mean"] > 0.0 else Status.FAILS
    return Evidence(where, status, f"{told}: {word}", numbers)
