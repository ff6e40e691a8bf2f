"""Which settings of BPR rank best what *training* users liked and training did not see.

Run as `python -m benchmarks.choose_bpr path/to/ml-100k.zip`. A tenth of the training users' likes
is held out; test users are never looked at. Prints the mean AUC over users and the seconds taken.
"""

import sys
from dataclasses import replace
from time import perf_counter

import numpy as np
from cornac.data import Dataset as Pairs
from cornac.models import BPR

from variegate.arrays import FloatArray, MaskArray
from variegate.data.dataset import Dataset
from variegate.data.movielens import load_movielens_100k
from variegate.data.splits import split_users

SETTINGS = (
    (100, 0.01, 0.01),
    (200, 0.01, 0.01),
    (400, 0.01, 0.01),
    (100, 0.02, 0.01),
    (200, 0.02, 0.01),
    (100, 0.05, 0.01),
    (200, 0.05, 0.01),
    (200, 0.01, 0.001),
    (400, 0.01, 0.05),
)


def held_out(dataset: Dataset, seed: int) -> tuple[Dataset, MaskArray, MaskArray]:
    """Return nine tenths of the pairs, and who likes what among them and among the others."""
    out = np.random.default_rng(seed).random(len(dataset)) < 0.1
    kept = replace(dataset, users=dataset.users[~out], items=dataset.items[~out])
    shape = len(dataset.user_ids), len(dataset.item_ids)
    seen, unseen = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    seen[kept.users, kept.items] = True
    unseen[dataset.users[out], dataset.items[out]] = True
    return kept, seen, unseen


def user_scores(kept: Dataset, epochs: int, rate: float, regularisation: float) -> FloatArray:
    """Return each user's score of each item, by the factors of both that BPR learnt."""
    pairs = Pairs.from_uir(
        [(int(u), int(i), 1.0) for u, i in zip(kept.users, kept.items, strict=True)]
    )
    model = BPR(
        k=10,
        max_iter=epochs,
        learning_rate=rate,
        lambda_reg=regularisation,
        use_bias=False,
        seed=0,
        verbose=False,
    ).fit(pairs)
    scores = np.full((len(kept.user_ids), len(kept.item_ids)), -np.inf)
    users, items = list(pairs.uid_map), list(pairs.iid_map)
    scores[np.ix_(users, items)] = model.u_factors @ model.i_factors.T
    return scores


def mean_auc(scores: FloatArray, seen: MaskArray, unseen: MaskArray) -> float:
    """Return how often a held-out like is ranked above an item that was not liked."""
    areas = []
    for user in np.flatnonzero(unseen.any(axis=1)):
        known = np.isfinite(scores[user])
        liked, other = unseen[user] & known, ~(unseen[user] | seen[user]) & known
        if liked.any():
            areas.append(np.mean(scores[user, liked][:, None] > scores[user, other][None]))
    return float(np.mean(areas))


def main() -> None:
    """Print the table."""
    training = split_users(load_movielens_100k(sys.argv[1]), rng=0).train
    kept, seen, unseen = held_out(training, seed=0)
    print(f"{'epochs':>6} {'rate':>6} {'reg.':>6} {'AUC':>7} {'seconds':>8}")
    for epochs, rate, regularisation in SETTINGS:
        start = perf_counter()
        scores = user_scores(kept, epochs, rate, regularisation)
        taken = perf_counter() - start
        area = mean_auc(scores, seen, unseen)
        print(f"{epochs:>6} {rate:>6} {regularisation:>6} {area:>7.4f} {taken:>8.1f}")


if __name__ == "__main__":
    main()
