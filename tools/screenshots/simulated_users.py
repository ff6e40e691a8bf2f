"""One hour of simulated users in a store: data for the operator view."""

import time

import numpy as np

from variegate.engine import Experiment, Feedback, LiveCatalogue, RecommendRequest, Rules
from variegate.engine.executor import Executor
from variegate.model.catalogue import Catalogue
from variegate.store import Store

MINUTES = 60
USERS = 48


def simulate_hour(
    store: Store, catalogue: Catalogue, policies: dict[str, str], *, seed: int = 0
) -> None:
    """Store lists and feedback of simulated users of several policies over the last hour."""
    rng = np.random.default_rng(seed)
    now, end = [0.0], time.time()
    live = LiveCatalogue.open(catalogue, store)
    executor = Executor(store, live, Experiment(policies), Rules(), clock=lambda: now[0])
    likes = {f"user-{n}": _liked_items(catalogue, rng) for n in range(USERS)}
    for minute in range(MINUTES):
        now[0] = end - 60.0 * (MINUTES - minute) + float(rng.uniform(0, 30))
        expected = 4 + 6 * np.sin(np.pi * minute / MINUTES)
        users = rng.choice(list(likes), int(rng.poisson(expected)) % USERS, replace=False)
        slates = executor([RecommendRequest(str(user)) for user in users])
        executor(
            [
                Feedback(slate["slate_id"], _rewards(catalogue, slate, likes[str(user)], rng))
                for user, slate in zip(users, slates, strict=True)
                if rng.random() < 0.9
            ]
        )


def _liked_items(catalogue: Catalogue, rng: np.random.Generator) -> np.ndarray:
    """Return a mask of the items that a user who prefers a few features likes."""
    theta = np.zeros(catalogue.d)
    chosen = rng.choice(catalogue.d, min(4, catalogue.d), replace=False)
    theta[chosen] = rng.uniform(0.5, 1.5, len(chosen))
    scores = catalogue.features @ theta
    liked: np.ndarray = scores > np.quantile(scores, 0.75)
    return liked


def _rewards(
    catalogue: Catalogue,
    slate: dict[str, list[dict[str, str]]],
    liked: np.ndarray,
    rng: np.random.Generator,
) -> dict[str, float]:
    ids = [item["id"] for item in slate["items"]]
    chances = np.where(liked[catalogue.rows(ids)], 0.7, 0.08)
    return {
        item: 1.0
        for item, is_picked in zip(ids, rng.random(len(ids)) < chances, strict=True)
        if is_picked
    }
