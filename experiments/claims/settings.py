"""The paper's claims of lambda, alpha and the length of the list (its Figure 4)."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from experiments.claims.standing import best_in_rounds, standing
from experiments.claims.verdict import Evidence, Status, Verdict
from experiments.results import Results
from variegate.evaluation.bootstrap import difference, mean_measure
from variegate.evaluation.metrics import Scores

#: Where F1 is looked at, and how much of it may change for a setting to make no difference.
LOOKED_AT: Final = (5, 10, 30)
LARGEST_CHANGE: Final = 0.05

_LETTERS: Final = {"ridge": "λ", "exploration": "α"}


def ahead_for_every_length(results: Results, ours: str) -> Verdict:
    """Judge "F1 ahead of the other bandits for every length of the list"."""
    parts = [
        best_in_rounds(f"|A| = {length}", standing(replays, ours, ["c2ucb", "dc2b"], "F1"))
        for length, replays in sorted(results.lengths.items())
    ]
    return Verdict.of(parts or [Evidence("ML-100K", Status.NOT_MEASURED, "not measured")])


def insensitive(results: Results, _ours: str) -> Verdict:
    """Judge "lambda and alpha of 1 and more make no great difference"."""
    parts = []
    for option, letter in _LETTERS.items():
        values = {v: s for v, s in results.sensitivity.get(option, {}).items() if v >= 1.0}
        if len(values) < 2:
            parts.append(Evidence(letter, Status.NOT_MEASURED, "not measured"))
        else:
            parts.append(_largest_change(letter, values))
    return Verdict.of(parts)


def _largest_change(letter: str, values: Mapping[float, Sequence[Scores]]) -> Evidence:
    """The largest change of F1 between two values, relative to the higher, with its interval."""
    curves = {value: mean_measure(splits, "F1") for value, splits in values.items()}
    played = len(next(iter(curves.values())))
    found = []
    for t in sorted({min(t, played) for t in LOOKED_AT}):
        best = max(curves, key=lambda value: curves[value][t - 1])
        worst = min(curves, key=lambda value: curves[value][t - 1])
        top = max(float(curves[best][t - 1]), np.finfo(float).tiny)
        gap = difference(values[best], values[worst], "F1")
        found.append((float(gap.mean[t - 1]) / top, float(gap.high[t - 1]) / top, t, best, worst))
    change, high, t, best, worst = max(found)
    status = Status.HOLDS if high < LARGEST_CHANGE else Status.IN_PART
    status = Status.FAILS if change >= LARGEST_CHANGE else status
    told = (
        f"F1 changes by at most {change:.1%} (interval up to {high:.1%}): at t = {t}, between "
        f"{letter} = {best:g} and {worst:g}"
    )
    where = f"{letter} of {', '.join(f'{value:g}' for value in sorted(values))}"
    return Evidence(where, status, told, {"change": change, "high": high, "round": t})
