"""The tables of a report as rows of text, for the page and for Markdown alike."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from experiments.claims.simulated import paired_interval
from experiments.names import PAPER_TABLE, dataset_title
from experiments.results import Results
from experiments.summary import (
    Summary,
    beyond,
    full_label,
    rounds_shown,
    summaries,
)
from experiments.table import Cell, Table
from variegate.evaluation.metrics import Scores
from variegate.evaluation.simulation import PAPER_RATIOS

_LOWER_IS_BETTER: Final = {"Gini"}


def table_1(results: Results) -> Table:
    """Return the sizes of the data sets, ours and the paper's."""
    rows = []
    for row in results.table1:
        found = (row.users, row.items, row.interactions, row.categories, 100 * row.density)
        papers = PAPER_TABLE.get(row.dataset)
        rows.append((dataset_title(results, row.dataset), _sizes(found)))
        if papers is not None:
            rows.append(("in the paper", _sizes(papers)))
    heads = ("data set", "users", "items", "interactions", "categories", "density")
    return Table("Table 1", heads, tuple(rows))


def measure_tables(results: Results, dataset: str) -> Iterator[Table]:
    """Yield, for each measure, every policy at a few rounds on one data set."""
    replays = results.replays[dataset]
    labels = [full_label(policy, splits[0].label) for policy, splits in replays.items()]
    for measure, found in summaries(replays).items():
        yield _over_rounds(measure, labels, list(found.values()), _ours(replays))


def beyond_table(results: Results, dataset: str) -> Table:
    """Return coverage, Gini and novelty of every policy on one data set."""
    replays = results.replays[dataset]
    found = [beyond(splits) for splits in replays.values()]
    columns: dict[str, list[float | None]] = {
        "coverage": [one.coverage for one in found],
        "Gini": [one.gini for one in found],
        "novelty": [one.novelty for one in found],
    }
    cells = [_column(values, name in _LOWER_IS_BETTER) for name, values in columns.items()]
    labels = [full_label(policy, splits[0].label) for policy, splits in replays.items()]
    note = (
        "Coverage: share of the catalogue that some user was shown. Gini: how unevenly showings "
        "fall on items, lower is more even. Novelty: mean of -log2 of the share of training "
        "users who liked a shown item."
    )
    rows = tuple(zip(labels, zip(*cells, strict=True), strict=True))
    title = f"{dataset_title(results, dataset)}: coverage, evenness, novelty"
    return Table(title, ("method", *columns), rows, note, _ours(replays))


def regret_table(results: Results) -> Table:
    """Return the mean cumulative regret at the end, by reading of the normaliser."""
    first = next(iter(results.regrets.values()))
    columns = []
    for regret in results.regrets.values():
        totals = regret.regret.sum(axis=2)
        lowest, runs = totals.mean(axis=1).min(), totals.shape[1]
        errors = totals.std(axis=1, ddof=1) / np.sqrt(runs) if runs > 1 else 0 * totals[:, 0]
        columns.append(
            [
                Cell(f"{mean:.1f}", f"{error:.1f}", best=bool(mean == lowest))
                for mean, error in zip(totals.mean(axis=1), errors, strict=True)
            ]
        )
    labels = [
        full_label(name, label) for name, label in zip(first.names, first.labels, strict=True)
    ]
    _policies, runs, rounds = first.regret.shape
    return Table(
        f"Cumulative regret after {rounds:,} lists, mean of {runs} runs",
        ("method", *(f"normaliser {reading}" for reading in results.regrets)),
        tuple(zip(labels, zip(*columns, strict=True), strict=True)),
        "± standard error over runs",
        first.names.index("lmdh") if "lmdh" in first.names else None,
    )


def ratio_table(results: Results) -> Table:
    """Return the mean approximation ratios, by reading, search and length."""
    rows = [("the paper, greedy", tuple(Cell(f"{ratio:.4f}") for ratio in PAPER_RATIOS.values()))]
    for reading, by_search in results.ratios.items():
        for search, array in by_search.items():
            found = [paired_interval(column) for column in array.T]
            cells = [Cell(f"{mean:.4f}", f"{(high - low) / 2:.4f}") for mean, low, high in found]
            rows.append((f"{search}, normaliser {reading}", tuple(cells)))
    heads = ("search", *(f"K = {k}" for k in PAPER_RATIOS))
    return Table("Approximation ratios", heads, tuple(rows), "± half of a 95% interval")


def seconds_table(seconds: Mapping[str, float]) -> Table:
    """Return how long each stage took."""
    rows = [(name, (Cell(_duration(taken)),)) for name, taken in seconds.items()]
    rows.append(("in all", (Cell(_duration(sum(seconds.values())), best=True),)))
    return Table("How long it took", ("stage", "time"), tuple(rows))


def flat_facts(facts: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, str]]:
    """Yield each setting as a name and its value in words, those within others included."""
    for name, value in facts.items():
        if isinstance(value, Mapping) and value:
            yield from flat_facts(value, f"{start}{name}: ")
        else:
            yield f"{start}{name}".replace("_", " "), _in_words(value)


def users_in_words(results: Results) -> str:
    """Return how many test users were measured on each data set, and how many were not."""
    beyond_it = {} if results.beyond is None else results.beyond.replays
    measured = results.replays or beyond_it
    told = [
        f"{dataset_title(results, dataset)} "
        + " + ".join(f"{len(scores.recall):,}" for scores in next(iter(replays.values())))
        for dataset, replays in measured.items()
        if replays
    ]
    left_out = results.facts.get("users left out", {})
    return (
        f"Test users measured, split by split: {'; '.join(told) or 'none'}. Left out, because "
        f"they like none of the candidates: {sum(left_out.values()):,}."
    )


def _in_words(value: Any) -> str:
    if value is None or value == {}:
        return "all"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _over_rounds(
    measure: str, labels: Sequence[str], found: Sequence[Summary], ours: int | None
) -> Table:
    rounds = rounds_shown(len(found[0].mean))
    best = [max(one.mean[t - 1] for one in found) for t in rounds]
    rows = []
    for label, one in zip(labels, found, strict=True):
        cells = [
            Cell(f"{one.mean[t - 1]:.3f}", f"{one.error[t - 1]:.3f}", bool(one.mean[t - 1] == top))
            for t, top in zip(rounds, best, strict=True)
        ]
        if one.split_error is not None:
            cells.append(Cell(f"{one.split_error[rounds[-1] - 1]:.3f}"))
        rows.append((label, tuple(cells)))
    heads = ["method", *(f"t = {t}" for t in rounds)]
    heads += ["s.e. over splits"] * (found[0].split_error is not None)
    return Table(measure, tuple(heads), tuple(rows), ours=ours)


def _column(values: Sequence[float | None], lower_is_better: bool) -> list[Cell]:
    known = [value for value in values if value is not None]
    top = (min if lower_is_better else max)(known, default=None)
    return [
        Cell("not known") if value is None else Cell(f"{value:.3f}", best=value == top)
        for value in values
    ]


def _ours(replays: Mapping[str, Sequence[Scores]]) -> int | None:
    return list(replays).index("lmdh") if "lmdh" in replays else None


def _sizes(sizes: Sequence[float]) -> tuple[Cell, ...]:
    *counts, density = sizes
    return (*(Cell(f"{count:,}") for count in counts), Cell(f"{density:.2f}%"))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{seconds:.1f} s"
