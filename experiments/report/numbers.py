"""All numbers and verdicts of a report, for machines."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from experiments.beyond.claims import judged_beyond
from experiments.claims import Claim, Judgement, Verdict
from experiments.claims.simulated import paired_interval
from experiments.results import Regret, Results
from experiments.summary import beyond, summary_of
from variegate.arrays import FloatArray
from variegate.evaluation.bootstrap import MEASURES
from variegate.evaluation.metrics import Scores


def numbers_of(results: Results, judgement: Judgement) -> dict[str, Any]:
    """Return everything that the report tells, as JSON can say it; what is not known is null."""
    numbers: dict[str, Any] = jsonable(
        {
            "quick": results.quick,
            "facts": results.facts,
            "claims": [told_of(claim, verdict) for claim, verdict in judgement.claims.items()],
            "beside the paper": [
                told_of(claim, verdict) for claim, verdict in judgement.questions.items()
            ],
            "claims by reading of the normaliser": {
                claim.name: {
                    reading: {"status": verdict.status, "measured": verdict.measured}
                    for reading, verdict in verdicts.items()
                }
                for claim, verdicts in judgement.by_reading.items()
            },
            "table 1": [asdict(row) for row in results.table1],
            "replays": {
                dataset: {policy: _policy(splits) for policy, splits in replays.items()}
                for dataset, replays in results.replays.items()
            },
            "sensitivity": {
                option: {f"{value:g}": _policy(splits) for value, splits in by_value.items()}
                for option, by_value in results.sensitivity.items()
            },
            "lengths": {
                str(length): {policy: _policy(splits) for policy, splits in replays.items()}
                for length, replays in results.lengths.items()
            },
            "regret": {reading: _regret(regret) for reading, regret in results.regrets.items()},
            "ratios": {
                reading: {search: _ratios(array) for search, array in by_search.items()}
                for reading, by_search in results.ratios.items()
            },
        }
    )
    return numbers if results.beyond is None else {**numbers, "beyond": beyond_numbers(results)}


def beyond_numbers(results: Results) -> dict[str, Any]:
    """Return what the chapter beyond the paper tells, as JSON can say it."""
    chapter = results.beyond
    found = {} if chapter is None else chapter.replays
    numbers: dict[str, Any] = jsonable(
        {
            "quick": results.quick,
            "facts": results.facts,
            "claims": [told_of(*judged) for judged in judged_beyond(results).items()],
            "replays": {
                dataset: {method: _policy(splits) for method, splits in replays.items()}
                for dataset, replays in found.items()
            },
        }
    )
    return numbers


def jsonable(value: Any) -> Any:
    """Return a value with arrays as lists, and null where a number is not finite."""
    if isinstance(value, Mapping):
        return {str(key): jsonable(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return jsonable(value.tolist())
    if isinstance(value, (list, tuple, range)):
        return [jsonable(part) for part in value]
    if isinstance(value, (float, np.floating)):
        return round(float(value), 8) if np.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value if isinstance(value, (bool, int, str)) or value is None else str(value)


def told_of(claim: Claim, verdict: Verdict) -> dict[str, Any]:
    """Return a claim and its verdict."""
    return {
        "name": claim.name,
        "says": claim.says,
        "place": claim.place,
        "judged by": claim.rule,
        "status": verdict.status,
        "measured": verdict.measured,
        "evidence": [asdict(part) for part in verdict.evidence],
    }


def _policy(splits: Sequence[Scores]) -> dict[str, Any]:
    measures = {measure: summary_of(splits, measure) for measure in MEASURES}
    return {
        "label": splits[0].label,
        "users": [len(scores.recall) for scores in splits],
        "measures": {
            measure: {
                "mean": found.mean,
                "standard error over users": found.error,
                "standard error over splits": found.split_error,
            }
            for measure, found in measures.items()
        },
        "diversity by distance": {
            name: np.mean([scores.diversity[row].mean(axis=0) for scores in splits], axis=0)
            for row, name in enumerate(splits[0].distances)
        },
        "hits by position": np.mean([scores.hits for scores in splits], axis=0),
        **asdict(beyond(splits)),
    }


def _regret(regret: Regret) -> dict[str, Any]:
    cumulative = np.cumsum(regret.regret, axis=2)
    rounds = regret.regret.shape[2]
    shown = np.unique(np.linspace(1, rounds, min(rounds, 100)).astype(int))
    runs = cumulative.shape[1]
    errors = cumulative.std(axis=1, ddof=1) / np.sqrt(runs) if runs > 1 else None
    return {
        "rounds": shown,
        "Theorem 2's bound": regret.bound[shown - 1],
        "policies": {
            name: {
                "label": regret.labels[row],
                "cumulative": cumulative[row].mean(axis=0)[shown - 1],
                "standard error over runs": None if errors is None else errors[row][shown - 1],
                "at the end, run by run": cumulative[row, :, -1],
            }
            for row, name in enumerate(regret.names)
        },
    }


def _ratios(array: FloatArray) -> list[dict[str, float]]:
    """From K = 2 on."""
    intervals = [paired_interval(column) for column in array.T]
    return [dict(zip(("mean", "low", "high"), found, strict=True)) for found in intervals]
