"""What is asked of our learner, judged from the numbers."""

from typing import Final

from experiments.beyond.claims import bars, on_frontier
from experiments.beyond.methods import OURS
from experiments.claims.verdict import Claim, Verdict
from experiments.results import Results

__all__ = ["CLAIMS", "RULE", "judged_beyond"]

#: How these are judged, for people to read.
RULE: Final = (
    "Means are over users, then over splits. Intervals are paired: users are drawn anew 1000 "
    "times within each split, the same ones for both methods, and F is worked out of each draw's "
    "mean recall and diversity. A user who is tested in several splits counts in each as another. "
    "A method that is ahead in the mean while the interval holds 0 makes a claim hold in part. "
    "Recall and diversity of a mix of two settings lie on the straight line between them, so a "
    "frontier is the concave hull of a method's settings; to the left of its best recall it goes "
    "on level, and it ends at its largest diversity (0.005 more is no more)."
)

_UNDER: Final = (
    "every setting lies under our frontier; in part, if those above it are level by their paired "
    "intervals"
)

#: What is asked, in the order of the chapter.
CLAIMS: Final = (
    Claim(
        "f1",
        "F1 is at least 5% above LMDH's at t = 1, 5, 10 and 30",
        "all data sets",
        "means over splits, at each of the rounds",
        bars.f1_above,
    ),
    Claim(
        "f2",
        "F2 is no lower than LMDH's at t = 1, 5, 10 and 30",
        "all data sets",
        "means over splits, at each of the rounds",
        bars.f2_no_lower,
    ),
    Claim(
        "apart",
        "F1 and F2, mean over the rounds, are ahead of LMDH's beyond chance",
        "all data sets",
        "the paired 95% intervals of both differences lie above 0",
        bars.apart_over_rounds,
    ),
    Claim(
        "baselines",
        "No baseline of the paper is ahead in F1 or F2 at t = 5, 10 and 30",
        "all data sets",
        "means over splits; in part, if what is ahead is level by its paired interval",
        bars.no_baseline_ahead,
    ),
    Claim(
        "recall",
        "Recall is at least 70% of LogRank's at t = 1, and no less than it from t = 5 on",
        "all data sets",
        "means over splits, in every round from 5 on",
        bars.early_recall,
    ),
    Claim(
        "frontier",
        "At the same diversity, recall is on or above that of LMDH and of every baseline, at t = "
        "10 and 30",
        "all data sets, every dial turned",
        _UNDER,
        on_frontier.on_or_above,
    ),
    Claim(
        "frontier-prior",
        "The same holds against C2UCB that begins at our prior and sees what the crowd knows",
        "all data sets, every dial turned",
        _UNDER,
        on_frontier.above_the_helped,
    ),
)


def judged_beyond(results: Results) -> dict[Claim, Verdict]:
    """Return the verdict on everything that is asked of our learner."""
    return {claim: claim.judge(results, OURS) for claim in CLAIMS}
