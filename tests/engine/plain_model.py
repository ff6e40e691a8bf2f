"""The expected state of the service: one policy per user, taught by the library."""

from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np

from variegate.engine import Experiment
from variegate.errors import ConflictError
from variegate.model.catalogue import Catalogue
from variegate.model.distances import difference, euclidean, hamming, jaccard
from variegate.model.slate import Slate
from variegate.policies import Policy


@dataclass
class GivenList:
    """A list, its user, and the feedback on each item."""

    user: str
    slate: Slate
    rewards: dict[str, float] = field(default_factory=dict)


class PlainModel:
    """Lists and lessons with nothing between them and the library.

    Parameters
    ----------
    seed
        The service's.
    """

    def __init__(self, items: Catalogue, experiment: Experiment, seed: int) -> None:
        self.items, self.experiment, self.seed = items, experiment, seed
        self.retired: set[str] = set()
        self.policies: dict[str, Policy] = {}
        self.shown: dict[str, list[str]] = {}
        self.given: dict[str, int] = {}
        self.lists: dict[str, GivenList] = {}

    def list_for(self, user: str, k: int) -> Slate:
        """Return the list that a user should get."""
        if user not in self.policies:
            name = self.experiment.assign(user)
            self.policies[user] = self.experiment.new_policy(name, self.items)
            self.shown[user], self.given[user] = [], 0
        open_ids = [item for item in self.items.ids if item not in self.retired]
        fresh = [item for item in open_ids if item not in self.shown[user]]
        back = [item for item in self.shown[user] if item in open_ids]
        free = fresh + back[: max(0, k - len(fresh))]
        rng = np.random.default_rng((self.seed, crc32(user.encode()), self.given[user]))
        rows = self.items.rows(free)
        return self.policies[user].recommend(min(k, len(free)), candidates=rows, rng=rng)

    def note(self, slate_id: str, user: str, slate: Slate) -> None:
        """Take down that a list was given."""
        self.lists[slate_id] = GivenList(user, slate)
        self.given[user] += 1
        kept = [item for item in self.shown[user] if item not in slate.ids]
        self.shown[user] = kept + list(slate.ids)

    def learn(self, slate_id: str, rewards: dict[str, float], seen: list[str] | None) -> list[str]:
        """Teach what is new of a report; return those items, or raise ConflictError."""
        one = self.lists[slate_id]
        if any(one.rewards.get(item, reward) != reward for item, reward in rewards.items()):
            raise ConflictError("contradiction")
        looked = set(one.slate.ids if seen is None else seen) | set(rewards)
        fresh = [item for item in one.slate.ids if item in looked and item not in one.rewards]
        for item in fresh:
            one.rewards[item] = rewards.get(item, 0.0)
        earned = [one.rewards.get(item, 0.0) for item in one.slate.ids]
        places = [one.slate.ids.index(item) for item in fresh]
        if places:
            self.policies[one.user].update(one.slate, earned, seen=places)
        return fresh

    def snapshot(self, item: dict[str, Any]) -> None:
        """Add an item, or change it."""
        values = item["distances"]
        years = next(h for h in self.items.distances if h.name == "years")
        distances = {
            "genres": jaccard([values["genres"]]),
            "years": difference([values["years"]], scale=years.scale),
            "country": hamming([values["country"]]),
            "place": euclidean([values["place"]], scale=3.0),
        }
        known = item["id"] in self.items.ids
        change = self.items.with_changes if known else self.items.with_items
        self._turn_to(change([item["id"]], [item["features"]], distances, [item["title"]]))
        self.retired.discard(item["id"])

    def forget(self, user: str) -> None:
        """Delete a user."""
        del self.policies[user], self.shown[user], self.given[user]
        self.lists = {name: one for name, one in self.lists.items() if one.user != user}

    def _turn_to(self, items: Catalogue) -> None:
        for user, old in self.policies.items():
            policy = self.experiment.new_policy(self.experiment.assign(user), items)
            policy.restore(old.state())
            self.policies[user] = policy
        self.items = items
