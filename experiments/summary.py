"""The numbers of tables: means and standard errors at a few rounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.names import method_title
from variegate.arrays import FloatArray
from variegate.evaluation.bootstrap import MEASURES, mean_measure, standard_error
from variegate.evaluation.metrics import Scores

#: The rounds that tables show.
ROUNDS: Final = (1, 5, 10, 30)


@dataclass(frozen=True, eq=False)
class Summary:
    """One measure of one policy in each round."""

    mean: FloatArray
    #: Standard error over users, by drawing them anew
    error: FloatArray
    #: Standard error over splits, each with embeddings of its own; None for a single split
    split_error: FloatArray | None


@dataclass(frozen=True)
class Beyond:
    """What else is asked of a policy, over all rounds, mean of the splits."""

    #: Share of the catalogue that was shown to anyone
    coverage: float
    #: How unevenly showings fall on the items, from 0 to 1
    gini: float
    #: Mean of -log2 of the share of training users who liked a shown item; None if not known
    novelty: float | None


def summary_of(splits: Sequence[Scores], measure: str) -> Summary:
    """Return the mean of a measure in each round, and its standard errors."""
    each = np.array([mean_measure([scores], measure) for scores in splits])
    over_splits = each.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else None
    return Summary(mean_measure(splits, measure), standard_error(splits, measure), over_splits)


def summaries(
    replays: Mapping[str, Sequence[Scores]],
) -> dict[str, dict[str, Summary]]:
    """Return the summary of every policy, by measure and policy."""
    return {
        measure: {policy: summary_of(splits, measure) for policy, splits in replays.items()}
        for measure in MEASURES
    }


def beyond(splits: Sequence[Scores]) -> Beyond:
    """Return coverage, Gini and novelty, over all rounds."""
    novelty = float(np.mean([scores.novelty[:, -1].mean() for scores in splits]))
    return Beyond(
        float(np.mean([scores.coverage[-1] for scores in splits])),
        float(np.mean([scores.gini for scores in splits])),
        None if np.isnan(novelty) else novelty,
    )


def rounds_shown(played: int) -> list[int]:
    """Return the rounds that a table shows of those played, and the last one always."""
    return sorted({t for t in ROUNDS if t <= played} | {played})


def full_label(policy: str, label: str) -> str:
    """Return what tables call a policy: with what its label says of a reconstruction."""
    return label if "reconstructed" in label else method_title(policy)
