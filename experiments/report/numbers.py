"""All numbers and verdicts of a report, as JSON values."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from experiments.claims import Claim, Judgement, Verdict, judge_beyond
from experiments.intervals import student_interval
from experiments.results import Regret, Replays, Results
from experiments.tables import catalogue_measures, summarise
from variegate.arrays import FloatArray
from variegate.evaluation.bootstrap import MEASURES
from variegate.evaluation.metrics import Scores


def paper_numbers(results: Results, judgement: Judgement) -> dict[str, Any]:
    """Return everything in the report; what is not known is null."""
    numbers: dict[str, Any] = jsonable(
        {
            "quick": results.quick,
            "facts": results.facts,
            "claims": [_claim(claim, verdict) for claim, verdict in judgement.claims.items()],
            "questions": [_claim(claim, verdict) for claim, verdict in judgement.questions.items()],
            "claims by reading of the normaliser": {
                claim.name: {
                    reading: {"status": verdict.status, "measured": verdict.measured}
                    for reading, verdict in verdicts.items()
                }
                for claim, verdicts in judgement.by_reading.items()
            },
            "table 1": [
                {"dataset": name, **row._asdict(), "density": row.density}
                for name, row in results.table1.items()
            ],
            "replays": _replays(results.replays),
            "sensitivity": {
                option: {f"{value:g}": _policy(splits) for value, splits in by_value.items()}
                for option, by_value in results.sensitivity.items()
            },
            "lengths": _replays(results.lengths),
            "regret": {reading: _regret(regret) for reading, regret in results.regrets.items()},
            "ratios": {
                reading: {search: _ratios(array) for search, array in by_search.items()}
                for reading, by_search in results.ratios.items()
            },
        }
    )
    beyond = {"beyond": beyond_numbers(results)} if results.beyond.is_measured else {}
    return {**numbers, **beyond}


def beyond_numbers(results: Results) -> dict[str, Any]:
    """Return everything in the report on the experiments beyond the paper."""
    numbers: dict[str, Any] = jsonable(
        {
            "quick": results.quick,
            "facts": results.facts,
            "claims": [_claim(*judged) for judged in judge_beyond(results).items()],
            "replays": _replays(results.beyond.replays),
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


def _claim(claim: Claim, verdict: Verdict) -> dict[str, Any]:
    return {
        "name": claim.name,
        "says": claim.says,
        "place": claim.place,
        "judged by": claim.rule,
        "status": verdict.status,
        "measured": verdict.measured,
        "evidence": [asdict(part) for part in verdict.evidence],
    }


def _replays(groups: Mapping[Any, Replays]) -> dict[str, Any]:
    return {
        str(group): {method: _policy(splits) for method, splits in replays.items()}
        for group, replays in groups.items()
    }


def _policy(splits: Sequence[Scores]) -> dict[str, Any]:
    measures = {measure: summarise(splits, measure) for measure in MEASURES}
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
        **catalogue_measures(splits),
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


def _ratios(array: FloatArray) -> list[dict[str, Any]]:
    """From K = 2 on."""
    return [student_interval(column)._asdict() for column in array.T]
