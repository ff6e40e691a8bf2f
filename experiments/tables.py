"""The tables of the report as rows of text, and the numbers in them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from experiments.frontier import Frontier, moments, point_title, points
from experiments.intervals import Interval, interval_text, student_interval
from experiments.methods import (
    ABLATIONS,
    LMDH,
    METHOD_TITLES,
    OURS,
    method_title,
    sweep_title,
)
from experiments.results import PAPER_TABLE, Replays, Results, SeveralDistances
from experiments.simulated import (
    cold_start,
    drift,
    examination,
    first_picks,
    multi_distance,
    variety,
)
from variegate.arrays import FloatArray
from variegate.data.dataset import Counts
from variegate.evaluation.bootstrap import (
    MEASURES,
    difference,
    mean_measure,
    standard_error,
)
from variegate.evaluation.metrics import Scores
from variegate.evaluation.simulation import PAPER_RATIOS

#: The rounds in tables.
ROUNDS: Final = (1, 5, 10, 30)
_INTERVAL: Final = "In brackets: 95% interval over simulated users."
_BEST_CLICKS: Final = "share of the best clicks"


@dataclass(frozen=True)
class Cell:
    """A number as text, perhaps with its standard error; the best of its column is bold."""

    text: str
    error: str = ""
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    note: str = ""


@dataclass(frozen=True, eq=False)
class Summary:
    """One measure of one policy in each round."""

    mean: FloatArray
    #: Standard error over users, by bootstrap
    error: FloatArray
    #: Standard error over splits; None for a single split
    split_error: FloatArray | None


def summarise(splits: Sequence[Scores], measure: str) -> Summary:
    """Return the mean of a measure in each round, and its standard errors."""
    each = np.array([mean_measure([scores], measure) for scores in splits])
    over_splits = each.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else None
    return Summary(mean_measure(splits, measure), standard_error(splits, measure), over_splits)


def catalogue_measures(splits: Sequence[Scores]) -> dict[str, float | None]:
    """Return coverage, Gini and novelty over all rounds, mean of the splits; None if not known."""
    novelty = float(np.mean([scores.novelty[:, -1].mean() for scores in splits]))
    return {
        "coverage": float(np.mean([scores.coverage[-1] for scores in splits])),
        "gini": float(np.mean([scores.gini for scores in splits])),
        "novelty": None if np.isnan(novelty) else novelty,
    }


def table_1(results: Results) -> Table:
    """Return the sizes of the data sets, ours and the paper's."""
    rows = []
    for dataset, counts in results.table1.items():
        rows.append((results.dataset_title(dataset), _sizes(counts)))
        if dataset in PAPER_TABLE:
            rows.append(("in the paper", _sizes(PAPER_TABLE[dataset])))
    heads = ("data set", "users", "items", "interactions", "categories", "density")
    return Table("Table 1", heads, tuple(rows))


def measure_tables(replays: Replays) -> Iterator[Table]:
    """Yield, for each measure, every policy at a few rounds."""
    for measure in MEASURES:
        found = {policy: summarise(splits, measure) for policy, splits in replays.items()}
        rounds, last = _rounds(found), len(next(iter(found.values())).mean) - 1
        best = {t: max(one.mean[t - 1] for one in found.values()) for t in rounds}
        several = all(one.split_error is not None for one in found.values())
        rows = []
        for policy, one in found.items():
            cells = [
                Cell(
                    f"{one.mean[t - 1]:.3f}",
                    f"{one.error[t - 1]:.3f}",
                    bool(one.mean[t - 1] == best[t]),
                )
                for t in rounds
            ]
            if one.split_error is not None:
                cells.append(Cell(f"{one.split_error[last]:.3f}"))
            rows.append((_label(policy, replays), tuple(cells)))
        heads = ("method", *(f"t = {t}" for t in rounds), *["s.e. over splits"] * several)
        yield Table(measure, heads, tuple(rows))


def catalogue_table(title: str, replays: Replays) -> Table:
    """Return coverage, Gini and novelty of every policy."""
    found = [catalogue_measures(splits) for splits in replays.values()]
    best = {}
    for name, choose in (("coverage", max), ("gini", min), ("novelty", max)):
        best[name] = choose([v for one in found if (v := one[name]) is not None], default=None)
    rows = tuple(
        (
            _label(policy, replays),
            tuple(
                Cell("not known")
                if value is None
                else Cell(f"{value:.3f}", best=value == best[name])
                for name, value in one.items()
            ),
        )
        for policy, one in zip(replays, found, strict=True)
    )
    note = (
        "Coverage: share of the catalogue that was shown to some user. Gini: how unevenly exposure "
        "is distributed over items, lower is more even. Novelty: mean of -log2 of the share of "
        "training users who liked a shown item."
    )
    heads = ("method", "coverage", "Gini", "novelty")
    return Table(f"{title}: coverage, evenness, novelty", heads, rows, note)


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
        label if "reconstructed" in label else method_title(name)
        for name, label in zip(first.names, first.labels, strict=True)
    ]
    _policies, runs, rounds = first.regret.shape
    return Table(
        f"Cumulative regret after {rounds:,} lists, mean of {runs} runs",
        ("method", *(f"normaliser {reading}" for reading in results.regrets)),
        tuple(zip(labels, zip(*columns, strict=True), strict=True)),
        "± standard error over runs",
    )


def ratio_table(results: Results) -> Table:
    """Return the mean approximation ratios, by reading, search and length."""
    rows = [("the paper, greedy", tuple(Cell(f"{ratio:.4f}") for ratio in PAPER_RATIOS.values()))]
    for reading, by_search in results.ratios.items():
        for search, array in by_search.items():
            found = [student_interval(column).at() for column in array.T]
            cells = [Cell(f"{mean:.4f}", f"{(high - low) / 2:.4f}") for mean, low, high in found]
            rows.append((f"{search}, normaliser {reading}", tuple(cells)))
    heads = ("search", *(f"K = {k}" for k in PAPER_RATIOS))
    return Table("Approximation ratios", heads, tuple(rows), "± half of a 95% interval")


def seconds_table(seconds: Mapping[str, float]) -> Table:
    """Return how long each stage took."""
    rows = [(name, (Cell(_duration(taken)),)) for name, taken in seconds.items()]
    rows.append(("total", (Cell(_duration(sum(seconds.values())), best=True),)))
    return Table("Run times", ("stage", "time"), tuple(rows))


def relative_tables(replays: Replays) -> Iterator[Table]:
    """Yield F1, F2, recall and diversity of every method at a few rounds; F relative to LMDH's."""
    for measure in ("F1", "F2", "recall", "diversity"):
        found = {key: summarise(splits, measure) for key, splits in replays.items()}
        best = {t: max(one.mean[t - 1] for one in found.values()) for t in _rounds(found)}
        relative, rows = measure in ("F1", "F2"), []
        for key, one in found.items():
            cells = []
            for t, top in best.items():
                mean, error = one.mean[t - 1], f"{one.error[t - 1]:.3f}"
                text = f"{mean:.3f}"
                if relative and LMDH in found:
                    text, error = f"{text} ({mean / found[LMDH].mean[t - 1] - 1.0:+.1%})", ""
                cells.append(Cell(text, error, bool(mean == top)))
            rows.append((_label(key, replays), tuple(cells)))
        note = "In brackets: relative to LMDH." if relative else ""
        yield Table(measure, ("method", *(f"t = {t}" for t in best)), tuple(rows), note)


def ablation_table(replays: Replays) -> Table:
    """Return how far our learner and its ablations are ahead of LMDH over the rounds."""
    rows = []
    for key in [OURS, *(method.key for method in ABLATIONS)]:
        if {key, LMDH} <= set(replays):
            found = [difference(replays[key], replays[LMDH], m).overall for m in MEASURES]
            cells = [Cell(interval_text(*each, "+.4f")) for each in found]
            rows.append((METHOD_TITLES[key], tuple(cells)))
    return Table(
        "What each part adds",
        ("method", *MEASURES),
        tuple(rows),
        "The difference from LMDH, mean over the rounds, with its paired 95% interval.",
    )


def frontier_tables(frontier: Frontier) -> Iterator[Table]:
    """Yield how the settings of each other method lie to our frontier, and those above it."""
    found = {t: list(points(frontier, t)) for t in moments(frontier)}
    if not found:
        return
    rows = []
    for method in [name for name in frontier if name != OURS]:
        cells: list[Cell] = []
        for each in found.values():
            own = [point for point in each if point.method == method]
            above = sum(point.is_above for point in own)
            clear = sum(point.is_clearly_above for point in own)
            least = min(point.margin for point in own)
            cells += [Cell(f"{above} ({clear}) of {len(own)}"), Cell(f"{least:+.4f}")]
        rows.append((sweep_title(method), tuple(cells)))
    heads = [head for t in found for head in (f"t = {t}: settings above", "least margin")]
    yield Table(
        "Other methods and our frontier",
        ("method", *heads),
        tuple(rows),
        "Settings whose recall lies above what LMDP reaches at their diversity, and in brackets "
        "those that do by their paired 95% interval; the least margin is the smallest of LMDP's "
        "recall minus theirs.",
    )
    above_ours = tuple(
        (
            f"{point_title(point)}, t = {point.moment}",
            (
                Cell(f"{point.diversity:.3f}"),
                Cell(f"{point.recall:.3f}"),
                Cell(f"{-point.margin:.4f} ({-point.high:+.4f} to {-point.low:+.4f})"),
            ),
        )
        for each in found.values()
        for point in each
        if point.is_above
    )
    if above_ours:
        heads = ["method", "diversity", "recall", "above by"]
        note = "In brackets: paired 95% interval."
        yield Table("Above our frontier", tuple(heads), above_ours, note)


def distances_table(found: SeveralDistances) -> Table:
    """Return the lists and the betas of a learner with one distance or with both."""
    rows = []
    for known, splits in found.scores.items():
        betas = dict(zip(known.split(" and "), found.betas[known].T, strict=True))
        learnt = [
            f"{np.mean(betas[name]):+.3f} ± {np.std(betas[name]):.3f}" if name in betas else "none"
            for name in found.names
        ]
        recall = float(mean_measure(splits, "recall")[-1])
        spread = [
            np.mean([s.diversity[row][:, -1].mean() for s in splits])
            for row in range(len(found.names))
        ]
        cells = [f"{recall:.3f}", *(f"{value:.3f}" for value in spread), *learnt]
        rows.append((f"LMDP with {known}", tuple(map(Cell, cells))))
    heads = (
        "method",
        "recall",
        *(f"diversity by {name}" for name in found.names),
        *(f"β of {name}" for name in found.names),
    )
    mean, deviation = found.prior
    return Table(
        "Two distances on MovieLens-100K, after the last list",
        heads,
        tuple(rows),
        "β is the estimate, mean ± standard deviation over users. Its prior has a mean of "
        f"{mean:.2f}, divided by the number of distances, and a standard deviation of "
        f"{deviation:.2f}. The floor is not included.",
    )


def simulated_tables(found: Mapping[str, Any]) -> Iterator[Table]:
    """Yield a table for each simulated experiment that was played."""
    makers: dict[str, Callable[[Any], Table]] = {
        "drift": drift_table,
        "examination": examination_table,
        "multi_distance": multi_distance_table,
        "cold_start": cold_start_table,
        "variety": variety_table,
        "first_picks": first_picks_table,
    }
    for name, make in makers.items():
        if name in found:
            yield make(found[name])


def drift_table(found: drift.Drift) -> Table:
    """Return what forgetting adds, by how tastes change."""
    gains, columns = found.gains(), range(len(drift.FORGETTING) - 1)
    percent = Interval(*(100.0 * part for part in gains))
    rows = [
        (
            f"{method_title(learner)}, {kind}",
            tuple(
                Cell(interval_text(*percent.at(place, row, column), "+.1f", unit="%"))
                for column in columns
            ),
        )
        for place, kind in enumerate(drift.KINDS.values())
        for row, learner in enumerate(drift.LEARNERS)
    ]
    return Table(
        "Gain of forgetting over the same learner without it",
        ("learner, tastes", *(f"forgetting {f:g}" for f in drift.FORGETTING[:-1])),
        tuple(rows),
        f"In percent of the clicks of a recommender that knows the taste. {_INTERVAL}",
    )


def examination_table(found: examination.Examination) -> Table:
    """Return the errors and clicks of learners that model what users examine, or do not."""
    users = {"cascade": "stop at the first click", "examined": "skip positions"}
    errors = student_interval(found.relative_errors()[..., -1])
    shares = student_interval(found.shares())
    rows = [
        (
            f"users {users[user]}, {learner}",
            tuple(Cell(interval_text(*each.at(place, row), ".3f")) for each in (errors, shares)),
        )
        for place, user in enumerate(examination.USERS)
        for row, learner in enumerate(("modelled", "not modelled"))
    ]
    note = f"Error: |η̂ - η| / |η| after random lists. {_INTERVAL}"
    heads = ("users, learner", "error at the end", _BEST_CLICKS)
    return Table("Examination", heads, tuple(rows), note)


def multi_distance_table(found: multi_distance.MultiDistance) -> Table:
    """Return what it is worth to learn which distance a user values."""
    titles = {
        "all": "LMDH with all three distances",
        "average": "LMDH with their average",
        "right": "LMDH with the right one alone",
        "none": "LMDH without distances",
    }
    shares = student_interval(found.shares())
    mean, low, high = student_interval(found.right()[:, -1]).at()
    rows = [
        (titles[learner], (Cell(interval_text(*shares.at(row), ".3f")),))
        for row, learner in enumerate(multi_distance.LEARNERS)
    ]
    note = (
        f"After the last list the largest β̂ is the right one for {mean:.0%} of users "
        f"({max(low, 0.0):.0%} to {min(high, 1.0):.0%}; by chance 33%). {_INTERVAL}"
    )
    heads = ("learner", _BEST_CLICKS)
    return Table("Users who value one distance of three", heads, tuple(rows), note)


def cold_start_table(found: cold_start.ColdStart) -> Table:
    """Return the clicks of learners that start from more or less."""
    starts = {
        "nothing": "from zero",
        "guess": "from a guess",
        "fit": "fitted to others",
        "truth": "from the truth",
    }
    shares = found.shares()
    spans = {"first list": 1, "first ten": 10, "all lists": shares.shape[-1]}
    columns = [student_interval(shares[..., :last].mean(axis=-1)) for last in spans.values()]
    rows = []
    for row, (policy, start) in enumerate(cold_start.LEARNERS.values()):
        ridge = f", λ = {policy.options['ridge']:g}" if "ridge" in policy.options else ""
        title = f"{method_title(policy.name)}{ridge}, {starts[start]}"
        rows.append((title, tuple(Cell(interval_text(*c.at(row), ".3f")) for c in columns)))
    title = f"Cold start: {_BEST_CLICKS}"
    return Table(title, ("learner", *spans), tuple(rows), _INTERVAL)


def variety_table(found: variety.Variety) -> Table:
    """Return the share of users of whom the right, and a wrong, statement was made."""
    right, wrong = found.right(), found.wrong()
    spans = sorted({min(t, found.positive.shape[1]) for t in (2, 5, 10)})
    rows = [
        (
            f"{kind} (total {low:g} to {high:g})",
            (
                *(Cell(f"{right[kind][:, t - 1].mean():.0%}") for t in spans),
                Cell(f"{wrong[kind][:, -1].mean():.0%}"),
            ),
        )
        for kind, (low, high) in variety.USERS.items()
    ]
    return Table(
        "Sure statements about the total preference for variety, in the film demo",
        ("users", *(f"right by list {t}" for t in spans), "ever wrong"),
        tuple(rows),
        'Right: "You like varied lists" for the first, "You like less variety than most" or "You '
        'like lists of similar items" for the second. Statements with "perhaps" do not count.',
    )


def first_picks_table(found: first_picks.FirstPicks) -> Table:
    """Return the clicks per list without a fitted prior, by users' preference for variety."""
    clicks, step = found.earned.mean(axis=2), len(first_picks.TOTALS)
    totals = first_picks.TOTALS[: len(clicks)]
    columns = [student_interval(clicks[place::step]) for place in range(len(totals))]
    rows = [
        (learner, tuple(Cell(interval_text(*c.at(row), ".2f")) for c in columns))
        for row, learner in enumerate(first_picks.LEARNERS)
    ]
    first, second = found.distances.mean(axis=0)
    return Table(
        "Films without a fitted prior: expected clicks per list of ten",
        ("learner", *(f"total weight of diversity {total:g}" for total in totals)),
        tuple(rows),
        f"{_INTERVAL} Mean distance within the first list {first:.3f}, after one to three random "
        f"picks {second:.3f}.",
    )


def _rounds(found: Mapping[str, Summary]) -> list[int]:
    """Return the rounds of a table: a few of those played, and always the last."""
    played = len(next(iter(found.values())).mean)
    return sorted({t for t in ROUNDS if t <= played} | {played})


def _label(policy: str, replays: Replays) -> str:
    """Return the name of a policy; that of a reconstruction says so, with its choices."""
    label = replays[policy][0].label
    return label if "reconstructed" in label else METHOD_TITLES.get(policy, method_title(policy))


def _sizes(counts: Counts) -> tuple[Cell, ...]:
    return (*(Cell(f"{count:,}") for count in counts), Cell(f"{counts.density:.2%}"))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{seconds:.1f} s"
