"""What a load test found, held against what was promised."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from variegate.loadtest.phases import Phase

#: Of the rate of a route that does nothing.
LEAST_SHARE: Final = 0.4
MOST_SPREAD: Final = 10.0
#: Growth of memory over the second half of the load: more is a leak.
MOST_GROWTH: Final = 0.05


@dataclass(frozen=True)
class Found:
    """The load of empty requests and of mixed ones, and the memory as it went."""

    empty: Phase
    mixed: Phase
    #: Bytes after each turn of mixed requests
    memory: Sequence[int]

    @property
    def share(self) -> float:
        """The rate of mixed requests as a share of the empty ones'."""
        return self.mixed.rate / self.empty.rate if self.empty.rate else 0.0

    @property
    def spread(self) -> float:
        """How many times the median the slowest hundredth takes, of the worse kind."""
        kinds = [times for times in self.mixed.times.values() if times]
        ratios = [float(np.quantile(times, 0.99) / np.median(times)) for times in kinds]
        return max(ratios, default=0.0)

    @property
    def growth(self) -> float | None:
        """How much memory grew over the second half, as a share; None if it was not seen."""
        if len(self.memory) < 3:
            return None
        middle = self.memory[len(self.memory) // 2]
        return (self.memory[-1] - middle) / middle

    @property
    def failures(self) -> list[str]:
        """Answers that were not what they should be."""
        return self.empty.failures + self.mixed.failures


def lines(found: Found) -> list[str]:
    """Return the report, a line each."""
    rows = [f"{'':<10} {'requests/s':>11} {'p50':>9} {'p99':>9} {'slowest':>9}"]
    kinds = [("empty", found.empty.times.get("empty", []), found.empty.rate)]
    for kind in ("list", "feedback"):
        times = found.mixed.times.get(kind, [])
        kinds.append((kind, times, len(times) / max(found.mixed.seconds, 1e-9)))
    rows += [_row(kind, times, rate) for kind, times, rate in kinds if times]
    rows.append("")
    rows += [f"{verdict:>8}  {what}" for what, verdict in _verdicts(found)]
    return rows


def _row(kind: str, times: Sequence[float], rate: float) -> str:
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1e3
    slowest = max(times) * 1e3
    return f"{kind:<10} {rate:>11,.0f} {p50:>6.2f} ms {p99:>6.2f} ms {slowest:>6.1f} ms"


def _verdicts(found: Found) -> list[tuple[str, str]]:
    growth, share, spread = found.growth, found.share, found.spread
    rows = [
        (
            f"lists and feedback at {share:.0%} of the empty route's rate (at least "
            f"{LEAST_SHARE:.0%})",
            _met(share >= LEAST_SHARE),
        ),
        (f"p99 is {spread:.1f} times p50 (under {MOST_SPREAD:g})", _met(spread < MOST_SPREAD)),
        (f"{len(found.failures)} requests failed (none)", _met(not found.failures)),
    ]
    if growth is not None:
        now = found.memory[-1] / 1e6
        what = f"memory {now:,.0f} MB, {growth:+.1%} over the second half (at most +5%)"
        rows.append((what, _met(growth <= MOST_GROWTH)))
    return rows


def _met(good: bool) -> str:
    return "met" if good else "not met"
