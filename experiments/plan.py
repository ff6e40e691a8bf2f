"""What the experiments run: everything the paper measured, in full or as a quick first look."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from experiments.methods import LMDH_GREEDY, PAPER_METHODS
from variegate.model.gains import Normaliser

#: What Figures 1 to 4 compare, and LMDH without exploration.
COMPARED: Final = (PAPER_METHODS[0], LMDH_GREEDY, *PAPER_METHODS[1:])
#: The other two readings of the normaliser of the distance; plain "lmdh" has `growing`.
OTHER_READINGS: Final = ("lmdh:normaliser=none", "lmdh:normaliser=fixed")
#: The methods that are compared at several list lengths.
BANDITS: Final = ("lmdh", "c2ucb", "dc2b")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The sizes of the experiments. The defaults are the full run."""

    quick: bool = False
    #: Whether the likes are generated
    synthetic: bool = False
    datasets: tuple[str, ...] = ("ml-100k", "ml-1m", "anime")
    #: Splits of the users; embeddings are trained on each
    splits: int = 5
    #: The most test users per split, by data set; all, where not given
    users: Mapping[str, int] = field(default_factory=dict)
    rounds: int = 30
    k: int = 10
    ridges: tuple[float, ...] = (0.1, 1.0, 10.0, 50.0, 100.0, 500.0)
    explorations: tuple[float, ...] = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)
    lengths: tuple[int, ...] = (5, 10, 15)
    #: Splits of ML-100K for the sensitivity and the list lengths
    sensitivity_splits: int = 5
    simulated_rounds: int = 2000
    simulated_runs: int = 20
    readings: tuple[Normaliser, ...] = ("none", "fixed", "growing")
    ratio_users: int = 1000
    #: Splits for the sweeps of LMDH and the paper's baselines; ours and EASE have all splits
    frontier_splits: int = 2
    #: Runs and lists of every simulated experiment beyond the paper; its own sizes, if not given
    experiment_size: tuple[int, int] | None = None

    def as_facts(self) -> dict[str, Any]:
        """Return the sizes as JSON values."""
        facts = asdict(self)
        facts["users"] = dict(self.users)
        if not self.synthetic:
            # What was measured before this setting existed is still what the plan asks for.
            del facts["synthetic"]
        return {name: list(v) if isinstance(v, tuple) else v for name, v in facts.items()}


def quick_plan() -> Plan:
    """Return a plan that gives a first complete report in minutes, from few users."""
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
