"""What a reproduction runs: everything the paper measured, in full or as a quick first look."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from variegate.model.gains import Normaliser

#: What Figures 1 to 4 compare, LMDH that never explores, and DC2B at its strongest.
COMPARED: Final = (
    "lmdh",
    "lmdh-greedy",
    "logrank",
    "mmr",
    "epsilon-greedy",
    "c2ucb",
    "dc2b",
    "dc2b:intercept=true",
)
#: The other two readings of the distance's normaliser; plain "lmdh" has `growing`.
OTHER_READINGS: Final = ("lmdh:normaliser=none", "lmdh:normaliser=fixed")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The sizes of a reproduction. The defaults are the full one."""

    quick: bool = False
    datasets: tuple[str, ...] = ("ml-100k", "ml-1m", "anime")
    #: Splits of the users; each trains embeddings of its own
    splits: int = 5
    #: At most so many test users a split, by data set; all, where not given
    users: Mapping[str, int] = field(default_factory=dict)
    rounds: int = 30
    k: int = 10
    ridges: tuple[float, ...] = (0.1, 1.0, 10.0, 50.0, 100.0, 500.0)
    explorations: tuple[float, ...] = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)
    lengths: tuple[int, ...] = (5, 10, 15)
    #: Splits of ML-100K that the sensitivity and the lengths are measured on
    sensitivity_splits: int = 5
    simulated_rounds: int = 2000
    simulated_runs: int = 20
    readings: tuple[Normaliser, ...] = ("none", "fixed", "growing")
    ratio_users: int = 1000
    #: Splits that every method's dial is turned on, beyond the paper
    frontier_splits: int = 2
    #: Runs and lists of every simulated experiment beyond the paper; their own, if not given
    experiment_size: tuple[int, int] | None = None

    def as_facts(self) -> dict[str, Any]:
        """Return the sizes as JSON can say them."""
        facts = asdict(self)
        facts["users"] = dict(self.users)
        return {name: list(v) if isinstance(v, tuple) else v for name, v in facts.items()}


def quick_plan() -> Plan:
    """Return a plan that gives a first full report in minutes, from few users."""
    return Plan(
        quick=True,
        splits=1,
        users={"ml-100k": 50, "ml-1m": 30, "anime": 30},
        ridges=(0.1, 1.0, 50.0, 500.0),
        explorations=(0.0, 0.5, 1.0, 2.0),
        sensitivity_splits=1,
        simulated_rounds=300,
        simulated_runs=6,
        ratio_users=60,
        frontier_splits=1,
    )
