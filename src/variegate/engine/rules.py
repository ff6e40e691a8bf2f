"""How lists are given and feedback is taken, as the operator set it."""

from dataclasses import dataclass
from typing import Literal

DAY = 86_400.0


@dataclass(frozen=True)
class Rules:
    """What `Settings` say of lists and feedback; the meaning of each is told there."""

    k: int = 10
    max_k: int = 100
    max_candidates: int = 10_000
    memory: int = 1000
    memory_days: float = 30.0
    aggregation: Literal["first", "sum"] = "first"
    wait_seconds: float = DAY
    default_reward: float | None = None
    late: Literal["drop", "learn"] = "drop"
    mix: float = 0.0
    seed: int = 0
    prior_least_users: int = 100
    prior_every_hours: float = 0.0
