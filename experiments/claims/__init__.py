"""The paper's claims, judged from the numbers.

A claim of "better" counts a round if the paired 95% interval of the difference (users drawn
anew 1000 times, the same ones for both methods) lies above 0; "comparable" counts it if the
interval does not lie below 0. A claim of all rounds holds if every round counts, a claim of
"usually" if three quarters do; with at least half of the rounds it holds in part, with fewer
it does not hold. A claim over several data sets or settings holds if it does in each, does not
hold if it does in none, and holds in part otherwise. Intervals are for one round at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from experiments.claims.listed import CLAIMS, QUESTIONS
from experiments.claims.questions import verdicts_by_reading
from experiments.claims.verdict import Claim, Evidence, Status, Verdict
from experiments.results import Results

__all__ = [
    "CLAIMS",
    "QUESTIONS",
    "RULE",
    "Claim",
    "Evidence",
    "Judgement",
    "Status",
    "Verdict",
    "judged",
]

#: How claims are judged, for people to read.
RULE: Final = (
    "Every verdict is worked out from the numbers. In a round, one method is ahead of another if "
    "the paired 95% interval of their difference lies above 0 (users are drawn anew 1000 times, "
    "the same ones for both methods), behind if it lies below 0, and level otherwise. A claim of "
    "all rounds holds if our method is ahead in every one of them; a claim of “usually”, in at "
    "least three quarters; “comparable” asks that it is not behind. With at least half of the "
    "rounds a claim holds in part, with fewer it does not hold. A claim over several data sets "
    "or settings holds if it holds in each, does not hold if it holds in none, and holds in part "
    "otherwise. Intervals are for one round at a time, so that of many level rounds a few may "
    "seem apart by chance; they are over users, and what the split and its embeddings add is told "
    "by the standard errors over splits in the tables."
)


@dataclass(frozen=True, eq=False)
class Judgement:
    """Every verdict on what was measured."""

    claims: Mapping[Claim, Verdict]
    #: What the paper does not ask
    questions: Mapping[Claim, Verdict]
    #: The claims that the normaliser may change, under each reading of it
    by_reading: Mapping[Claim, Mapping[str, Verdict]]

    def count(self, status: Status) -> int:
        """Return how many of the paper's claims have this status."""
        return sum(verdict.status is status for verdict in self.claims.values())


def judged(results: Results) -> Judgement:
    """Return the verdict on each claim of the paper, and on what stands beside them."""
    return Judgement(
        {claim: claim.judge(results, "lmdh") for claim in CLAIMS},
        {question: question.judge(results, "lmdh") for question in QUESTIONS},
        verdicts_by_reading(results, CLAIMS),
    )
