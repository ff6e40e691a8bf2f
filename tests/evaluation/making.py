"""Scores with a known mean."""

from collections.abc import Sequence

import numpy as np

from variegate.arrays import FloatArray
from variegate.evaluation.metrics import Scores

ROUNDS, USERS, K = 30, 40, 4


def made_scores(
    recall: float | Sequence[float] | FloatArray,
    diversity: float | Sequence[float] | FloatArray = 0.5,
    *,
    label: str = "made",
    users: int = USERS,
    rounds: int = ROUNDS,
    noise: float = 0.01,
    seed: int = 0,
) -> Scores:
    """Return scores whose means over users are near `recall` and `diversity` in each round.

    Every policy with the same seed has the same noise for the same user.
    """
    rng = np.random.default_rng(seed)
    luck = noise * rng.standard_normal((2, users, 1))
    level = np.broadcast_to(np.asarray(recall, dtype=float), (rounds,))
    spread = np.broadcast_to(np.asarray(diversity, dtype=float), (rounds,))
    return Scores(
        label,
        level[None, :] + luck[0],
        (spread[None, :] + luck[1])[None],
        np.linspace(0.1, 0.5, rounds),
        np.full((users, rounds), 3.0),
        np.full(K, 0.2),
        0.4,
        ("cosine",),
    )
