"""The paper's claims of regret and approximation ratios (its Figure 5), and its Table 1."""

from typing import Final

import numpy as np
from scipy import stats

from experiments.claims.verdict import Evidence, Status, Verdict, joined
from experiments.names import (
    PAPER_TABLE,
    dataset_title,
    is_sample,
    method_title,
)
from experiments.results import Regret, Results, TableRow
from variegate.arrays import FloatArray
from variegate.evaluation.simulation import PAPER_RATIOS

#: What the paper sets its own method against in the simulation.
RIVALS: Final = ("c2ucb", "dc2b", "lsb")
#: The reading of the normaliser that the paper's own ratios come from (docs/paper.md, A1).
READING: Final = "none"
#: How far a mean ratio may be from the paper's.
RATIO_TOLERANCE: Final = 0.0015


def lowest_regret(results: Results, _ours: str) -> Verdict:
    """Judge "regret much smaller than that of the others"."""
    return _by_reading([_lowest(reading, regret) for reading, regret in results.regrets.items()])


def flattening_regret(results: Results, _ours: str) -> Verdict:
    """Judge "regret flattens with the number of rounds"."""
    return _by_reading([_flattens(reading, regret) for reading, regret in results.regrets.items()])


def ratios_near_one(results: Results, _ours: str) -> Verdict:
    """Judge "greedy lists are worth 0.9995, 0.9992, 0.9989 and 0.9971 of the best"."""
    ratios = results.ratios.get(READING, {}).get("greedy")
    if ratios is None:
        return Verdict.of([Evidence("greedy", Status.NOT_MEASURED, "not measured")])
    parts = []
    for column, (k, paper) in enumerate(PAPER_RATIOS.items()):
        mean, low, high = paired_interval(ratios[:, column])
        near = abs(mean - paper) <= RATIO_TOLERANCE
        told = f"{mean:.4f} ({low:.4f} to {high:.4f}), the paper {paper:.4f}"
        numbers = {"mean": mean, "low": low, "high": high, "paper": paper}
        parts.append(Evidence(f"K = {k}", Status.HOLDS if near else Status.FAILS, told, numbers))
    return Verdict.of(parts)


def same_table(results: Results, _ours: str) -> Verdict:
    """Judge "Table 1", number by number."""
    rows = {row.dataset: row for row in results.table1}
    return Verdict.of(_same_row(results, dataset, rows.get(dataset)) for dataset in PAPER_TABLE)


def paired_interval(differences: FloatArray) -> tuple[float, float, float]:
    """Return the mean and its 95% interval by Student's t; no interval for a single number."""
    n, mean = len(differences), float(differences.mean())
    if n < 2:
        return mean, -np.inf, np.inf
    half = float(stats.t.ppf(0.975, n - 1) * differences.std(ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


def _by_reading(parts: list[Evidence]) -> Verdict:
    """The paper's reading decides; the others are told beside it."""
    verdict = Verdict.of(parts or [Evidence("simulation", Status.NOT_MEASURED, "not measured")])
    decisive = [part for part in parts if part.where == f"normaliser {READING}"]
    main = Verdict.of(decisive) if decisive else verdict
    return Verdict(main.status, main.measured, verdict.evidence)


def _lowest(reading: str, regret: Regret) -> Evidence:
    where = f"normaliser {reading}"
    rivals = [name for name in RIVALS if name in regret.names]
    if not rivals or "lmdh" not in regret.names:
        return Evidence(where, Status.NOT_MEASURED, "not measured")
    totals = dict(zip(regret.names, regret.regret.sum(axis=2), strict=True))
    ours, told, statuses = totals["lmdh"], [], []
    numbers: dict[str, object] = {"lmdh": float(ours.mean())}
    for name in rivals:
        mean, low, high = paired_interval(ours - totals[name])
        level = Status.IN_PART if mean < 0.0 else Status.FAILS
        statuses.append(Status.HOLDS if high < 0.0 else level)
        theirs = float(totals[name].mean())
        told.append(f"{method_title(name)} {theirs:.1f} (difference {low:+.1f} to {high:+.1f})")
        numbers[name] = {"regret": theirs, "low": low, "high": high}
    lists = f"after {regret.regret.shape[2]:,} lists"
    return Evidence(
        where, joined(statuses), f"LMDH {ours.mean():.1f} {lists}; {', '.join(told)}", numbers
    )


def _flattens(reading: str, regret: Regret) -> Evidence:
    where = f"normaliser {reading}"
    if "lmdh" not in regret.names:
        return Evidence(where, Status.NOT_MEASURED, "not measured")
    runs = regret.regret[regret.names.index("lmdh")]
    fifth = max(runs.shape[1] // 5, 1)
    first, last = runs[:, :fifth].mean(axis=1), runs[:, -fifth:].mean(axis=1)
    mean, low, high = paired_interval(last - first)
    _mean, _low, over_half = paired_interval(last - first / 2.0)
    status = Status.IN_PART if mean < 0.0 else Status.FAILS
    status = Status.HOLDS if over_half < 0.0 else status
    told = (
        f"{last.mean():.4f} a round in the last fifth, {first.mean():.4f} in the first: "
        f"{last.mean() / max(first.mean(), 1e-12):.2f} times as steep (difference {low:+.4f} to "
        f"{high:+.4f})"
    )
    numbers = {"first": float(first.mean()), "last": float(last.mean()), "low": low, "high": high}
    return Evidence(where, status, told, numbers)


def _same_row(results: Results, dataset: str, row: TableRow | None) -> Evidence:
    where = dataset_title(results, dataset)
    if row is None:
        return Evidence(where, Status.NOT_MEASURED, "not measured")
    if is_sample(results, dataset):
        return Evidence(where, Status.NOT_MEASURED, "not measured: a sample")
    ours = (row.users, row.items, row.interactions, row.categories, round(100 * row.density, 2))
    names = ("users", "items", "interactions", "categories", "density in per cent")
    other = [
        f"{name} {got:,} where the paper has {wanted:,}"
        for name, got, wanted in zip(names, ours, PAPER_TABLE[dataset], strict=True)
        if got != wanted
    ]
    told = ", ".join(other) if other else "every number the same"
    return Evidence(where, Status.FAILS if other else Status.HOLDS, told)
