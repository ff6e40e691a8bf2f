"""The paper's claims and one further question, with the rules that judge them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from experiments.claims.comparison import (
    USUALLY,
    AheadOf,
    ahead_in_rounds,
    compare,
    round_ranges,
    status_by_share,
)
from experiments.claims.verdict import (
    Claim,
    Evidence,
    Status,
    Verdict,
    join_statuses,
    not_measured,
)
from experiments.intervals import interval_text, student_interval
from experiments.methods import BASELINES, LMDH, LMDH_GREEDY, method_title
from experiments.results import PAPER_TABLE, Regret, Results
from variegate.evaluation.bootstrap import difference, mean_measure
from variegate.evaluation.metrics import Scores
from variegate.evaluation.simulation import PAPER_RATIOS

#: The first rounds, in which the paper finds DC2B effective, and the last ones.
EARLY: Final = (1, 3)
LATE: Final = (21, 30)
#: The rounds between which LMDB and C2UCB gain on the others.
FROM_ROUND, TO_ROUND = 5, 30
#: The ranks of LMDB's diversity in the paper.
RANKS: Final = (2, 3)
#: The rounds at which F1 is compared between settings, and the largest change that is no change.
SENSITIVITY_ROUNDS: Final = (5, 10, 30)
MAX_CHANGE: Final = 0.05
#: The rivals of the paper's simulation.
SIMULATED_RIVALS: Final = ("c2ucb", "dc2b", "lsb")
#: The reading of the normaliser that gives the paper's ratios (docs/explanation/paper.md, A1).
PAPER_READING: Final = "none"
#: The largest difference of a mean ratio from the paper's.
RATIO_TOLERANCE: Final = 0.0015


def f1_on_anime(results: Results, ours: str) -> Verdict:
    """Judge "F1 comparable with eps-greedy and better than the others" on Anime."""
    replays, title = results.replays.get("anime", {}), results.dataset_title("anime")
    rivals = [name for name in BASELINES if name != "epsilon-greedy"]
    others = ahead_in_rounds(f"{title}, the others", compare(replays, ours, rivals, "F1"))
    where = f"{title}, ε-Greedy"
    greedy = compare(replays, ours, ["epsilon-greedy"], "F1")
    if greedy is None:
        return Verdict.of([others, not_measured(where)])
    behind = greedy.behind[0]
    status = Status.of(not behind.any(), in_part=behind.mean() <= 0.5)
    comparable = greedy.describe(~behind, "not behind")
    return Verdict.of([others, Evidence(where, status, comparable, greedy.numbers)])


def dc2b_early_and_late(results: Results, _ours: str) -> Verdict:
    """Judge "DC2B is effective in the first rounds and poorer than the others later"."""
    others = [LMDH, *(name for name in BASELINES if name != "dc2b")]
    parts = []
    for dataset in PAPER_TABLE:
        replays, title = results.replays.get(dataset, {}), results.dataset_title(dataset)
        early = compare(replays, "dc2b", others, "recall", EARLY)
        late = compare(replays, "dc2b", others, "recall", LATE)
        if early is None or late is None or not len(late.rounds):
            parts.append(not_measured(title))
            continue
        # In each round, of how many others it is ahead, and how many are ahead of it.
        beaten, beaten_by = early.ahead.sum(axis=0), late.behind.sum(axis=0)
        parts += [
            Evidence(
                f"{title}, rounds {EARLY[0]}-{EARLY[1]}",
                Status.of(bool((2 * beaten >= len(early.differences)).all())),
                f"recall ahead of {_range(beaten)} of {len(early.differences)} others",
                early.numbers,
            ),
            Evidence(
                f"{title}, rounds {LATE[0]}-{late.rounds.stop}",
                Status.of(bool((beaten_by == len(late.differences)).all())),
                f"behind {_range(beaten_by)} of {len(late.differences)} others",
                late.numbers,
            ),
        ]
    return Verdict.of(parts)


def gaining(results: Results, ours: str) -> Verdict:
    """Judge "LMDB and C2UCB gain on the others from round to round"."""
    parts = []
    for dataset in PAPER_TABLE:
        replays = results.replays.get(dataset, {})
        for leader in (ours, "c2ucb"):
            where = f"{results.dataset_title(dataset)}, {method_title(leader)}"
            rivals = [n for n in BASELINES if n in replays and n not in (leader, "c2ucb")]
            if leader not in replays or not rivals:
                parts.append(not_measured(where))
            else:
                growth = {n: _growth(replays[leader], replays[n]) for n in rivals}
                parts.append(_growth_evidence(where, growth))
    return Verdict.of(parts)


def _growth(leader: Sequence[Scores], rival: Sequence[Scores]) -> tuple[float, float, float]:
    """Return the growth of the lead in recall between the two rounds: mean, low, high."""
    found = difference([_gain(s) for s in leader], [_gain(s) for s in rival], "recall")
    return float(found.mean[0]), float(found.low[0]), float(found.high[0])


def _gain(scores: Scores) -> Scores:
    """Return scores whose recall is the gain between the two rounds."""
    last = min(TO_ROUND, scores.recall.shape[1]) - 1
    first = min(FROM_ROUND, last + 1) - 1
    gain = scores.recall[:, [last]] - scores.recall[:, [first]]
    return replace(scores, recall=gain, diversity=scores.diversity[:, :, [last]])


def _growth_evidence(where: str, growth: dict[str, tuple[float, float, float]]) -> Evidence:
    won = np.array([low > 0.0 for _mean, low, _high in growth.values()])
    least = min(growth, key=lambda name: growth[name][0])
    finding = (
        f"the lead in recall grew over {won.sum()} of {len(won)}; least over "
        f"{method_title(least)}, by {interval_text(*growth[least], '+.3f')}"
    )
    status = Status.of(bool(won.all()), in_part=bool(won.any()))
    return Evidence(where, status, finding, {"growth": growth})


def _range(counts: np.ndarray) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"


def diversity_rank(results: Results, ours: str) -> Verdict:
    """Judge "usually the second or third best diversity"."""
    parts = []
    for dataset in PAPER_TABLE:
        where = results.dataset_title(dataset)
        found = compare(results.replays.get(dataset, {}), ours, BASELINES, "diversity")
        if found is None:
            parts.append(not_measured(where))
            continue
        # A rank is known only as far as the intervals are apart: from best to worst possible.
        best = 1 + found.behind.sum(axis=0)
        worst = 1 + len(found.differences) - found.ahead.sum(axis=0)
        won = (best >= RANKS[0]) & (worst <= RANKS[1])
        finding = ", ".join(
            f"rank {_range(np.array(ranks))} in rounds "
            f"{round_ranges((best == ranks[0]) & (worst == ranks[1]), found.rounds)}"
            for ranks in sorted(set(zip(best.tolist(), worst.tolist(), strict=True)))
        )
        parts.append(Evidence(where, status_by_share(won, USUALLY), finding, found.numbers))
    return Verdict.of(parts)


def ahead_at_every_length(results: Results, ours: str) -> Verdict:
    """Judge "F1 ahead of the other bandits for every length of the list"."""
    parts = [
        ahead_in_rounds(f"|A| = {length}", compare(replays, ours, ["c2ucb", "dc2b"], "F1"))
        for length, replays in sorted(results.lengths.items())
    ]
    return Verdict.of(parts or [not_measured("ML-100K")])


def insensitive(results: Results, _ours: str) -> Verdict:
    """Judge "lambda and alpha of 1 and more make no great difference"."""
    parts = []
    for option, letter in (("ridge", "λ"), ("exploration", "α")):
        values = {v: s for v, s in results.sensitivity.get(option, {}).items() if v >= 1.0}
        parts.append(_largest_change(letter, values) if len(values) > 1 else not_measured(letter))
    return Verdict.of(parts)


def _largest_change(letter: str, values: Mapping[float, Sequence[Scores]]) -> Evidence:
    """Return the largest change of F1 between two values, relative to the higher F1."""
    curves = {value: mean_measure(splits, "F1") for value, splits in values.items()}
    played = len(next(iter(curves.values())))
    found = []
    for t in sorted({min(t, played) for t in SENSITIVITY_ROUNDS}):
        best = max(curves, key=lambda value: curves[value][t - 1])
        worst = min(curves, key=lambda value: curves[value][t - 1])
        top = max(float(curves[best][t - 1]), np.finfo(float).tiny)
        gap = difference(values[best], values[worst], "F1")
        found.append((float(gap.mean[t - 1]) / top, float(gap.high[t - 1]) / top, t, best, worst))
    change, high, t, best, worst = max(found)
    finding = (
        f"F1 changes by at most {change:.1%} (interval up to {high:.1%}): at t = {t}, between "
        f"{letter} = {best:g} and {worst:g}"
    )
    where = f"{letter} of {', '.join(f'{value:g}' for value in sorted(values))}"
    status = Status.of(max(change, high) < MAX_CHANGE, in_part=change < MAX_CHANGE)
    return Evidence(where, status, finding, {"change": change, "high": high, "round": t})


def lowest_regret(results: Results, _ours: str) -> Verdict:
    """Judge "regret much smaller than that of the others"."""
    return _by_paper_reading([_lowest(name, regret) for name, regret in results.regrets.items()])


def flattening_regret(results: Results, _ours: str) -> Verdict:
    """Judge "regret flattens with the number of rounds"."""
    return _by_paper_reading([_flattens(name, regret) for name, regret in results.regrets.items()])


def _by_paper_reading(parts: list[Evidence]) -> Verdict:
    """Return the verdict under the paper's reading, with the evidence of all readings."""
    verdict = Verdict.of(parts or [not_measured("simulation")])
    decisive = [part for part in parts if part.where == f"normaliser {PAPER_READING}"]
    main = Verdict.of(decisive) if decisive else verdict
    return Verdict(main.status, main.measured, verdict.evidence)


def _lowest(reading: str, regret: Regret) -> Evidence:
    where = f"normaliser {reading}"
    rivals = [name for name in SIMULATED_RIVALS if name in regret.names]
    if not rivals or LMDH not in regret.names:
        return not_measured(where)
    totals = dict(zip(regret.names, regret.regret.sum(axis=2), strict=True))
    ours, texts, statuses = totals[LMDH], [], []
    numbers: dict[str, object] = {LMDH: float(ours.mean())}
    for name in rivals:
        mean, low, high = student_interval(ours - totals[name]).at()
        statuses.append(Status.of(high < 0.0, in_part=mean < 0.0))
        theirs = float(totals[name].mean())
        texts.append(f"{method_title(name)} {theirs:.1f} (difference {low:+.1f} to {high:+.1f})")
        numbers[name] = {"regret": theirs, "low": low, "high": high}
    lists = f"after {regret.regret.shape[2]:,} lists"
    finding = f"LMDH {ours.mean():.1f} {lists}; {', '.join(texts)}"
    return Evidence(where, join_statuses(statuses), finding, numbers)


def _flattens(reading: str, regret: Regret) -> Evidence:
    where = f"normaliser {reading}"
    if LMDH not in regret.names:
        return not_measured(where)
    runs = regret.regret[regret.names.index(LMDH)]
    fifth = max(runs.shape[1] // 5, 1)
    first, last = runs[:, :fifth].mean(axis=1), runs[:, -fifth:].mean(axis=1)
    mean, low, high = student_interval(last - first).at()
    _mean, _low, high_of_half = student_interval(last - first / 2.0).at()
    finding = (
        f"{last.mean():.4f} per round in the last fifth, {first.mean():.4f} in the first: "
        f"{last.mean() / max(first.mean(), 1e-12):.2f} times as steep (difference {low:+.4f} to "
        f"{high:+.4f})"
    )
    numbers = {"first": float(first.mean()), "last": float(last.mean()), "low": low, "high": high}
    return Evidence(where, Status.of(high_of_half < 0.0, in_part=mean < 0.0), finding, numbers)


def ratios_near_one(results: Results, _ours: str) -> Verdict:
    """Judge "greedy lists are worth 0.9995, 0.9992, 0.9989 and 0.9971 of the best"."""
    ratios = results.ratios.get(PAPER_READING, {}).get("greedy")
    if ratios is None:
        return Verdict.of([not_measured("greedy")])
    parts = []
    for column, (k, paper) in enumerate(PAPER_RATIOS.items()):
        mean, low, high = student_interval(ratios[:, column]).at()
        status = Status.of(abs(mean - paper) <= RATIO_TOLERANCE)
        finding = f"{interval_text(mean, low, high, '.4f')}, the paper {paper:.4f}"
        numbers = {"mean": mean, "low": low, "high": high, "paper": paper}
        parts.append(Evidence(f"K = {k}", status, finding, numbers))
    return Verdict.of(parts)


def same_table(results: Results, _ours: str) -> Verdict:
    """Judge Table 1, number by number."""
    return Verdict.of(_same_row(results, dataset) for dataset in PAPER_TABLE)


def _same_row(results: Results, dataset: str) -> Evidence:
    where = results.dataset_title(dataset)
    if dataset not in results.table1:
        return not_measured(where)
    if results.is_sample(dataset):
        return Evidence(where, Status.NOT_MEASURED, "not measured: a sample")
    ours, papers = (
        {**row._asdict(), "density in per cent": round(100 * row.density, 2)}
        for row in (results.table1[dataset], PAPER_TABLE[dataset])
    )
    differ = [
        f"{name} {got:,} where the paper has {wanted:,}"
        for (name, got), wanted in zip(ours.items(), papers.values(), strict=True)
        if got != wanted
    ]
    return Evidence(where, Status.of(not differ), ", ".join(differ) or "every number the same")


def exploration_pays(results: Results, ours: str) -> Verdict:
    """Judge whether LMDH does better than itself without exploration."""
    parts = []
    for dataset in PAPER_TABLE:
        replays = results.replays.get(dataset, {})
        for measure in ("recall", "F1"):
            where = f"{results.dataset_title(dataset)}, {measure}"
            if not {ours, LMDH_GREEDY} <= set(replays):
                parts.append(not_measured(where))
                continue
            found = difference(replays[ours], replays[LMDH_GREEDY], measure).overall
            parts.append(_paid(where, f"{interval_text(*found, '+.4f')}, mean over rounds", *found))
    regret = results.regrets.get(PAPER_READING)
    if regret is None or not {LMDH, LMDH_GREEDY} <= set(regret.names):
        return Verdict.of([*parts, not_measured("simulation")])
    totals = regret.regret.sum(axis=2)
    lmdh, greedy = (totals[regret.names.index(name)] for name in (LMDH, LMDH_GREEDY))
    mean, low, high = student_interval(greedy - lmdh).at()
    text = f"{mean:+.1f} regret saved ({low:+.1f} to {high:+.1f})"
    return Verdict.of([*parts, _paid("simulation", text, mean, low, high)])


def _paid(where: str, text: str, mean: float, low: float, high: float) -> Evidence:
    word = "it costs" if high < 0.0 else "the interval includes 0"
    word = "it pays" if low > 0.0 else word
    status = Status.of(low > 0.0, in_part=mean > 0.0)
    return Evidence(where, status, f"{text}: {word}", {"low": low, "high": high, "mean": mean})


_ALL_ROUNDS: Final = "ahead of every baseline in every round"

#: What the paper claims of its method, in the paper's order.
CLAIMS: Final = (
    Claim(
        "recall",
        "LMDB has the best recall in all 30 rounds on all data sets",
        "Fig. 1",
        _ALL_ROUNDS,
        AheadOf("recall"),
        by_reading=True,
    ),
    Claim(
        "pulling-away",
        "LMDB and C2UCB gain on the other methods as rounds go by",
        "Fig. 1",
        "the lead in recall over each other method grew from round 5 to round 30",
        gaining,
    ),
    Claim(
        "dc2b",
        "DC2B is effective in the first rounds and poorer than the others later",
        "Fig. 1",
        "recall in rounds 1-3 ahead of at least half of the others, in rounds 21-30 behind each",
        dc2b_early_and_late,
    ),
    Claim(
        "diversity",
        "LMDB usually has the second or third best diversity",
        "Fig. 2",
        "rank 2 or 3 of the six, as far as intervals are apart, in three quarters of the rounds",
        diversity_rank,
        by_reading=True,
    ),
    Claim(
        "diversity-c2ucb",
        "LMDB is more diverse than C2UCB over all rounds",
        "Fig. 2",
        "ahead of C2UCB in every round",
        AheadOf("diversity", ("c2ucb",)),
        by_reading=True,
    ),
    Claim(
        "diversity-dc2b",
        "LMDB is usually more diverse than DC2B in the first 15 rounds",
        "Fig. 2",
        "ahead of DC2B in three quarters of rounds 1-15",
        AheadOf("diversity", ("dc2b",), rounds=(1, 15), needed=USUALLY),
        by_reading=True,
    ),
    Claim(
        "f1",
        "LMDB usually has the best F1 on both MovieLens sets",
        "Fig. 3 (a), (b)",
        "ahead of every baseline in three quarters of the rounds",
        AheadOf("F1", datasets=("ml-100k", "ml-1m"), needed=USUALLY),
        by_reading=True,
    ),
    Claim(
        "f1-anime",
        "On Anime, LMDB's F1 is comparable with ε-Greedy's and better than that of the others",
        "Fig. 3 (c)",
        "never behind ε-Greedy; ahead of each other baseline in every round",
        f1_on_anime,
        by_reading=True,
    ),
    Claim(
        "f2",
        "LMDB has the best F2 over all rounds on all data sets",
        "appendix, Fig. 1",
        _ALL_ROUNDS,
        AheadOf("F2"),
        by_reading=True,
    ),
    Claim(
        "insensitive",
        "λ and α make no great difference when they are 1 or more",
        "Fig. 4 (a), (b)",
        "the largest relative change of F1 at t = 5, 10, 30 between values of 1 and more is below "
        "5% (in part: below 5%, but its interval is not)",
        insensitive,
    ),
    Claim(
        "lengths",
        "LMDB's F1 is ahead of the other bandits' (C2UCB, DC2B) for lists of 5, 10 and 15",
        "Fig. 4 (c)",
        "ahead of both in every round",
        ahead_at_every_length,
    ),
    Claim(
        "regret",
        "LMDB's regret is much smaller than that of C2UCB, DC2B and LSB",
        "Fig. 5",
        "the paired interval (Student's t over runs) of the difference at the end lies below 0 "
        "(in part: the mean does), with the normaliser at “none”",
        lowest_regret,
    ),
    Claim(
        "flattening",
        "LMDB's regret flattens with the number of rounds",
        "Fig. 5",
        "less than half as steep in the last fifth as in the first, by its paired interval (in "
        "part: by the mean, less steep), with the normaliser at “none”",
        flattening_regret,
    ),
    Claim(
        "ratios",
        "Greedy lists are worth 0.9995, 0.9992, 0.9989 and 0.9971 of the best for K = 2 to 5",
        "simulated experiment",
        "each mean within 0.0015 of the paper's",
        ratios_near_one,
    ),
    Claim(
        "table-1",
        "Sizes of the data sets",
        "appendix, Table 1",
        "every number the same",
        same_table,
    ),
)

#: What the paper does not ask.
QUESTIONS: Final = (
    Claim(
        "exploration",
        "Exploration pays: LMDH does better than the same learner with α = 0",
        "not in the paper",
        "the paired interval of the difference lies above 0 (in part: the mean does)",
        exploration_pays,
    ),
)
