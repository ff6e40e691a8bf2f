"""The claims of the paper and ours, judged from the numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from experiments.claims.beyond import BEYOND_CLAIMS
from experiments.claims.paper import CLAIMS, QUESTIONS
from experiments.claims.verdict import Claim, Evidence, Status, Verdict
from experiments.methods import LMDH, OURS, READINGS
from experiments.results import Results

__all__ = [
    "BEYOND_CLAIMS",
    "BEYOND_RULE",
    "CLAIMS",
    "QUESTIONS",
    "RULE",
    "Claim",
    "Evidence",
    "Judgement",
    "Status",
    "Verdict",
    "judge",
    "judge_beyond",
]

#: How the paper's claims are judged, for the report.
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
#: How our claims are judged, for the report.
BEYOND_RULE: Final = (
    "Means are over users, then over splits. Intervals are paired: users are drawn anew 1000 "
    "times within each split, the same ones for both methods, and F is worked out of each draw's "
    "mean recall and diversity. A user who is tested in several splits counts in each as another. "
    "A method that is ahead in the mean while the interval holds 0 makes a claim hold in part. "
    "Recall and diversity of a mix of two settings lie on the straight line between them, so a "
    "frontier is the concave hull of a method's settings; to the left of its best recall it goes "
    "on level, and it ends at its largest diversity (0.005 more is no more)."
)


@dataclass(frozen=True, eq=False)
class Judgement:
    """The verdicts on the paper's experiments."""

    claims: Mapping[Claim, Verdict]
    #: What the paper does not ask
    questions: Mapping[Claim, Verdict]
    #: The claims that the normaliser may change, under each reading of it
    by_reading: Mapping[Claim, Mapping[str, Verdict]]

    def count(self, status: Status) -> int:
        """Return how many of the paper's claims have this status."""
        return sum(verdict.status is status for verdict in self.claims.values())


def judge(results: Results) -> Judgement:
    """Return the verdict on each claim of the paper, and under each reading of the normaliser."""
    return Judgement(
        {claim: claim.judge(results, LMDH) for claim in CLAIMS},
        {question: question.judge(results, LMDH) for question in QUESTIONS},
        {
            claim: {reading: claim.judge(results, ours) for reading, ours in READINGS.items()}
            for claim in CLAIMS
            if claim.by_reading
        },
    )


def judge_beyond(results: Results) -> dict[Claim, Verdict]:
    """Return the verdict on each of our claims."""
    return {claim: claim.judge(results, OURS) for claim in BEYOND_CLAIMS}
