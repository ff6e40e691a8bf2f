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
    "Every verdict is computed from the numbers. In a round, one method is ahead of another if "
    "the paired 95% interval of their difference lies above 0 (users are resampled 1000 times, "
    "the same ones for both methods), behind if it lies below 0, and level otherwise. A claim "
    "about all rounds holds if our method is ahead in every one of them; a claim with “usually”, "
    "in at least three quarters; “comparable” requires that it is not behind. With at least half "
    "of the rounds a claim holds in part, with fewer it does not hold. A claim about several data "
    "sets or settings holds if it holds in each, does not hold if it holds in none, and holds in "
    "part otherwise. Intervals are for one round at a time, so that of many level rounds a few may "
    "seem apart by chance. They are over users; the standard errors over splits in the tables show "
    "what the split and its embeddings add."
)
#: How our claims are judged, for the report.
BEYOND_RULE: Final = (
    "Means are over users, then over splits. Intervals are paired: users are resampled 1000 times "
    "within each split, the same ones for both methods, and F is computed from the mean recall and "
    "diversity of each resample. A user who is tested in several splits counts as a different user "
    "in each. If a method is ahead in the mean but the interval includes 0, a claim holds in part. "
    "Recall and diversity of a mix of two settings lie on the straight line between them, so a "
    "frontier is the concave hull of a method's settings. To the left of its best recall it is "
    "flat, and it ends at its largest diversity (plus 0.005)."
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
