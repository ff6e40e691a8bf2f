"""What lists wait while every item of a catalogue of 100,000 is changed by one import."""

import os
from collections.abc import Sequence
from typing import Final

import numpy as np

from tools.findings import Finding, Part
from tools.shop import bulk_import

ITEMS: Final = 100_000
#: Of waiting before the import, and after it
SECONDS: Final = 30.0
#: Load average before the measurement above which it shows nothing: other programs decide the waits
QUIET: Final = 1.0
_BUSY: Final = "; not shown, as other programs were using the machine"


def measure(seed: int = 0, *, items: int = ITEMS, seconds: float = SECONDS) -> Part:
    """Return what lists wait during an import, and without one."""
    busy = os.getloadavg()[0]
    (found,) = bulk_import.measure(products=items, new=0, changed=items, seconds=seconds, seed=seed)
    during = found["during"].seconds
    without = [*found["before"].seconds, *found["after"].seconds]
    return Part(
        f"A service on SQLite with {items:,} products, asked for a list of 10 again "
        f"{bulk_import.INTERVAL * 1000:.0f} ms after each answer, by "
        "`python -m tools.shop.bulk_import`. One "
        "request changes the price of every product, so that the catalogue stays as large; "
        f"without the import means {seconds:g} s before it and {seconds:g} s after it. Clients, "
        "service and import share the cores. The load average before was "
        f"{busy:.1f}; above {QUIET:g}, nothing counts as shown.",
        judged(during, without, busy),
    )


def judged(during: Sequence[float], without: Sequence[float], busy: float) -> list[Finding]:
    """Return the findings about the seconds that lists took, at a load average before them."""
    is_quiet, note = busy <= QUIET, "" if busy <= QUIET else _BUSY
    middle, slow, most = 1e3 * np.quantile([*during], [0.5, 0.99, 1.0])
    middle_before, slow_before, most_before = 1e3 * np.quantile([*without], [0.5, 0.99, 1.0])
    return [
        Finding(
            "The import delays no list for longer than 99% of the lists take without it",
            f"by at most {most - middle_before:.0f} ms, which is the longest list during the "
            f"import ({most:.0f} ms) less a usual one without it; 99% take {slow_before:.0f} ms "
            f"without it and {slow:.0f} ms during it (medians {middle_before:.0f} ms and "
            f"{middle:.0f} ms; {len(without)} and {len(during)} lists){note}",
            bool(most - middle_before <= slow_before) and is_quiet,
        ),
        Finding(
            "No list during the import takes longer than the longest without it",
            f"{most:.0f} ms against {most_before:.0f} ms{note}",
            bool(most <= most_before) and is_quiet,
        ),
    ]
