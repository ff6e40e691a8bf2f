"""What a list teaches by the library alone, to hold the service's state against."""

from tests.engine.shop import Shop
from variegate.engine.codecs import unpack_slate
from variegate.policies import State


def state_of(shop: Shop, user: str = "ann") -> State:
    """Return what the service has learnt of a user."""
    kept = shop.user(user).state
    assert kept is not None
    return State.from_bytes(kept)


def expected(shop: Shop, *lessons: tuple[str, dict[int, float]]) -> State:
    """Return what the library's policy learns from rewards by position, slate by slate."""
    policy = shop.experiment.new_policy("lmdh", shop.items)
    for slate, rewards in lessons:
        row = shop.slate(slate)
        earned = [rewards.get(place, 0.0) for place in range(row.k)]
        policy.update(unpack_slate(row), earned, seen=sorted(rewards))
    return policy.state()


def given(shop: Shop) -> tuple[str, list[str]]:
    """Give ann a list; return its id and its items."""
    answer = shop.give()
    return answer["slate_id"], [item["id"] for item in answer["items"]]
