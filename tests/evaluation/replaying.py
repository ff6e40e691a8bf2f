"""Items and people for replays, small enough to see what must come of them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from variegate import Catalogue
from variegate.data.dataset import Dataset
from variegate.evaluation.replay import ReplayTask
from variegate.model.item_table import ItemTable


def ranked_task(*likes: Sequence[int], items: int = 7) -> ReplayTask:
    """Return a task whose `popular` policy shows the items in the order of their rows."""
    features = np.random.default_rng(items).uniform(-1.0, 1.0, (items, 3))
    ranks = {"popularity": list(range(items, 0, -1))}
    catalogue = Catalogue(range(items), features, "cosine", attributes=ranks)
    return ReplayTask("ranked", catalogue, tuple(np.array(rows, dtype=np.intp) for rows in likes))


def drawn_task(*, users: int = 20, items: int = 60) -> ReplayTask:
    """Return a task whose users, and nine training users, like a tenth to a third of the items."""
    rng = np.random.default_rng([users, items])
    catalogue = Catalogue(
        range(items),
        rng.uniform(-1.0, 1.0, (items, 4)),
        ["cosine", "euclidean"],
        attributes={"popularity": rng.permutation(items).tolist()},
        mean_user=rng.uniform(-1.0, 1.0, 4),
    )
    likes = [
        np.sort(rng.choice(items, size=int(rng.integers(items // 10, items // 3)), replace=False))
        for _ in range(users + 9)
    ]
    training = tuple(likes[users:])
    popularity = np.bincount(np.concatenate(training), minlength=items).astype(np.float64)
    return ReplayTask(
        "drawn",
        catalogue,
        tuple(likes[:users]),
        popularity=popularity,
        training_users=9,
        training_likes=training,
    )


def made_dataset(
    pairs: Sequence[tuple[str, str]], *, name: str = "made", items: Sequence[str] | None = None
) -> Dataset:
    """Return the data set of these pairs of a user and an item."""
    users = tuple(dict.fromkeys(user for user, _ in pairs))
    ids = tuple(items or dict.fromkeys(item for _, item in pairs))
    return Dataset(
        name,
        users,
        ids,
        np.array([users.index(user) for user, _ in pairs], dtype=np.intp),
        np.array([ids.index(item) for _, item in pairs], dtype=np.intp),
        ItemTable(ids, ids),
    )


def taste_pairs(*, users: int = 40, items: int = 40, loners: int = 0) -> list[tuple[str, str]]:
    """Return likes in which users of two kinds like two halves of the items.

    Each of the `loners` likes one item that nobody else does.
    """
    rng = np.random.default_rng([users, items])
    chance = np.where(np.arange(users)[:, None] % 2 == np.arange(items)[None, :] % 2, 0.5, 0.05)
    found = np.argwhere(rng.random(chance.shape) < chance)
    likes = [(f"user {user}", f"item {item}") for user, item in found]
    return likes + [(f"loner {number}", f"odd {number}") for number in range(loners)]


def write_movielens(folder: Path, *, loners: int = 4) -> Path:
    """Write made likes in the files of MovieLens-100K; return the folder."""
    place = folder / "ml-100k"
    place.mkdir(parents=True)
    pairs = taste_pairs(users=40, items=30, loners=loners)
    users = list(dict.fromkeys(user for user, _ in pairs))
    items = list(dict.fromkeys(item for _, item in pairs))
    lines = [f"{users.index(u) + 1}\t{items.index(i) + 1}\t5\t880000000\n" for u, i in pairs]
    (place / "u.data").write_text("".join(lines))
    genres = "0|0|0|0|0|1" + "|0" * 13
    films = [
        f"{number}|{title}|01-Jan-1990||http://films|{genres}\n"
        for number, title in enumerate(items, start=1)
    ]
    (place / "u.item").write_text("".join(films))
    return place
