"""The paper's claims of recall, F1 and F2 on real data (its Figures 1, 3 and appendix 1)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from experiments.claims.standing import (
    USUALLY,
    best_in_rounds,
    standing,
)
from experiments.claims.verdict import Evidence, Status, Verdict
from experiments.names import (
    BASELINES,
    PAPER_TABLE,
    dataset_title,
    method_title,
)
from experiments.results import Results
from variegate.evaluation.bootstrap import difference
from variegate.evaluation.metrics import Scores

#: The first rounds, in which the paper finds DC2B effective, and the last ones.
EARLY: Final = (1, 3)
LATE: Final = (21, 30)
#: Between these two rounds LMDB and C2UCB are said to pull away.
FROM_ROUND, TO_ROUND = 5, 30


def best_recall(results: Results, ours: str) -> Verdict:
    """Judge "best recall in all 30 rounds on all data sets"."""
    return _best(results, ours, "recall", tuple(PAPER_TABLE))


def best_f2(results: Results, ours: str) -> Verdict:
    """Judge "best F2 over all rounds on all data sets"."""
    return _best(results, ours, "F2", tuple(PAPER_TABLE))


def usually_best_f1(results: Results, ours: str) -> Verdict:
    """Judge "F1 usually best" on the two MovieLens sets."""
    return _best(results, ours, "F1", ("ml-100k", "ml-1m"), needed=USUALLY)


def f1_on_anime(results: Results, ours: str) -> Verdict:
    """Judge "F1 comparable with eps-greedy and better than the others" on Anime."""
    replays = results.replays.get("anime", {})
    title = dataset_title(results, "anime")
    rivals = [name for name in BASELINES if name != "epsilon-greedy"]
    others = standing(replays, ours, rivals, "F1")
    parts = [best_in_rounds(f"{title}, the others", others)]
    greedy, where = standing(replays, ours, ["epsilon-greedy"], "F1"), f"{title}, ε-Greedy"
    if greedy is None:
        parts.append(Evidence(where, Status.NOT_MEASURED, "not measured"))
    else:
        behind = greedy.behind[0]
        status = Status.HOLDS if not behind.any() else Status.IN_PART
        status = Status.FAILS if behind.mean() > 0.5 else status
        told = greedy.told(~behind, "not behind")
        parts.append(Evidence(where, status, told, greedy.numbers))
    return Verdict.of(parts)


def early_then_poor_dc2b(results: Results, _ours: str) -> Verdict:
    """Judge "DC2B is effective in the first rounds and poorer than the others later"."""
    return Verdict.of(part for dataset in PAPER_TABLE for part in _dc2b_parts(results, dataset))


def pulls_away(results: Results, ours: str) -> Verdict:
    """Judge "LMDB and C2UCB gain on the others from round to round"."""
    parts = []
    for dataset in PAPER_TABLE:
        replays = results.replays.get(dataset, {})
        for leader in (ours, "c2ucb"):
            where = f"{dataset_title(results, dataset)}, {method_title(leader)}"
            rivals = [n for n in BASELINES if n in replays and n not in (leader, "c2ucb")]
            if leader not in replays or not rivals:
                parts.append(Evidence(where, Status.NOT_MEASURED, "not measured"))
            else:
                grown = {n: _growth(replays[leader], replays[n]) for n in rivals}
                parts.append(_growth_evidence(where, grown))
    return Verdict.of(parts)


def _best(
    results: Results, ours: str, measure: str, datasets: Sequence[str], *, needed: float = 1.0
) -> Verdict:
    return Verdict.of(
        best_in_rounds(
            dataset_title(results, dataset),
            standing(results.replays.get(dataset, {}), ours, BASELINES, measure),
            needed=needed,
        )
        for dataset in datasets
    )


def _dc2b_parts(results: Results, dataset: str) -> list[Evidence]:
    """Early: ahead of at least half of the others. Late: behind each of them."""
    replays, title = results.replays.get(dataset, {}), dataset_title(results, dataset)
    others = ["lmdh", *(name for name in BASELINES if name != "dc2b")]
    early = standing(replays, "dc2b", others, "recall", EARLY)
    late = standing(replays, "dc2b", others, "recall", LATE)
    if early is None or late is None or not len(late.rounds):
        return [Evidence(title, Status.NOT_MEASURED, "not measured")]
    # In each round, of how many others it is ahead, and how many are ahead of it.
    beaten, beaten_by = early.ahead.sum(axis=0), late.behind.sum(axis=0)
    good = bool((2 * beaten >= len(early.differences)).all())
    poor = beaten_by == len(late.differences)
    return [
        Evidence(
            f"{title}, rounds {EARLY[0]}-{EARLY[1]}",
            Status.HOLDS if good else Status.FAILS,
            f"recall ahead of {_range_of(beaten)} of {len(early.differences)} others",
            early.numbers,
        ),
        Evidence(
            f"{title}, rounds {LATE[0]}-{late.rounds.stop}",
            Status.HOLDS if poor.all() else Status.FAILS,
            f"behind {_range_of(beaten_by)} of {len(late.differences)} others",
            late.numbers,
        ),
    ]


def _growth(leader: Sequence[Scores], rival: Sequence[Scores]) -> tuple[float, float, float]:
    """How much the lead in recall grew between the two rounds: mean, low, high."""
    found = difference([_gained(s) for s in leader], [_gained(s) for s in rival], "recall")
    return float(found.mean[0]), float(found.low[0]), float(found.high[0])


def _gained(scores: Scores) -> Scores:
    last = min(TO_ROUND, scores.recall.shape[1]) - 1
    first = min(FROM_ROUND, last + 1) - 1
    gained = scores.recall[:, [last]] - scores.recall[:, [first]]
    return replace(scores, recall=gained, diversity=scores.diversity[:, :, [last]])


def _growth_evidence(where: str, grown: dict[str, tuple[float, float, float]]) -> Evidence:
    won = np.array([low > 0.0 for _mean, low, _high in grown.values()])
    least = min(grown, key=lambda name: grown[name][0])
    mean, low, high = grown[least]
    told = (
        f"the lead in recall grew over {won.sum()} of {len(won)}; least over "
        f"{method_title(least)}, by {mean:+.3f} ({low:+.3f} to {high:+.3f})"
    )
    status = Status.HOLDS if won.all() else Status.IN_PART if won.any() else Status.FAILS
    return Evidence(where, status, told, {"growth": grown})


def _range_of(counts: np.ndarray) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"
