"""An hour of simulated users in a store, so that the operator's view has something to show."""

import numpy as np

from variegate.catalogue import Catalogue
from variegate.service.desk import Arms, Report, Rules, Shelf, Wish
from variegate.service.desk.packing import current_time
from variegate.service.desk.settling import Settler
from variegate.store import Store

MINUTES = 60
USERS = 48


def fill(store: Store, catalogue: Catalogue, lines: dict[str, str], *, seed: int = 0) -> None:
    """Let users of several policies get lists and answer them, over the last hour."""
    rng = np.random.default_rng(seed)
    now, end = [0.0], current_time()
    shelf = Shelf(catalogue)
    with store.batch() as batch:
        shelf.tie(batch)
    settler = Settler(store, shelf, Arms(lines), Rules(), clock=lambda: now[0])
    likes = {f"user-{n}": _liked(catalogue, rng) for n in range(USERS)}
    for minute in range(MINUTES):
        now[0] = end - 60.0 * (MINUTES - minute) + float(rng.uniform(0, 30))
        busy = 4 + 6 * np.sin(np.pi * minute / MINUTES)
        users = rng.choice(list(likes), int(rng.poisson(busy)) % USERS, replace=False)
        given = settler([Wish(str(user)) for user in users])
        settler(
            [
                Report(answer["slate_id"], _picked(catalogue, answer, likes[str(user)], rng))
                for user, answer in zip(users, given, strict=True)
                if rng.random() < 0.9
            ]
        )


def _liked(catalogue: Catalogue, rng: np.random.Generator) -> np.ndarray:
    """Return which items somebody with a taste for a few features likes."""
    theta = np.zeros(catalogue.d)
    chosen = rng.choice(catalogue.d, min(4, catalogue.d), replace=False)
    theta[chosen] = rng.uniform(0.5, 1.5, len(chosen))
    worth = catalogue.features @ theta
    liked: np.ndarray = worth > np.quantile(worth, 0.75)
    return liked


def _picked(
    catalogue: Catalogue,
    answer: dict[str, list[dict[str, str]]],
    liked: np.ndarray,
    rng: np.random.Generator,
) -> dict[str, float]:
    ids = [item["id"] for item in answer["items"]]
    chances = np.where(liked[catalogue.rows(ids)], 0.7, 0.08)
    return {
        item: 1.0
        for item, is_picked in zip(ids, rng.random(len(ids)) < chances, strict=True)
        if is_picked
    }
