"""The paper's claims of diversity on real data (its Figure 2)."""

from typing import Final

from experiments.claims.standing import (
    USUALLY,
    best_in_rounds,
    by_share,
    spans,
    standing,
)
from experiments.claims.verdict import Evidence, Status, Verdict
from experiments.names import BASELINES, PAPER_TABLE, dataset_title
from experiments.results import Results

#: The rounds in which the paper finds LMDB more diverse than DC2B.
FIRST_ROUNDS: Final = (1, 15)
#: The ranks that the paper gives LMDB.
RANKS: Final = (2, 3)


def second_or_third(results: Results, ours: str) -> Verdict:
    """Judge "usually the second or third best diversity"."""
    return Verdict.of(_rank(results, dataset, ours) for dataset in PAPER_TABLE)


def more_diverse_than_c2ucb(results: Results, ours: str) -> Verdict:
    """Judge "more diverse than C2UCB over all rounds"."""
    return Verdict.of(
        best_in_rounds(
            dataset_title(results, dataset),
            standing(results.replays.get(dataset, {}), ours, ["c2ucb"], "diversity"),
        )
        for dataset in PAPER_TABLE
    )


def more_diverse_than_dc2b(results: Results, ours: str) -> Verdict:
    """Judge "usually more diverse than DC2B in the first 15 rounds"."""
    return Verdict.of(
        best_in_rounds(
            dataset_title(results, dataset),
            standing(results.replays.get(dataset, {}), ours, ["dc2b"], "diversity", FIRST_ROUNDS),
            needed=USUALLY,
        )
        for dataset in PAPER_TABLE
    )


def _rank(results: Results, dataset: str, ours: str) -> Evidence:
    where = dataset_title(results, dataset)
    found = standing(results.replays.get(dataset, {}), ours, BASELINES, "diversity")
    if found is None:
        return Evidence(where, Status.NOT_MEASURED, "not measured")
    # A rank is sure only as far as the intervals are apart: from best to worst possible.
    best = 1 + found.behind.sum(axis=0)
    worst = 1 + len(found.differences) - found.ahead.sum(axis=0)
    won = (best >= RANKS[0]) & (worst <= RANKS[1])
    ranks = sorted(set(zip(best.tolist(), worst.tolist(), strict=True)))
    told = ", ".join(
        f"rank {_told(a, b)} in rounds {spans((best == a) & (worst == b), found.rounds)}"
        for a, b in ranks
    )
    return Evidence(where, by_share(won, USUALLY), told, found.numbers)


def _told(best: int, worst: int) -> str:
    return str(best) if best == worst else f"{best} to {worst}"
