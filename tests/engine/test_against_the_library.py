"""Whatever happens, in whatever order, the service is where the library alone would be."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.engine.conftest import Opening
from tests.engine.plain_model import PlainModel
from tests.engine.shop import GENRES, LMDH, Shop
from variegate.engine import Feedback, RecommendRequest
from variegate.errors import ConflictError
from variegate.policies import State
from variegate.store import Store

SEVERAL = {
    "lmdh": "lmdh:ridge=1,exploration=0.3",
    "c2ucb": "c2ucb",
    "dc2b": "dc2b",
    "linucb": "linucb",
    "lsb": "lsb",
    "ts": "comblints",
}
USERS = ("ann", "bob", "cid", "dora", "emil", "fay", "gus")


class GreedyPath:
    """A random walk that the service and the plain model take together."""

    def __init__(self, store: Store, policies: dict[str, str], seed: int) -> None:
        self.shop = Shop(store, policies, seed=seed)
        self.other = Shop(store, policies, seed=seed, clock=self.shop.clock)
        self.model = PlainModel(self.shop.items, self.shop.experiment, seed)
        self.rng = np.random.default_rng(seed)
        self.sent: list[Feedback] = []

    def step(self) -> None:
        """Do one thing, in one of two processes."""
        kinds: list[tuple[Callable[[], None], float]] = [
            (self.give, 0.36),
            (self.report, 0.36),
            (self.send_again, 0.1),
            (self.snapshot, 0.06),
            (self.retire, 0.05),
            (self.refused, 0.05),
            (self.forget, 0.02),
        ]
        chances = [chance for _, chance in kinds]
        kinds[self.rng.choice(len(kinds), p=chances)][0]()
        self.shop.clock.now += 0.5
        self.shop, self.other = (
            (self.other, self.shop) if self.rng.random() < 0.3 else (self.shop, self.other)
        )

    def give(self) -> None:
        user, k = str(self.rng.choice(USERS)), int(self.rng.integers(1, 6))
        slate = self.model.list_for(user, k)
        answer = self.shop.give(user, k=k)
        assert [item["id"] for item in answer["items"]] == list(slate.ids)
        assert [item["score"] for item in answer["items"]] == slate.scores.tolist()
        self.model.note(answer["slate_id"], user, slate)

    def report(self) -> None:
        if not self.model.lists:
            return
        slate = str(self.rng.choice(sorted(self.model.lists)))
        ids = list(self.model.lists[slate].slate.ids)
        some = [item for item in ids if self.rng.random() < 0.4]
        rewards = {item: float(self.rng.choice([0.0, 0.5, 1.0])) for item in some}
        seen = [item for item in ids if self.rng.random() < 0.5]
        report = Feedback(slate, rewards, None if self.rng.random() < 0.3 else tuple(seen))
        self.compare(report)
        self.sent.append(report)

    def send_again(self) -> None:
        if self.sent:
            report = self.sent[int(self.rng.integers(len(self.sent)))]
            if report.slate in self.model.lists:
                states = self.states()
                self.shop.all(report, report)
                assert self.states() == states

    def compare(self, report: Feedback) -> None:
        (outcome,) = self.shop.all(report)
        seen = None if report.seen is None else list(report.seen)
        try:
            fresh = self.model.learn(report.slate, dict(report.rewards), seen)
        except ConflictError:
            assert isinstance(outcome, ConflictError)
        else:
            # A repeated report gets the earlier answer.
            assert outcome["learnt"] == fresh or not fresh

    def snapshot(self) -> None:
        rng, known = self.rng, self.model.items.ids
        name = str(rng.choice(known)) if rng.random() < 0.5 else f"n{len(known)}"
        item: dict[str, Any] = {
            "id": name,
            "title": f"{name} again",
            "features": rng.normal(size=4).round(3).tolist(),
            "distances": {
                "genres": sorted({str(rng.choice([*GENRES, "opera", "film noir"]))}),
                "years": int(rng.integers(1950, 2040)),
                "country": str(rng.choice(["fr", "is", "tv"])),
                "place": rng.normal(size=2).tolist(),
            },
        }
        self.shop.snapshot(item)
        self.model.snapshot(item)

    def retire(self) -> None:
        name = str(self.rng.choice(self.model.items.ids))
        self.shop.retire(name)
        self.model.retired.add(name)

    def refused(self) -> None:
        states = self.states()
        user = str(self.rng.choice(USERS))
        outcomes = self.shop.all(
            RecommendRequest(user, k=0), RecommendRequest(user, candidates=("nope",))
        )
        assert all(isinstance(one, Exception) for one in outcomes)
        assert self.states() == states

    def forget(self) -> None:
        if self.model.policies:
            user = str(self.rng.choice(sorted(self.model.policies)))
            self.shop.forget(user)
            self.model.forget(user)

    def states(self) -> dict[str, bytes | None]:
        with self.shop.store.reading() as reader:
            return {user.id: user.state for user in reader.all_users(None, 100)}

    def end(self) -> None:
        """Compare all that there is."""
        kept = self.states()
        assert kept.keys() == self.model.policies.keys()
        for user, policy in self.model.policies.items():
            state = kept[user]
            blank = self.shop.experiment.new_policy(
                self.shop.experiment.assign(user), self.model.items
            )
            found = blank.state() if state is None else State.from_bytes(state)
            assert found == policy.state()
        for name, one in self.model.lists.items():
            row = self.shop.slate(name)
            rewards = {i: r for i, r in zip(row.items, row.rewards, strict=True) if r is not None}
            assert rewards == one.rewards
            assert row.taught == [item in one.rewards for item in one.slate.ids]
        assert (self.shop.check().wrong, self.shop.check().largest) == ((), 0.0)


@pytest.mark.parametrize(
    ("kind", "policies", "seed", "steps"),
    [
        ("sqlite", LMDH, 1, 300),
        ("sqlite", SEVERAL, 2, 300),
        ("sqlite", SEVERAL, 3, 300),
        ("postgres", SEVERAL, 4, 120),
    ],
)
def test_a_random_walk_ends_where_the_library_alone_would(
    opening: Opening, kind: str, policies: dict[str, str], seed: int, steps: int
) -> None:
    walk = GreedyPath(opening(kind), policies, seed)
    for _ in range(steps):
        walk.step()
    walk.end()
