"""Users who share a taste, more or less, and answer lists by it."""

from typing import Any

import numpy as np

from tests.engine.shop import Shop
from variegate.arrays import FloatArray
from variegate.model.catalogue import Catalogue
from variegate.store import Store

LMDP = {"lmdp": "lmdp"}
#: What most want of each feature, and how far apart they are.
MEAN, APART = np.array([0.1, 0.5, 0.3]), 0.05


def kiosk(items: int = 30) -> Catalogue:
    """Return items whose rewards, by the taste above, are from 0 to 1 as they are."""
    rng = np.random.default_rng(3)
    features = rng.uniform(0.0, 1.0, (items, 3))
    names = ["mild", "sweet", "cold"]
    return Catalogue(range(items), features, "euclidean", feature_names=names)


def kiosk_shop(store: Store, policies: dict[str, str] | None = None, **rules: Any) -> Shop:
    return Shop(store, policies or LMDP, items=kiosk(), prior_min_users=40, **rules)


def answer(shop: Shop, user: str, taste: FloatArray, *, lists: int = 2) -> None:
    """Let a user answer lists by their taste."""
    for _ in range(lists):
        given = shop.give(user)
        ids = [one["id"] for one in given["items"]]
        worth = shop.items.features[shop.items.rows(ids)] @ taste
        shop.tell(given["slate_id"], dict(zip(ids, np.clip(worth, 0.0, 1.0).tolist(), strict=True)))


def fill(shop: Shop, users: int = 45, *, lists: int = 2, first: int = 0) -> None:
    """Let users come and answer, the ones with these numbers."""
    for number in range(first, first + users):
        rng = np.random.default_rng((9, number))
        answer(shop, f"user {number}", MEAN + APART * rng.normal(size=3), lists=lists)
