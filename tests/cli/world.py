"""Users whose tastes are known, served by the service's core with chance in their lists."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.cli.serving import Place
from tests.engine.shop import Clock, Shop
from variegate import Catalogue
from variegate.arrays import FloatArray, IndexArray
from variegate.engine import Feedback, RecommendRequest
from variegate.store import Store

ITEMS, K, MIX = 5, 2, 0.3
LMDH = "lmdh:ridge=1,exploration=0.3"
#: Shows the last item, then the first: neither is what most users like best.
FIXED = "popular:popularity=[4,1,2,3,5]"
#: How likely each kind of user clicks an item that stands first
TASTES: FloatArray = np.array([[0.1, 0.2, 0.4, 0.7, 0.5], [0.6, 0.8, 0.3, 0.1, 0.2]])


def catalogue() -> Catalogue:
    """Return items in a row, the nearer the more alike."""
    angles = np.linspace(0.0, 1.5, ITEMS)
    return Catalogue(range(ITEMS), np.column_stack([np.cos(angles), np.sin(angles)]), "cosine")


def kind_of(user: str) -> int:
    return int(user[1:]) % len(TASTES)


def clicks_of(user: str, items: Sequence[int] | IndexArray) -> FloatArray:
    """Return how likely each position of a list is clicked: the like of those above bore."""
    rows = np.asarray(items)
    apart = np.abs(np.subtract.outer(rows, rows)) / (ITEMS - 1)
    bored = [1.0 if at == 0 else apart[at, :at].min() for at in range(len(rows))]
    chances: FloatArray = TASTES[kind_of(user), rows] * np.array(bored)
    return chances


@dataclass(frozen=True, eq=False)
class Served:
    """What was shown in a run, and what it was worth."""

    #: Rows, and clicks on them, (rounds, users, K)
    items: IndexArray
    clicks: FloatArray
    #: How many clicks each list is worth, (rounds, users)
    expected: FloatArray


def serve(
    place: Place, name: str, line: str, *, users: int, rounds: int, seed: int, mix: float = MIX
) -> Served:
    """Let users ask and answer, round by round, with a store of that name."""
    rng = np.random.default_rng(seed)
    ids = [f"u{number}" for number in range(users)]
    items, clicks, expected = [], [], []
    with Store.open(place.url(name)) as store:
        clock = Clock()
        shop = Shop(
            store,
            {"served": line},
            items=catalogue(),
            clock=clock,
            k=K,
            mix=mix,
            memory=0,
            seed=seed,
        )
        for _ in range(rounds):
            clock.now += 10.0
            given = shop.all(*(RecommendRequest(user) for user in ids))
            clock.now += 10.0
            reports = []
            for user, one in zip(ids, given, strict=True):
                shown = [int(item["id"]) for item in one["items"]]
                chances = clicks_of(user, shown)
                clicked = (rng.random(K) < chances).astype(float).tolist()
                rewards = {str(item): click for item, click in zip(shown, clicked, strict=True)}
                reports.append(Feedback(one["slate_id"], rewards))
                items.append(shown)
                clicks.append(clicked)
                expected.append(chances.sum())
            shop.all(*reports)
    shape = rounds, users, K
    return Served(
        np.array(items).reshape(shape),
        np.array(clicks).reshape(shape),
        np.array(expected).reshape(shape[:2]),
    )
