"""The tables of the simulated experiments."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from experiments.beyond.simulated import Attention, Distances, Drift, PriorGain
from experiments.beyond.simulated.beginning import LEARNERS as BEGINNINGS
from experiments.beyond.simulated.caring import LEARNERS as KNOWN
from experiments.beyond.simulated.drifting import KINDS, LEARNERS
from experiments.beyond.simulated.looking import USERS
from experiments.beyond.simulated.world import Interval, interval
from experiments.names import method_title
from experiments.table import Cell, Table
from variegate.arrays import FloatArray

_INTERVAL: Final = "In brackets: 95% interval over simulated users."
_LOOKS: Final = {"cascade": "stop at the first click", "examined": "look here and there"}
_KNOWN: Final = {
    "all": "LMDH with all three distances",
    "average": "LMDH with their average",
    "told": "LMDH with the right one alone",
    "none": "LMDH without distances",
}
_BEGUN: Final = {"nothing": "from zero", "guess": "from a guess", "fit": "fitted to others"}


def simulated_tables(found: Mapping[str, Any]) -> Iterator[Table]:
    """Yield a table for each experiment that was played."""
    makers: dict[str, Callable[[Any], Table]] = {
        "drift": drift_table,
        "attention": attention_table,
        "distances": caring_table,
        "prior": beginnings_table,
    }
    for name, make in makers.items():
        if name in found:
            yield make(found[name])


def drift_table(found: Drift) -> Table:
    """Return what forgetting adds, by how tastes change."""
    gains = found.gains()
    rows = [
        (
            f"{method_title(learner)}, {kind}",
            _cells(gains, (place, row), len(found.forgetting) - 1, scale=100.0, unit="%"),
        )
        for place, kind in enumerate(KINDS.values())
        for row, learner in enumerate(LEARNERS)
    ]
    return Table(
        "What forgetting wins over the same learner that forgets nothing",
        ("learner, tastes", *(f"forgetting {f:g}" for f in found.forgetting[:-1])),
        tuple(rows),
        f"In percent of the clicks of one who knows the taste. {_INTERVAL}",
    )


def attention_table(found: Attention) -> Table:
    """Return how wrong learners are that know where users look, or do not."""
    columns = {
        "error at the end": interval(found.distances()[..., -1]),
        "share of the best clicks": interval(found.shares()),
    }
    rows = []
    for place, user in enumerate(USERS):
        for row, told in enumerate(("known", "all taken as seen")):
            cells = [_cell(one, (place, row)) for one in columns.values()]
            rows.append((f"users {_LOOKS.get(user, user)}, {told}", tuple(cells)))
    note = f"Error: |η̂ - η| / |η| after random lists. {_INTERVAL}"
    return Table("Where users look", ("users, learner", *columns), tuple(rows), note)


def caring_table(found: Distances) -> Table:
    """Return what it is worth to learn which distance a user cares for."""
    shares = interval(found.shares())
    right = interval(found.right()[:, -1:])
    rows = [(_KNOWN.get(known, known), (_cell(shares, (row,)),)) for row, known in enumerate(KNOWN)]
    note = (
        f"After the last list the largest β̂ is the right one for {right.mean[0]:.0%} of users "
        f"({max(right.low[0], 0.0):.0%} to {min(right.high[0], 1.0):.0%}; by chance 33%). "
        f"{_INTERVAL}"
    )
    heads = ("learner", "share of the best clicks")
    return Table("Users who care for one distance of three", heads, tuple(rows), note)


def beginnings_table(found: PriorGain) -> Table:
    """Return the clicks of learners that begin with more or less."""
    shares = found.shares()
    spans = {"first list": 1, "first ten": 10, "all lists": shares.shape[-1]}
    columns = [interval(shares[..., :last].mean(axis=-1)) for last in spans.values()]
    rows = []
    for row, (policy, start) in enumerate(BEGINNINGS.values()):
        ridge = f", λ = {policy.options['ridge']:g}" if "ridge" in policy.options else ""
        begun = _BEGUN.get(start, f"from the {start}")
        title = f"{method_title(policy.name)}{ridge}, {begun}"
        rows.append((title, tuple(_cell(column, (row,)) for column in columns)))
    return Table(
        "Where learners begin: share of the best clicks",
        ("learner", *spans),
        tuple(rows),
        _INTERVAL,
    )


def _cells(
    found: Interval, at: tuple[int, ...], count: int, *, scale: float, unit: str
) -> tuple[Cell, ...]:
    def told(value: FloatArray) -> str:
        return f"{scale * float(value):+.1f}"

    return tuple(
        Cell(f"{told(found.mean[i])}{unit} ({told(found.low[i])} to {told(found.high[i])})")
        for i in ((*at, place) for place in range(count))
    )


def _cell(found: Interval, at: tuple[int, ...]) -> Cell:
    mean, low, high = (float(np.asarray(part)[at]) for part in (found.mean, found.low, found.high))
    return Cell(f"{mean:.3f} ({low:.3f} to {high:.3f})")
