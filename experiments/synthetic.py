"""Likes drawn from known preferences, in the files of MovieLens-100K, to run all without it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from experiments.results import Replays
from variegate.arrays import FloatArray

#: What the files are: a data set of this name in every table and figure of a report.
NAME: Final = "ml-100k"
USERS: Final = 400
ITEMS: Final = 1200
GENRES: Final = 18


@dataclass(frozen=True, eq=False)
class Truth:
    """What the likes were drawn from."""

    #: Probability that a user likes an item, (users, items)
    probabilities: FloatArray
    #: The likes, (users, items)
    likes: FloatArray

    def best_recall(self, n: int) -> float:
        """Return the recall of each user's n most probable items: no policy knows more."""
        best = np.argsort(-self.probabilities, axis=1, kind="stable")[:, :n]
        found = np.take_along_axis(self.likes, best, axis=1).sum(axis=1)
        return float(np.mean(found / self.likes.sum(axis=1)))


def write_synthetic(folder: Path, *, seed: int = 0) -> Truth:
    """Write `u.data` and `u.item` into a folder, and return what they were drawn from.

    Every item has one to three genres and a popularity, every user a weight of each genre. A like
    is a rating of 5; a fifth of the other items is rated 2, so that ratings say little more.
    """
    rng = np.random.default_rng(seed)
    genres = np.zeros((ITEMS, GENRES))
    for row in genres:
        row[rng.choice(GENRES, size=rng.integers(1, 4), replace=False)] = 1
    weights = rng.normal(0.0, 1.5, (USERS, GENRES)) * (rng.random((USERS, GENRES)) < 0.4)
    values = weights @ genres.T + rng.normal(0.0, 0.7, ITEMS) - 3.2
    probabilities = 1.0 / (1.0 + np.exp(-values))
    likes = (rng.random((USERS, ITEMS)) < probabilities).astype(np.float64)
    # Each user likes something: who likes nothing would be left out.
    likes[np.arange(USERS), probabilities.argmax(axis=1)] = 1
    rated = likes + (rng.random((USERS, ITEMS)) < 0.2) > 0
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{user + 1}\t{item + 1}\t{5 if likes[user, item] else 2}\t0"
        for user, item in np.argwhere(rated)
    ]
    (folder / "u.data").write_text("\n".join(lines) + "\n", encoding="latin-1")
    films = [
        f"{item + 1}|Item {item + 1}|01-Jan-{1950 + item % 60}|||0|{'|'.join(row)}"
        for item, row in enumerate(genres.astype(int).astype(str))
    ]
    (folder / "u.item").write_text("\n".join(films) + "\n", encoding="latin-1")
    return Truth(probabilities, likes)


def compared_with(truth: Truth, replays: Replays, *, rounds: int, k: int) -> Iterator[str]:
    """Yield the recall of each method, beside that of the truth and of random lists."""
    shown = [t for t in (1, 5, 10) if t < rounds] + [rounds]
    items = [min(t * k, ITEMS) for t in shown]
    best = [truth.best_recall(n) for n in items]
    rows: dict[str, Iterable[float]] = {"the true probabilities: no method knows more": best}
    for method, splits in replays.items():
        recall = np.mean([scores.mean_recall for scores in splits], axis=0)
        rows[method] = recall[np.array(shown) - 1]
    rows["random lists, expected"] = [n / ITEMS for n in items]
    yield "  ".join(f"t = {t:<3d}" for t in shown) + f"  recall after t lists of {k}"
    for name, row in rows.items():
        yield "  ".join(f"{value:<7.3f}" for value in row) + f"  {name}"
