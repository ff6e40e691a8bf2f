"""Simulated users of a ranker: whether their weights are found, and what their lists earn.

In every request a ranker has 200 candidates of 25 topics, whose scores are on another scale each
time. Scores of one topic are similar, so the ranker alone shows similar items. A user clicks on an
item with the probability theta . score + beta . mean distance to the items above, with weights of
their own: what variegate learns, and a fixed trade-off cannot know.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from tools.findings import Finding, Part
from tools.journeys.findings import more_than
from variegate import LMDP, diversify, open_catalogue
from variegate.arrays import FloatArray, IndexArray, MaskArray, unit_rows
from variegate.model.scores import normalise_scores
from variegate.policies.beliefs import Statement, TotalDiversity, learnt_total_diversity
from variegate.prior.default import BETA as BETA_BEFORE

CANDIDATES: Final = 200
TOPICS: Final = 25
WIDTH: Final = 16
K: Final = 10
USERS: Final = 100
LISTS: Final = 300
#: Of the users' weights of the score and of diversity
THETA: Final = (0.1, 0.6)
BETA: Final = (0.0, 0.4)
NEEDED_SHARE: Final = 0.9
#: After so many lists the sentence about variety is read.
READ: Final = (10, 30, 100, 300)
ALLOWED_SHARE: Final = 0.05
#: MSD's trade-offs, from the ranker alone to distances alone
TRADE_OFFS: Final = (0.0, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 0.9)


class Request(NamedTuple):
    """One request's candidates."""

    scores: FloatArray
    vectors: np.ndarray


class Played(NamedTuple):
    """One user's lists."""

    #: Whether theta and beta are inside their 95% intervals
    inside: tuple[bool, bool]
    #: Whether the sentence about variety was sure and false, after each number of `READ`
    wrong: list[bool]
    #: Expected clicks per list
    ours: float
    ranker: float
    #: By MSD's trade-off, on scores from 0 to 1, (trade-offs,)
    msd: FloatArray


def measure(seed: int = 0, *, users: int = USERS, lists: int = LISTS) -> Part:
    """Return what simulated users show."""
    played = [play(seed, user, lists) for user in range(users)]
    theta, beta = (sum(one.inside[place] for one in played) for place in (0, 1))
    both = sum(all(one.inside) for one in played)
    msd = np.array([one.msd for one in played])
    best = int(msd.mean(axis=0).argmax())
    ours = np.array([one.ours for one in played])
    ranker = np.array([one.ranker for one in played])
    findings = [
        Finding(
            f"After {lists} lists both weights are inside their 95% intervals for at least "
            f"{NEEDED_SHARE:.0%} of the users",
            f"{both} of {users} users (score {theta}, diversity {beta})",
            both >= NEEDED_SHARE * users,
        ),
        _sentences(np.array([one.wrong for one in played])),
        _ahead("the ranker alone", ours, ranker),
        _ahead(
            "the ranker with the MSD trade-off that is best for all users together in hindsight, "
            f"{TRADE_OFFS[best]:g}",
            ours,
            msd[:, best],
        ),
    ]
    how = (
        f"{users} simulated users with {lists} lists of {K} from {CANDIDATES} candidates each; "
        "scores on another scale in every request. A user's weight of the score is from "
        f"{THETA[0]:g} to {THETA[1]:g}, that of the mean distance from {BETA[0]:g} to {BETA[1]:g}. "
        "Expected clicks, over all lists from the first on; intervals are paired, over users."
    )
    return Part(how, findings)


def _sentences(wrong: MaskArray) -> Finding:
    counts, users = wrong.sum(axis=0), len(wrong)
    read = READ[: wrong.shape[1]]
    return Finding(
        f"A sure sentence about variety is false for at most {ALLOWED_SHARE:.0%} of the users "
        f"(less than most: less than the prior's {BETA_BEFORE:g})",
        "; ".join(
            f"{count} of {users} after {n} lists"
            for n, count in zip(read, counts.tolist(), strict=True)
        ),
        bool((counts <= ALLOWED_SHARE * users).all()),
    )


def is_wrong(total: TotalDiversity, beta: float) -> bool:
    """Return whether what is said of a user's wish for variety is sure, and false."""
    is_false = {
        None: False,
        Statement.VARIED: beta <= 0.0,
        Statement.SOME: not 0.0 < beta < BETA_BEFORE,
        Statement.LESS: beta >= BETA_BEFORE,
        Statement.SIMILAR: beta >= 0.0,
    }
    return total.is_sure and is_false[total.statement]


def _ahead(rival: str, ours: FloatArray, theirs: FloatArray) -> Finding:
    return more_than(f"Lists earn more than those of {rival}", "clicks per list", ours, theirs)


def play(seed: int, user: int, lists: int) -> Played:
    """Return what one user's lists earn, and whether the learner finds their weights."""
    rng = np.random.default_rng([seed, user])
    theta, beta = rng.uniform(*THETA), rng.uniform(*BETA)
    policy, ids = LMDP(open_catalogue()), [str(place) for place in range(CANDIDATES)]
    earned, wrong = np.zeros(2 + len(TRADE_OFFS)), []
    for number in range(1, lists + 1):
        request, luck = draw_request(rng), rng.random(K)
        chance = click_model(request, theta, beta)
        slate = policy.recommend(K, ids, scores=request.scores, vectors=request.vectors)
        clicked = chance(slate.items)
        policy.update(slate, (luck < clicked).astype(np.float64))
        if number in READ:
            wrong.append(is_wrong(learnt_total_diversity(policy), beta))
        first = np.argsort(-request.scores, kind="stable")[:K]
        rivals = [
            chance(diversify(_from_0_to_1(request.scores), request.vectors, K, diversity=one))
            for one in TRADE_OFFS
        ]
        earned += [one.sum() for one in (clicked, chance(first), *rivals)]
    found = policy.preferences
    (low, high), (least, most) = found.relevance_interval[:, 0], found.diversity_interval[:, 0]
    inside = bool(low <= theta <= high), bool(least <= beta <= most)
    earned /= lists
    return Played(inside, wrong, float(earned[0]), float(earned[1]), earned[2:])


def draw_request(rng: np.random.Generator) -> Request:
    """Return candidates of topics that the ranker likes more and less."""
    topic = rng.integers(TOPICS, size=CANDIDATES)
    vectors = rng.normal(size=(TOPICS, WIDTH))[topic] + 0.3 * rng.normal(size=(CANDIDATES, WIDTH))
    scores = rng.normal(size=TOPICS)[topic] + 0.7 * rng.normal(size=CANDIDATES)
    scale, middle = np.exp(2.0 * rng.normal()), 10.0 * rng.normal()
    return Request(scale * scores + middle, vectors.astype(np.float32))


def click_model(request: Request, theta: float, beta: float) -> Callable[[IndexArray], FloatArray]:
    """Return the probability of a click on each item of a list."""
    score, units = normalise_scores(request.scores).values, unit_rows(request.vectors)

    def chance(rows: IndexArray) -> FloatArray:
        apart = np.tril(1.0 - units[rows] @ units[rows].T, -1).sum(axis=1)
        gains = theta * score[rows] + beta * apart / np.maximum(np.arange(len(rows)), 1)
        return np.asarray(np.clip(gains, 0.0, 1.0))

    return chance


def _from_0_to_1(scores: FloatArray) -> FloatArray:
    return np.asarray((scores - scores.min()) / np.ptp(scores))
